"""A landed row waits in quarantine once, however often it is read: since when, and in how many runs it was seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from lakelogic import DataProcessor, clock, names
from lakelogic.actions.look.stories import explain_row
from lakelogic.actions.operate import quarantine as acts
from lakelogic.cli.main import cli
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.input.reread import Reread
from lakelogic.run.surroundings import Surroundings

QUEUE = "lakelogic_warehouse/shop/quarantine/silver_orders"
BRONZE = """
dataset: bronze_orders
source: {path: landing, format: csv, load_mode: incremental}
model: {fields: [{name: id, type: int}, {name: amount, type: int}]}
materialization: {target_path: shop.bronze.orders}
"""
SILVER = """
dataset: silver_orders
source: {path: shop.bronze.orders}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: 0}
primary_key: [id]
materialization: {target_path: shop.silver.orders, strategy: merge}
"""
FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def passes(workspace: Path, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    Path("bronze.yaml").write_text(BRONZE)
    Path("silver.yaml").write_text(SILVER)
    Path("landing").mkdir()

    def run(number: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: FIRST + timedelta(days=number))
        bad = "7,-1\n8,-2\n" if number == 0 else ""
        Path(f"landing/{number}.csv").write_text(f"id,amount\n{bad}{number},5\n")
        for name in ("bronze.yaml", "silver.yaml"):
            with DataProcessor(name, duckdb_engine) as processor:
                assert processor.run().status == "succeeded"

    return run


def entries() -> list[dict[str, Any]]:
    return DeltaTable(QUEUE).to_pyarrow_table().to_pylist()


def test_three_passes_leave_one_entry_for_each_row(passes: Callable[[int], None]) -> None:
    for number in range(3):
        passes(number)
    assert sorted(row["amount"] for row in entries()) == [-2, -1]
    [one] = acts.overview(Surroundings.here())
    assert one.counts == {"active": 2}
    assert one.oldest == FIRST
    listed = acts.list_rows(Surroundings.here(), acts.Request("silver.yaml"))
    assert listed.total == 2
    assert {(row["first_seen"], row["at"], row["runs"]) for row in listed.rows} == {
        (FIRST, FIRST + timedelta(days=2), 3)
    }


def test_a_row_that_was_discarded_stays_so_when_its_table_has_another_version(passes: Callable[[int], None]) -> None:
    passes(0)
    row = next(row for row in entries() if row["amount"] == -1)["_lakelogic_row_id"]
    acts.discard_rows(Surroundings.here(), acts.Request("silver.yaml", Chosen(rows=(row,))), "test data", by="anna")
    passes(1)
    assert {row["amount"]: row["quarantine_state"] for row in entries()} == {-1: "discarded", -2: "active"}


@pytest.fixture
def unfolded(passes: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The table as it was written before: an entry for each of three readings."""
    with monkeypatch.context() as before:
        for name in ("met", "holds"):  # only an attempt at the very same batch was known
            before.setattr(Reread, name, lambda reread, row: row[names.BATCH_ID] == reread.batch_id)
        for number in range(3):
            passes(number)
    assert len(entries()) == 6


@pytest.mark.usefixtures("unfolded")
def test_an_older_table_is_folded_when_it_is_read() -> None:
    [one] = acts.overview(Surroundings.here())
    assert (one.counts, one.oldest, one.rules) == ({"active": 2}, FIRST, {"amount_min": 2})
    listed = acts.list_rows(Surroundings.here(), acts.Request("silver.yaml"))
    assert {(row["first_seen"], row["at"], row["runs"]) for row in listed.rows} == {
        (FIRST, FIRST + timedelta(days=2), 3)
    }
    row_id = listed.rows[0]["row_id"]
    assert explain_row(Surroundings.here(), row_id, acts.Request("silver.yaml")).facts["row_id"] == row_id
    assert len(acts.show_rows(Surroundings.here(), acts.Request("silver.yaml")).rows) == 2


@pytest.mark.usefixtures("unfolded")
def test_a_replay_of_a_folded_row_publishes_it_once_and_says_so() -> None:
    Path("silver.yaml").write_text(SILVER.replace("min: 0", "min: -1"))
    done = acts.replay_rows(Surroundings.here(), acts.Request("silver.yaml"), "duckdb")
    assert (done.chosen, done.passed, done.failed) == (2, 1, 1)
    [one] = acts.overview(Surroundings.here())
    assert one.counts == {"active": 1, "replayed": 1}
    published = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table()["amount"].to_pylist()
    assert sorted(published) == [-1, 5, 5, 5]
    waiting = [row for row in entries() if row["quarantine_state"] == "active"]
    assert [(row["amount"], row["_lakelogic_first_seen"], row["_lakelogic_seen_runs"]) for row in waiting] == [
        (-2, FIRST, 4)  # three readings, and the replay that was the last to see it
    ]


def test_a_replay_in_which_a_row_fails_again_is_a_run_that_saw_it(
    passes: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes(0)
    second = FIRST + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: second)
    assert acts.replay_rows(Surroundings.here(), acts.Request("silver.yaml"), "duckdb").failed == 2
    listed = acts.list_rows(Surroundings.here(), acts.Request("silver.yaml"))
    assert {(row["first_seen"], row["at"], row["runs"]) for row in listed.rows} == {(FIRST, second, 2)}


@pytest.mark.usefixtures("unfolded")
def test_discarding_a_folded_row_takes_all_its_entries_out() -> None:
    row = next(row for row in entries() if row["amount"] == -1)["_lakelogic_row_id"]
    found = acts.discard_rows(
        Surroundings.here(), acts.Request("silver.yaml", Chosen(rows=(row,))), "test data", by="anna"
    )
    assert found.rows == (row,)
    [one] = acts.overview(Surroundings.here())
    assert one.counts == {"active": 1, "discarded": 1}


def test_a_replay_is_not_judged_by_the_service_levels_of_a_batch(passes: Callable[[int], None]) -> None:
    passes(0)
    promised = "service_levels: {row_count: {min_rows: 1000}, on_breach: fail}\n"
    Path("silver.yaml").write_text(SILVER.replace("min: 0", "min: -1") + promised)
    done = acts.replay_rows(Surroundings.here(), acts.Request("silver.yaml"), "duckdb")
    assert (done.status, done.exit_code, done.passed, done.report["service_levels"]) == ("succeeded", 0, 1, [])


def said(*words: str) -> list[list[str]]:
    done = CliRunner().invoke(cli, ["quarantine", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kept", ["folded", "unfolded"])
def test_people_read_since_when_a_row_waits_and_in_how_many_runs(
    kept: str, passes: Callable[[int], None], request: pytest.FixtureRequest
) -> None:
    if kept == "unfolded":
        request.getfixturevalue("unfolded")
    else:
        for number in range(3):
            passes(number)
    first, last = "2026-03-02 12:00:00", "2026-03-04 12:00:00"
    heads, _, *rows = said("list", "silver.yaml")
    assert heads[2:5] == ["first seen (UTC)", "last seen (UTC)", "runs"]
    assert [row[2:5] for row in rows[:2]] == [[first, last, "3"]] * 2
    shown = said("show", "silver.yaml")
    row_id = next(row["_lakelogic_row_id"] for row in entries())
    told = said("explain", row_id, "silver.yaml")
    for line in (["first_seen", first], ["last_seen", last], ["runs", "3"]):
        assert shown.count(line) == 2
        assert told.count(line) == 1
