"""The driver page's commands about days, approval and shared links, verbatim, on a copy of the example.

On DuckDB with every change; `make test-page` sets LAKELOGIC_PAGE_ENGINES to try them on every engine.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.drive import drive
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger

ROOT = Path(__file__).parents[2]
PAGE: dict[str, str] = runpy.run_path(str(ROOT / "scripts/walk_page.py"))["PAGE"]  # the commands, verbatim
ENGINES = os.environ.get("LAKELOGIC_PAGE_ENGINES", "duckdb").split(",")
D = Decimal

RANGE = PAGE["Incremental window (range)"]
BACKFILL = PAGE["Backfill planner"]
REPROCESS = PAGE["Reprocess (late arriving data)"]
APPROVAL = PAGE["Approval gates"]
CACHE = PAGE["Reference cache"]


@pytest.fixture(params=ENGINES)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the repository's root, with the reference tables made."""
    shutil.copytree(ROOT / "examples/insurance_elt", tmp_path / "examples/insurance_elt")
    monkeypatch.chdir(tmp_path)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAKELOGIC_ENGINE", request.param)
    made = call("lakelogic-driver --registry examples/insurance_elt/contracts/shared/reference/_registry.yaml")
    assert made.exit_code == 0, made.output
    return tmp_path


def call(command: str, *more: str) -> Result:
    words = shlex.split(command.replace("\\\n", ""))
    assert words[0] == "lakelogic-driver"
    return CliRunner().invoke(drive, [*words[1:], *more], catch_exceptions=False)


def passed(command: str, *more: str) -> dict[str, Any]:
    done = call(command, "--json", *more)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of(done: dict[str, Any], dataset: str) -> list[tuple[str, int]]:
    return [(one["status"], one["rows_source"]) for one in done["datasets"] if one["dataset"] == dataset]


