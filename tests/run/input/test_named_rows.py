"""Rows that are handed in under a name that was used before are not taken, and people are warned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.run.input.named_rows import row_count

CONTRACT = {
    "dataset": "orders",
    "model": {"fields": [{"name": "id", "type": "int"}]},
    "materialization": {"target_path": "shop.silver.orders", "strategy": "append"},
}


def call(engine: Any, rows: Any) -> tuple[str, list[str]]:
    """The status of a call under the name `b`, and what it warned of."""
    warned: list[str] = []

    def listen(event: Any) -> None:
        if event.kind == "warning":
            warned.append(event.text)

    with DataProcessor(CONTRACT, engine, sinks=(listen,)) as processor:
        return processor.run(rows, batch="b").status, warned


@pytest.mark.parametrize("loses_ledger", [False, True])
def test_a_name_that_was_used_is_warned_of(duckdb_engine: Any, workspace: Path, loses_ledger: bool) -> None:
    assert call(duckdb_engine, pa.table({"id": [1, 2]})) == ("succeeded", [])
    if loses_ledger:
        for path in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
            path.unlink()
    status, [more] = call(duckdb_engine, pa.table({"id": [3, 4, 5]}))
    assert status == "no_new_data"
    assert "`b` was published before with 2 rows, and 3 rows were handed in under that name now" in more
    status, [same] = call(duckdb_engine, pa.table({"id": [3, 4]}))
    assert status == "no_new_data"
    assert "`b` was published before with 2 rows; the rows that were handed in now are not looked at again" in same
    found = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table()["id"].to_pylist()
    assert sorted(found) == [1, 2]


def test_rows_are_only_counted_where_that_costs_nothing() -> None:
    assert row_count(pa.table({"id": [1, 2]})) == 2
    assert row_count(pl.DataFrame({"id": [1]})) == 1
    assert row_count(pl.LazyFrame({"id": [1]})) is None
    assert row_count([{"id": 1}]) is None
