"""A plain Parquet table shows others exactly one version, whatever happens to its writers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.errors import CommitConflict, TableError
from lakelogic.tables.base import CommitInfo, Layout
from lakelogic.tables.parquet import log as parquet_log
from lakelogic.tables.parquet.tables import ParquetTables

SCHEMA = pa.schema([("id", pa.int64())])
APP = "lakelogic:shop:good"
TABLES = ParquetTables()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "orders"


def ids(*values: int) -> pa.Table:
    return pa.table({"id": list(values)}, schema=SCHEMA)


def current(root: Path) -> list[int]:
    """What somebody sees who knows nothing of us."""
    return sorted(row for path in (root / "current").glob("*.parquet") for row in pq.read_table(path)["id"].to_pylist())


def test_others_read_the_newest_version_under_current(root, stage):
    TABLES.append(str(root), [stage(root, ids(1, 2))], SCHEMA, CommitInfo(APP, 1))
    TABLES.append(str(root), [stage(root, ids(3), folder="batch-2/ll_side=good")], SCHEMA, CommitInfo(APP, 2))
    assert current(root) == [1, 2, 3]
    TABLES.overwrite(str(root), [stage(root, ids(4), folder="batch-3/ll_side=good")], SCHEMA, CommitInfo(APP, 3))
    assert current(root) == [4]


def test_nobody_sees_staged_files_before_their_commit(root, stage):
    TABLES.append(str(root), [stage(root, ids(1))], SCHEMA, CommitInfo(APP, 1))
    stage(root, ids(99), folder="batch-2/ll_side=good")
    assert current(root) == [1]


def test_a_listing_made_before_a_commit_never_finds_rows_of_the_version_after_it(root, stage):
    first = stage(root, ids(1))
    TABLES.append(str(root), [first, stage(root, ids(2))], SCHEMA, CommitInfo(APP, 1))
    listed = sorted((root / "current").glob("*.parquet"))
    TABLES.replace(
        str(root),
        [first.path],
        [stage(root, ids(10), folder="batch-2/ll_side=good")],
        SCHEMA,
        CommitInfo(APP, 2),
        based_on=1,
    )
    found = [pq.read_table(path)["id"].to_pylist() if path.exists() else "gone" for path in listed]
    assert found == ["gone", [2]]
    assert current(root) == [2, 10]


def test_a_kept_file_is_linked_and_not_copied(root, stage):
    kept = stage(root, ids(1))
    TABLES.append(str(root), [kept], SCHEMA, CommitInfo(APP, 1))
    TABLES.append(str(root), [stage(root, ids(2), folder="batch-2/ll_side=good")], SCHEMA, CommitInfo(APP, 2))
    inside = [path for path in (root / "current").glob("*.parquet") if path.samefile(kept.path)]
    assert len(inside) == 1


def test_files_of_one_name_in_different_folders_are_all_there(root, stage):
    one = stage(root, ids(1), folder="batch-1/a=1")
    two = Path(root) / "batch-1" / "a=2" / Path(one.path).name
    two.parent.mkdir()
    pq.write_table(ids(2), two)
    second = type(one)(str(two), 1, two.stat().st_size)
    TABLES.append(str(root), [one, second], SCHEMA, CommitInfo(APP, 1))
    assert current(root) == [1, 2]


def test_a_writer_that_died_before_it_moved_the_pointer_is_completed_by_the_next_look(root, stage, monkeypatch):
    TABLES.append(str(root), [stage(root, ids(1))], SCHEMA, CommitInfo(APP, 1))
    with monkeypatch.context() as patched:
        patched.setattr(parquet_log, "follow", lambda _: None)
        TABLES.append(str(root), [stage(root, ids(2), folder="batch-2/ll_side=good")], SCHEMA, CommitInfo(APP, 2))
    assert current(root) == [1]
    assert TABLES.state(str(root)).rows == 2
    assert current(root) == [1, 2]


def test_a_writer_that_died_before_its_commit_leaves_nothing_visible(root, stage, monkeypatch):
    TABLES.append(str(root), [stage(root, ids(1))], SCHEMA, CommitInfo(APP, 1))
    staged = stage(root, ids(2), folder="batch-2/ll_side=good")

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(parquet_log, "_said", die)
        with pytest.raises(KeyboardInterrupt):
            TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 2))
    assert current(root) == [1]
    assert TABLES.state(str(root)).version == 1
    TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 2))
    assert current(root) == [1, 2]


def test_of_two_replacements_on_one_version_only_the_first_holds(root, stage, monkeypatch):
    TABLES.append(str(root), [stage(root, ids(1))], SCHEMA, CommitInfo(APP, 1))
    put = parquet_log.put

    def beaten(place, version):
        monkeypatch.setattr(parquet_log, "put", put)
        TABLES.append(str(root), [stage(root, ids(5), folder="batch-5/ll_side=good")], SCHEMA, CommitInfo("other", 1))
        return put(place, version)

    monkeypatch.setattr(parquet_log, "put", beaten)
    with pytest.raises(CommitConflict):
        TABLES.replace(str(root), [], [], SCHEMA, CommitInfo(APP, 2), based_on=1)
    assert current(root) == [1, 5]
    assert len(list((root / "versions").iterdir())) == 2


def test_loose_files_are_not_taken_for_a_table(root, stage):
    stage(root, ids(1), folder=".")
    with pytest.raises(TableError, match="belong to no table"):
        TABLES.check(str(root))


def test_partitions_are_folders_under_current(root, stage):
    schema = pa.schema([("id", pa.int64()), ("country", pa.string())])
    layout = Layout(partition_by=("country",))
    files = []
    for at, country in enumerate(["NL", None, "a/b"]):
        table = pa.table({"id": [at], "country": pa.array([country], pa.string())}, schema=schema)
        staged = stage(root, table)
        files.append(type(staged)(staged.path, 1, staged.size, {"country": country}))
    TABLES.append(str(root), files, schema, CommitInfo(APP, 1), layout=layout)
    found = sorted(path.parent.name for path in (root / "current").rglob("*.parquet"))
    assert found == ["country=NL", "country=__HIVE_DEFAULT_PARTITION__", "country=a%2Fb"]
    assert sorted(part["country"] or "" for part in TABLES.state(str(root)).parts.values()) == ["", "NL", "a/b"]
    with pytest.raises(TableError, match="staged by no partition; the table is partitioned by country"):
        TABLES.append(str(root), [stage(root, table)], schema, CommitInfo(APP, 2))
