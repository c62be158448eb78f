"""The world goes wrong around a run: it says so, publishes nothing half, and the next run heals."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic import clock
from lakelogic.errors import LakeLogicError, SourceError
from lakelogic.run import faults
from lakelogic.run.processor import DataProcessor

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}, {name: city, type: string}]}
materialization: {strategy: %s, primary_key: [id], target_path: shop.silver.orders}
"""
COMMAND = [sys.executable, "-m", "lakelogic", "run", "contract.yaml", "--engine", "duckdb"]


@pytest.fixture
def contract(workspace: Path, request: pytest.FixtureRequest) -> Path:
    (workspace / "landing").mkdir()
    (workspace / "contract.yaml").write_text(CONTRACT % getattr(request, "param", "append"))
    (workspace / "landing" / "1.csv").write_text("id,city\n1,Bern\n,Rome\n")
    return workspace


def table() -> DeltaTable:
    return DeltaTable("lakelogic_warehouse/shop/silver/orders")


def ids() -> list[int]:
    return sorted(table().to_pyarrow_table().column("id").to_pylist())


def run(engine: Any, at: str | None = None, do: Callable[[], None] | None = None) -> str:
    def watch(point: str) -> None:
        if point == at and do is not None:
            do()

    with faults.watched(watch):
        return str(DataProcessor("contract.yaml", engine=engine).run().status)


def test_a_file_that_changes_while_it_is_read_is_read_again(contract: Path, duckdb_engine: Any) -> None:
    def change() -> None:
        Path("landing/1.csv").write_text("id,city\n1,Bern\n2,Oslo\n")

    with pytest.raises(SourceError, match="changed while it was read"):
        run(duckdb_engine, "after_stage", change)
    assert not Path("lakelogic_warehouse/shop/silver/orders/_delta_log").exists()
    assert run(duckdb_engine) == "succeeded"
    assert ids() == [1, 2]


def test_a_file_that_vanishes_while_it_is_read_is_told_by_name(contract: Path, duckdb_engine: Any) -> None:
    Path("landing/2.csv").write_text("id,city\n2,Oslo\n")
    with pytest.raises(SourceError, match=r"2\.csv"):
        run(duckdb_engine, "after_stage", Path("landing/2.csv").unlink)
    assert run(duckdb_engine) == "succeeded"
    assert ids() == [1]


@pytest.mark.parametrize("contract", ["append", "merge"], indirect=True)
def test_rows_that_somebody_else_writes_meanwhile_stay(contract: Path, duckdb_engine: Any) -> None:
    run(duckdb_engine)
    Path("landing/2.csv").write_text("id,city\n2,Oslo\n")

    def write() -> None:
        theirs = table().to_pyarrow_table().slice(0, 1)
        place = theirs.schema.get_field_index("id")
        theirs = theirs.set_column(place, "id", pa.array([9], pa.int32()))
        write_deltalake(table(), theirs, mode="append")

    assert run(duckdb_engine, "after_gates", write) == "succeeded"
    assert ids() == [1, 2, 9]


def test_a_table_whose_columns_somebody_changed_meanwhile_is_left_alone(contract: Path, duckdb_engine: Any) -> None:
    run(duckdb_engine)
    Path("landing/2.csv").write_text("id,city\n2,Oslo\n")

    def change() -> None:
        write_deltalake(table(), pa.table({"id": ["a"]}), mode="overwrite", schema_mode="overwrite")

    with pytest.raises(LakeLogicError, match="id"):
        run(duckdb_engine, "after_gates", change)
    assert table().to_pyarrow_table().to_pydict() == {"id": ["a"]}


def test_a_clock_that_goes_back_loses_and_doubles_nothing(
    contract: Path, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(duckdb_engine)
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() - timedelta(days=400))
    Path("landing/2.csv").write_text("id,city\n2,Oslo\n")
    assert run(duckdb_engine) == "succeeded"
    assert run(duckdb_engine) == "no_new_data"
    monkeypatch.setattr(clock, "now", lambda: now() + timedelta(days=400))
    assert run(duckdb_engine) == "no_new_data"
    assert ids() == [1, 2]


def command(**options: Any) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_FAULT")}
    environment = {**kept, **options.pop("env", {})}
    return subprocess.Popen(COMMAND, env=environment, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("point", ["after_lease", "after_stage", "after_quarantine_commit", "after_good_commit"])
def test_a_run_that_is_asked_to_end_gives_back_what_it_holds(contract: Path, duckdb_engine: Any, point: str) -> None:
    process = command(env={"LAKELOGIC_FAULT": f"{point}:stall", "LAKELOGIC_FAULT_SECONDS": "120"})
    _until(lambda: _leases() == 1)
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "Run again to go on" in told
    assert _leases() == 0
    assert run(duckdb_engine) in ("succeeded", "no_new_data")
    assert ids() == [1]


def _leases() -> int:
    import sqlite3

    ledger = Path("lakelogic_warehouse/.lakelogic/ledger.db")
    if not ledger.exists():
        return 0
    with sqlite3.connect(ledger) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM leases").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise TimeoutError


def test_a_full_disk_is_told_and_the_next_run_heals(contract: Path, duckdb_engine: Any) -> None:
    # Text that does not become small when it is compressed.
    rows = "".join(f"{number},{hashlib.sha256(b'%d' % number).hexdigest()}\n" for number in range(20_000))
    Path("landing/1.csv").write_text("id,city\n" + rows)

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    process = command(preexec_fn=small)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 4, told
    assert "File too large" in told or "No space" in told or "write" in told.lower()
    assert not Path("lakelogic_warehouse/shop/silver/orders/_delta_log").exists()
    assert run(duckdb_engine) == "succeeded"
    assert len(ids()) == 20_000


def test_a_target_that_cannot_be_a_folder_is_told_with_its_place(contract: Path, duckdb_engine: Any) -> None:
    Path("lakelogic_warehouse/shop").mkdir(parents=True)
    Path("lakelogic_warehouse/shop/silver").write_text("in the way")
    with pytest.raises(LakeLogicError, match="silver"):
        run(duckdb_engine)
    Path("lakelogic_warehouse/shop/silver").unlink()
    assert run(duckdb_engine) == "succeeded"
    assert ids() == [1]
