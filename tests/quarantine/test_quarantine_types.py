"""The quarantine table keeps one column for a field whose type grows, and never refuses a row for its type."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

QUEUE = "lakelogic_warehouse/shop/quarantine/silver_orders"


def land(name: str, rows: list[dict[str, Any]]) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(engine: Any, kind: str, files: str = "*", **parts: Any) -> Any:
    document = {
        "dataset": "orders",
        "source": {"path": f"in/{files}.jsonl", "format": "json", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "v", "type": kind}]},
        "quality": {"row_rules": [{"name": "even", "sql": "id % 2 = 0"}], "max_quarantine_ratio": 1},
        "schema_policy": {"evolution": "allow", "unknown_fields": "allow"},
        "materialization": {"target_path": f"shop.silver.orders_{sum(map(ord, kind))}"},
        "quarantine": {"target": "shop.quarantine.silver_orders"},
        "lineage": {"enabled": False},
        **parts,
    }
    return DataProcessor(document, engine).run()


def queue() -> tuple[dict[int, Any], dict[str, str]]:
    found = DeltaTable(QUEUE)
    schema = {field.name: str(field.type) for field in found.to_pyarrow_table().schema}
    rows = found.to_pyarrow_table().to_pylist()
    assert not [name for name in schema if name.endswith("__text")]
    return {row["id"]: row["v"] for row in rows}, schema


@pytest.mark.parametrize(
    ("old", "new", "first", "second", "kept", "stored"),
    [
        ("int", "bigint", 7, 5_000_000_000, (7, 5_000_000_000), "int64"),
        ("bigint", "int", 5_000_000_000, 7, (5_000_000_000, 7), "int64"),
        ("float", "double", 0.5, 0.1, (0.5, 0.1), "double"),
        ("decimal(6,2)", "decimal(8,4)", 1.25, 1.2345, (Decimal("1.2500"), Decimal("1.2345")), "decimal128(8, 4)"),
        ("decimal(8,2)", "decimal(8,4)", 1.25, 1.2345, (Decimal("1.2500"), Decimal("1.2345")), "decimal128(10, 4)"),
        ("bigint", "decimal(4,1)", 7, 1.5, (Decimal("7.0"), Decimal("1.5")), "decimal128(20, 1)"),
        (
            "date", "timestamp", "2026-01-01", "2026-01-02T03:04:05Z",
            (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), "timestamp[us, tz=UTC]",
        ),
        (
            "struct<a:int>", "struct<b:string,a:bigint>", {"a": 1}, {"b": "x", "a": 2},
            ({"a": 1, "b": None}, {"a": 2, "b": "x"}), "struct<a: int64, b: string>",
        ),
    ],
)  # fmt: skip
def test_types_grow_in_their_column(
    duckdb_engine: Any, workspace: Path, old: str, new: str, first: Any, second: Any, kept: tuple[Any, Any], stored: str
) -> None:
    land("a", [{"id": 1, "v": first}])
    run(duckdb_engine, old, "a")
    land("b", [{"id": 3, "v": second}])
    run(duckdb_engine, new, "b")
    land("c", [{"id": 5, "v": None}])
    run(duckdb_engine, old, "c")
    rows, schema = queue()
    assert rows == {1: kept[0], 3: kept[1], 5: None}
    assert schema["v"] == stored


def test_every_engine_stages_for_the_wider_column(engine: Any, workspace: Path) -> None:
    land("a", [{"id": 1, "v": 7}])
    run(engine, "int", "a")
    land("b", [{"id": 3, "v": 5_000_000_000}])
    run(engine, "bigint", "b")
    rows, schema = queue()
    assert (rows, schema["v"]) == ({1: 7, 3: 5_000_000_000}, "int64")


def test_a_type_that_does_not_go_together_is_text_beside(duckdb_engine: Any, workspace: Path) -> None:
    land("a", [{"id": 1, "v": "2026-01-01"}])
    run(duckdb_engine, "date", "a")
    land("b", [{"id": 3, "v": True}])
    run(duckdb_engine, "boolean", "b")
    land("c", [{"id": 5, "v": {"a": "ü"}}])
    run(duckdb_engine, "struct<a:string>", "c")
    rows = DeltaTable(QUEUE).to_pyarrow_table().to_pylist()
    assert {(row["id"], row["v"], row["v__text"]) for row in rows} == {
        (1, date(2026, 1, 1), None),
        (3, None, "true"),
        (5, None, '{"a":"ü"}'),
    }


class _Stopped(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("at", ["after_staged_record", "append"])
def test_a_run_that_stops_around_the_growth_is_finished(
    duckdb_engine: Any, workspace: Path, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"materialization": {"target_path": "shop.silver.orders"}}
    land("a", [{"id": 1, "v": 7}, {"id": 2, "v": 8}])
    run(duckdb_engine, "int", **target)
    land("b", [{"id": 3, "v": 5_000_000_000}, {"id": 4, "v": 9}])

    def stop(*named: Any, **_: Any) -> None:
        if at == "append" or named[0] == at:
            raise _Stopped

    place = "lakelogic.tables.delta.tables.DeltaTables.append" if at == "append" else "lakelogic.run.faults.reach"
    with monkeypatch.context() as patched:
        patched.setattr(place, stop)
        with pytest.raises(_Stopped):
            run(duckdb_engine, "bigint", **target)
    run(duckdb_engine, "bigint", **target)
    rows, schema = queue()
    assert (rows, schema["v"]) == ({1: 7, 3: 5_000_000_000}, "int64")
    good = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    assert {row["id"]: row["v"] for row in good} == {2: 8, 4: 9}


def test_a_table_that_grew_since_rows_were_staged_takes_them(
    duckdb_engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.tables.delta.tables import DeltaTables

    land("a", [{"id": 1, "v": 7}])
    run(duckdb_engine, "int")
    land("b", [{"id": 3, "v": 8}])

    def grow(point: str) -> None:
        if point == "after_staged_record":
            import pyarrow as pa

            DeltaTables().widen(QUEUE, {"v": pa.int64()}, {"lakelogic": "wider types for somebody else"})

    with monkeypatch.context() as patched:
        patched.setattr("lakelogic.run.faults.reach", grow)
        run(duckdb_engine, "int")
    rows, schema = queue()
    assert (rows, schema["v"]) == ({1: 7, 3: 8}, "int64")
