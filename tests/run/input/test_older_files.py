"""Merging without a column that tells the newer row: an older file never puts its values back over a newer one's."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

_SECONDS = itertools.count(3_000_000)
TABLE = "lakelogic_warehouse/shop/silver/customers"


def customers(strategy: str = "merge", **more: Any) -> dict[str, Any]:
    return {
        "dataset": "customers",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "city", "type": "string"}]},
        "materialization": {"strategy": strategy, "primary_key": ["id"], "target_path": "shop.silver.customers"},
        **more,
    }


def land(name: str, *rows: str, header: str = "id,city") -> Path:
    path = Path("landing", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join((header, *rows, "")))
    return touch(path)


def touch(path: Path) -> Path:
    now = next(_SECONDS) * 1_000_000_000
    os.utime(path, ns=(now, now))
    return path


def act(engine: Any, document: dict[str, Any]) -> tuple[Any, str]:
    said: list[str] = []
    with DataProcessor(document, engine, sinks=(lambda event: said.append(event.text),)) as processor:
        return processor.run(), "\n".join(said)


def correct_the_first_of_two(engine: Any, contract: dict[str, Any]) -> str:
    """What is said when the older of two files of one key changes."""
    for name, city in (("1.csv", "Bern"), ("2.csv", "Genf"), ("1.csv", "Basel")):
        land(name, f"1,{city}")
        _, said = act(engine, contract)
    return said


def stored() -> list[tuple[int, str]]:
    rows = DeltaTable(TABLE).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["city"]) for row in rows if row.get("_lakelogic_is_deleted") is not True)


@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_a_file_that_holds_what_it_held_is_no_news(duckdb_engine: Any, workspace: Path, strategy: str) -> None:
    contract = customers(strategy)
    first = land("1.csv", "1,Bern", "2,Rome")
    act(duckdb_engine, contract)
    shutil.copy2(first, "backup.csv")
    land("2.csv", "1,Genf")
    act(duckdb_engine, contract)
    after = sorted(map(str, DeltaTable(TABLE).to_pyarrow_table().select(["id", "city"]).to_pylist()))
    for again in (touch, lambda path: shutil.copy2("backup.csv", path), lambda path: path.rename("landing/0.csv")):
        again(first)
        assert act(duckdb_engine, contract)[0].status == "no_new_data"
    assert sorted(map(str, DeltaTable(TABLE).to_pyarrow_table().select(["id", "city"]).to_pylist())) == after


def test_a_changed_file_does_not_overwrite_what_came_after_it(engine: Any, workspace: Path) -> None:
    contract = customers()
    land("1.csv", "1,Bern", "2,Rome")
    act(engine, contract)
    land("2.csv", "1,Genf", "3,Oslo")
    act(engine, contract)
    land("3.csv", "4,Lima")
    act(engine, contract)
    land("1.csv", "1,Basel", "2,Bari", "5,Kyiv")  # a correction of the oldest file, beside a new one
    land("4.csv", "3,Nice", "4,Quito")
    result, said = act(engine, contract)
    assert stored() == [(1, "Genf"), (2, "Bari"), (3, "Nice"), (4, "Quito"), (5, "Kyiv")]
    applied = result.report["applied"]
    assert [applied[effect] for effect in ("inserted", "updated", "stale")] == [1, 3, 1]
    assert "1.csv changed since it was read" in said
    assert "sequence_by" in said
    land("1.csv", "2,Turin", "4,Xian", "5,Riga")  # once more: its own rows are its own
    land("2.csv", "1,Jena", "3,Oslo")  # newer than 1.csv, and older than 4.csv
    act(engine, contract)
    assert stored() == [(1, "Jena"), (2, "Turin"), (3, "Nice"), (4, "Quito"), (5, "Riga")]


def test_the_order_of_files_outlives_names_and_ledgers(duckdb_engine: Any, workspace: Path) -> None:
    contract = customers()
    first = land("1.csv", "1,Bern", "2,Rome")
    act(duckdb_engine, contract)
    land("2.csv", "1,Genf")
    act(duckdb_engine, contract)
    first.rename("landing/9.csv")
    act(duckdb_engine, contract)
    for path in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        path.unlink()
    act(duckdb_engine, contract)
    land("9.csv", "1,Basel", "2,Bari")
    act(duckdb_engine, contract)
    land("9.csv", "1,Basel", "2,Faro")
    act(duckdb_engine, contract)
    assert stored() == [(1, "Genf"), (2, "Faro")]


def test_the_newest_file_may_change(duckdb_engine: Any, workspace: Path) -> None:
    land("1.csv", "1,Bern")
    act(duckdb_engine, customers())
    land("2.csv", "1,Genf")
    act(duckdb_engine, customers())
    land("2.csv", "1,Basel")
    _, said = act(duckdb_engine, customers())
    assert stored() == [(1, "Basel")]
    assert "changed since" not in said


def test_a_row_that_a_later_file_deleted_stays_deleted(duckdb_engine: Any, workspace: Path) -> None:
    contract = customers(source={"path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op"})
    land("1.csv", "I,1,Bern", "I,2,Rome", header="op,id,city")
    act(duckdb_engine, contract)
    land("2.csv", "D,1,", header="op,id,city")
    act(duckdb_engine, contract)
    land("1.csv", "I,1,Basel", "I,2,Bari", header="op,id,city")
    act(duckdb_engine, contract)
    assert stored() == [(2, "Bari")]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [({"lineage": {"capture_source_path": False}}, "overwritten too"), ({"strategy": "scd2"}, "timestamp_field")],
)
def test_where_the_order_cannot_be_kept_that_is_said(
    duckdb_engine: Any, workspace: Path, more: dict[str, Any], wanted: str
) -> None:
    contract = customers(**more)
    said = correct_the_first_of_two(duckdb_engine, contract)
    assert wanted in said
    assert "1.csv changed since it was read, and 1 files were read after it" in said


def test_a_column_that_tells_decides(duckdb_engine: Any, workspace: Path) -> None:
    contract = customers()
    contract["materialization"]["sequence_by"] = "id"
    said = correct_the_first_of_two(duckdb_engine, contract)
    assert stored() == [(1, "Basel")]  # equal by sequence_by: what came last
    assert "changed since" not in said
