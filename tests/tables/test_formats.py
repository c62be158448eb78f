"""Every format keeps rows the same way: each commit once, versions that stay, columns that grow."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.errors import LakeLogicError, TableError
from lakelogic.tables.base import CommitInfo, Layout, StagedFile, TableFormat
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.registry import load

FORMATS = ["delta", "parquet", "iceberg"]
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
APP = "lakelogic:shop:good"


@pytest.fixture(params=FORMATS)
def tables(request: pytest.FixtureRequest) -> TableFormat:
    return load(request.param)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "shop" / "orders")


def stage(root: str, folder: str, *rows: tuple[Any, ...], schema: pa.Schema = SCHEMA) -> StagedFile:
    path = Path(root) / folder / "part-0.parquet"
    path.parent.mkdir(parents=True)
    table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)
    pq.write_table(table, path)
    return StagedFile(str(path), len(rows), path.stat().st_size)


def rows(tables: TableFormat, root: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in tables.preview(root).to_pylist()), key=repr)


def test_there_is_no_table_before_the_first_commit(tables: TableFormat, root: str) -> None:
    assert tables.state(root) is None
    assert tables.find_commit(root, APP, 1) is None
    assert tables.commits(root, APP) == []
    with pytest.raises(TableError):
        tables.preview(root)


def test_the_same_batch_twice_adds_once(tables: TableFormat, root: str) -> None:
    staged = [stage(root, "batch-1", (1, "a"), (2, "b"))]
    done = tables.append(root, staged, SCHEMA, CommitInfo(APP, 1))
    again = tables.append(root, staged, SCHEMA, CommitInfo(APP, 1))
    assert (done.inserted, done.skipped) == (2, False)
    assert (again.version, again.skipped) == (done.version, True)
    assert rows(tables, root) == [(1, "a"), (2, "b")]


def test_another_application_counts_for_itself(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 7))
    tables.append(root, [stage(root, "batch-2", (2, "b"))], SCHEMA, CommitInfo("lakelogic:returns:good", 1))
    state = tables.state(root)
    assert state is not None
    assert dict(state.transactions) == {APP: 7, "lakelogic:returns:good": 1}
    assert rows(tables, root) == [(1, "a"), (2, "b")]


def test_a_batch_without_rows_is_remembered(tables: TableFormat, root: str) -> None:
    tables.append(root, [], SCHEMA, CommitInfo(APP, 1, {"batch_id": "b1"}))
    assert tables.find_commit(root, APP, 1) == {"batch_id": "b1"}
    state = tables.state(root)
    assert state is not None
    assert (state.rows, state.files, state.schema) == (0, (), SCHEMA)
    assert kind_of(root) == tables.name


def test_commits_are_told_newest_first_with_what_they_said(tables: TableFormat, root: str) -> None:
    for n in (1, 2, 3):
        tables.append(root, [stage(root, f"batch-{n}", (n, "x"))], SCHEMA, CommitInfo(APP, n, {"batch_id": f"b{n}"}))
    tables.append(root, [], SCHEMA, CommitInfo("other", 1, {"batch_id": "o1"}))
    assert [said["batch_id"] for said in tables.commits(root, APP)] == ["b3", "b2", "b1"]
    assert tables.find_commit(root, APP, 2) == {"batch_id": "b2"}
    assert tables.find_commit(root, APP, 4) is None
    state = tables.state(root)
    assert state is not None
    assert state.metadata == {"batch_id": "o1"}


def test_an_older_version_is_still_there(tables: TableFormat, root: str) -> None:
    first = tables.append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    tables.overwrite(root, [stage(root, "batch-2", (2, "b"))], SCHEMA, CommitInfo(APP, 2))
    then = tables.state(root, first.version)
    assert then is not None
    assert [Path(path).parent.name for path in then.files] == ["batch-1"]
    assert (then.rows, then.version) == (1, first.version)
    assert rows(tables, root) == [(2, "b")]


def test_overwrite_replaces_all_rows_and_remembers_what_was_seen(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", (1, "a"), (2, "b"))], SCHEMA, CommitInfo(APP, 1))
    done = tables.overwrite(root, [stage(root, "batch-2", (3, "c"))], SCHEMA, CommitInfo(APP, 2))
    assert (done.inserted, done.deleted) == (1, 2)
    assert tables.overwrite(root, [], SCHEMA, CommitInfo(APP, 1)).skipped
    assert rows(tables, root) == [(3, "c")]
    tables.overwrite(root, [], SCHEMA, CommitInfo(APP, 3))
    assert rows(tables, root) == []


def test_overwrite_may_bring_other_columns_and_types(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    other = pa.schema([("id", pa.string()), ("city", pa.string())])
    staged = [stage(root, "batch-2", ("x", "Ghent"), schema=other)]
    tables.overwrite(root, staged, other, CommitInfo(APP, 2), replace_schema=True)
    state = tables.state(root)
    assert state is not None
    assert state.schema == other
    assert rows(tables, root) == [("x", "Ghent")]


def test_a_new_column_is_added_behind_and_is_null_in_older_rows(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    wider = pa.schema([("id", pa.int64()), ("city", pa.string()), ("name", pa.string())])
    tables.append(root, [stage(root, "batch-2", (2, "Ghent", "b"), schema=wider)], wider, CommitInfo(APP, 2))
    assert rows(tables, root) == [(1, "a", None), (2, "b", "Ghent")]


def test_a_changed_type_is_refused_and_nothing_is_written(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    other = pa.schema([("id", pa.string()), ("name", pa.string())])
    with pytest.raises(TableError, match="`id` is stored as bigint, the new rows have string"):
        tables.append(root, [stage(root, "batch-2", ("x", "b"), schema=other)], other, CommitInfo(APP, 2))
    assert rows(tables, root) == [(1, "a")]
    assert tables.find_commit(root, APP, 2) is None


def test_columns_that_differ_only_in_case_are_refused(tables: TableFormat, root: str) -> None:
    twins = pa.schema([("id", pa.int64()), ("ID", pa.int64())])
    with pytest.raises(TableError, match="differ only in case"):
        tables.append(root, [stage(root, "batch-1", (1, 2), schema=twins)], twins, CommitInfo(APP, 1))
    assert tables.state(root) is None


def test_types_grow_without_changing_a_value(tables: TableFormat, root: str) -> None:
    narrow = pa.schema([("id", pa.int32()), ("price", pa.float32()), ("name", pa.string())])
    tables.append(root, [stage(root, "batch-1", (1, 1.5, "a"), schema=narrow)], narrow, CommitInfo(APP, 1))
    tables.widen(root, {"id": pa.int64(), "price": pa.float64()}, {"why": "wider"})
    state = tables.state(root)
    assert state is not None
    assert state.schema == pa.schema([("id", pa.int64()), ("price", pa.float64()), ("name", pa.string())])
    assert dict(state.transactions) == {APP: 1}
    wide = state.schema
    tables.append(root, [stage(root, "batch-2", (2**40, 0.1, "b"), schema=wide)], wide, CommitInfo(APP, 2))
    assert rows(tables, root) == [(1, 1.5, "a"), (2**40, 0.1, "b")]


def test_a_file_that_is_not_what_was_reported_is_refused(tables: TableFormat, root: str) -> None:
    staged = stage(root, "batch-1", (1, "a"))
    with pytest.raises(TableError, match="holds 1 rows, 2 were reported"):
        tables.append(root, [StagedFile(staged.path, 2, staged.size)], SCHEMA, CommitInfo(APP, 1))
    assert tables.state(root) is None


EVERY = pa.schema(
    [
        ("flag", pa.bool_()),
        ("whole", pa.int32()),
        ("long", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("money", pa.decimal128(38, 18)),
        ("day", pa.date32()),
        ("instant", pa.timestamp("us", tz="UTC")),
        ("wall", pa.timestamp("us")),
        ("raw", pa.binary()),
        ("list", pa.list_(pa.string())),
        ("pair", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.date32()))])),
        ("pairs", pa.map_(pa.string(), pa.decimal128(10, 2))),
    ]
)
FULL = {
    "flag": True,
    "whole": -(2**31),
    "long": 2**63 - 1,
    "single": 0.5,
    "double": 0.1,
    "money": Decimal("-12345678901234567890.123456789012345678"),
    "day": date(1, 1, 1),
    "instant": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "wall": datetime.fromisoformat("9999-12-31T23:59:59"),
    "raw": b"\x00\xff",
    "list": ["a", None, ""],
    "pair": {"x": 1, "y": [date(2024, 2, 29)]},
    "pairs": [("k", Decimal("1.10"))],
}


def test_values_of_every_type_come_back_as_they_were(tables: TableFormat, root: str) -> None:
    empty = dict.fromkeys(EVERY.names)
    staged = [stage(root, "batch-1", tuple(FULL.values()), tuple(empty.values()), schema=EVERY)]
    tables.append(root, staged, EVERY, CommitInfo(APP, 1))
    state = tables.state(root)
    assert state is not None
    assert [(f.name, f.type) for f in state.schema] == [(f.name, f.type) for f in EVERY]
    assert tables.preview(root).to_pylist() == [FULL, empty]


def test_racing_appends_all_arrive(tables: TableFormat, root: str) -> None:
    tables.append(root, [], SCHEMA, CommitInfo("setup", 1))
    staged = [stage(root, f"batch-{at}", (at, "x")) for at in range(6)]
    troubles: list[LakeLogicError] = []

    def work(at: int) -> None:
        try:
            load(tables.name).append(root, [staged[at]], SCHEMA, CommitInfo(f"app-{at}", 1))
        except LakeLogicError as trouble:
            troubles.append(trouble)

    workers = [Thread(target=work, args=(at,)) for at in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert troubles == []
    assert [row[0] for row in rows(tables, root)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("other", FORMATS)
def test_a_table_of_another_format_is_left_alone(tables: TableFormat, root: str, other: str) -> None:
    if other == tables.name:
        pytest.skip("the same format")
    load(other).append(root, [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    with pytest.raises(TableError, match=f"a table of the format `{other}`"):
        tables.check(root)
    assert rows(load(other), root) == [(1, "a")]


SALES = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("shop", pa.int32())])
BY_DAY = Layout(partition_by=("day", "shop"))
FIRST, SECOND = date(2026, 1, 1), date(2026, 1, 2)


def sale(root: str, folder: str, number: int, day: date | None, shop: int | None) -> StagedFile:
    staged = stage(root, folder, (number, day, shop), schema=SALES)
    return StagedFile(staged.path, staged.rows, staged.size, {"day": day, "shop": shop})


def test_partitions_are_kept_typed_for_every_file(tables: TableFormat, root: str) -> None:
    files = [sale(root, "batch-1/a", 1, FIRST, 7), sale(root, "batch-1/b", 2, None, None)]
    tables.append(root, files, SALES, CommitInfo(APP, 1), layout=BY_DAY)
    tables.append(root, [sale(root, "batch-2", 3, SECOND, -7)], SALES, CommitInfo(APP, 2))
    state = tables.state(root)
    assert state is not None
    assert state.partition_by == ("day", "shop")
    assert state.parts == {
        files[0].path: {"day": FIRST, "shop": 7},
        files[1].path: {"day": None, "shop": None},
        f"{root}/batch-2/part-0.parquet": {"day": SECOND, "shop": -7},
    }
    assert rows(tables, root) == [(1, FIRST, 7), (2, None, None), (3, SECOND, -7)]


def test_files_of_a_partition_are_replaced_and_others_stay(tables: TableFormat, root: str) -> None:
    files = [sale(root, "batch-1/a", 1, FIRST, 7), sale(root, "batch-1/b", 2, SECOND, 7)]
    done = tables.append(root, files, SALES, CommitInfo(APP, 1), layout=BY_DAY)
    new = [sale(root, "batch-2", 3, FIRST, 7)]
    tables.replace(root, [files[0].path], new, SALES, CommitInfo(APP, 2), based_on=done.version)
    assert rows(tables, root) == [(2, SECOND, 7), (3, FIRST, 7)]
    tables.overwrite(root, [sale(root, "batch-3", 4, None, 1)], SALES, CommitInfo(APP, 3))
    state = tables.state(root)
    assert state is not None
    assert (state.partition_by, rows(tables, root)) == (("day", "shop"), [(4, None, 1)])


def test_types_of_a_partitioned_table_grow_but_not_those_of_its_partitions(tables: TableFormat, root: str) -> None:
    narrow = pa.schema([("id", pa.int32()), ("day", pa.date32()), ("shop", pa.int32())])
    staged = stage(root, "batch-1", (1, FIRST, 7), schema=narrow)
    files = [StagedFile(staged.path, 1, staged.size, {"day": FIRST, "shop": 7})]
    tables.append(root, files, narrow, CommitInfo(APP, 1), layout=BY_DAY)
    tables.widen(root, {"id": pa.float64()}, {"why": "wider"})
    state = tables.state(root)
    assert state is not None
    assert (state.schema.field("id").type, state.partition_by) == (pa.float64(), ("day", "shop"))
    assert rows(tables, root) == [(1.0, FIRST, 7)]
    with pytest.raises(LakeLogicError, match="Types of partition columns cannot grow"):
        tables.widen(root, {"shop": pa.int64()}, {"why": "wider"})


def test_a_table_keeps_the_partitions_it_was_made_with(tables: TableFormat, root: str) -> None:
    tables.append(root, [sale(root, "batch-1", 1, FIRST, 7)], SALES, CommitInfo(APP, 1), layout=BY_DAY)
    tables.check(root, layout=Layout())
    with pytest.raises(TableError, match="partitioned by day, shop, the contract says shop"):
        tables.check(root, layout=Layout(partition_by=("shop",)))
    with pytest.raises(TableError, match="staged by no partition; the table is partitioned by day, shop"):
        tables.append(root, [stage(root, "batch-2", (2, FIRST, 7), schema=SALES)], SALES, CommitInfo(APP, 2))
    assert rows(tables, root) == [(1, FIRST, 7)]


def test_columns_without_a_plain_text_are_no_partitions(tables: TableFormat, root: str) -> None:
    with pytest.raises(LakeLogicError, match="cannot be partitioned by `double`: it is double"):
        tables.append(root, [], EVERY, CommitInfo(APP, 1), layout=Layout(partition_by=("double",)))
    with pytest.raises(LakeLogicError, match="no column `nowhere` to partition by"):
        tables.append(root, [], EVERY, CommitInfo(APP, 1), layout=Layout(partition_by=("nowhere",)))
    assert tables.state(root) is None
