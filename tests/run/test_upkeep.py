"""Upkeep changes files and never rows: put together, swept, dropped."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic import clock
from lakelogic.errors import CommitConflict, TableError
from lakelogic.run import upkeep
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.base import CommitInfo, Layout, StagedFile, TableFormat
from lakelogic.tables.registry import load

SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string())])
APP = "lakelogic:shop:good"
NOW = datetime.now(UTC)


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def tables(request: pytest.FixtureRequest) -> TableFormat:
    return load(request.param)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "shop" / "orders")


def stage(root: str, folder: str, number: int, shop: str | None = None, *, parted: bool = False) -> StagedFile:
    path = Path(root) / folder / "ll_side=good" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [number], "shop": [shop]}, schema=SCHEMA), path)
    return StagedFile(str(path), 1, path.stat().st_size, {"shop": shop} if parted else {})


def ids(tables: TableFormat, root: str) -> list[Any]:
    return sorted(tables.preview(root, 100)["id"].to_pylist())


def files(root: str) -> set[str]:
    return {
        str(path.relative_to(root))
        for path in Path(root).rglob("*.parquet")
        if not path.relative_to(root).parts[0].startswith(("_", "versions", "current"))
    }


def test_small_files_become_one_and_the_rows_stay(tables: TableFormat, root: str) -> None:
    for n in range(1, 4):
        tables.append(root, [stage(root, f"batch-{n}", n)], SCHEMA, CommitInfo(APP, n))
    assert upkeep.compact(tables, root, dry_run=True) == upkeep.Compacted(3, 1)
    done = upkeep.compact(tables, root)
    state = tables.state(root)
    assert state is not None
    assert (done.before, done.after, done.rows, len(state.files)) == (3, 1, 3, 1)
    assert ids(tables, root) == [1, 2, 3]
    assert state.transactions[APP] == 3
    assert upkeep.compact(tables, root) == upkeep.Compacted()


def test_files_of_different_partitions_stay_apart(tables: TableFormat, root: str) -> None:
    layout = Layout(partition_by=("shop",))
    for n, shop in enumerate(["a", "b", "a", None], start=1):
        staged = [stage(root, f"batch-{n}", n, shop, parted=True)]
        tables.append(root, staged, SCHEMA, CommitInfo(APP, n), layout=layout)
    upkeep.compact(tables, root)
    state = tables.state(root)
    assert state is not None
    assert sorted(str(part["shop"]) for part in state.parts.values()) == ["None", "a", "b"]
    assert ids(tables, root) == [1, 2, 3, 4]


def test_who_follows_the_changes_of_a_delta_table_sees_none_by_compaction(root: str) -> None:
    tables = load("delta")
    for n in (1, 2):
        tables.append(root, [stage(root, f"batch-{n}", n)], SCHEMA, CommitInfo(APP, n))
    version = upkeep.compact(tables, root).version
    log = (Path(root) / "_delta_log" / f"{version:020d}.json").read_text()
    assert '"dataChange":false' in log
    assert '"dataChange":true' not in log


def test_a_commit_in_between_is_compacted_with_the_others(
    tables: TableFormat, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (1, 2):
        tables.append(root, [stage(root, f"batch-{n}", n)], SCHEMA, CommitInfo(APP, n))
    replace = type(tables).replace

    def beaten(self: Any, *given: Any, **settings: Any) -> Any:
        monkeypatch.setattr(type(tables), "replace", replace)
        tables.append(root, [stage(root, "batch-3", 3)], SCHEMA, CommitInfo(APP, 3))
        return replace(self, *given, **settings)

    monkeypatch.setattr(type(tables), "replace", beaten)
    assert upkeep.compact(tables, root).before == 3
    assert ids(tables, root) == [1, 2, 3]


def age(root: str, folder: str, days: int) -> None:
    """Make a folder's files look as if they had been written days ago."""
    then = (NOW - timedelta(days=days)).timestamp()
    for path in (Path(root) / folder).rglob("*.parquet"):
        os.utime(path, (then, then))


def test_files_that_were_staged_and_never_committed_are_swept_after_the_retention(
    tables: TableFormat, root: str
) -> None:
    tables.append(root, [stage(root, "batch-1", 1)], SCHEMA, CommitInfo(APP, 1))
    for folder, days in (("batch-old", 9), ("batch-young", 1)):
        stage(root, folder, 99)
        age(root, folder, days)
    age(root, "batch-1", 9)
    assert upkeep.vacuum(tables, root, timedelta(days=7), dry_run=True).files == 1
    assert upkeep.vacuum(tables, root, timedelta(days=7)).files == 1
    assert files(root) == {"batch-1/ll_side=good/part-0.parquet", "batch-young/ll_side=good/part-0.parquet"}
    assert not (Path(root) / "batch-old").exists()
    assert ids(tables, root) == [1]


