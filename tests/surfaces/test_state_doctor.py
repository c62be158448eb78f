"""`lakelogic state doctor`: what the ledger does not know, it learns from the tables, and tables stay as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.processor import DataProcessor
from lakelogic.tables.base import CommitInfo, StagedFile
from lakelogic.tables.registry import load

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}]}
materialization: {target_path: a.b.orders}
"""

TARGET = Path("lakelogic_warehouse/a/b/orders")


@pytest.fixture
def contract(workspace: Path, duckdb_engine: Any) -> Path:
    (workspace / "landing").mkdir()
    (workspace / "landing" / "1.csv").write_text("id\n1\n\nx\n")
    (workspace / "contract.yaml").write_text(CONTRACT)
    DataProcessor("contract.yaml", engine=duckdb_engine).run()
    return workspace / "contract.yaml"


def doctor(*options: str) -> dict[str, tuple[str, str]]:
    done = CliRunner().invoke(cli, ["state", "doctor", "contract.yaml", "--json", *options])
    (dataset,) = json.loads(done.stdout)["datasets"]
    assert dataset["dataset"] == "orders"
    levels = {one["level"] for one in dataset["findings"]}
    assert done.exit_code == (6 if "wrong" in levels else 1 if "look" in levels else 0), done.output
    assert all(one["do"] for one in dataset["findings"] if one["level"] in ("look", "wrong"))
    worst = sorted(dataset["findings"], key=lambda one: ["sound", "mended", "look", "wrong"].index(one["level"]))
    return {one["what"]: (one["level"], one["found"]) for one in worst}


def test_a_sound_dataset_is_told_to_be_sound(contract: Path) -> None:
    found = doctor()
    assert found["lease"] == ("sound", "nobody writes to the table")
    assert found["table"] == ("sound", "version 0, 1 rows in 1 files")
    assert found["ledger"] == ("sound", "it knows all 1 commits to the table, and 1 files")
    assert found["quarantine"] == ("sound", "1 rows wait in a.quarantine.orders")
    assert found["memory"] == ("sound", "1 entries tell of all 1 commits")


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


def test_a_run_that_failed_is_told_and_its_staged_files_are_dropped(contract: Path, duckdb_engine: Any) -> None:
    Path("landing/2.csv").write_text("id\n2\n")

    def strike(point: str) -> None:
        if point == "after_stage":
            raise faults.InjectedFault(point)

    with faults.watched(strike), pytest.raises(faults.InjectedFault):
        DataProcessor("contract.yaml", engine=duckdb_engine).run()
    assert doctor("--dry-run")["intent"] == ("look", "a run was begun and never ended; the next one finishes it")
    assert len(list(TARGET.glob("batch-*"))) == 2
    found = doctor()  # nothing of the run can be visible
    assert not {"intent", "staged files"} & set(found)
    assert len(list(TARGET.glob("batch-*"))) == 1


def test_bad_rows_that_are_gone_with_their_table_are_missed(contract: Path) -> None:
    shutil.rmtree("lakelogic_warehouse/a/quarantine")
    level, found = doctor()["quarantine"]
    assert level == "wrong"
    assert found.startswith("1 bad rows of 1 published batches are not in a.quarantine.orders any more")


# Damage, made by hand: one kind each.


def land(name: str, *ids: int) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def lose_the_ledger() -> None:
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()


def trim_the_log() -> None:
    DeltaTable(TARGET).create_checkpoint()
    for path in sorted(TARGET.glob("_delta_log/*.json"))[:-1]:
        path.unlink()


@pytest.fixture
def three(contract: Path, duckdb_engine: Any) -> Path:
    for number in (2, 3):
        land(f"{number}.csv", number)
        DataProcessor("contract.yaml", engine=duckdb_engine).run()
    return contract


def test_an_input_that_the_ledger_forgot_is_told_to_it_again(three: Path, duckdb_engine: Any) -> None:
    with open_ledger(LocalCatalog().ledger_url()) as ledger, ledger.database.write("x") as connection:
        connection.run("DELETE FROM inputs WHERE path LIKE '%2.csv'")
    level, found = doctor("--dry-run")["ledger"]
    assert (level, found.partition(" (")[0]) == ("look", "it does not know 1 inputs that the table was made of")
    assert doctor()["ledger"][0] == "mended"
    assert doctor()["ledger"] == ("sound", "it knows all 3 commits to the table, and 3 files")
    assert DataProcessor("contract.yaml", engine=duckdb_engine).run().status == "no_new_data"


