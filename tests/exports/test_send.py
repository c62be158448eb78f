"""Exports of a contract: once for each version, in the ledger, tried again by kind, and never in the way of a run."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from lakelogic import DataProcessor
from lakelogic.actions.operate.export import ExportRequest, export, history, status
from lakelogic.cli.main import cli
from lakelogic.errors import ExportError, ExportInterrupted, NotFound, UsageError
from lakelogic.exports.base import Delivered
from lakelogic.plan.compile import load_checked
from lakelogic.run import export as sending
from lakelogic.run.surroundings import Surroundings

CONTRACT = """
info: {{dataset: gold_people, domain: people, target_layer: gold}}
source: {{path: people.csv}}
primary_key: [id]
model:
  fields:
    - {{name: id, type: int, required: true}}
    - {{name: email, pii: true, masking: redact}}
    - {{name: amount, type: "decimal(10,2)"}}
materialization: {{strategy: overwrite, target_path: lab.gold.people}}
exports:
{exports}
"""
FILES = "  - {type: files, target: out, format: csv}\n"
SNOWFLAKE = "  - {type: snowflake, target: LAB.GOLD.PEOPLE}\n"
VARIABLES = {"SNOWFLAKE_ACCOUNT": "a", "SNOWFLAKE_USER": "u", "SNOWFLAKE_PASSWORD": "p-secret"}


@pytest.fixture
def lab(workspace: Path, duckdb_engine: Any):
    """Writes and runs the contract: `lab(exports, people)`."""

    def run(exports: str = FILES, people: str = "1,ada@example.com,3.50\n2,bob@example.com,\n") -> Any:
        (workspace / "contract.yaml").write_text(CONTRACT.format(exports=exports))
        landed, text = workspace / "people.csv", "id,email,amount\n" + people
        if not landed.exists() or landed.read_text() != text:
            landed.write_text(text)
        return DataProcessor("contract.yaml", duckdb_engine).run()

    return run


class Elsewhere:
    """A destination that does as it is told: raises what is listed, then takes everything."""

    format = "parquet"
    trouble: ClassVar[list[Exception]] = []
    delivered: ClassVar[list[Any]] = []

    def __init__(self, given: Any, target: str) -> None:
        self.given = given

    def deliver(self, shipment: Any, keep_on: Any) -> Delivered:
        keep_on()
        if self.trouble:
            raise self.trouble.pop(0)
        self.delivered.append(shipment)
        return Delivered(shipment.rows)

    def close(self) -> None:
        return


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> type[Elsewhere]:
    """Snowflake is configured and is somebody else; waiting takes no time."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    made = type("Fresh", (Elsewhere,), {"trouble": [], "delivered": []})
    monkeypatch.setattr("lakelogic.run.export.registry.load", lambda kind, given, target: made(given, target))
    monkeypatch.setattr(sending, "_pause", lambda _: None)
    return made


def sent(**changed: Any) -> Any:
    return export(Surroundings.here(), ExportRequest(("contract.yaml",), **changed))


