"""Parquet files and Delta tables are read the same by every engine: types, odd names, partitions; what cannot be is told.

Expected values are worked out by hand. Landed types widen only where every value stays what it was.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from lakelogic import DataProcessor
from lakelogic.errors import LakeLogicError


@dataclass(frozen=True)
class Case:
    """Files as Arrow tables, the rows they land as, and the landed types where these matter."""

    name: str
    files: dict[str, pa.Table]
    rows: list[dict[str, Any]]
    types: dict[str, str] = field(default_factory=dict)
    write: dict[str, Any] = field(default_factory=dict)
    model: dict[str, str] = field(default_factory=dict)


def column(type_: pa.DataType, *values: Any) -> pa.Array:
    return pa.array(values, type_)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
NANOS = 1_704_448_800_123_456_789  # 2024-01-05 10:00:00.123456789
NESTED = pa.list_(pa.struct([("at", pa.timestamp("ns", tz="UTC")), ("n", pa.int32())]))
PLAIN = pa.list_(pa.struct([("n", pa.int32()), ("s", pa.string())]))

CASES = [
    Case("whole numbers of two widths, in another order and case, and a column that a file lacks",
         {"1": pa.table({"a": column(pa.int32(), 1, None), "b": ["x", "y"]}),
          "2": pa.table({"B": ["z"], "A": column(pa.int64(), 2**40)}), "3": pa.table({"a": column(pa.int8(), -5)})},
         [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 2**40, "b": "z"}, {"a": -5, "b": None}], {"a": "int64"}),
    Case("floats meet doubles, and small whole numbers too",
         {"1": pa.table({"a": column(pa.float32(), 0.5), "b": column(pa.int32(), 7)}),
          "2": pa.table({"a": column(pa.float64(), 0.1), "b": column(pa.float64(), 0.1)})},
         [{"a": 0.5, "b": 7.0}, {"a": 0.1, "b": 0.1}], {"a": "double", "b": "double"}),
    Case("decimals of two scales, and whole numbers among them",
         {"1": pa.table({"a": column(pa.decimal128(10, 2), Decimal("1.50"))}),
          "2": pa.table({"a": column(pa.decimal128(8, 4), Decimal("-0.0001"))}),
          "3": pa.table({"a": column(pa.int32(), 2**31 - 1)})},
         [{"a": Decimal("1.5000")}, {"a": Decimal("-0.0001")}, {"a": Decimal("2147483647.0000")}],
         {"a": "decimal128(14, 4)"}),
    Case("a column of only NULLs takes the type of the others",
         {"1": pa.table({"a": pa.nulls(1), "b": pa.nulls(1)}), "2": pa.table({"a": [1]})},
         [{"a": None, "b": None}, {"a": 1, "b": None}], {"a": "int64", "b": "string"}),
    Case("INT96 is an instant, far from 1970 too",
         {"1": pa.table({"a": column(pa.timestamp("us"), wall("2024-01-05T10:00:00.123456"), wall("1900-01-01"),
                                     wall("9999-12-31T23:59:59"), None)})},
         [{"a": instant("2024-01-05T10:00:00.123456")}, {"a": instant("1900-01-01")}, {"a": instant("9999-12-31T23:59:59")},
          {"a": None}], {"a": "timestamp[us, tz=UTC]"}, {"use_deprecated_int96_timestamps": True}),
    Case("what is finer than microseconds is cut off",
         {"1": pa.table({"a": column(pa.timestamp("ns", tz="Europe/Berlin"), NANOS), "b": column(pa.timestamp("ns"), NANOS)})},
         [{"a": instant("2024-01-05T10:00:00.123456"), "b": wall("2024-01-05T10:00:00.123456")}],
         {"a": "timestamp[us, tz=UTC]", "b": "timestamp[us]"}, {"version": "2.6"}),
    Case("milliseconds, and microseconds in another file",
         {"1": pa.table({"a": column(pa.timestamp("ms", tz="UTC"), 1), "b": column(pa.timestamp("ms"), 2)}),
          "2": pa.table({"a": column(pa.timestamp("us", tz="UTC"), 3), "b": column(pa.timestamp("us"), 4)})},
         [{"a": instant("1970-01-01T00:00:00.001"), "b": wall("1970-01-01T00:00:00.002")},
          {"a": instant("1970-01-01T00:00:00.000003"), "b": wall("1970-01-01T00:00:00.000004")}]),
    Case("dictionaries, large text, dates",
         {"1": pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode(), "b": column(pa.large_string(), "p", "q", ""),
                         "c": column(pa.date32(), date(1, 1, 1), date(9999, 12, 31), None)})},
         [{"a": "x", "b": "p", "c": date(1, 1, 1)}, {"a": None, "b": "q", "c": date(9999, 12, 31)},
          {"a": "x", "b": "", "c": None}], {"a": "string", "b": "string", "c": "date32[day]"}),
    Case("unsigned and narrow numbers widen to what holds them",
         {"1": pa.table({"a": column(pa.uint8(), 255), "b": column(pa.uint16(), 65535), "c": column(pa.uint32(), 2**32 - 1),
                         "d": column(pa.uint64(), 2**64 - 1), "e": column(pa.int8(), -128)})},
         [{"a": 255, "b": 65535, "c": 2**32 - 1, "d": Decimal(2**64 - 1), "e": -128}],
         {"a": "int16", "b": "int32", "c": "int64", "d": "decimal128(20, 0)", "e": "int8"}),
    Case("what contracts have no type for lands as text",
         {"1": pa.table({"a": column(pa.time64("us"), time(10, 0, 0, 500), time(23, 59)),
                         "b": column(pa.time32("ms"), time(1, 2, 3), None),
                         "c": column(pa.decimal256(50, 1), Decimal("1e40"), Decimal("0.5")),
                         "d": pa.array([ID.bytes, None], pa.uuid())})},
         [{"a": "10:00:00.000500", "b": "01:02:03", "c": "1" + "0" * 40 + ".0", "d": str(ID)},
          {"a": "23:59:00", "b": None, "c": "0.5", "d": None}]),
    Case("bytes of one length", {"1": pa.table({"a": column(pa.binary(2), b"\x00\xff"), "b": column(pa.binary(), b"")})},
         [{"a": b"\x00\xff", "b": b""}], {"a": "binary"}),
    Case("NaN, infinities and negative zero", {"1": pa.table({"a": ["n", "i", "z"], "b": [float("nan"), float("-inf"), -0.0]})},
         [{"a": "n", "b": "NaN"}, {"a": "i", "b": float("-inf")}, {"a": "z", "b": -0.0}]),
    Case("nested values", {"1": pa.table({"a": pa.array([[{"at": NANOS, "n": 1}], [], None], NESTED),
                                          "b": pa.array([{"x": {"y": [1.5]}}, None, {"x": None}])})},
         [{"a": [{"at": instant("2024-01-05T10:00:00.123456"), "n": 1}], "b": {"x": {"y": [1.5]}}},
          {"a": [], "b": None}, {"a": None, "b": {"x": None}}], write={"version": "2.6"}),
    Case("nested values that every engine reads itself",
         {"1": pa.table({"a": pa.array([[{"n": 1, "s": "x"}, None], [], None], PLAIN),
                         "b": pa.array([{"x": {"y": [1.5, None]}}, None, {"x": None}]),
                         "c": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64()))})},
         [{"a": [{"n": 1, "s": "x"}, None], "b": {"x": {"y": [1.5, None]}}, "c": [("k", 1)]},
          {"a": [], "b": None, "c": []}, {"a": None, "b": {"x": None}, "c": None}]),
    Case("names with dots, quotes, blanks and words of SQL",
         {"1": pa.table({"a.b": [1], "a`b": [2], 'a"b': [3], "a b": [4], "ä": [5], "select": [6], "1": [7], "a": [8]}),
          "2": pa.table({"A.B": [9]})},
         [{"a.b": 1, "a`b": 2, 'a"b': 3, "a b": 4, "ä": 5, "select": 6, "1": 7, "a": 8},
          {"a.b": 9, "a`b": None, 'a"b': None, "a b": None, "ä": None, "select": None, "1": None, "a": None}]),
    Case("a file without rows beside others", {"1": pa.table({"a": column(pa.int64())}), "2": pa.table({"a": [1]})}, [{"a": 1}]),
    Case("folders are columns, also of files that need our own reader",
         {"day=2024-01-05/c=a%2Fb/1": pa.table({"a": [1]}), "day=2024-01-06/c=x y+z/2": pa.table({"a": [2], "C": ["in the file"]}),
          "day=2024-01-06/c=__HIVE_DEFAULT_PARTITION__/3": pa.table({"a": column(pa.uint8(), 3)})},
         [{"a": 1, "day": date(2024, 1, 5), "c": "a/b"}, {"a": 2, "day": date(2024, 1, 6), "c": "x y+z"},
          {"a": 3, "day": date(2024, 1, 6), "c": None}], model={"a": "bigint", "day": "date", "c": "string"}),
]  # fmt: skip


def shown(value: Any) -> Any:
    """A value that can be compared: NaN equals itself, maps are dicts, instants are in UTC."""
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return value


def run(engine: Any, source: dict[str, Any], model: dict[str, str] | None = None, **more: Any) -> Any:
    fields = [{"name": name, "type": type_} for name, type_ in (model or {}).items()]
    contract = {"version": "1.0.0", "dataset": "typed", "source": source, "lineage": {"enabled": False}, **more}
    if fields:
        contract["model"] = {"fields": fields}
    return DataProcessor(contract, engine).run(materialize=False)


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert sorted([repr(shown(row)) for row in found]) == sorted([repr(shown(row)) for row in expected])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parquet_files_give_the_same_rows_and_types(engine: Any, workspace: Path, case: Case) -> None:
    root = workspace / "landing"
    for name, table in case.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, root / f"{name}.parquet", **case.write)
    source = {"path": str(root), "format": "parquet", "pattern": "**/*.parquet"}
    result = run(engine, source, case.model)
    found = engine.collect(result.good)
    same(found.to_pylist(), case.rows)
    assert {name: str(found.schema.field(name).type) for name in case.types} == case.types
    assert result.counts.source == result.counts.good == len(case.rows)


REFUSED: list[tuple[str, dict[str, pa.Table], str]] = [
    ("two columns alike but for case", {"1": pa.table({"id": [1], "ID": [2]})}, "1.parquet has columns `id` and `ID`"),
    ("a type that no other holds", {"1": pa.table({"a": [1]}), "2": pa.table({"A": [0.5]})},
     "Column `a` is bigint in {root}/1.parquet and double in {root}/2.parquet"),
    ("text and number", {"1": pa.table({"a": ["1"]}), "2": pa.table({"a": [1]})},
     "Column `a` is string in {root}/1.parquet and bigint in {root}/2.parquet"),
    ("a column without a name", {"1": pa.table({"": [1]})}, "The landed column ``"),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "files", "said"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_parquet_that_cannot_be_read_is_told(
    engine: Any, workspace: Path, _name: str, files: dict[str, pa.Table], said: str
) -> None:
    for name, table in files.items():
        pq.write_table(table, workspace / f"{name}.parquet")
    with pytest.raises(LakeLogicError) as raised:
        run(engine, {"path": str(workspace), "format": "parquet"})
    assert said.replace("{root}", str(workspace)) in str(raised.value)


def partitioned(place: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "day": [date(2024, 1, 5), date(2024, 1, 5), None, date(1, 1, 1)],
            "city": ["São Paulo", "a/b=c", "", "x y"],
            "n": pa.array([1, 2, 3, None], pa.int32()),
        }
    )
    write_deltalake(str(place), table, partition_by=["day", "city", "n"])


PARTED = [
    {"id": 1, "day": date(2024, 1, 5), "city": "São Paulo", "n": 1},
    {"id": 2, "day": date(2024, 1, 5), "city": "a/b=c", "n": 2},
    {"id": 4, "day": date(1, 1, 1), "city": "x y", "n": None},
]


def test_the_partitions_of_a_delta_table_are_columns(engine: Any, workspace: Path) -> None:
    partitioned(workspace / "parted")
    found = engine.collect(run(engine, {"path": str(workspace / "parted"), "format": "delta"}).good)
    # Delta writes an empty text and no value alike into the names of partitions.
    same(found.to_pylist(), [*PARTED, {"id": 3, "day": None, "city": None, "n": 3}])
    types = {"id": "int64", "day": "date32[day]", "city": "string", "n": "int32"}
    assert {name: str(found.schema.field(name).type) for name in types} == types


def test_a_partitioned_delta_table_can_be_a_link(engine: Any, workspace: Path) -> None:
    partitioned(workspace / "parted")
    (workspace / "rows.csv").write_text("k\n2\n9\n")
    result = run(
        engine,
        {"path": str(workspace / "rows.csv")},
        {"k": "bigint"},
        links=[{"name": "parts", "path": str(workspace / "parted"), "format": "delta"}],
        transformations=[{"join": {"reference": "parts", "on": "k", "key": "id", "fields": ["city", "day"]}}],
    )
    same(
        engine.collect(result.good).to_pylist(),
        [{"k": 2, "city": "a/b=c", "day": date(2024, 1, 5)}, {"k": 9, "city": None, "day": None}],
    )


def mapped(log: Path) -> None:
    """A table whose columns have other names in its files."""
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            action["metaData"]["configuration"] = {
                "delta.columnMapping.mode": "name",
                "delta.columnMapping.maxColumnId": "1",
            }
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][0]["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
            action["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("\n".join(json.dumps(action) for action in actions))


def deleting(log: Path) -> None:
    """A table that may keep deleted rows in its files."""
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.enableDeletionVectors": "true"}
    log.write_text("\n".join(json.dumps(action) for action in actions))


def unheard_of(log: Path) -> None:
    """A table with a feature that nobody knows."""
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            features = {"readerFeatures": ["somethingNew"], "writerFeatures": ["somethingNew"]}
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    log.write_text("\n".join(json.dumps(action) for action in actions))


@pytest.mark.parametrize(
    ("change", "feature"), [(mapped, "columnMapping"), (deleting, "deletionVectors"), (unheard_of, "somethingNew")]
)
def test_delta_features_that_we_would_misread_are_refused_by_name_or_left_to_spark_s_own_delta(
    engine: Any, workspace: Path, change: Callable[[Path], None], feature: str
) -> None:
    place = workspace / "table"
    write_deltalake(str(place), pa.table({"id": [1]}))
    change(next(place.glob("_delta_log/*.json")))
    if engine.name == "spark" and feature != "somethingNew":
        found = engine.collect(run(engine, {"path": str(place), "format": "delta"}).good)
        # The file has the column under the name `id`; a mapped one is looked for under its other name.
        same(found.select(["id"]).to_pylist(), [{"id": 1 if feature == "deletionVectors" else None}])
        return
    with pytest.raises(LakeLogicError, match=feature):
        run(engine, {"path": str(place), "format": "delta"})
