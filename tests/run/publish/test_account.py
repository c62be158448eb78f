"""The account of a run: it adds up, says what proves it, and is the same for the same batch on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.store import open_ledger
from lakelogic.run.processor import DataProcessor
from lakelogic.run.publish.account import as_lines

CONTRACT = {
    "dataset": "orders",
    "source": {"path": "./in.csv"},
    "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "n", "type": "int", "min": 0}]},
    "transformations": [{"filter": {"sql": "id <> 9"}}],
    "materialization": {"strategy": "merge", "primary_key": ["id"], "sequence_by": "n", "target_path": "a.b.orders"},
}
ROWS = "id,n\n1,2\n1,3\n2,-1\n9,1\n4,4\n"


def run(engine: Any) -> dict[str, Any]:
    DataProcessor(CONTRACT, engine=engine).run()
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        found = ledger.runs("orders")[0].account
    assert isinstance(found, dict)
    return found


def test_every_row_is_told_and_proven(workspace: Path, engine: Any) -> None:
    (workspace / "in.csv").write_text(ROWS)
    told = run(engine)
    assert (told["read"], told["good"], told["quarantined"]) == (5, 2, 1)
    assert (told["filtered"], told["deduplicated"]) == ({"filter_0": 1}, {"merge": 1})
    assert told["applied"]["inserted"] == 2
    assert told["evidence"] == {"scanned": 5, "good_in_footers": 2, "bad_in_footers": 1}
    # Of (1, 3) and (4, 4) by hand: two rows, ids that total 5 and numbers that total 7. The same on every engine.
    assert told["digests"]["good"] == "a32c7c040ac6785e847f6ae0b6aab70f"


def test_the_same_rows_in_another_order_have_the_same_digests(workspace: Path, duckdb_engine: Any) -> None:
    (workspace / "in.csv").write_text(ROWS)
    first = run(duckdb_engine)["digests"]
    (workspace / "in.csv").write_text("id,n\n4,4\n9,1\n2,-1\n1,3\n1,2\n")
    assert run(duckdb_engine)["digests"] == first


def test_a_row_more_shows_in_the_digest_of_its_side_alone(workspace: Path, duckdb_engine: Any) -> None:
    (workspace / "in.csv").write_text(ROWS)
    first = run(duckdb_engine)["digests"]
    (workspace / "in.csv").write_text(ROWS + "5,-7\n")
    second = run(duckdb_engine)["digests"]
    assert second["good"] == first["good"]
    assert second["quarantined"] != first["quarantined"]


def test_people_read_it_as_a_sum() -> None:
    lines = dict(as_lines({"read": 5, "good": 6, "quarantined": 1, "filtered": {"f": 0}, "expanded": {"explode_0": 2}}))
    assert lines == {"read": "5", "  good": "6", "  quarantined": "1", "  expanded by explode_0": "-2"}
    assert as_lines({}) == [("read", "")]


@pytest.mark.parametrize("point", ["after_quarantine_commit", "after_good_commit"])
def test_a_run_that_crashed_has_the_account_of_one_that_did_not(
    workspace: Path, duckdb_engine: Any, point: str
) -> None:
    from lakelogic.run import faults

    (workspace / "in.csv").write_text(ROWS)

    def strike(reached: str) -> None:
        if reached == point:
            raise faults.InjectedFault(point)

    with faults.watched(strike), pytest.raises(faults.InjectedFault):
        run(duckdb_engine)
    DataProcessor(CONTRACT, engine=duckdb_engine).run()
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        found = next(r.account for r in ledger.runs("orders") if r.status == "succeeded")
    assert isinstance(found, dict)
    assert (found["read"], found["good"], found["quarantined"]) == (5, 2, 1)
    assert found["digests"]["good"] == "a32c7c040ac6785e847f6ae0b6aab70f"