def rows(table: str, *columns: str) -> list[Any]:
    found = DeltaTable(Path("lakelogic_warehouse").joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    values = sorted(tuple(row[column] for column in columns) for row in found)
    return [value[0] for value in values] if len(columns) == 1 else values


def watermark(dataset: str) -> str | None:
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        found = ledger.last_published(dataset)
        assert found is not None
        return ledger.watermark(f"{dataset}@{LocalCatalog().resolve(str(found.target))}")


def test_the_commands_about_days_links_and_approval_one_after_another(home: Path) -> None:
    # 1 to 5 February, the 5th included: customers 6 + 3 rows, agents 3 + 2, policies 8 + 2 + 2, claims 13 changes.
    ranged = passed(RANGE)
    assert (ranged["window"], ranged["windows"]) == (
        "range", [{"first": "2026-02-01", "last": "2026-02-05", "status": "done"}],
    )  # fmt: skip
    read = {name: of(ranged, f"bronze_core_{name}") for name in ("customers", "agents", "policies", "claims")}
    assert read == {name: [("succeeded", n)] for name, n in zip(read, (9, 5, 12, 13), strict=True)}
    assert rows("insurance.silver.claims", "claim_id") == ["K001", "K004", "K006", "K010"]
    # What happened in these days: K001's damage was in January.
    assert rows("insurance.gold.fact_claims", "claim_id") == ["K004", "K006", "K010"]
    assert rows("insurance.gold.claims_daily", "event_date", "cause", "amount") == [
        (date(2026, 2, 2), "storm", D("880.00")),
        (date(2026, 2, 2), "theft", D("150.00")),
        (date(2026, 2, 3), "collision", D("2100.00")),
    ]
    assert watermark("bronze_core_claims") == "2026-02-05"

    # The two days that are left bring three changes of claims; what was read is not read again.
    planned = call(BACKFILL, "--dry-run")
    assert planned.stdout.splitlines()[-7:] == [f"window: 2026-02-0{day}" for day in range(1, 8)]
    filled = passed(BACKFILL)
    assert [window["status"] for window in filled["windows"]] == ["done"] * 7
    assert of(filled, "bronze_core_claims") == [("no_new_data", 0)] * 5 + [("succeeded", 2), ("succeeded", 1)]
    # Of silver, the rows of each day: policies of 1, 3 and 5 February.
    assert [n for _, n in of(filled, "silver_core_policies")] == [7, 0, 2, 0, 2, 0, 0]
    assert rows("insurance.silver.policies", "policy_id") == ["P001", "P002", "P003", "P004", "P009", "P010"]
    assert rows("insurance.silver.claims", "claim_id") == ["K001", "K004", "K006", "K008", "K009", "K010"]
    assert [watermark(name) for name in ("bronze_core_claims", "silver_core_policies")] == [
        "2026-02-07",
        "2026-02-05",  # nothing came later
    ]

    lines = call(BACKFILL).stdout.splitlines()
    assert [line for line in lines if line.startswith("window")] == [
        f"window {day} of 7: 2026-02-0{day}" for day in range(1, 8)
    ]
    first = lines[: lines.index("window 2 of 7: 2026-02-02")]
    assert sum("_core_" in line for line in first) == 8

    # A policy of 3 February was a mistake: its day is processed again in bronze, then the days above it.
    file = home / "examples/insurance_elt/data/bronze/policies_2026-02-03.csv"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("P009")))
    again = "lakelogic-driver --registry examples/insurance_elt/contracts/insurance/_registry.yaml --layers bronze"
    assert of(passed(f"{again} --entities policies --reprocess-date 2026-02-03"), "bronze_core_policies") == [
        ("succeeded", 1)
    ]
    assert sorted(rows("insurance.bronze.policies", "policy_id")).count("P009") == 0
    assert len(rows("insurance.bronze.policies", "policy_id")) == 10
    redone = passed(REPROCESS)
    assert of(redone, "silver_core_policies") == [("succeeded", 10)]
    assert rows("insurance.silver.policies", "policy_id") == ["P001", "P002", "P003", "P004", "P010"]
    # K006 belongs to no policy any more; K008 and K009 are of other days.
    assert rows("insurance.silver.claims", "claim_id") == ["K001", "K004", "K008", "K009", "K010"]
    assert rows("insurance.gold.fact_claims", "claim_id") == ["K004", "K010"]
    assert rows("insurance.gold.claims_daily", "cause", "amount") == [("storm", D("880.00")), ("theft", D("150.00"))]
    assert [watermark(f"{layer}_core_policies") for layer in ("bronze", "silver")] == ["2026-02-05", "2026-02-05"]

    # Regions are a link of customers and of agents.
    cached = passed(CACHE)["references"]
    assert (cached["links"]["shared.reference.regions"], cached["reused"]) == ({"read": 1, "reused": 1}, 1)

    gaps = CliRunner().invoke(cli, ["state", "gaps", "bronze_core_customers", "--json"], catch_exceptions=False)
    (found,) = json.loads(gaps.stdout)["datasets"]
    assert (found["processed"], found["gaps"]) == (7, [])

    # Another column of a gold table waits until somebody approves of it.
    contract = home / "examples/insurance_elt/contracts/insurance/gold/claims_daily.yaml"
    contract.write_text(
        contract.read_text()
        .replace("SUM(amount) AS amount FROM", "SUM(amount) AS amount, MAX(amount) AS largest FROM")
        .replace("transformations:", '    - {name: largest, type: "decimal(12,2)"}\ntransformations:')
    )
    asked = call(APPROVAL)
    assert asked.exit_code == 5, asked.output
    assert "the columns differ from the table's (added: largest), and that needs approval" in asked.stdout
    assert (
        "largest" not in DeltaTable("lakelogic_warehouse/insurance/gold/claims_daily").to_pyarrow_table().schema.names
    )
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        (waiting,) = ledger.waiting()
    words = ["approve", waiting.run_id, "--approval-file", "approvals/2026-02-06.ok", "--why", "agreed on Monday"]
    written = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert written.stdout == f"5 rows of {waiting.run_id} are approved in approvals/2026-02-06.ok\n"
    published = call(APPROVAL)
    assert published.exit_code == 0, published.output
    assert "approved by" in published.stdout
    assert rows("insurance.gold.claims_daily", "largest") == [
        D("150.00"),
        D("210.00"),
        D("880.00"),
        D("1350.00"),
        D("4100.00"),
    ]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        record = ledger.run(waiting.run_id)
    assert (record.status, str(record.reason).endswith("agreed on Monday")) == ("succeeded", True)
