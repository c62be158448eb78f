"""Partitions, clustering and properties of a table, on every engine and format."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.errors import CompileError, TableError, UnsupportedError, UsageError
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load

SALES = {
    "source": {"path": "landing/*.csv", "load_mode": "incremental"},
    "model": {
        "fields": [
            {"name": "id", "type": "int", "required": True},
            {"name": "day", "type": "date"},
            {"name": "shop", "type": "string"},
        ]
    },
    "primary_key": ["id"],
}
PLACE = "lakelogic_warehouse/shop/silver/sales"
FIRST, SECOND = date(2026, 1, 1), date(2026, 1, 2)


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def landing(workspace: Path) -> Path:
    (workspace / "landing").mkdir()
    return workspace / "landing"


def sales(form: str, **settings: Any) -> dict[str, Any]:
    written = {"target_path": "shop.silver.sales", "format": form, "partition_by": ["DAY"], **settings}
    return {**SALES, "materialization": written}


def run(engine: Any, document: dict[str, Any]) -> Any:
    with DataProcessor(document, engine) as processor:
        return processor.run()


def rows(table: str = "shop.silver.sales") -> list[tuple[Any, ...]]:
    found = preview(Surroundings.here(), table, 100).rows
    return sorted(((row["id"], row["day"], row["shop"]) for row in found), key=repr)


def land(landing: Path, name: str, *lines: str) -> None:
    (landing / name).write_text("\n".join(["id,day,shop", *lines, ""]))


def test_each_file_holds_one_partition_and_keeps_the_column(engine: Any, landing: Path, form: str) -> None:
    land(landing, "a.csv", "1,2026-01-01,a", "2,2026-01-02,b", "3,2026-01-01,c", "4,,d", ",2026-01-01,e")
    run(engine, sales(form))
    land(landing, "b.csv", "5,2026-01-02,f")
    run(engine, sales(form))
    state = load(form).state(PLACE)
    assert state is not None
    assert state.partition_by == ("day",)
    held = {
        path: sorted(set(pq.read_table(path, columns=["day"], partitioning=None)["day"].to_pylist()), key=repr)
        for path in state.files
    }
    assert held == {path: [part["day"]] for path, part in state.parts.items()}
    assert sorted(repr(part["day"]) for part in state.parts.values()) == sorted(
        map(repr, [FIRST, SECOND, None, SECOND])
    )
    assert rows() == [
        (1, FIRST, "a"),
        (2, SECOND, "b"),
        (3, FIRST, "c"),
        (4, None, "d"),
        (5, SECOND, "f"),
    ]


def test_only_touched_partitions_are_overwritten(engine: Any, landing: Path, form: str) -> None:
    document = sales(form, strategy="overwrite", overwrite_scope="partitions")
    land(landing, "a.csv", "1,2026-01-01,a", "2,2026-01-02,b", "3,,c")
    run(engine, document)
    land(landing, "b.csv", "4,2026-01-02,d")
    run(engine, document)
    assert rows() == [(1, FIRST, "a"), (3, None, "c"), (4, SECOND, "d")]
    land(landing, "c.csv", ",2026-01-01,nothing good")
    run(engine, document)
    assert rows() == [(1, FIRST, "a"), (3, None, "c"), (4, SECOND, "d")]


def test_rows_are_merged_into_partitions_and_may_move(engine: Any, landing: Path, form: str) -> None:
    document = sales(form, strategy="merge")
    land(landing, "a.csv", "1,2026-01-01,a", "2,2026-01-02,b", "3,2026-01-02,c")
    run(engine, document)
    land(landing, "b.csv", "3,2026-01-01,moved", "4,,new")
    run(engine, document)
    assert rows() == [(1, FIRST, "a"), (2, SECOND, "b"), (3, FIRST, "moved"), (4, None, "new")]


def test_a_partitioned_table_is_read_by_the_next_contract(engine: Any, landing: Path, form: str) -> None:
    land(landing, "a.csv", "1,2026-01-01,a", "2,2026-01-02,b", "3,,c")
    run(engine, sales(form, partition_by=["day", "shop"]))
    gold = {
        "source": {"path": "shop.silver.sales"},
        "transformations": [{"sql": "SELECT id, day, shop FROM source WHERE day = DATE '2026-01-02' OR shop = 'c'"}],
        "materialization": {"target_path": "shop.gold.sales", "format": form, "strategy": "overwrite"},
    }
    run(engine, gold)
    assert rows("shop.gold.sales") == [(2, SECOND, "b"), (3, None, "c")]


def test_rows_alike_lie_together(engine: Any, landing: Path) -> None:
    land(landing, "a.csv", "1,,c", "2,,a", "3,,", "4,,b")
    document = sales("delta", cluster_by=["shop"])
    del document["materialization"]["partition_by"]
    run(engine, document)
    (file,) = load("delta").state(PLACE).files  # type: ignore[union-attr]
    assert pq.read_table(file, columns=["shop"], partitioning=None)["shop"].to_pylist() in (
        ["a", "b", "c", None],
        [None, "a", "b", "c"],
    )


def test_a_contract_that_says_nothing_keeps_the_partitions_of_the_table(
    duckdb_engine: Any, landing: Path, form: str
) -> None:
    land(landing, "a.csv", "1,2026-01-01,a")
    run(duckdb_engine, sales(form))
    land(landing, "b.csv", "2,2026-01-02,b")
    document = sales(form)
    del document["materialization"]["partition_by"]
    run(duckdb_engine, document)
    state = load(form).state(PLACE)
    assert state is not None
    assert sorted(part["day"] for part in state.parts.values()) == [FIRST, SECOND]


def test_other_partitions_than_the_table_has_are_refused_before_anything_is_read(
    duckdb_engine: Any, landing: Path, form: str
) -> None:
    land(landing, "a.csv", "1,2026-01-01,a")
    run(duckdb_engine, sales(form))
    land(landing, "b.csv", "2,2026-01-02,b")
    with pytest.raises(TableError, match="partitioned by day, the contract says shop"):
        run(duckdb_engine, sales(form, partition_by=["shop"]))
    assert rows() == [(1, FIRST, "a")]


def test_partitions_by_a_column_that_is_not_published_are_refused(duckdb_engine: Any, landing: Path) -> None:
    land(landing, "a.csv", "1,2026-01-01,a")
    with pytest.raises(CompileError, match="no column `dya`"):
        run(duckdb_engine, sales("delta", partition_by=["dya"]))


def test_a_scope_of_partitions_needs_partitions(duckdb_engine: Any, landing: Path) -> None:
    land(landing, "a.csv", "1,2026-01-01,a")
    document = sales("delta", strategy="overwrite", overwrite_scope="partitions", partition_by=[])
    with pytest.raises(UsageError, match="a table with partitions"):
        run(duckdb_engine, document)


def test_table_properties_reach_the_table(duckdb_engine: Any, landing: Path) -> None:
    from deltalake import DeltaTable

    land(landing, "a.csv", "1,2026-01-01,a")
    run(duckdb_engine, sales("delta", table_properties={"delta.checkpointInterval": 5}))
    assert DeltaTable(PLACE).metadata().configuration == {"delta.checkpointInterval": "5"}
    with pytest.raises(UnsupportedError, match="Plain Parquet has no table_properties"):
        run(duckdb_engine, sales("parquet", target_path="shop.silver.other", table_properties={"a": "b"}))


def test_many_partitions_do_not_hold_many_files_open(duckdb_engine: Any, landing: Path) -> None:
    land(landing, "a.csv", *(f"{number},,shop {number % 150}" for number in range(600)))
    run(duckdb_engine, sales("delta", partition_by=["shop"]))
    state = load("delta").state(PLACE)
    assert state is not None
    assert (state.rows, len({part["shop"] for part in state.parts.values()})) == (600, 150)
