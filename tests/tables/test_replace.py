"""Files go out and come in by one commit, on top of the version that was looked at, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.errors import CommitConflict, Overtaken
from lakelogic.tables.base import CommitInfo, StagedFile, TableFormat
from lakelogic.tables.registry import load

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
APP = "lakelogic:shop:good"


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def tables(request: pytest.FixtureRequest) -> TableFormat:
    return load(request.param)


def stage(root: Path, folder: str, *rows: tuple[int, str]) -> StagedFile:
    path = root / folder / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA), path
    )
    return StagedFile(str(path), len(rows), path.stat().st_size)


def rows(tables: TableFormat, root: Path) -> list[Any]:
    return sorted(tuple(row.values()) for row in tables.preview(str(root)).to_pylist())


def file_of(tables: TableFormat, root: Path, folder: str) -> str:
    state = tables.state(str(root))
    assert state is not None
    return next(path for path in state.files if f"/{folder}/" in path)


def test_rows_of_the_removed_file_are_gone_and_all_others_stay(tables: TableFormat, tmp_path: Path) -> None:
    root = tmp_path / "orders"
    tables.append(str(root), [stage(root, "batch-1", (1, "a"), (2, "b"))], SCHEMA, CommitInfo(APP, 1))
    second = tables.append(str(root), [stage(root, "batch-2", (3, "c"))], SCHEMA, CommitInfo(APP, 2))
    out = file_of(tables, root, "batch-1")
    staged = stage(root, "batch-3", (1, "A"), (4, "d"))
    done = tables.replace(str(root), [out], [staged], SCHEMA, CommitInfo(APP, 3), based_on=second.version)
    assert (done.inserted, done.deleted) == (2, 2)
    assert rows(tables, root) == [(1, "A"), (3, "c"), (4, "d")]


def test_the_same_commit_twice_changes_nothing_the_second_time(tables: TableFormat, tmp_path: Path) -> None:
    root = tmp_path / "orders"
    first = tables.append(str(root), [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    out = file_of(tables, root, "batch-1")
    staged = [stage(root, "batch-2", (1, "A"))]
    done = tables.replace(str(root), [out], staged, SCHEMA, CommitInfo(APP, 2), based_on=first.version)
    again = tables.replace(str(root), [out], staged, SCHEMA, CommitInfo(APP, 2), based_on=first.version)
    assert again.skipped
    assert again.version == done.version
    assert rows(tables, root) == [(1, "A")]


def test_a_table_that_moved_on_is_not_changed(tables: TableFormat, tmp_path: Path) -> None:
    root = tmp_path / "orders"
    first = tables.append(str(root), [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1))
    out = file_of(tables, root, "batch-1")
    tables.append(str(root), [stage(root, "batch-2", (2, "b"))], SCHEMA, CommitInfo("somebody else", 1))
    with pytest.raises(CommitConflict):
        tables.replace(str(root), [out], [], SCHEMA, CommitInfo(APP, 2), based_on=first.version)
    assert rows(tables, root) == [(1, "a"), (2, "b")]


def test_a_table_that_is_not_there_yet_is_made(tables: TableFormat, tmp_path: Path) -> None:
    root = tmp_path / "orders"
    staged = [stage(root, "batch-1", (1, "a"))]
    tables.replace(str(root), [], staged, SCHEMA, CommitInfo(APP, 1), based_on=None)
    with pytest.raises(CommitConflict):
        tables.replace(str(root), [], [], SCHEMA, CommitInfo(APP, 2), based_on=None)
    assert rows(tables, root) == [(1, "a")]


def test_a_batch_that_was_begun_before_another_was_committed_is_refused(tables: TableFormat, tmp_path: Path) -> None:
    root = tmp_path / "orders"
    tables.append(str(root), [stage(root, "batch-1", (1, "a"))], SCHEMA, CommitInfo(APP, 1, after=0))
    with pytest.raises(Overtaken):
        tables.append(str(root), [stage(root, "batch-2", (1, "a"), (2, "b"))], SCHEMA, CommitInfo(APP, 2, after=0))
    tables.append(str(root), [stage(root, "batch-3", (2, "b"))], SCHEMA, CommitInfo(APP, 3, after=1))
    assert rows(tables, root) == [(1, "a"), (2, "b")]