def test_a_run_sends_what_it_published_masked_as_it_is_kept_and_without_stamps(lab, workspace):
    assert lab().status == "succeeded"
    manifest = json.loads((workspace / "out/latest.json").read_text())
    with (workspace / "out" / manifest["folder"] / "part-00000.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [tuple(row) for row in rows[:1]] == [("id", "email", "amount")]
    assert [(row["id"], row["amount"]) for row in rows] == [("1", "3.50"), ("2", "")]
    assert not [row for row in rows if "@" in row["email"]]


def test_a_version_is_sent_once_and_the_next_one_beside_it(lab, workspace):
    lab()
    assert [one["state"] for one in sent().exports] == ["up to date"]
    assert len(history(Surroundings.here(), "gold_people")) == 1
    lab(people="3,cy@example.com,1\n")
    assert len(list((workspace / "out").glob("*/manifest.json"))) == 2
    assert [(one["version"], one["rows"], one["state"]) for one in history(Surroundings.here(), "gold_people")] == [
        (1, 1, "done"),
        (0, 2, "done"),
    ]


def test_a_run_that_finds_nothing_new_catches_up_on_what_was_not_sent(lab, elsewhere, monkeypatch):
    monkeypatch.delenv("SNOWFLAKE_USER")
    lab(SNOWFLAKE)
    assert elsewhere.delivered == []
    monkeypatch.setenv("SNOWFLAKE_USER", "u")
    assert lab(SNOWFLAKE).status == "no_new_data"
    assert [(one.rows, one.key, one.mode) for one in elsewhere.delivered] == [(2, ("id",), "merge")]


def test_without_its_variables_an_export_is_not_configured_and_nothing_fails(lab):
    assert lab(SNOWFLAKE.replace("}", ", required: true}")).status == "succeeded"
    report = sent()
    assert (report.exit_code, report.exports[0]["state"]) == (0, "not configured")
    assert report.exports[0]["missing"] == ["SNOWFLAKE_ACCOUNT", "SNOWFLAKE_USER", "SNOWFLAKE_PASSWORD"]
    assert history(Surroundings.here(), "gold_people") == []


def test_what_may_work_later_is_tried_again_and_what_may_not_is_not(lab, elsewhere):
    elsewhere.trouble += [ExportInterrupted("busy"), ExportInterrupted("busy")]
    lab(SNOWFLAKE)
    (done,) = history(Surroundings.here(), "gold_people")
    assert (done["state"], done["attempts"]) == ("done", 3)
    elsewhere.trouble += [ExportError("no such role")]
    report = sent(again=True)
    assert (report.exit_code, report.exports[0]["error"]["code"], report.exports[0]["attempts"]) == (4, "LL-E045", 0)
    assert [(one["state"], one["attempts"]) for one in history(Surroundings.here(), "gold_people")] == [
        ("failed", 1),
        ("done", 3),
    ]


def test_an_export_that_fails_does_not_fail_the_run_unless_it_is_required(lab, elsewhere):
    elsewhere.trouble += [ExportError("no such role")]
    assert lab(SNOWFLAKE).status == "succeeded"
    needed = SNOWFLAKE.replace("}", ", required: true}")
    elsewhere.trouble += [ExportError("no such role")]
    with pytest.raises(ExportError, match="no such role"):
        lab(needed, people="9,x@example.com,1\n")
    told = status(Surroundings.here(), [load_checked("contract.yaml").contract])
    assert (told[0]["status"], told[0]["error"], told[0]["table_version"]) == ("failed", "no such role", 1)
    assert lab(needed, people="9,x@example.com,1\n").status == "no_new_data"  # it was published, and is sent now
    assert status(Surroundings.here(), [load_checked("contract.yaml").contract])[0]["status"] == "up to date"


def test_manual_exports_wait_for_somebody(lab, elsewhere):
    lab(SNOWFLAKE.replace("}", ", when: manual}"))
    assert elsewhere.delivered == []
    assert [one["state"] for one in sent(dry_run=True).exports] == ["planned"]
    assert [one["state"] for one in sent().exports] == ["exported"]


def test_status_tells_what_is_there_and_what_is_newer_here(lab, elsewhere):
    contract = lambda: [load_checked("contract.yaml").contract]  # noqa: E731
    manual = SNOWFLAKE.replace("}", ", when: manual}")
    lab(manual)
    assert status(Surroundings.here(), contract())[0]["status"] == "never exported"
    sent()
    told = status(Surroundings.here(), contract())[0]
    assert (told["status"], told["exported_version"], told["rows"]) == ("up to date", 0, 2)
    lab(manual, people="5,e@example.com,1\n")
    assert status(Surroundings.here(), contract())[0]["status"] == "behind"


def test_a_key_that_does_not_tell_rows_apart_is_refused_before_anything_is_sent(lab, elsewhere):
    lab("  - {type: snowflake, target: LAB.GOLD.PEOPLE, key: [email]}\n")
    (told,) = history(Surroundings.here(), "gold_people")
    assert (told["state"], told["error"]["message"][:37]) == ("failed", "The key (email) does not tell all row")
    lab("  - {type: snowflake, target: LAB.GOLD.PEOPLE, key: [amount]}\n")
    assert "absent in 1 values" in history(Surroundings.here(), "gold_people")[0]["error"]["message"]
    assert elsewhere.delivered == []


def test_chosen_columns_and_a_connection_of_its_own(lab, elsewhere, monkeypatch):
    monkeypatch.setenv("OTHER_SNOWFLAKE", json.dumps({**VARIABLES, "SNOWFLAKE_ACCOUNT": "other"}))
    lab("  - {type: snowflake, target: LAB.GOLD.PEOPLE, columns: [ID, amount], connection: env:OTHER_SNOWFLAKE}\n")
    assert [one.schema.names for one in elsewhere.delivered] == [["id", "amount"]]
    monkeypatch.setenv("OTHER_SNOWFLAKE", "p-secret")
    (told,) = sent().exports
    assert told["error"]["code"] == "LL-E021"
    assert "p-secret" not in json.dumps(told)
    monkeypatch.delenv("OTHER_SNOWFLAKE")
    assert sent().exports[0]["state"] == "not configured"


def test_changing_an_export_sends_the_same_rows_and_does_not_run_the_contract_again(lab, workspace):
    lab()
    assert lab(FILES.replace("csv", "ndjson")).status == "no_new_data"
    lines = next((workspace / "out").glob("*/part-00000.ndjson")).read_text().splitlines()
    assert [json.loads(line)["amount"] for line in lines] == ["3.50", None]


def test_a_lost_ledger_is_made_up_for_by_what_the_destination_remembers(lab, workspace):
    lab()
    with sqlite3.connect(workspace / "lakelogic_warehouse/.lakelogic/ledger.db") as database:
        database.execute("DELETE FROM exports")
    assert [(one["state"], one["known_there"]) for one in sent().exports] == [("exported", True)]


def test_the_command_shows_states_and_ends_as_the_exports_did(lab, elsewhere, monkeypatch):
    lab(FILES + SNOWFLAKE)
    elsewhere.trouble += [ExportError("no such role", hint="Ask for it.")]
    done = CliRunner().invoke(cli, ["export", "contract.yaml", "--again"])
    assert done.exit_code == 3
    assert "no such role" in done.output
    shown = json.loads(CliRunner().invoke(cli, ["export", "contract.yaml", "--status", "--json"]).stdout)
    assert [(one["export"], one["status"]) for one in shown["exports"]] == [
        ("files", "up to date"),
        ("snowflake", "up to date"),
    ]
    with pytest.raises(NotFound, match="no export `tape`"):
        sent(only=("tape",))


def test_a_contract_without_exports_says_so(lab, workspace):
    lab("  []\n")
    with pytest.raises(UsageError, match="has `exports`"):
        sent()
