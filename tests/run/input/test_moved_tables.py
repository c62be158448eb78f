"""A table as source is the table it was when the project is moved, copied or reached by another way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.run.surroundings import Surroundings

FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int"}]
BRONZE = {
    "dataset": "bronze",
    "source": {"path": "landing/*.csv"},
    "model": {"fields": FIELDS},
    "materialization": {"target_path": "q.bronze.t"},
}
STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {"strategy": "append"},
    "merge": {"strategy": "merge", "primary_key": ["id"]},
}
Go = Callable[..., Any]


def silver(strategy: str, load_mode: str | None = None, source: str = "q.bronze.t") -> dict[str, Any]:
    return {
        "dataset": "silver",
        "source": {"path": source, **({"load_mode": load_mode} if load_mode else {})},
        "model": {"fields": FIELDS},
        "materialization": {"target_path": "q.silver.t", **STRATEGIES[strategy]},
    }


def land(name: str, *ids: int) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", name).write_text("id,amount\n" + "".join(f"{one},{one * 10}\n" for one in ids))


def ids() -> list[int]:
    return sorted(row["id"] for row in preview(Surroundings.here(), "q.silver.t", 1000).rows)


@pytest.fixture
def go(workspace: Path, monkeypatch: pytest.MonkeyPatch, duckdb_engine: Any) -> Go:
    """A project in a folder of its own, which can be moved."""
    (workspace / "here").mkdir()
    monkeypatch.chdir(workspace / "here")

    def run(*documents: dict[str, Any]) -> Any:
        for document in documents:
            with DataProcessor(document, duckdb_engine) as processor:
                done = processor.run()
        return done

    return run


def mv(root: Path) -> None:
    (root / "here").rename(root / "there")


def cp(root: Path) -> None:
    shutil.copytree(root / "here", root / "there")


def ln(root: Path) -> None:
    (root / "there").symlink_to(root / "here", target_is_directory=True)


@pytest.mark.parametrize("move", [mv, cp, ln])
@pytest.mark.parametrize(
    ("strategy", "load_mode"), [("append", None), ("append", "incremental"), ("merge", None), ("merge", "incremental")]
)
def test_rows_of_a_table_are_taken_once(
    go: Go, workspace: Path, monkeypatch: pytest.MonkeyPatch, move: Any, strategy: str, load_mode: str | None
) -> None:
    document = silver(strategy, load_mode)
    land("a.csv", 1, 2, 3)
    go(BRONZE, document)
    move(workspace)
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", str(workspace / "there" / "lakelogic_warehouse"))
    monkeypatch.chdir(workspace / "there")
    go(document)
    assert ids() == [1, 2, 3]
    land("b.csv", 4)
    go(BRONZE, document, BRONZE, document)
    assert ids() == [1, 2, 3, 4]


@pytest.mark.parametrize("load_mode", [None, "incremental"])
def test_what_a_moved_table_has_lost_goes(
    go: Go, workspace: Path, monkeypatch: pytest.MonkeyPatch, load_mode: str | None
) -> None:
    document = silver("merge", load_mode)
    land("a.csv", *range(1, 10))
    go(BRONZE, document)
    mv(workspace)
    monkeypatch.chdir(workspace / "there")
    land("a.csv", *range(1, 9))
    go(BRONZE, document)
    assert ids() == list(range(1, 9))


def test_a_copy_that_went_its_own_way_is_another_table(go: Go, workspace: Path) -> None:
    document = silver("append", source=str(workspace / "here/lakelogic_warehouse/q/bronze/t"))
    land("a.csv", 1)
    go(BRONZE, document)
    shutil.copytree("lakelogic_warehouse/q/bronze/t", workspace / "copy")
    land("b.csv", 2)
    go(BRONZE, document)
    assert ids() == [1, 2]
    other = {**BRONZE, "dataset": "bronze", "materialization": {"target_path": str(workspace / "copy")}}
    land("b.csv", 3)
    go(other)
    # The copy has the version that was read of the first, with another row: the target must not be told "nothing new".
    go(silver("append", source=str(workspace / "copy")))
    assert 3 in ids()
