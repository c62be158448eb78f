"""`lakelogic bootstrap`: the command of the driver's page, a pass over its drafts, and what --sync leaves alone."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from deltalake import DeltaTable

from lakelogic.cli.drive import drive
from lakelogic.cli.main import cli

ROOT = Path(__file__).parents[2]
COMMAND = """lakelogic bootstrap \\
--landing examples/insurance_elt/data/bronze \\
--output-dir examples/insurance_elt/bootstrap_contracts \\
--registry examples/insurance_elt/bootstrap_contracts/_registry.yaml \\
--format csv \\
--pattern "*.csv" """
DRAFTS = Path("examples/insurance_elt/bootstrap_contracts")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples/insurance_elt/data", tmp_path / "examples/insurance_elt/data")
    monkeypatch.chdir(tmp_path)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def call(*more: str) -> Result:
    words = shlex.split(COMMAND.replace("\\\n", ""))
    return CliRunner().invoke(cli, [*words[1:], *more], catch_exceptions=False)


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def effects(result: Result) -> dict[str, str]:
    return {one["entity"]: one["effect"] for one in told(result)["entities"]}


def test_the_command_of_the_page_drafts_what_the_driver_runs_at_once(home: Path) -> None:
    report = told(call("--json"))
    assert report["registry_effect"] == "written"
    found = {one["entity"]: (one["key"]["columns"], one["strategy"]["name"]) for one in report["entities"]}
    assert found == {
        "agents": (["agent_id"], "merge"),
        "claims": (["claim_id"], "cdc"),
        "customers": (["customer_id"], "merge"),
        "policies": (["policy_id"], "merge"),
    }
    types = {c["name"]: c["type"] for one in report["entities"] if one["entity"] == "policies" for c in one["columns"]}
    assert (types["premium"], types["start_date"], types["updated_at"]) == ("decimal(18,2)", "date", "timestamp")
    personal = {c["name"] for one in report["entities"] for c in one["columns"] if c["personal"]}
    assert personal == {"full_name", "email"}
    done = CliRunner().invoke(drive, ["--registry", str(DRAFTS / "_registry.yaml"), "--engine", "duckdb"])
    assert done.exit_code == 0, done.output
    assert "4 succeeded" in done.stdout
    customers = DeltaTable("lakelogic_warehouse/landing/bronze/customers").to_pyarrow_table().to_pylist()
    # Landed with `s` on the first of February, and with `W` on the fourth.
    assert {row["customer_id"]: row["region_code"] for row in customers}["C002"] == "W"


def test_what_is_new_is_added_and_what_somebody_edited_stays(home: Path) -> None:
    call()
    again = call()
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert set(effects(call("--sync", "--json")).values()) == {"unchanged"}

    edited = DRAFTS / "customers.yaml"
    edited.write_text(edited.read_text().replace("owner: unassigned", "owner: crm"))
    registry = DRAFTS / "_registry.yaml"
    registry.write_text(
        registry.read_text().replace("entity: claims\n    enabled: true", "entity: claims\n    enabled: false")
    )
    mine, listed = edited.read_text(), registry.read_text()
    landing = Path("examples/insurance_elt/data/bronze")
    (landing / "brokers_2026-02-08.csv").write_text("broker_id,city\nB1,Bern\n")
    for name in ("customers", "agents"):
        heads = (landing / f"{name}_2026-02-01.csv").read_text().splitlines()[0]
        (landing / f"{name}_2026-02-08.csv").write_text(f"{heads},tier\n{'x,' * heads.count(',')}2026-02-08,gold\n")
    report = told(call("--sync", "--json"))
    assert {one["entity"]: (one["effect"], one["missing"]) for one in report["entities"]} == {
        "agents": ("renewed", []),
        "brokers": ("written", []),
        "claims": ("unchanged", []),
        "customers": ("kept", ["tier"]),
        "policies": ("unchanged", []),
    }
    assert edited.read_text() == mine
    assert "- name: tier" in (DRAFTS / "agents.yaml").read_text()
    assert registry.read_text().startswith(listed.rstrip())
    entries = yaml.safe_load(registry.read_text())["entries"]
    assert [(one["entity"], one["enabled"]) for one in entries] == [
        ("agents", True), ("claims", False), ("customers", True), ("policies", True), ("brokers", True),
    ]  # fmt: skip


def test_a_registry_that_cannot_be_added_to_is_left_to_its_writer(home: Path) -> None:
    DRAFTS.mkdir(parents=True)
    written = "entries: [{entity: claims, contracts: {bronze: mine.yaml}}]\nmetadata: {of: me}\n"
    (DRAFTS / "_registry.yaml").write_text(written)
    report = told(call("--sync", "--json"))
    assert report["registry_effect"] == "kept"
    assert "- entity: agents" in report["to_add"]
    assert "- entity: claims" not in report["to_add"]
    assert (DRAFTS / "_registry.yaml").read_text() == written


def test_a_file_that_cannot_be_read_is_left_out_and_the_others_are_drafted(home: Path) -> None:
    landing = home / "landing"
    landing.mkdir()
    (landing / "good_1.csv").write_text("id,name\n1,a\n")
    (landing / "empty_1.csv").write_text("")
    (landing / "twice_1.csv").write_text("Id,id\n1,2\n")
    words = ["bootstrap", "--landing", "landing", "--output-dir", "drafts"]
    done = CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 3
    report = json.loads(done.stdout)
    assert [one["entity"] for one in report["entities"]] == ["good"]
    assert report["left_out"] == {
        "empty": "There is nothing in landing/empty_1.csv.",
        "twice": "landing/twice_1.csv has columns `Id` and `id`, alike but for case.",
    }
    assert sorted(path.name for path in (home / "drafts").iterdir()) == ["_registry.yaml", "good.yaml"]
    assert CliRunner().invoke(drive, ["--registry", "drafts", "--engine", "duckdb"]).exit_code == 0
    (landing / "good_1.csv").unlink()
    assert CliRunner().invoke(cli, [*words[:-1], "others"]).exit_code == 4
    assert not (home / "others").exists()
