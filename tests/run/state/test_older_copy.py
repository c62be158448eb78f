"""A table that was put back from an older copy: the next run takes what it lacks, or stops and says what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.errors import DataError, ReconcileError
from lakelogic.quarantine.queue import Chosen
from lakelogic.tables.iceberg import catalog as iceberg_catalog
from lakelogic.tables.registry import load

FORMATS = ["delta", "parquet", "iceberg"]
WAREHOUSE = Path("lakelogic_warehouse")
Go = Callable[..., Any]


def contract(form: str = "delta", strategy: str = "append", **parts: Any) -> dict[str, Any]:
    settings = parts.pop("materialization", {})
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "primary_key": ["id"],
        "model": {
            "fields": [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]
        },
        "materialization": {"target_path": "a.b.orders", "format": form, "strategy": strategy, **settings},
        "quality": {"max_quarantine_ratio": 1},
        **parts,
    }


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", f"{name}.csv").write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))


def run(engine: Any, document: dict[str, Any], rows: Any = None, **options: Any) -> Any:
    Path("orders.yaml").write_text(json.dumps(document))
    with DataProcessor("orders.yaml", engine) as processor:
        return processor.run(rows, **options)


def rows(table: str = "a.b.orders") -> list[dict[str, Any]]:
    found = (load(form).state(LocalCatalog().resolve(table)) for form in FORMATS)
    state = next((one for one in found if one is not None), None)
    return [row for path in (state.files if state else ()) for row in pq.ParquetFile(path).read().to_pylist()]


def pairs(table: str = "a.b.orders") -> list[tuple[int, int]]:
    return sorted((row["id"], row["amount"]) for row in rows(table))


def waiting() -> list[int]:
    return sorted(row["id"] for row in rows("a.quarantine.orders") if row["quarantine_state"] == "active")


def keep(*parts: str) -> None:
    """Copy parts of the warehouse, and the catalog of Iceberg with them."""
    for part in (*parts, ".iceberg"):
        if (WAREHOUSE / part).exists():
            shutil.copytree(WAREHOUSE / part, Path("kept") / part, symlinks=True)


def put_back(*parts: str) -> None:
    for part in (*parts, ".iceberg"):
        if (Path("kept") / part).exists():
            shutil.rmtree(WAREHOUSE / part)
            shutil.copytree(Path("kept") / part, WAREHOUSE / part, symlinks=True)
    iceberg_catalog._catalog.cache_clear()  # its connections are to the file that was there before


def replayed() -> None:
    with DataProcessor("orders.yaml", "duckdb") as processor:
        processor.replay(Chosen())


@pytest.mark.parametrize("form", FORMATS)
def test_what_an_older_copy_lacks_is_read_again(engine: Any, workspace: Path, form: str) -> None:
    for number in (1, 2, 3):
        land(str(number), f"{number},{number * 10}")
        run(engine, contract(form))
    keep("a/b/orders")
    land("4", "4,40", "44,-1")
    run(engine, contract(form))
    land("5", "5,50")
    run(engine, contract(form))
    put_back("a/b/orders")
    assert pairs() == [(1, 10), (2, 20), (3, 30)]
    assert run(engine, contract(form)).status == "succeeded"
    assert pairs() == [(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)]
    assert waiting() == [44]  # the quarantine was not put back, and has the row once
    assert run(engine, contract(form)).status == "no_new_data"
    land("6", "6,60")
    run(engine, contract(form))
    assert pairs()[-1] == (6, 60)
    assert len(pairs()) == 6


@pytest.fixture
def go(duckdb_engine: Any, workspace: Path) -> Go:
    return lambda *given, **options: run(duckdb_engine, *given, **options)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("strategy", ["append", "merge", "scd2", "overwrite"])
def test_every_strategy_takes_again_what_is_missing(go: Go, form: str, strategy: str) -> None:
    document = contract(form, strategy)
    land("1", "1,10", "2,20")
    go(document)
    keep("a/b/orders")
    land("2", "2,21", "3,30")
    go(document)
    put_back("a/b/orders")
    assert go(document).status == "succeeded"
    current = sorted((row["id"], row["amount"]) for row in rows() if row.get("is_current", True))
    expected = {
        "append": [(1, 10), (2, 20), (2, 21), (3, 30)],
        "merge": [(1, 10), (2, 21), (3, 30)],
        "scd2": [(1, 10), (2, 21), (3, 30)],
        "overwrite": [(2, 21), (3, 30)],
    }
    assert current == expected[strategy]
    assert go(document).status == "no_new_data"


def test_a_file_that_had_changed_is_replaced_again(go: Go) -> None:
    land("1", "1,10")
    land("2", "2,20")
    go(contract())
    keep("a/b/orders")
    land("1", "1,11", "9,90")
    go(contract())
    put_back("a/b/orders")
    assert go(contract()).status == "succeeded"
    assert pairs() == [(1, 11), (2, 20), (9, 90)]
    assert go(contract()).status == "no_new_data"


def test_put_back_to_before_our_first_batch_everything_is_read(go: Go) -> None:
    schema = pa.schema([("id", pa.int32()), ("amount", pa.int32())])
    DeltaTable.create(str(WAREHOUSE / "a/b/orders"), schema)
    keep("a/b/orders")
    land("1", "1,10")
    go(contract())
    put_back("a/b/orders")
    assert go(contract()).status == "succeeded"
    assert pairs() == [(1, 10)]


def test_the_second_time_and_another_ledger(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    land("1", "1,10")
    go(contract())
    keep("a/b/orders")
    land("2", "2,20")
    go(contract())
    for _ in range(2):
        put_back("a/b/orders")
        assert go(contract()).status == "succeeded"
        assert pairs() == [(1, 10), (2, 20)]
    put_back("a/b/orders")
    first = LocalCatalog().ledger_url()
    monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{Path.cwd()}/second.db")
    assert go(contract()).status == "succeeded"
    assert go(contract()).status == "no_new_data"
    # The first ledger believes in its own batch, which is here again under the same id by another run.
    monkeypatch.setenv("LAKELOGIC_LEDGER", first)
    assert go(contract()).status == "no_new_data"
    assert pairs() == [(1, 10), (2, 20)]


def test_files_that_are_gone_stop_the_run_until_a_person_says_so(go: Go) -> None:
    land("1", "1,10")
    go(contract())
    keep("a/b/orders")
    land("2", "2,20")
    go(contract())
    land("3", "3,30")
    go(contract())
    Path("landing/2.csv").unlink()
    put_back("a/b/orders")
    for _ in range(2):
        with pytest.raises(ReconcileError, match=r"2 batches .* not all .*landing/2\.csv") as stopped:
            go(contract())
        assert "lakelogic state doctor" in str(stopped.value.hint)
    assert pairs() == [(1, 10)]
    told = CliRunner().invoke(cli, ["state", "doctor", "orders.yaml", "--dry-run"])
    assert told.exit_code == 6
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"]).exit_code == 1
    assert go(contract()).status == "succeeded"
    assert pairs() == [(1, 10), (3, 30)]
    land("2", "2,20")
    go(contract())
    assert pairs() == [(1, 10), (2, 20), (3, 30)]


def test_rows_that_were_handed_in_stop_the_run(go: Go) -> None:
    go(contract(), pa.table({"id": [1], "amount": [10]}), batch="first")
    keep("a/b/orders")
    go(contract(), pa.table({"id": [2], "amount": [20]}), batch="second")
    put_back("a/b/orders")
    with pytest.raises(ReconcileError, match="handed"):
        go(contract(), pa.table({"id": [3], "amount": [30]}), batch="third")
    CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"])
    go(contract(), pa.table({"id": [2], "amount": [20]}), batch="second")
    assert pairs() == [(1, 10), (2, 20)]


@pytest.mark.parametrize("with_quarantine", [False, True])
def test_rows_that_a_replay_had_published_wait_again(go: Go, with_quarantine: bool) -> None:
    parts = ("a/b/orders", "a/quarantine/orders") if with_quarantine else ("a/b/orders",)
    land("1", "1,10", "2,-2")
    go(contract())
    keep(*parts)
    lenient = contract()
    lenient["model"]["fields"][1]["min"] = -5
    Path("orders.yaml").write_text(json.dumps(lenient))
    replayed()
    assert (pairs(), waiting()) == ([(1, 10), (2, -2)], [])
    put_back(*parts)
    go(lenient)
    assert (pairs(), waiting()) == ([(1, 10)], [2])
    replayed()
    assert (pairs(), waiting()) == ([(1, 10), (2, -2)], [])


def test_a_secondary_target_that_holds_the_rows_stops_the_run(go: Go) -> None:
    document = contract(materialization={"secondary_targets": [{"target_path": "a.c.orders"}]})
    land("1", "1,10")
    go(document)
    keep("a/b/orders", "a/c/orders")
    land("2", "2,20")
    go(document)
    put_back("a/b/orders")
    with pytest.raises(ReconcileError, match=r"a\.c\.orders still holds them"):
        go(document)
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"]).exit_code == 6
    with pytest.raises(ReconcileError):
        go(document)
    put_back("a/c/orders")
    go(document)
    assert (pairs(), pairs("a.c.orders")) == ([(1, 10), (2, 20)], [(1, 10), (2, 20)])


def test_the_doctor_brings_the_ledger_back_and_the_next_run_the_rows(go: Go) -> None:
    land("1", "1,10")
    go(contract())
    keep("a/b/orders")
    land("2", "2,20")
    go(contract())
    put_back("a/b/orders")
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml", "--dry-run"]).exit_code == 6
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"]).exit_code == 0
    go(contract())
    assert pairs() == [(1, 10), (2, 20)]
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"]).exit_code == 0


def below(form: str, strategy: str, load_mode: str | None) -> dict[str, Any]:
    return {
        "dataset": "below",
        "source": {"path": "a.b.orders", **({"load_mode": load_mode} if load_mode else {})},
        "primary_key": ["id"],
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "a.g.below", "format": form, "strategy": strategy},
    }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("strategy", "load_mode"),
    [("append", None), ("merge", None), ("merge", "incremental"), ("scd2", "incremental"), ("overwrite", None)],
)
def test_a_source_that_was_put_back_and_written_on_is_not_taken_for_what_it_was(
    go: Go, form: str, strategy: str, load_mode: str | None
) -> None:
    """The new version has the number of one that was read before, and other rows."""
    above, document = contract(form), below("delta", strategy, load_mode)
    land("1", "1,10")
    go(above)
    keep("a/b/orders")
    land("2", "2,20")
    go(above)
    go(document)
    put_back("a/b/orders")
    land("2", "2,21", "3,30")  # mended before it is read again, as the next version
    go(above)
    assert go(document).status == "succeeded"
    expected = [(1, 10), (2, 21), (3, 30)]
    assert sorted((row["id"], row["amount"]) for row in rows("a.g.below") if row.get("is_current", True)) == expected
    assert go(document).status == "no_new_data"
    land("4", "4,40")
    go(above)
    go(document)
    assert (4, 40) in pairs("a.g.below")
    assert go(document).status == "no_new_data"


@pytest.mark.parametrize("form", FORMATS)
def test_a_source_that_was_put_back_stops_batches_that_stand_for_themselves(go: Go, form: str) -> None:
    above, document = contract(form), below("delta", "append", "incremental")
    land("1", "1,10")
    go(above)
    keep("a/b/orders")
    land("2", "2,20")
    go(above)
    go(document)
    put_back("a/b/orders")
    with pytest.raises(DataError, match="put back to an earlier state"):
        go(document)
    land("2", "2,21")
    go(above)
    with pytest.raises(DataError, match="put back to an earlier state"):
        go(document)
    assert pairs("a.g.below") == [(1, 10), (2, 20)]


def test_a_link_that_was_put_back_and_written_on_is_looked_at_again(go: Go) -> None:
    above = contract()
    document = {
        "dataset": "below",
        "source": {"path": "facts.csv"},
        "links": [{"name": "orders", "path": "a.b.orders"}],
        "transformations": [
            {"lookup": {"field": "amount", "reference": "orders", "on": "id", "key": "id", "value": "amount"}}
        ],
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "a.g.below", "strategy": "overwrite"},
    }
    Path("facts.csv").write_text("id\n2\n")
    land("1", "1,10")
    go(above)
    keep("a/b/orders")
    land("2", "2,20")
    go(above)
    go(document)
    put_back("a/b/orders")
    land("2", "2,21")
    go(above)
    go(document)
    assert pairs("a.g.below") == [(2, 21)]


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_table_that_was_restored_to_an_earlier_version_by_its_own_format(go: Go, form: str) -> None:
    land("1", "1,10")
    go(contract(form))
    land("2", "2,20")
    go(contract(form))
    land("3", "3,30")
    go(contract(form))
    location = LocalCatalog().resolve("a.b.orders")
    if form == "delta":
        DeltaTable(location).restore(0)
    else:
        catalog, name = iceberg_catalog.catalog_for(location)
        table = catalog.load_table(name)
        first = min(table.snapshots(), key=lambda one: one.sequence_number or 0)
        table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    assert pairs() == [(1, 10)]
    assert go(contract(form)).status == "succeeded"
    assert pairs() == [(1, 10), (2, 20), (3, 30)]
    assert go(contract(form)).status == "no_new_data"
    # Files of the batches that were undone may lie there still: something to look at, and nothing wrong.
    assert CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"]).exit_code in (0, 1)
