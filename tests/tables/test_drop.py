"""The end of a table: what its own log, our staging and our markers name goes, and nothing else."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.storage import fresh
from lakelogic.tables import dropping
from lakelogic.tables.base import CommitInfo, Layout, StagedFile
from lakelogic.tables.registry import load

SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string())])
PARTED = Layout(partition_by=("shop",))


@pytest.fixture(params=["delta", "iceberg", "parquet"])
def tables(request: pytest.FixtureRequest, workspace: Path) -> Any:
    return load(request.param)


def stage(root: Path, n: int) -> StagedFile:
    path = root / f"batch-{n:016x}-run-20260101T000000-abcdef" / "ll_side=good" / "part-00000.parquet"
    fresh.write_table(pa.table({"id": [n], "shop": ["a"]}, SCHEMA), path)
    return StagedFile(str(path), 1, path.stat().st_size)


def made(tables: Any, root: Path, versions: int = 3) -> None:
    for n in range(1, versions):
        tables.append(str(root), [stage(root, n)], SCHEMA, CommitInfo("lakelogic:x:good", n))
    tables.overwrite(str(root), [stage(root, versions)], SCHEMA, CommitInfo("lakelogic:x:good", versions))


def everything(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and ".iceberg" not in path.parts and path.name != "ledger.db"
    }


def test_a_table_in_the_working_folder_takes_nothing_else_along(
    tables: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workspace / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    theirs = ["orders.yaml", "landing/1.csv", "batch-2024/1.csv", "copy-of-it/x.parquet", "data/mine.txt", "versions/x"]
    for name in theirs:
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text("mine")
    before = everything(here)
    made(tables, here)
    assert tables.state(".") is not None
    tables.drop(".")
    assert tables.state(".") is None
    assert everything(here) == before


def test_a_table_inside_another_stays(tables: Any, workspace: Path) -> None:
    outer, inner = workspace / "outer", workspace / "outer" / "data" / "inner"
    made(tables, outer)
    made(tables, inner)
    tables.drop(str(outer))
    assert tables.state(str(outer)) is None
    state = tables.state(str(inner))
    assert state is not None
    assert tables.preview(str(inner)).to_pylist() == [{"id": 3, "shop": "a"}]


def test_a_table_alone_leaves_no_folder_and_can_be_made_again(tables: Any, workspace: Path) -> None:
    root = workspace / "alone"
    made(tables, root)
    stage(root, 9)  # of a run that stopped
    tables.drop(str(root))
    assert not root.exists()
    made(tables, root, 1)
    assert tables.preview(str(root)).to_pylist() == [{"id": 1, "shop": "a"}]


def test_files_that_only_older_versions_or_a_checkpoint_name_go_too(workspace: Path) -> None:
    from deltalake import DeltaTable

    root = workspace / "old"
    made(load("delta"), root)
    DeltaTable(str(root)).create_checkpoint()
    for log in (root / "_delta_log").glob("*.json"):
        if int(log.stem) < DeltaTable(str(root)).version():
            log.unlink()
    (root / "mine.txt").write_text("mine")
    load("delta").drop(str(root))
    assert everything(root) == {"mine.txt"}


def test_a_removal_that_was_stopped_is_finished_by_the_next(
    tables: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace / "half"
    made(tables, root)
    (root / "mine.txt").write_text("mine")
    heads = len(list((root / "metadata").glob("*.metadata.json")))  # of Iceberg: they go first
    unlink, left = os.unlink, [max(heads, 1)]

    def dies(path: Any, *given: Any, **settings: Any) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        unlink(path, *given, **settings)

    monkeypatch.setattr(dropping, "_unlink", dies)
    with pytest.raises(KeyboardInterrupt):
        tables.drop(str(root))
    monkeypatch.setattr(dropping, "_unlink", unlink)
    assert tables.state(str(root)) is None
    tables.drop(str(root))
    assert everything(root) == {"mine.txt"}


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_cleaning_a_table_leaves_what_is_not_its_own(workspace: Path, form: str) -> None:
    root, inner = workspace / "outer", workspace / "outer" / "inner"
    made(load(form), root)
    made(load(form), inner)
    (root / "mine.parquet").write_text("mine")
    for path in workspace.rglob("*.parquet"):
        os.utime(path, (0, 0))
    load(form).vacuum(str(root), datetime.now(UTC) - timedelta(hours=0))
    assert (root / "mine.parquet").read_text() == "mine"
    assert load(form).preview(str(inner)).to_pylist() == [{"id": 3, "shop": "a"}]
    assert load(form).preview(str(root)).to_pylist() == [{"id": 3, "shop": "a"}]


def test_a_path_of_the_log_that_leads_outside_is_not_followed(workspace: Path) -> None:
    root, beside = workspace / "t", workspace / "precious.parquet"
    made(load("delta"), root)
    beside.write_text("mine")
    log = sorted((root / "_delta_log").glob("*.json"))[-1]
    action = (
        '{"add":{"path":"../precious.parquet","partitionValues":{},"size":4,"modificationTime":0,"dataChange":true}}'
    )
    log.write_text(log.read_text() + "\n" + action.replace("../", f"file://{workspace}/") + "\n" + action + "\n")
    load("delta").drop(str(root))
    assert beside.read_text() == "mine"
    assert not root.exists()
