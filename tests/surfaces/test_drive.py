"""`lakelogic-driver` and `lakelogic drive`: the commands of the driver's page, verbatim, on a copy of the example.

On DuckDB with every change; `make test-page` sets LAKELOGIC_PAGE_ENGINES to try them on every engine.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import duckdb
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.drive import drive
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger

ROOT = Path(__file__).parents[2]
PAGE: dict[str, str] = runpy.run_path(str(ROOT / "scripts/walk_page.py"))["PAGE"]  # the commands, verbatim
ENGINES = os.environ.get("LAKELOGIC_PAGE_ENGINES", "duckdb").split(",")

BASIC = PAGE["Basic usage"]
ONE_ENTITY = PAGE["Run only one entity"]
OVERRIDES = PAGE["Run-level overrides"]
RESUME = PAGE["Partial resume"]
OBSERVED = PAGE["Observability outputs"]
PACKS = PAGE["Policy packs"]
PROMETHEUS = PAGE["Prometheus scraping"]


@pytest.fixture(params=ENGINES)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the repository's root, with nothing made yet."""
    shutil.copytree(ROOT / "examples/insurance_elt", tmp_path / "examples/insurance_elt")
    monkeypatch.chdir(tmp_path)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKELOGIC_ENGINE", request.param)
    return tmp_path


