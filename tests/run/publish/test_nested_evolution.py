"""Structs gain fields in tables that are there: in the model or in what lands, at any depth, on every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.errors import DataError
from lakelogic.run.surroundings import Surroundings

BEFORE = "struct<a:int>"
AFTER = "struct<b:string,a:int,deep:struct<x:int>>"
STRATEGIES = ("append", "merge", "scd2", "overwrite")


@pytest.fixture(params=["delta", "iceberg", "parquet"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def land(name: str, *rows: dict[str, Any]) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(engine: Any, kind: str, form: str = "delta", strategy: str = "append", policy: str = "append") -> Any:
    settings: dict[str, Any] = {"strategy": strategy, "target_path": "shop.silver.things", "format": form}
    if strategy in ("merge", "scd2"):
        settings["primary_key"] = ["id"]
    if strategy == "scd2":
        settings["scd2"] = {"timestamp_field": "at", "track_columns": ["s"]}
    if strategy == "overwrite":
        settings["overwrite_scope"] = "table"
    fields = [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}, {"name": "s", "type": kind}]
    document = {
        "source": {"path": "in/*.jsonl", "format": "json", "load_mode": "incremental"},
        "model": {"fields": fields},
        "schema_policy": {"evolution": policy},
        "materialization": settings,
        "lineage": {"enabled": False},
    }
    return DataProcessor(document, engine).run()


def rows(table: str = "shop.silver.things") -> list[tuple[int, Any]]:
    return sorted(((row["id"], row["s"]) for row in preview(Surroundings.here(), table, 100).rows), key=repr)


OLD = [{"id": 1, "at": "2026-01-01", "s": {"a": 1}}, {"id": 2, "at": "2026-01-01", "s": None}]
NEW = [
    {"id": 1, "at": "2026-01-02", "s": {"a": 7, "b": "x", "deep": {"x": 5}}},
    {"id": 3, "at": "2026-01-02", "s": {"b": "y"}},
]
# The fields of the table keep their places; what is new comes behind them.
FIRST, SECOND, THIRD, GROWN = (
    (1, {"a": 1, "b": None, "deep": None}),
    (1, {"a": 7, "b": "x", "deep": {"x": 5}}),
    (3, {"a": None, "b": "y", "deep": None}),
    {
        "append": [0, 1, 2, 3],
        "merge": [1, 2, 3],
        "scd2": [0, 1, 2, 3],
        "overwrite": [1, 3],
    },
)
EXPECTED = [FIRST, SECOND, (2, None), THIRD]


CASES = [(form, strategy, "append") for form in ("delta", "iceberg", "parquet") for strategy in STRATEGIES]
CASES += [("delta", strategy, policy) for strategy in ("append", "overwrite") for policy in ("merge", "compatible")]
CASES += [("delta", "append", "allow")]


@pytest.mark.parametrize(("form", "strategy", "policy"), CASES)
def test_a_struct_of_the_model_gains_fields(
    duckdb_engine: Any, workspace: Path, form: str, strategy: str, policy: str
) -> None:
    land("a", *OLD)
    run(duckdb_engine, BEFORE, form, strategy, policy)
    land("b", *NEW)
    result = run(duckdb_engine, AFTER, form, strategy, policy)
    assert rows() == sorted((EXPECTED[at] for at in GROWN[strategy]), key=repr)
    assert result.report["schema_drift"]["table"]["changed"]["s"] == {
        "old": "struct<a:int>",
        "new": "struct<a:int,b:string,deep:struct<x:int>>",
    }
    # A contract that says less again changes nothing: what it does not say is NULL in new rows.
    land("c", {"id": 4, "at": "2026-01-03", "s": {"a": 9}})
    run(duckdb_engine, BEFORE, form, strategy, policy)
    assert (4, {"a": 9, "b": None, "deep": None}) in rows()


@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_on_every_engine(engine: Any, workspace: Path, strategy: str) -> None:
    land("a", *OLD)
    run(engine, BEFORE, "delta", strategy)
    land("b", *NEW)
    run(engine, AFTER, "delta", strategy)
    assert rows() == sorted((EXPECTED[at] for at in GROWN[strategy]), key=repr)


@pytest.mark.parametrize(
    ("before", "after", "old", "new", "kept"),
    [
        (
            "array<struct<a:int>>", "array<struct<a:int,b:string>>", [{"a": 1}, None], [{"a": 2, "b": "x"}],
            ([{"a": 1, "b": None}, None], [{"a": 2, "b": "x"}]),
        ),
        (
            "map<string,struct<a:int>>", "map<string,struct<a:int,b:string>>", {"k": {"a": 1}}, {"k": {"a": 2, "b": "x"}},
            ({"k": {"a": 1, "b": None}}, {"k": {"a": 2, "b": "x"}}),
        ),
        (
            "struct<l:array<struct<a:int>>>", "struct<l:array<struct<a:int,b:int>>,c:int>", {"l": [{"a": 1}]},
            {"l": [{"a": 2, "b": 3}], "c": 4}, ({"l": [{"a": 1, "b": None}], "c": None}, {"l": [{"a": 2, "b": 3}], "c": 4}),
        ),
    ],
)  # fmt: skip
def test_inside_arrays_and_maps(
    engine: Any, workspace: Path, before: str, after: str, old: Any, new: Any, kept: tuple[Any, Any]
) -> None:
    form = {"duckdb": "iceberg", "polars": "parquet"}.get(engine.name, "delta")
    land("a", {"id": 1, "at": "2026-01-01", "s": old})
    run(engine, before, form)
    land("b", {"id": 2, "at": "2026-01-01", "s": new})
    run(engine, after, form)
    found = [(number, dict(value) if "map" in before else value) for number, value in rows()]
    assert found == [(1, kept[0]), (2, kept[1])]


def test_strict_refuses_by_name(duckdb_engine: Any, workspace: Path, form: str) -> None:
    land("a", *OLD)
    run(duckdb_engine, BEFORE, form, policy="strict")
    land("b", *NEW)
    with pytest.raises(DataError, match=r"`s\.b` \(string\) is new; `s\.deep` \(struct<x:int>\) is new"):
        run(duckdb_engine, "struct<a:int,b:string,deep:struct<x:int>>", form, policy="strict")
    with pytest.raises(DataError, match=r"`s\.a` \(int\) is gone|`s` is struct<a:int> there"):
        run(duckdb_engine, "struct<b:string>", form, policy="strict")
    assert rows() == [(1, {"a": 1}), (2, None)]


def test_a_wider_field_of_a_struct_is_a_wider_type(duckdb_engine: Any, workspace: Path, form: str) -> None:
    land("a", *OLD)
    run(duckdb_engine, BEFORE, form)
    land("b", {"id": 5, "at": "2026-01-01", "s": {"a": 5_000_000_000, "b": 1}})
    with pytest.raises(DataError, match="`s` is struct<a:int> there and struct<a:bigint,b:int> in the contract"):
        run(duckdb_engine, "struct<a:bigint,b:int>", form, policy="append")
    run(duckdb_engine, "struct<a:bigint,b:int>", form, policy="compatible")
    assert rows() == [(1, {"a": 1, "b": None}), (2, None), (5, {"a": 5_000_000_000, "b": 1})]


def typed(name: str, number: int, value: Any, kind: pa.DataType) -> None:
    Path("in").mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([number]), "s": pa.array([value], kind)}), f"in/{name}.parquet")


def landed(engine: Any, policy: str = "append") -> Any:
    document = {
        "source": {"path": "in/*.parquet", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "bigint"}]},
        "schema_policy": {"evolution": policy, "unknown_fields": "allow"},
        "materialization": {"target_path": "shop.silver.things"},
        "lineage": {"enabled": False},
    }
    return DataProcessor(document, engine).run()


ONE = pa.struct([("a", pa.int64())])
TWO = pa.struct([("b", pa.string()), ("a", pa.int64())])


def test_a_struct_that_lands_with_more_fields_grows_in_the_table(engine: Any, workspace: Path) -> None:
    typed("1", 1, {"a": 1}, ONE)
    landed(engine)
    typed("2", 2, {"b": "x", "a": 2}, TWO)
    landed(engine)
    typed("3", 3, {"a": 3}, ONE)
    landed(engine)
    assert rows() == [(1, {"a": 1, "b": None}), (2, {"a": 2, "b": "x"}), (3, {"a": 3, "b": None})]


def test_files_of_one_batch_may_have_different_fields(engine: Any, workspace: Path) -> None:
    typed("1", 1, {"a": 1}, ONE)
    typed("2", 2, {"b": "x", "a": 2}, TWO)
    landed(engine)
    assert [(number, dict(value)) for number, value in rows()] == [(1, {"a": 1, "b": None}), (2, {"a": 2, "b": "x"})]


def test_other_places_grow_along(duckdb_engine: Any, workspace: Path) -> None:
    def both(kind: str) -> Any:
        others = [{"target_path": "exports/things", "format": "iceberg"}]
        document = {
            "source": {"path": "in/*.jsonl", "format": "json", "load_mode": "incremental"},
            "model": {"fields": [{"name": "id", "type": "int"}, {"name": "s", "type": kind}]},
            "schema_policy": {"evolution": "compatible"},
            "materialization": {"target_path": "shop.silver.things", "secondary_targets": others},
            "lineage": {"enabled": False},
        }
        return DataProcessor(document, duckdb_engine).run()

    land("a", {"id": 1, "s": {"a": 1}})
    both("struct<a:int>")
    land("b", {"id": 2, "s": {"a": 5_000_000_000, "b": 2}})
    both("struct<a:bigint,b:int>")
    from lakelogic.tables.registry import load

    expected = [{"id": 1, "s": {"a": 1, "b": None}}, {"id": 2, "s": {"a": 5_000_000_000, "b": 2}}]
    assert rows() == [(row["id"], row["s"]) for row in expected]
    found = load("iceberg").preview(str(Path("exports/things").absolute()), 10).to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == expected
