"""Upkeep spares what a run, or a batch that waits, of a ledger needs that it knows nothing of."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lakelogic.actions.operate.maintain import MaintainRequest, maintain
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.run import faults
from lakelogic.run.processor import DataProcessor
from lakelogic.run.state import leases
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load
from lakelogic.tables.upkeep import IN_USE

TARGET = Path("lakelogic_warehouse/a/b/orders")
QUARANTINE = Path("lakelogic_warehouse/a/quarantine/orders")


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def use(workspace: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> Callable[[str], None]:
    contract = {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}]},
        "quality": {"max_quarantine_ratio": 0.5},
        "materialization": {"target_path": "a.b.orders", "format": form},
    }
    Path("orders.yaml").write_text(json.dumps(contract))
    Path("landing").mkdir()
    return lambda ledger: monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{workspace}/{ledger}.db")


def land(name: str, *ids: Any) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def rows(form: str) -> list[int]:
    state = load(form).state(LocalCatalog().resolve("a.b.orders"))
    assert state is not None
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read(["id"]).to_pylist())


def sweep() -> None:
    maintain(Surroundings.here(), MaintainRequest(("orders.yaml",), retention=timedelta(0), compact=False))


def run(engine: Any) -> str:
    with DataProcessor("orders.yaml", engine=engine) as processor:
        return processor.run().status


@pytest.mark.parametrize("point", ["after_stage", "after_gates", "after_staged_record", "after_progress_entry"])
@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_run_that_is_at_work_keeps_its_files(
    use: Any, duckdb_engine: Any, form: str, strategy: str, point: str
) -> None:
    contract = json.loads(Path("orders.yaml").read_text())
    contract["materialization"] |= {"strategy": strategy, "primary_key": ["id"]}
    Path("orders.yaml").write_text(json.dumps(contract))
    use("first")
    land("1.csv", 1, "x")
    run(duckdb_engine)
    land("2.csv", 2, "y")

    def swept(reached: str) -> None:
        if reached == point:
            use("second")
            sweep()
            use("first")

    with faults.watched(swept):
        assert run(duckdb_engine) == "succeeded"
    assert rows(form) == [1, 2]
    assert load("delta").preview(str(QUARANTINE.resolve()), 9).num_rows == 2
    assert not (TARGET / IN_USE).exists()  # nobody needs anything any more
    assert not (QUARANTINE / IN_USE).exists()


def test_a_batch_that_waits_keeps_its_files_until_somebody_decides(use: Any, duckdb_engine: Any, form: str) -> None:
    use("first")
    land("1.csv", 1)
    run(duckdb_engine)
    land("2.csv", 2, "x", "y")
    assert run(duckdb_engine) == "gated"
    long_ago = time.time() - 3_600
    for told in (*TARGET.glob(f"{IN_USE}/*"), *TARGET.rglob("*.parquet")):
        os.utime(told, (long_ago, long_ago))
    use("second")
    sweep()
    use("first")
    done = CliRunner().invoke(cli, ["approve"])
    name = next(word for word in done.output.split() if word.startswith("run-"))
    assert CliRunner().invoke(cli, ["approve", name]).exit_code == 0
    assert rows(form) == [1, 2]
    assert not (TARGET / IN_USE).exists()


def test_rows_that_were_staged_to_the_end_are_kept_for_the_ledger_that_will_finish_them(
    use: Any, duckdb_engine: Any, form: str
) -> None:
    use("first")
    land("1.csv", 1)
    run(duckdb_engine)
    land("2.csv", 2)

    def die(reached: str) -> None:
        if reached == "after_staged_record":
            raise faults.InjectedFault("killed")

    with faults.watched(die), pytest.raises(faults.InjectedFault):
        run(duckdb_engine)
    Path("landing/2.csv").unlink()
    use("second")
    sweep()
    use("first")
    run(duckdb_engine)
    assert rows(form) == [1, 2]


@pytest.mark.parametrize("why", ["its process is gone", "nobody has renewed it"])
def test_what_a_run_left_that_died_before_it_had_staged_its_rows_is_swept(
    use: Any, duckdb_engine: Any, form: str, why: str
) -> None:
    use("first")
    land("1.csv", 1)
    run(duckdb_engine)
    land("2.csv", 2)

    def die(reached: str) -> None:
        if reached == "after_stage":
            raise faults.InjectedFault("killed")

    with faults.watched(die), pytest.raises(faults.InjectedFault):
        run(duckdb_engine)
    folders = set(TARGET.glob("batch-*"))
    (told,) = TARGET.glob(f"{IN_USE}/*.json")
    said = json.loads(told.read_text())
    name, _, place = said["owner"].partition("@")
    alive = f"{name}@{place.split(':')[0]}:{os.getppid()}:{leases._mark(os.getppid())}"
    told.write_text(json.dumps({**said, "owner": alive}))
    use("second")
    sweep()
    assert set(TARGET.glob("batch-*")) == folders
    for path in TARGET.rglob("*.parquet"):  # what is spared is touched, so that formats which sweep by age pass it by
        os.utime(path, (time.time() - 60, time.time() - 60))
    if why == "its process is gone":
        told.write_text(json.dumps(said))  # it was one of this process, which works under no such lease
    else:
        os.utime(told, (time.time() - 601, time.time() - 601))
    sweep()
    assert len(set(TARGET.glob("batch-*"))) == len(folders) - 1
    use("first")
    assert run(duckdb_engine) == "succeeded"
    assert rows(form) == [1, 2]


def test_what_upkeep_itself_may_be_writing_is_left_for_ten_minutes(use: Any, duckdb_engine: Any, form: str) -> None:
    use("first")
    land("1.csv", 1)
    run(duckdb_engine)
    half = TARGET / "compact-0123456789abcdef" / "part-00000.parquet"
    half.parent.mkdir()
    half.write_bytes(b"half of it")
    use("second")
    sweep()
    assert half.exists()
    os.utime(half, (time.time() - 601, time.time() - 601))
    sweep()
    assert not half.exists()