def test_files_of_versions_within_the_retention_stay(tables: TableFormat, root: str) -> None:
    first = tables.append(root, [stage(root, "batch-1", 1)], SCHEMA, CommitInfo(APP, 1))
    tables.overwrite(root, [stage(root, "batch-2", 2)], SCHEMA, CommitInfo(APP, 2))
    age(root, "batch-1", 9)
    upkeep.vacuum(tables, root, timedelta(days=7))
    then = tables.state(root, first.version)
    assert then is not None
    assert all(Path(path).is_file() for path in then.files)


def test_files_that_only_older_versions_had_are_deleted_and_commits_stay_known(
    tables: TableFormat, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(root, "batch-1", 1)
    tables.append(root, [staged], SCHEMA, CommitInfo(APP, 1))
    tables.overwrite(root, [stage(root, "batch-2", 2)], SCHEMA, CommitInfo(APP, 2))
    if tables.name != "delta":  # delta-rs has a clock of its own
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=30))
    assert upkeep.vacuum(tables, root, timedelta(days=0 if tables.name == "delta" else 7)).files == 1
    assert files(root) == {"batch-2/ll_side=good/part-0.parquet"}
    assert ids(tables, root) == [2]
    assert tables.append(root, [staged], SCHEMA, CommitInfo(APP, 1)).skipped


def test_a_dropped_table_is_gone_and_can_be_made_again(tables: TableFormat, root: str) -> None:
    tables.append(root, [stage(root, "batch-1", 1)], SCHEMA, CommitInfo(APP, 1))
    tables.drop(root)
    assert tables.state(root) is None
    assert not Path(root).exists()
    tables.drop(root)
    tables.append(root, [stage(root, "batch-1", 2)], SCHEMA, CommitInfo(APP, 1))
    assert ids(tables, root) == [2]


def test_compaction_gives_up_when_it_always_loses(
    tables: TableFormat, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (1, 2):
        tables.append(root, [stage(root, f"batch-{n}", n)], SCHEMA, CommitInfo(APP, n))

    def lose(*_: Any, **__: Any) -> None:
        raise CommitConflict("Somebody else committed first.")

    monkeypatch.setattr(type(tables), "replace", lose)
    with pytest.raises(CommitConflict):
        upkeep.compact(tables, root)
    assert ids(tables, root) == [1, 2]


def test_what_is_no_table_is_not_vacuumed(root: str) -> None:
    for name in ("delta", "iceberg"):
        with pytest.raises(TableError, match="There is no"):
            load(name).vacuum(root, NOW)


@pytest.mark.parametrize("form", ["delta", "parquet", "iceberg"])
def test_no_retention_at_all_deletes_what_is_old_and_spares_what_a_waiting_batch_is_made_of(
    workspace: Path, duckdb_engine: Any, form: str
) -> None:
    from lakelogic.actions.operate.maintain import MaintainRequest, maintain
    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.run.processor import DataProcessor

    Path("o.csv").write_text("id\n1\n")
    contract = (
        "dataset: orders\nsource: {path: o.csv}\nmodel: {fields: [{name: id, type: int}]}\n"
        "quality: {dataset_rules: [{name: few, sql: COUNT(*) < 2}]}\n"
        f"materialization: {{target_path: a.b.orders, strategy: overwrite, format: {form}}}\n"
    )
    Path("o.yaml").write_text(contract)
    DataProcessor("o.yaml", engine=duckdb_engine).run()
    left = Path(LocalCatalog().resolve("a.b.orders"), "batch-of-nobody")
    left.mkdir()
    (left / "x.parquet").write_bytes(b"x")
    Path("o.csv").write_text("id\n1\n2\n")
    waits = DataProcessor("o.yaml", engine=duckdb_engine).run()
    assert waits.status == "gated"
    (done,) = maintain(Surroundings.here(), MaintainRequest(("o.yaml",), retention=timedelta(0), compact=False))
    assert done.files_deleted == 1
    assert not left.exists()
    from lakelogic.actions.operate.approve import ApproveRequest, approve

    approve(Surroundings.here(), ApproveRequest(waits.run_id, why="two are fine", contract="o.yaml", engine="duckdb"))
    assert load(form).state(LocalCatalog().resolve("a.b.orders")).rows == 2  # type: ignore[union-attr]
