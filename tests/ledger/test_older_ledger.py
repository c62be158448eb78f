"""A warehouse and a ledger that an earlier version has left: nothing is lost, doubled or forgotten by today's.

`fixtures/before_staged_records` was written by the version before there were staged records, progress by target and
entries beside tables: two batches that were published, one bad row, and a batch that waits behind a closed gate. It was
made in the folder `/fixture`; paths are put right when it is copied, as are the times of the landed files.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger
from lakelogic.run.processor import DataProcessor
from lakelogic.tables.registry import load

FIXTURE = Path(__file__).parent / "fixtures" / "before_staged_records"
DAY = 86_400_000_000_000
LANDED = {f"{at}.csv": 1_767_225_600_000_000_000 + (at - 1) * DAY for at in (1, 2, 3)}  # from 2026-01-01 on
HELD = "run-20261118T073247-a093c8"


@pytest.fixture
def warehouse(workspace: Path) -> Path:
    shutil.copytree(FIXTURE / "warehouse", "lakelogic_warehouse")
    shutil.copytree(FIXTURE / "landing", "landing")
    shutil.copy(FIXTURE / "orders.yaml", "orders.yaml")
    for name, changed in LANDED.items():
        os.utime(workspace / "landing" / name, ns=(changed, changed))
    for log in Path("lakelogic_warehouse").rglob("_delta_log/*.json"):
        log.write_text(log.read_text().replace("/fixture/", f"{workspace}/"))
    (workspace / "lakelogic_warehouse" / ".lakelogic").mkdir()
    shutil.copy(FIXTURE / "ledger.db", "lakelogic_warehouse/.lakelogic/ledger.db")
    with sqlite3.connect("lakelogic_warehouse/.lakelogic/ledger.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for column in [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]:
                put = (
                    f"UPDATE {table} SET {column} = replace({column}, '/fixture/', ?) WHERE {column} LIKE '%/fixture/%'"
                )
                connection.execute(put, (f"{workspace}/",))
    return workspace


def published() -> list[int]:
    state = load("delta").state(LocalCatalog().resolve("shop.silver.orders"))
    assert state is not None
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read(["id"]).to_pylist())


def waiting() -> list[str]:
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return [held.run_id for held in ledger.waiting()]


def test_nothing_is_read_twice_and_the_batch_that_waits_goes_on_waiting(warehouse: Path, duckdb_engine: Any) -> None:
    assert published() == [1, 2, 4]
    for _ in range(2):
        with DataProcessor("orders.yaml", engine=duckdb_engine) as processor:
            processor.run()
        assert published() == [1, 2, 4]
        assert len(waiting()) == 1
    Path("landing/4.csv").write_text("id,amount\n9,90\n")
    with DataProcessor("orders.yaml", engine=duckdb_engine) as processor:
        assert processor.run().status == "succeeded"
    assert published() == [1, 2, 4, 9]


def test_the_batch_that_waits_can_be_released(warehouse: Path) -> None:
    done = CliRunner().invoke(cli, ["approve", HELD, "--why", "looked at"])
    assert done.exit_code == 0, done.output
    assert published() == [1, 2, 4, 5]
    assert waiting() == []


def test_bad_rows_can_be_replayed(warehouse: Path) -> None:
    contract = yaml.safe_load(Path("orders.yaml").read_text())
    contract["model"]["fields"][1]["min"] = -5
    Path("orders.yaml").write_text(yaml.safe_dump(contract))
    done = CliRunner().invoke(cli, ["quarantine", "replay", "orders.yaml", "--engine", "duckdb"])
    assert done.exit_code == 0, done.output
    assert published() == [1, 2, 3, 4, 6, 7, 8]


def test_the_table_remembers_by_itself_from_the_first_run_on(warehouse: Path, duckdb_engine: Any) -> None:
    with DataProcessor("orders.yaml", engine=duckdb_engine) as processor:
        processor.run()
    found = CliRunner().invoke(cli, ["state", "doctor", "orders.yaml"])
    assert found.exit_code == 0, found.output
    assert "tell of all 2 commits" in found.output
    Path("lakelogic_warehouse/.lakelogic/ledger.db").unlink()
    Path("landing/3.csv").unlink()
    with DataProcessor("orders.yaml", engine=duckdb_engine) as processor:
        assert processor.run().status == "no_new_data"
    assert published() == [1, 2, 4]
