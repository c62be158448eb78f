"""Runs that are stopped in the middle of their work: by the end of the pass, or by the end of their time."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.actions.operate.drive import DriveRequest, drive
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.passes import Pass
from lakelogic.engines import registry
from lakelogic.engines.base import CanStop
from lakelogic.errors import EngineError, UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.run.events.hub import Event
from lakelogic.run.surroundings import Surroundings

# Two thousand rows of one key on either side: joined and exploded they take longer than anybody waits.
ENDLESS = """
info: {target_layer: silver, dataset: silver_endless, owner: team}
source: {path: keys.csv}
links: [{name: others, path: others.csv, type: csv}]
transformations:
  - sql: |
      SELECT a.key, COUNT(*) AS n FROM source a
      JOIN others b ON a.key = b.key JOIN others c ON b.key = c.key JOIN others d ON c.key = d.key
      WHERE CAST(b.n AS INT) * CAST(c.n AS INT) + CAST(d.n AS INT) <> 3 GROUP BY a.key
materialization: {target_path: shop.silver.endless, strategy: overwrite}
"""
QUICK = """
info: {target_layer: silver, dataset: silver_quick, owner: team}
source: {path: keys.csv}
materialization: {target_path: shop.silver.quick, strategy: overwrite}
"""


@pytest.fixture
def estate(lay, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lay(
        {
            "_registry.yaml": "entries: [{entity: endless, contracts: {silver: endless.yaml}}, "
            "{entity: quick, contracts: {silver: quick.yaml}}]",
            "endless.yaml": ENDLESS,
            "quick.yaml": QUICK,
            "keys.csv": "key\nx\n",
            "others.csv": "key,n\n" + "".join(f"x,{n}\n" for n in range(2000)),
        }
    )
    monkeypatch.chdir(folder)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return folder


def go(engine: str = "duckdb", sinks: Any = (), **more: Any) -> Pass:
    return drive(Surroundings.here(sinks), DriveRequest(("_registry.yaml",), engine=engine, max_workers=1, **more))


def of(done: Pass, dataset: str) -> DatasetOutcome:
    return next(one for one in done.outcomes if one.dataset == dataset)


def assert_was_stopped(done: Pass) -> None:
    late = of(done, "silver_endless")
    assert late.status == "failed"
    assert late.reasons == ("It took longer than 1 s and was stopped before anything was published.",)
    assert late.error is not None
    assert late.error["code"] == "LL-E053"
    assert done.exit_code == 4
    assert not Path("lakelogic_warehouse/shop/silver/endless/_delta_log").exists()
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        (record,) = ledger.runs("silver_endless")
    assert (record.status, record.error_code) == ("failed", "LL-E053")


def test_work_that_takes_too_long_is_stopped_and_other_work_is_not(estate: Path) -> None:
    assert_was_stopped(go(entity_timeout=1.0, retries=3, contracts=("silver_endless",)))
    assert go(entity_timeout=600.0, contracts=("silver_quick",)).exit_code == 0
    assert DeltaTable("lakelogic_warehouse/shop/silver/quick").to_pyarrow_table().num_rows == 1


def test_a_signal_stops_work_that_has_published_nothing(estate: Path) -> None:
    staging = threading.Event()

    def hear(event: Event) -> None:
        if event.facts.get("phase") == "stage":
            staging.set()

    def end() -> None:
        staging.wait(60)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(True))
    heard: list[bool] = []
    threading.Thread(target=end, daemon=True).start()
    try:
        done = go(sinks=(hear,), contracts=("silver_endless",))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [True]  # passed on to whoever handled it before
    assert done.interrupted == signal.SIGTERM
    assert of(done, "silver_endless").reasons == ("the pass was interrupted; nothing of it was published",)


def test_a_promise_that_an_engine_cannot_keep_is_refused(estate: Path) -> None:
    with pytest.raises(UsageError, match="cannot be kept on `polars`"):
        go("polars", entity_timeout=5.0)
    assert not (estate / "lakelogic_warehouse").exists()


def test_stopped_work_stays_stopped_and_other_work_goes_on() -> None:
    import pyarrow as pa

    engine = registry.load("duckdb")
    assert isinstance(engine, CanStop)
    with engine.work("one") as stop:
        stop()
        with pytest.raises(EngineError, match="stopped from outside"):
            engine.collect(engine.wrap(pa.table({"a": [1]})))
    with engine.work("two"):
        assert engine.collect(engine.wrap(pa.table({"a": [1]}))).num_rows == 1
    engine.close()


@pytest.mark.spark
def test_jobs_of_spark_that_take_too_long_are_cancelled_by_their_tag(
    estate: Path, request: pytest.FixtureRequest
) -> None:
    started = request.getfixturevalue("_started")
    if "spark" not in started:
        started["spark"] = registry.load("spark")
    assert started["spark"].session is not None  # so that Spark outlives the pass, for all tests
    assert_was_stopped(go("spark", entity_timeout=1.0, contracts=("silver_endless",)))
    context = started["spark"].session._sc
    assert context.statusTracker().getActiveJobsIds() == []
    assert context.getConf().get("spark.scheduler.mode") == "FAIR"
    with started["spark"].work("silver_quick"):
        assert started["spark"].session is not None
        assert context.getLocalProperty("spark.scheduler.pool") == "silver_quick"
        assert len(context.getJobTags()) == 1
    assert context.getLocalProperty("spark.scheduler.pool") is None
    assert list(context.getJobTags()) == []
