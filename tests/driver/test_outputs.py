"""What a pass leaves behind: rows in tables of every kind, lines, and metrics while it goes on and after."""

from __future__ import annotations

import json
import logging
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from lakelogic.actions.operate.drive import DriveRequest, drive
from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.passes import Pass
from lakelogic.engines import registry
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings

CONTRACT = """
info: {target_layer: bronze, dataset: bronze_NAME, owner: team}
source: {path: landing, pattern: "NAME_*.csv", format: csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}]}
materialization: {target_path: shop.bronze.NAME}
"""


@pytest.fixture
def estate(lay, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lay(
        {
            "_registry.yaml": "entries: [{entity: a, contracts: {bronze: a.yaml}}, {entity: b, contracts: {bronze: b.yaml}}]",
            "a.yaml": CONTRACT.replace("NAME", "a"),
            "b.yaml": CONTRACT.replace("NAME", "b").replace("path: landing", "path: nowhere"),
            "landing/a_1.csv": "id\n1\n2\nx\n",
        }
    )
    monkeypatch.chdir(folder)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return folder


def go(listen: Any = lambda _: None, **more: Any) -> Pass:
    """A pass in which `a` succeeds with two good rows and a bad one, and `b` fails."""
    return drive(Surroundings.here(), DriveRequest(("_registry.yaml",), engine="duckdb", **more), listen=listen)


def expected(done: Pass) -> dict[str, Any]:
    return {
        "pipeline_run_id": done.pipeline_run_id,
        "status": "partial",
        "exit_code": 3,
        "started_at": done.started_at,
        "succeeded": 1,
        "failed": 1,
        "rows_source": 3,
        "rows_quarantined": 1,
    }


def test_a_delta_table_in_the_warehouse_or_in_a_folder(estate: Path) -> None:
    done = go(summary_table="lakelogic.pipeline_runs", summary_backend="delta")
    again = go(summary_table="lakelogic.pipeline_runs", summary_backend="delta")
    found = DeltaTable("lakelogic_warehouse/lakelogic/pipeline_runs").to_pyarrow_table().sort_by("started_at")
    row = found.to_pylist()[0]
    assert {name: row[name] for name in expected(done)} == expected(done)
    assert json.loads(row["reasons"]).keys() == {"bronze_b"}
    assert found.column("pipeline_run_id").to_pylist() == [done.pipeline_run_id, again.pipeline_run_id]
    go(summary_table="runs", summary_backend="delta", summary_database="elsewhere")
    assert DeltaTable("elsewhere/runs").to_pyarrow_table().num_rows == 1


def test_a_table_in_postgresql_with_its_schema(estate: Path, postgres_url: str) -> None:
    import psycopg

    asked = {"summary_table": "monitoring.pipeline_runs", "summary_backend": "postgres"}
    done = go(**asked, summary_database=postgres_url)
    go(**asked, summary_database=postgres_url)
    with psycopg.connect(postgres_url) as connection:
        named = expected(done)
        rows = connection.execute(
            f"SELECT {', '.join(named)} FROM monitoring.pipeline_runs ORDER BY started_at"
        ).fetchall()
        connection.execute("DROP SCHEMA monitoring CASCADE")
    assert len(rows) == 2
    assert rows[0] == tuple(named.values())


@pytest.mark.parametrize("url", ["runs.db", "mysql://me:hidden@host/db", "postgresql://me:hidden@host:port/db"])
def test_what_is_no_postgresql_is_refused_before_anything_runs(estate: Path, url: str) -> None:
    with pytest.raises(UsageError) as refused:
        go(summary_table="runs", summary_backend="postgres", summary_database=url)
    assert "hidden" not in str(refused.value)
    assert not (estate / "lakelogic_warehouse").exists()


def test_a_line_for_each_dataset_stays_behind(estate: Path) -> None:
    for _ in range(2):
        done = go(runs_path="logs/runs.jsonl", max_workers=1)
    lines = [json.loads(line) for line in (estate / "logs/runs.jsonl").read_text().splitlines()]
    assert [(line["dataset"], line["status"], line["rows_good"]) for line in lines] == [
        ("bronze_a", "succeeded", 2),
        ("bronze_b", "failed", 0),
        ("bronze_a", "no_new_data", 0),
        ("bronze_b", "failed", 0),
    ]
    assert lines[2]["pipeline_run_id"] == done.pipeline_run_id
    assert lines[1]["error"]["code"] == "LL-E020"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def scraped(port: int) -> dict[str, float]:
    """Samples by name and by the values of their labels."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {
            "/".join([sample.name, *sample.labels.values()]): sample.value
            for family in families
            for sample in family.samples
        }


def test_a_pass_can_be_scraped_while_it_goes_on_and_is_left_for_the_last_scrape(estate: Path) -> None:
    port, seen = free_port(), []

    def look(_: DatasetOutcome) -> None:
        seen.append(scraped(port))

    done: list[Pass] = []
    scraper = threading.Thread(target=lambda: seen.append(scraped(port)))

    def ended(found: Pass) -> None:
        scraper.start()
        done.append(found)

    request = DriveRequest(
        ("_registry.yaml",), engine="duckdb", max_workers=1, metrics_backend="prometheus", metrics_port=port,
        metrics_prefix="shop", metrics_tags=("env=test",), metrics_linger=60, metrics_path="metrics.prom",
    )  # fmt: skip
    drive(Surroundings.here(), request, listen=look, ended=ended)
    scraper.join()  # it may still be reading what it was given
    first, second, last = seen
    assert first["shop_pass_running/test"] == 1
    assert first["shop_pass_datasets_left/test"] == 1
    assert first["shop_dataset_rows/test/bronze_a/bronze/quarantined"] == 1
    assert second["shop_dataset_done/test/bronze_b/bronze/failed"] == 0
    assert last["shop_pass_running/test"] == 0
    assert last["shop_pass_exit_code/test"] == 3
    assert last["shop_pass_datasets/test/failed"] == 1
    with pytest.raises(OSError, match="refused"):
        scraped(port)
    assert 'shop_pass_datasets{env="test",status="failed"} 1\n' in (estate / "metrics.prom").read_text()


def test_an_endpoint_that_is_taken_keeps_a_pass_from_beginning(estate: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot be offered at 127"):
            go(metrics_backend="prometheus", metrics_port=taken.getsockname()[1])
    assert not (estate / "lakelogic_warehouse").exists()


def test_a_gateway_that_is_away_does_not_change_how_the_pass_came_out(
    estate: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("lakelogic"), "propagate", True)
    done = go(metrics_backend="pushgateway", metrics_port=free_port(), summary_path="summary.json")
    assert done.exit_code == 3
    assert (estate / "summary.json").exists()
    assert "Metrics were not sent, and the pass is as it is" in caplog.text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics_host": "0.0.0.0"}, "need a backend that listens or sends"),
        ({"metrics_backend": "statsd", "metrics_linger": 5.0}, "needs --metrics-backend prometheus"),
        ({"metrics_backend": "statsd", "metrics_prefix": "a-b"}, "cannot begin the names"),
        ({"metrics_backend": "statsd", "metrics_tags": ("prod",)}, "is not a tag"),
    ],
)
def test_metrics_that_cannot_be_are_refused(estate: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        go(**asked)


@pytest.mark.spark
def test_a_table_that_spark_writes(estate: Path, request: pytest.FixtureRequest) -> None:
    started = request.getfixturevalue("_started")
    if "spark" not in started:
        started["spark"] = registry.load("spark")
    assert started["spark"].session is not None  # so that Spark outlives the pass, for all tests
    asked = {"summary_table": "lakelogic.pipeline_runs", "summary_backend": "spark"}
    with pytest.raises(UsageError, match="forgets its tables"):
        go(**asked)
    done = go(**asked, summary_database="logs")
    (row,) = DeltaTable("logs/lakelogic/pipeline_runs").to_pyarrow_table().to_pylist()
    assert {name: row[name] for name in expected(done)} == expected(done)