def test_a_table_that_was_put_back_from_a_copy_lacks_what_the_ledger_believes(
    contract: Path, duckdb_engine: Any
) -> None:
    shutil.copytree(TARGET, "copy")
    land("2.csv", 2)
    DataProcessor("contract.yaml", engine=duckdb_engine).run()
    shutil.rmtree(TARGET)
    shutil.copytree("copy", TARGET)
    level, found = doctor("--dry-run")["ledger"]
    assert level == "wrong"
    assert found.startswith("it believes 1 batches to be in the table that are not there")
    assert doctor()["ledger"][0] == "mended"
    assert doctor()["ledger"] == ("sound", "it knows all 1 commits to the table, and 1 files")
    assert DataProcessor("contract.yaml", engine=duckdb_engine).run().status == "succeeded"
    assert doctor()["table"] == ("sound", "version 1, 2 rows in 2 files")


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_hole_in_the_memory_is_mended_by_whoever_knows(three: Path, duckdb_engine: Any, damage: str) -> None:
    trim_the_log()
    second = sorted(TARGET.glob("_lakelogic_progress/*/*.json"))[1]
    if damage == "missing":
        second.unlink()
    else:
        second.write_bytes(second.read_bytes()[:-1])
    level, found = doctor("--dry-run")["memory"]
    assert level == "look"
    assert second.name in found
    assert damage in found
    assert doctor()["memory"][0] == "mended"
    second.unlink(missing_ok=True)
    assert doctor()["memory"] == ("sound", "1 entries tell of all 3 commits")
    lose_the_ledger()
    assert doctor()["ledger"] == ("mended", "3 commits and 3 files were read back from the table")
    assert DataProcessor("contract.yaml", engine=duckdb_engine).run().status == "no_new_data"


def test_a_hole_in_the_memory_that_nobody_can_mend_is_wrong(three: Path) -> None:
    trim_the_log()
    sorted(TARGET.glob("_lakelogic_progress/*/*.json"))[1].unlink()
    lose_the_ledger()
    for options in (("--dry-run",), ()):
        level, found = doctor(*options)["memory"]
        assert level == "wrong"
        assert found.endswith("and neither ledger nor log know what it told")


def test_an_input_that_two_commits_hold_is_found_whatever_the_ledger_believes(three: Path) -> None:
    tables, place = load("delta"), str(TARGET.resolve())
    state = tables.state(place)
    assert state is not None
    second = tables.commits(place, "lakelogic:orders:good")[1]
    facts = json.loads(second["facts"])
    again = {**second, "batch_id": "another", "n": "4", "facts": json.dumps({**facts, "run_id": "a-second-time"})}
    folder = TARGET.resolve() / "batch-0000000000000000-again"
    folder.mkdir()
    shutil.copy(next(path for path in state.files if facts["run_id"] in path), folder / "part.parquet")
    file = StagedFile(str(folder / "part.parquet"), 1, (folder / "part.parquet").stat().st_size)
    tables.append(place, [file], state.schema, CommitInfo("lakelogic:orders:good", 4, again))
    level, found = doctor()["rows"]
    assert level == "wrong"
    assert found.startswith("1 inputs were published twice: ")
    assert f"2.csv by {facts['run_id']} and a-second-time" in found


def test_rows_that_no_commit_of_ours_tells_of_are_found(three: Path) -> None:
    rows = DeltaTable(TARGET).to_pyarrow_table()
    write_deltalake(TARGET, rows.slice(0, 1), mode="append")
    level, found = doctor()["rows"]
    assert (level, found) == ("wrong", "the table has 4 rows, and its commits tell of 3: 1 too many")
    DeltaTable(TARGET).delete(f"id = {rows['id'][0]}")
    assert doctor()["rows"] == ("wrong", "the table has 2 rows, and its commits tell of 3: 1 are missing")


def test_files_of_a_batch_that_waits_are_nobodys_leftovers(contract: Path, duckdb_engine: Any) -> None:
    Path("contract.yaml").write_text(CONTRACT + "quality: {max_quarantine_ratio: 0.5}\n")
    Path("landing/2.csv").write_text("id\n2\nx\ny\n")
    assert DataProcessor("contract.yaml", engine=duckdb_engine).run().status == "gated"
    assert "staged files" not in doctor()
    (TARGET / "batch-0123456789abcdef-lost").mkdir()
    (TARGET / "batch-0123456789abcdef-lost" / "part.parquet").write_bytes(b"x")
    level, found = doctor()["staged files"]
    told = "1 folders hold 1 bytes that are in no table, such as batch-0123456789abcdef-lost"
    assert (level, found) == ("look", told)


def test_a_table_that_somebody_else_made_and_filled_raises_no_alarm(workspace: Path, duckdb_engine: Any) -> None:
    write_deltalake(TARGET, pa.table({"id": pa.array([100, 101], pa.int32())}))
    (workspace / "landing").mkdir()
    (workspace / "contract.yaml").write_text(CONTRACT)
    for number in (1, 2):
        land(f"{number}.csv", number)
        DataProcessor("contract.yaml", engine=duckdb_engine).run()
    found = doctor()
    assert found["table"][1] == "version 3, 4 rows in 3 files"  # one version more for the columns of ours
    assert "rows" not in found