def call(command: str, *more: str) -> Result:
    words = shlex.split(command.replace("\\\n", ""))
    assert words[0] == "lakelogic-driver"
    return CliRunner().invoke(drive, [*words[1:], *more], catch_exceptions=False)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def rows(table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(Path("lakelogic_warehouse").joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    return sorted(tuple(row[column] for column in columns) for row in found)


def test_the_commands_of_the_page_one_after_another(home: Path) -> None:
    basic = call(BASIC)
    assert basic.exit_code == 0, basic.output
    assert "17 succeeded" in basic.stdout
    premiums = [("liability", Decimal("120.00")), ("motor", Decimal("1500.00")), ("property", Decimal("330.00"))]
    assert rows("insurance.gold.fact_premiums", "line", "premium") == premiums
    assert len(rows("insurance.gold.fact_claims", "claim_id")) == 6
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        runs = ledger.runs(limit=None)
    assert {run.status for run in runs} == {"succeeded"}
    assert len({run.pipeline_run_id for run in runs}) == 1
    assert {run.dataset for run in runs if run.reason == "full: the ledger has no run yet"} == {
        "bronze_core_customers", "bronze_core_agents", "bronze_core_policies", "bronze_core_claims",
    }  # fmt: skip

    # A policy that is new, and a customer's that nobody asked for.
    landing = home / "examples/insurance_elt/data/bronze"
    heads = (landing / "policies_2026-02-05.csv").read_text().splitlines()[0]
    (landing / "policies_2026-02-08.csv").write_text(
        f"{heads}\nP090,C001,A01,MOT,2026-02-01,,600.00,EUR,active,kb,2026-02-08T08:00:00Z,2026-02-08\n"
    )
    one = told(call(ONE_ENTITY, "--json"))
    assert {d["dataset"]: (d["status"], d["rows_source"]) for d in one["datasets"]} == {
        "bronze_core_policies": ("succeeded", 1),
        "silver_core_policies": ("succeeded", 12),
        "gold_dim_policies": ("succeeded", 7),
    }
    assert ("P090",) in rows("insurance.gold.dim_policies", "policy_id")
    assert rows("insurance.gold.fact_premiums", "line", "premium") == premiums  # was not asked for

    # The one file was read before, so nothing of it is new; other contracts have nothing to do with it.
    hotfix = told(call(OVERRIDES, "--json"))
    assert hotfix["exit_code"] == 0
    assert {d["dataset"]: d["status"] for d in hotfix["datasets"]} == {
        "bronze_core_customers": "skipped",
        "bronze_core_agents": "skipped",
        "bronze_core_policies": "skipped",
        "bronze_core_claims": "no_new_data",
    }
    # Written again by its source with another amount, it is new, and only that file is read.
    file = landing / "claims_cdc_2026-02-06.csv"
    lines = len(file.read_text().splitlines()) - 1
    file.write_text(file.read_text().replace("4100.00", "4150.00"))
    hotfix = told(call(OVERRIDES, "--json"))
    assert {d["dataset"]: d["rows_source"] for d in hotfix["datasets"] if d["status"] == "succeeded"} == {
        "bronze_core_claims": lines
    }

    observed = call(OBSERVED)
    assert observed.exit_code == 0, observed.output
    logs = home / "examples/insurance_elt/output/run_logs"
    with duckdb.connect(str(logs / "lakelogic_pipeline_runs.duckdb")) as connection:
        found = connection.execute(
            "SELECT status, exit_code, datasets, failed, window_kind FROM lakelogic.pipeline_runs"
        ).fetchall()
    assert found == [("succeeded", 0, 17, 0, "last_success")]
    assert rows("insurance.gold.fact_premiums", "line", "premium")[1] == ("motor", Decimal("2100.00"))
    assert json.loads((logs / "pipeline_metrics.json").read_text())["status"] == "succeeded"

    first = call(RESUME)
    assert first.exit_code == 0
    assert "9 no_new_data" in first.stdout
    again = call(RESUME)
    assert (again.exit_code, "9 skipped" in again.stdout) == (0, True)

    # The pack's steps and rules make other contracts of the silver ones, so they judge their rows again.
    packed = told(call(PACKS, "--json"))
    assert (packed["exit_code"], packed["counts"]["succeeded"]) == (0, 4)
    assert packed["asked"]["policy_packs"] == ["baseline_silver"]


def test_the_pass_of_the_page_can_be_scraped(home: Path) -> None:
    seen: list[dict[str, float]] = []
    done = threading.Event()

    def scrape() -> None:
        while not done.wait(0.05):
            try:
                with urlopen("http://127.0.0.1:9100/metrics") as answer:
                    families = text_string_to_metric_families(answer.read().decode())
                    seen.append({sample.name: sample.value for family in families for sample in family.samples})
            except OSError:
                continue

    scraper = threading.Thread(target=scrape)
    scraper.start()
    try:
        result = call(PROMETHEUS)
    finally:
        done.set()
        scraper.join()
    assert result.exit_code == 0, result.output
    assert {one["lakelogic_pass_running"] for one in seen} >= {1.0}
    assert max(one["lakelogic_pass_datasets_left"] for one in seen) == 17
    assert len(rows("insurance.gold.fact_claims", "claim_id")) == 6


def test_the_plan_is_shown_and_both_names_are_one_command(home: Path) -> None:
    words = ["--registry", "examples/insurance_elt/contracts/insurance/_registry.yaml", "--layers", "bronze,silver"]
    engine = os.environ["LAKELOGIC_ENGINE"]
    shown = CliRunner().invoke(cli, ["drive", *words, "--exclude", "agents", "--dry-run"], catch_exceptions=False)
    assert shown.exit_code == 0
    assert [line.split()[:4] for line in shown.stdout.splitlines()[2:]] == [
        ["1", "bronze_core_customers", "bronze", engine],
        ["1", "bronze_core_policies", "bronze", engine],
        ["1", "bronze_core_claims", "bronze", engine],
        ["2", "silver_core_customers", "silver", engine],
        ["3", "silver_core_policies", "silver", engine],
        ["4", "silver_core_claims", "silver", engine],
    ]
    assert "left out: silver_core_agents (taken out by --exclude)" in shown.stderr
    data = told(call(f"lakelogic-driver {shlex.join(words)} --dry-run --json"))
    assert sorted(data["datasets"][-1]["after"]) == ["bronze_core_claims", "silver_core_policies"]
    assert not (home / "lakelogic_warehouse").exists()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text("id\n1\nx\n")
    (tmp_path / "_registry.yaml").write_text(
        "entries: [{entity: orders, contracts: {bronze: orders.yaml}}, {entity: more, contracts: {silver: more.yaml}}]\n"
    )
    contract = (
        "info: {target_layer: bronze, dataset: bronze_orders, owner: team}\nsource: {path: orders.csv}\n"
        "model: {fields: [{name: id, type: int, required: true}]}\nmaterialization: {target_path: shop.bronze.orders}\n"
    )
    (tmp_path / "orders.yaml").write_text(contract)
    (tmp_path / "more.yaml").write_text(
        contract.replace("orders.csv", "shop.bronze.orders").replace("bronze_orders", "silver_more")
        .replace("target_path: shop.bronze.orders", "target_path: shop.silver.more").replace("bronze,", "silver,")
    )  # fmt: skip
    return tmp_path


@pytest.mark.parametrize(
    ("point", "status", "published"),
    [("after_stage", "failed", False), ("after_quarantine_commit", "succeeded", True)],
)
def test_a_pass_that_is_asked_to_end_gives_up_or_finishes_the_run_in_hand(
    small: Path, point: str, status: str, published: bool
) -> None:
    def start(**more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", "from lakelogic.cli.drive import main; main()", "--registry", "_registry.yaml",
             "--engine", "duckdb", "--summary-path", "summary.json", "--max-workers", "1"],
            cwd=small, env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    passing = start(LAKELOGIC_FAULT=f"{point}:stall", LAKELOGIC_FAULT_SECONDS="4")
    mark = "quarantine/bronze_orders/_delta_log" if published else "bronze/orders/batch-*"
    deadline = time.monotonic() + 120
    while not list((small / "lakelogic_warehouse/shop").glob(mark)):
        assert time.monotonic() < deadline
        assert passing.poll() is None, passing.communicate()
        time.sleep(0.05)
    passing.send_signal(signal.SIGTERM)
    out, err = passing.communicate(timeout=120)
    assert passing.returncode == 143, (out, err)
    summary = json.loads((small / "summary.json").read_text())
    assert summary["interrupted"] is True
    assert [(d["dataset"], d["status"]) for d in summary["datasets"]] == [
        ("bronze_orders", status),
        ("silver_more", "skipped"),
    ]
    table = small / "lakelogic_warehouse/shop/bronze/orders"
    assert (table / "_delta_log").exists() is published
    after = start()
    out, err = after.communicate(timeout=120)
    assert after.returncode == 0, (out, err)
    assert DeltaTable(table).to_pyarrow_table().column("id").to_pylist() == [1]
    assert DeltaTable(small / "lakelogic_warehouse/shop/silver/more").to_pyarrow_table().num_rows == 1


def test_rows_that_only_fail_a_warning_are_told(workspace: Path) -> None:
    Path("in.csv").write_text("id,delay\n1,5\n2,70\n3,80\n")
    Path("flights.yaml").write_text(
        "dataset: flights\nlayer: bronze\nsource: {path: in.csv}\n"
        "model: {fields: [{name: id, type: int}, {name: delay, type: int}]}\n"
        "quality: {row_rules: [{name: not_late, sql: delay <= 60, severity: warning}]}\n"
        "materialization: {target_path: air.bronze.flights, strategy: overwrite}\n"
    )
    Path("_registry.yaml").write_text("entries:\n  - {entity: flights, contracts: {bronze: flights.yaml}}\n")
    words = ["--registry", "_registry.yaml", "--engine", "duckdb"]
    done = CliRunner().invoke(drive, [*words, "--summary-path", "summary.json"], catch_exceptions=False)
    lines = done.stdout.splitlines()
    assert lines[0] == "flights  succeeded    3 read, 3 good, 0 bad, 2 with warnings"
    assert lines[1].strip() == "Warned: 2 rows by not_late, kept as good rows"
    summary = json.loads(Path("summary.json").read_text())
    assert summary["rows"] == {"source": 3, "good": 3, "quarantined": 0, "warned": 2}
    [told] = summary["datasets"]
    assert told["findings"]["warnings"] == [{"rule": "not_late", "rows": 2, "severity": "warning"}]
