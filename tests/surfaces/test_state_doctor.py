"""`lakelogic state doctor`: what the ledger does not know, it learns from the tables, and tables stay as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.processor import DataProcessor

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}]}
materialization: {target_path: a.b.orders}
"""


@pytest.fixture
def contract(workspace: Path, duckdb_engine: Any) -> Path:
    (workspace / "landing").mkdir()
    (workspace / "landing" / "1.csv").write_text("id\n1\n\nx\n")
    (workspace / "contract.yaml").write_text(CONTRACT)
    DataProcessor("contract.yaml", engine=duckdb_engine).run()
    return workspace / "contract.yaml"


def doctor(*options: str) -> dict[str, tuple[str, str]]:
    done = CliRunner().invoke(cli, ["state", "doctor", "contract.yaml", "--json", *options])
    assert done.exit_code == 0, done.output
    (dataset,) = json.loads(done.stdout)["datasets"]
    assert dataset["dataset"] == "orders"
    return {one["what"]: (one["level"], one["found"]) for one in dataset["findings"]}


def test_a_sound_dataset_is_told_to_be_sound(contract: Path) -> None:
    found = doctor()
    assert found["lease"] == ("sound", "nobody writes to the table")
    assert found["table"] == ("sound", "version 0, 1 rows in 1 files")
    assert found["ledger"] == ("sound", "it knows all 1 commits to the table, and 1 files")
    assert found["quarantine"] == ("sound", "1 rows wait in a.quarantine.orders")


def test_a_lost_ledger_is_filled_from_the_table_and_the_next_run_finds_nothing_new(
    contract: Path, duckdb_engine: Any
) -> None:
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()
    assert doctor("--dry-run")["ledger"] == ("look", "it does not know 1 of 1 commits to the table")
    assert doctor()["ledger"] == ("mended", "1 commits and 1 files were read back from the table")
    assert doctor()["ledger"][0] == "sound"
    assert DataProcessor("contract.yaml", engine=duckdb_engine).run().status == "no_new_data"


def test_a_run_that_published_and_died_is_finished(contract: Path, duckdb_engine: Any) -> None:
    Path("landing/2.csv").write_text("id\n2\n")

    def strike(point: str) -> None:
        if point == "after_good_commit":
            raise faults.InjectedFault(point)

    with faults.watched(strike), pytest.raises(faults.InjectedFault):
        DataProcessor("contract.yaml", engine=duckdb_engine).run()
    assert doctor("--dry-run")["intent"][0] == "look"
    assert doctor()["ledger"] == ("mended", "1 commits and 1 files were read back from the table")
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        key = f"orders@{LocalCatalog().resolve('a.b.orders')}"
        assert len(ledger.seen(key)) == 2
        assert ledger.open_intent(key) is None


def test_the_lease_of_a_process_that_is_gone_is_freed(contract: Path) -> None:
    from datetime import timedelta

    catalog = LocalCatalog()
    with open_ledger(catalog.ledger_url()) as ledger:
        import socket

        ledger.acquire(catalog.resolve("a.b.orders"), f"run-1@{socket.gethostname()}:999999999", timedelta(hours=1))
    assert doctor("--dry-run")["lease"][0] == "look"
    assert doctor()["lease"][0] == "mended"
    assert doctor()["lease"] == ("sound", "nobody writes to the table")


def test_staged_files_of_a_run_that_failed_are_told(contract: Path, duckdb_engine: Any) -> None:
    Path("landing/2.csv").write_text("id\n2\n")

    def strike(point: str) -> None:
        if point == "after_stage":
            raise faults.InjectedFault(point)

    with faults.watched(strike), pytest.raises(faults.InjectedFault):
        DataProcessor("contract.yaml", engine=duckdb_engine).run()
    level, told = doctor("--dry-run")["staged files"]
    assert level == "look"
    assert told.startswith("1 folders hold ")
    assert "staged files" not in doctor()  # nothing of the run can be visible: its files are dropped


def test_bad_rows_that_are_gone_with_their_table_are_missed(contract: Path) -> None:
    shutil.rmtree("lakelogic_warehouse/a/quarantine")
    level, found = doctor()["quarantine"]
    assert level == "look"
    assert found.startswith("1 bad rows of 1 published batches are not in a.quarantine.orders any more")
