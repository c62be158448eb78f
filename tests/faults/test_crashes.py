"""Kill a run at every named point, run again, and compare with a run that nobody disturbed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.run.faults import POINTS

CONTRACT = """
source: {path: landing/*.csv, load_mode: incremental}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: "decimal(10,2)", min: 0}
materialization: {strategy: %s, primary_key: [id], target_path: shop.silver.orders}
"""
ROWS = "id,amount\n1,10.00\n2,-5\n3,abc\n4,7.50\n,1\n"
MORE = "id,amount\n5,1.00\n6,oops\n"
IGNORED = {
    "_lakelogic_processed_at", "_lakelogic_run_id", "_lakelogic_created_at", "_lakelogic_source", "_lakelogic_batch_id",
    "_lakelogic_row_id", "_lakelogic_raw",
}  # fmt: skip


def prepare(folder: Path, strategy: str) -> None:
    (folder / "landing").mkdir(parents=True)
    (folder / "contract.yaml").write_text(CONTRACT % strategy)
    (folder / "landing" / "a.csv").write_text(ROWS)


COMMAND = [sys.executable, "-m", "lakelogic", "run", "contract.yaml", "--engine", "duckdb"]


def environment(fault: str | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
    return {**kept, "LAKELOGIC_FAULT": fault, "LAKELOGIC_FAULT_SECONDS": "60"} if fault else kept


def run(folder: Path, fault: str | None = None) -> int:
    done = subprocess.run(
        COMMAND, cwd=folder, env=environment(fault), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode


def tables(folder: Path) -> dict[str, list[Any]]:
    found = {}
    for name in ("silver/orders", "quarantine/silver_orders"):
        rows = DeltaTable(folder / "lakelogic_warehouse" / "shop" / name).to_pyarrow_table().to_pylist()
        # A column that came later is NULL in rows from before, or the table has none of it.
        told = [{k: v for k, v in row.items() if k not in IGNORED and v is not None} for row in rows]
        found[name] = sorted(map(repr, told))
    return found


@pytest.fixture(scope="module", params=["append", "merge"])
def undisturbed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    prepare(folder, request.param)
    assert run(folder) == 0
    first = tables(folder)
    (folder / "landing" / "b.csv").write_text(MORE)
    assert run(folder) == 0
    return request.param, first, tables(folder)


@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_anywhere_and_run_again_gives_the_same_tables(
    undisturbed: tuple[str, dict[str, Any], dict[str, Any]], tmp_path: Path, point: str
) -> None:
    strategy, first, _ = undisturbed
    prepare(tmp_path, strategy)
    assert run(tmp_path, f"{point}:kill") == -9
    assert run(tmp_path) == 0
    assert tables(tmp_path) == first


@pytest.mark.parametrize("point", ["after_quarantine_commit", "after_good_commit"])
def test_a_file_that_lands_after_the_crash_is_neither_lost_nor_doubled(
    undisturbed: tuple[str, dict[str, Any], dict[str, Any]], tmp_path: Path, point: str
) -> None:
    strategy, _, both = undisturbed
    prepare(tmp_path, strategy)
    assert run(tmp_path, f"{point}:kill") == -9
    (tmp_path / "landing" / "b.csv").write_text(MORE)
    assert run(tmp_path) == 0
    assert tables(tmp_path) == both


def test_while_one_run_holds_the_lease_another_stops_with_exit_5(tmp_path: Path) -> None:
    prepare(tmp_path, "append")
    first = subprocess.Popen(COMMAND, cwd=tmp_path, env=environment("after_intent:stall"), stdout=subprocess.DEVNULL)
    try:
        ledger = tmp_path / "lakelogic_warehouse" / ".lakelogic" / "ledger.db"
        for _ in range(300):
            if ledger.exists() and leases(ledger):
                break
            time.sleep(0.1)
        assert run(tmp_path) == 5
    finally:
        first.kill()
        first.wait()
    assert run(tmp_path) == 0


def leases(ledger: Path) -> int:
    with sqlite3.connect(ledger) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM leases").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0
