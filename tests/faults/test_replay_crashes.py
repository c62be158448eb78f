"""A replay, or a run that lets rows go, killed at every named point and done again: nothing lost, nothing doubled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.run.faults import ANSWERS, POINTS

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: %s}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: %d}
primary_key: [id]
materialization: {strategy: %s, target_path: shop.silver.orders}
"""
ROWS = "id,amount\n1,10\n2,-5\n3,abc\n4,-7\n,1\n"
REPLAY = ("quarantine", "replay", "contract.yaml", "--engine", "duckdb")
RUN = ("run", "contract.yaml", "--engine", "duckdb")
# A process is killed for each of them; `make test-faults` tries all, other runs of the tests both sides of the commit.
SAMPLE = ("after_quarantine_commit", "after_good_commit")


def chosen(points: Sequence[str]) -> list[str]:
    """The points that are tried now."""
    return [point for point in points if point in SAMPLE or os.environ.get("LAKELOGIC_ALL_FAULTS")]


def call(folder: Path, *words: str, fault: str | None = None) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
    if fault:
        environment["LAKELOGIC_FAULT"] = fault
    command = [sys.executable, "-m", "lakelogic", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    ).returncode


def write(folder: Path, strategy: str, low: int, mode: str = "incremental") -> None:
    (folder / "contract.yaml").write_text(CONTRACT % (mode, low, strategy))


@pytest.fixture(scope="module", params=["append", "merge"])
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run with four bad rows; two of them pass once the contract is mended."""
    folder = tmp_path_factory.mktemp("begun")
    (folder / "landing").mkdir()
    (folder / "landing" / "a.csv").write_text(ROWS)
    write(folder, request.param, 0)
    assert call(folder, *RUN) == 0
    return request.param, folder


@pytest.fixture
def mended(begun: tuple[str, Path], tmp_path: Path) -> Iterator[tuple[str, Path]]:
    strategy, folder = begun
    # In its place: the tables and the ledger know files by their absolute paths.
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    yield strategy, folder
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)


def pairs(folder: Path) -> list[tuple[Any, ...]]:
    rows = DeltaTable(folder / "lakelogic_warehouse" / "shop" / "silver" / "orders").to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["amount"]) for row in rows)


def states(folder: Path) -> list[tuple[Any, str]]:
    place = folder / "lakelogic_warehouse" / "shop" / "quarantine" / "silver_orders"
    rows = DeltaTable(place).to_pyarrow_table().to_pylist()
    return sorted(((row["amount"], row["quarantine_state"]) for row in rows), key=repr)


AFTER = [(-5, "replayed"), (-7, "replayed"), (1, "active"), (None, "active")]


@pytest.mark.parametrize(
    ("point", "kind"), [*((point, "kill") for point in chosen(POINTS)), *((point, "lose") for point in chosen(ANSWERS))]
)
def test_a_replay_stopped_anywhere_and_done_again_gives_the_same_tables(
    mended: tuple[str, Path], point: str, kind: str
) -> None:
    strategy, folder = mended
    write(folder, strategy, -10)
    assert call(folder, *REPLAY, fault=f"{point}:{kind}") in (-9, 4)
    assert call(folder, *REPLAY) == 0
    assert pairs(folder) == [(1, 10), (2, -5), (4, -7)]
    assert states(folder) == AFTER


@pytest.mark.parametrize("point", chosen(["after_quarantine_commit", "after_good_commit", "after_settling"]))
def test_a_contract_that_changes_after_the_crash_neither_loses_nor_doubles_a_row(
    mended: tuple[str, Path], point: str
) -> None:
    strategy, folder = mended
    write(folder, strategy, -10)
    assert call(folder, *REPLAY, fault=f"{point}:kill") == -9
    write(folder, strategy, -100)
    assert call(folder, *REPLAY) == 0
    assert pairs(folder) == [(1, 10), (2, -5), (4, -7)]
    assert states(folder) == AFTER


@pytest.mark.parametrize("point", chosen(["after_quarantine_commit", "after_good_commit", "after_settling"]))
def test_a_run_after_the_crash_or_a_lost_ledger_heals_too(mended: tuple[str, Path], point: str) -> None:
    strategy, folder = mended
    write(folder, strategy, -10)
    assert call(folder, *REPLAY, fault=f"{point}:kill") == -9
    shutil.rmtree(folder / "lakelogic_warehouse" / ".lakelogic")
    assert call(folder, *RUN) == 0
    assert call(folder, *REPLAY) == 0
    assert pairs(folder) == [(1, 10), (2, -5), (4, -7)]
    assert states(folder) == AFTER


@pytest.mark.parametrize("point", chosen([p for p in POINTS if p.endswith(("commit", "settling", "ledger"))]))
def test_a_run_that_reads_its_rows_again_and_dies_is_healed_by_the_next(mended: tuple[str, Path], point: str) -> None:
    strategy, folder = mended
    if strategy == "append":
        pytest.skip("reading everything again appends everything again")
    write(folder, strategy, -10, "full")
    assert call(folder, *RUN, fault=f"{point}:kill") == -9
    assert call(folder, *RUN) == 0
    assert pairs(folder) == [(1, 10), (2, -5), (4, -7)]
    assert states(folder) == AFTER
