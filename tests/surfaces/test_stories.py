"""Discarding rows, and the story of one row: of a bad one by its id, of a good one by its key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger

CONTRACT = """
dataset: orders
source: {path: in.csv}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: 0}
    - {name: email, masking: encrypt}
transformations:
  - {trim: {fields: [code]}, phase: pre}
  - {derive: {field: twice, sql: amount * 2}}
  - {derive: {field: hint, sql: lower(email)}}
  - {drop: {columns: [hint]}}
quality:
  row_rules:
    - {name: small, sql: amount + id < 1000}
    - {name: even, sql: twice % 2 = 0, phase: post}
materialization: {target_path: shop.silver.orders}
"""
ROWS = "id,amount,email,code\n1,10,a@x.org, x\n2,-5,B@x.org,y\n,3,c@x.org,\n4,abc,d@x.org,z\n"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def told(*words: str) -> Any:
    result = call(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def orders(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    Path("orders.yaml").write_text(CONTRACT)
    Path("in.csv").write_text(ROWS)
    assert call("run", "orders.yaml").exit_code == 0
    return workspace


def row_of(rule: str) -> str:
    [row] = told("quarantine", "list", "orders", "--rule", rule)["rows"]
    return str(row["row_id"])


def test_a_discarded_row_keeps_who_when_and_why_and_is_not_replayed(orders: Path) -> None:
    row = row_of("amount_min")
    assert told("quarantine", "discard", "orders.yaml", "--row", row[:12], "--reason", "test data")["rows"] == [row]
    [kept] = told("quarantine", "list", "orders", "--state", "discarded")["rows"]
    assert (kept["row_id"], kept["settled_why"]) == (row, "test data")
    assert kept["settled_by"]
    with open_ledger(f"sqlite:///{orders}/lakelogic_warehouse/.lakelogic/ledger.db") as ledger:
        [act] = ledger.acts("orders")
    assert (act.act, act.why, act.facts["rows"]) == ("discard", "test data", [row])
    Path("orders.yaml").write_text(CONTRACT.replace("min: 0", "min: -10"))
    assert told("quarantine", "replay", "orders.yaml")["passed"] == 0
    assert told("quarantine", "list", "orders", "--state", "all")["total"] == 3


def test_a_discarded_row_that_is_read_again_stays_discarded_and_stands_once(orders: Path) -> None:
    row = row_of("amount_min")
    told("quarantine", "discard", "orders.yaml", "--row", row, "--reason", "test data")
    again = CONTRACT.replace("< 1000", "< 999").replace("silver.orders}", "silver.orders, strategy: merge}")
    Path("orders.yaml").write_text(again)
    assert told("run", "orders.yaml")["counts"]["quarantined"] == 3
    found = told("quarantine", "list", "orders", "--state", "all")["rows"]
    assert sorted((one["state"], one["row_id"] == row) for one in found) == [
        ("active", False), ("active", False), ("discarded", True),
    ]  # fmt: skip


def test_discarding_needs_a_reason_and_a_choice(orders: Path) -> None:
    assert call("quarantine", "discard", "orders.yaml", "--rule", "amount_min").exit_code == 2
    assert call("quarantine", "discard", "orders.yaml", "--rule", "amount_min", "--reason", " ").exit_code == 2
    assert call("quarantine", "discard", "orders.yaml", "--reason", "all of it").exit_code == 2
    assert told("quarantine", "list", "orders")["total"] == 3
    assert told("quarantine", "discard", "orders.yaml", "--reason", "all of it", "--all")["discarded"] == 3


def test_the_story_of_a_bad_row_goes_through_its_steps_and_rules_in_order(orders: Path) -> None:
    story = told("quarantine", "explain", row_of("amount_min")[:14])
    assert (story["source"], story["line"]) == (str(Path("in.csv").absolute()), 3)
    assert story["errors"] == ["Rule failed: amount_min (amount >= 0)"]
    assert story["values"]["email"].startswith("enc:")
    chapters = [(one["kind"], one["what"], one["outcome"]) for one in story["story"]]
    rules = [(what, outcome) for kind, what, outcome in chapters if kind == "rule"]
    assert rules == [
        ("id_type", "passed"), ("amount_type", "passed"), ("id_required", "passed"), ("amount_min", "failed"),
        ("small", "passed"), ("even", "not judged"),
    ]  # fmt: skip
    assert [kind for kind, _, _ in chapters if kind != "rule"] == [
        "landed", "trim", "cast", "derive", "derive", "drop",
    ]  # fmt: skip
    small = next(one for one in story["story"] if one["what"] == "small")
    assert small["values"] == {"rule": "small (amount + id < 1000)", "amount": "-5", "id": "2"}
    assert story["run"]["status"] == "succeeded"


def test_the_line_of_a_row_is_not_guessed_from_another_file(orders: Path) -> None:
    Path("in.csv").write_text("id,amount,email,code\n9,9,z@x.org,z\n" + ROWS.partition("\n")[2])
    story = told("quarantine", "explain", row_of("amount_min"))
    assert story["line"] is None
    assert "its file has changed since or is gone, so its line is not known" in story["notes"]


def test_a_row_that_is_not_there_cannot_be_discarded(orders: Path) -> None:
    result = call("quarantine", "discard", "orders.yaml", "--row", "zzzz", "--reason", "test data")
    assert result.exit_code == 2
    assert "begins with zzzz" in result.output


def test_a_rule_that_a_failed_cast_kept_quiet_did_not_pass(orders: Path) -> None:
    story = told("quarantine", "explain", row_of("amount_type")[:14])
    rules = {one["what"]: one["outcome"] for one in story["story"] if one["kind"] == "rule"}
    assert rules == {
        "id_type": "passed", "amount_type": "failed", "id_required": "passed", "amount_min": "not judged",
        "small": "not judged", "even": "not judged",
    }  # fmt: skip


def test_no_story_shows_a_masked_value_or_what_was_made_of_it(orders: Path) -> None:
    for rule in ("amount_min", "id_required", "amount_type"):
        text = call("quarantine", "explain", row_of(rule)).output
        assert "x.org" not in text
    good = call("explain", "orders.yaml", "--key", "1").output
    assert "x.org" not in good
    assert "••••" in good


def test_a_value_that_could_not_be_cast_is_told_as_it_was_written(orders: Path) -> None:
    story = told("quarantine", "explain", row_of("amount_type"), "orders.yaml")
    assert story["original"] == {"amount": "abc"}
    failed = [one for one in story["story"] if one["outcome"] == "failed"]
    assert [(one["what"], one["values"]["amount"]) for one in failed] == [("amount_type", "abc")]


def test_an_id_that_is_nowhere_or_not_the_only_one_is_refused(orders: Path) -> None:
    assert call("quarantine", "explain", "nowhere").exit_code == 2
    assert call("quarantine", "explain", "", "orders").exit_code == 2


def test_the_story_of_a_good_row_is_found_by_its_key(orders: Path) -> None:
    story = told("explain", "orders.yaml", "--key", "1")
    assert story["values"]["amount"] == 10
    assert story["source"] == str(Path("in.csv").absolute())
    assert story["run"]["run_id"] == story["run_id"]
    assert {one["outcome"] for one in story["story"] if one["kind"] == "rule"} == {"passed"}
    trimmed = next(one for one in story["story"] if one["kind"] == "trim")
    assert trimmed["values"] == {"code": "x"}
    assert call("explain", "orders.yaml", "--key", "2").exit_code == 2
    assert call("explain", "orders.yaml", "--key", "1", "--key", "2").exit_code == 2


def test_without_its_source_a_good_row_is_told_by_the_table_and_the_ledger(orders: Path) -> None:
    Path("in.csv").unlink()
    story = told("explain", "orders.yaml", "--key", "1")
    assert story["story"] is None
    assert "its source is not there any more" in story["notes"][0]
    assert story["run"]["counts_good"] == 1
