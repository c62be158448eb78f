"""`lakelogic quarantine`: what waits, why, shown masked, copied, and revealed only with a reason that is kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger

CONTRACT = """
dataset: orders
source: {path: in.csv}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: 0}
    - {name: email, masking: encrypt}
materialization: {target_path: shop.silver.orders}
"""
ROWS = "id,amount,email\n1,10,a@x.org\n2,-5,b@x.org\n,3,c@x.org\n4,abc,d@x.org\n"
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
    Path("orders.yaml").write_text(CONTRACT)
    Path("in.csv").write_text(ROWS)
    assert call("run", "orders.yaml", "--engine", "duckdb").exit_code == 0
    return workspace


def test_the_overview_counts_rows_by_dataset_and_state(orders: Path) -> None:
    [one] = told("quarantine", "list")["quarantines"]
    assert (one["dataset"], one["table"]) == ("orders", "shop.quarantine.silver_orders")
    assert (one["active"], one["replayed"], one["discarded"]) == (3, 0, 0)
    assert one["rules"] == {"amount_min": 1, "id_required": 1, "amount_type": 1}
    assert "orders" in call("quarantine", "list").stdout


@pytest.mark.parametrize("what", ["orders.yaml", "orders", "shop.quarantine.silver_orders"])
def test_rows_are_found_by_contract_by_dataset_and_by_table(orders: Path, what: str) -> None:
    found = told("quarantine", "list", what)
    assert found["total"] == 3
    assert sorted(error for row in found["rows"] for error in row["errors"]) == [
        "Rule failed: amount_min (amount >= 0)",
        "Rule failed: id is required",
        "Type mismatch: amount cannot be cast to int",
    ]


def test_rows_are_chosen_by_rule_category_run_id_age_and_state(orders: Path) -> None:
    rows = told("quarantine", "list", "orders")["rows"]
    [missing] = [row for row in rows if row["rules"] == ["id_required"]]

    def chosen(*words: str) -> list[str]:
        return [row["row_id"] for row in told("quarantine", "list", "orders", *words)["rows"]]

    assert chosen("--rule", "id_required") == [missing["row_id"]]
    assert chosen("--category", "completeness") == [missing["row_id"]]
    assert len(chosen("--rule", "id_required", "--rule", "amount_min")) == 2
    assert chosen("--row", missing["row_id"][:10]) == [missing["row_id"]]
    assert len(chosen("--run", missing["run_id"])) == 3
    assert chosen("--run", "run-1999") == []
    assert chosen("--older-than", "1h") == []
    assert len(chosen("--older-than", "0s")) == 3
    assert chosen("--state", "discarded") == []
    assert len(told("quarantine", "list", "orders", "--limit", "2")["rows"]) == 2


def test_a_name_that_nobody_knows_is_an_error_and_no_empty_list(orders: Path) -> None:
    result = call("quarantine", "list", "ordres")
    assert result.exit_code == 2
    assert "`ordres` is no contract's file" in result.stderr
    assert call("quarantine", "list", "orders", "--older-than", "soon").exit_code == 2


def test_shown_rows_stay_masked_and_the_landed_row_is_left_out(orders: Path) -> None:
    found = told("quarantine", "show", "orders.yaml", "--rule", "amount_min")
    [row] = found["rows"]
    assert (row["id"], row["amount"]) == (2, -5)
    assert row["email"].startswith("enc:")
    assert "_lakelogic_raw" not in row
    assert "b@x.org" not in call("quarantine", "show", "orders.yaml").stdout
    [unread] = told("quarantine", "show", "orders.yaml", "--rule", "amount_type")["rows"]
    assert unread["_lakelogic_original"] == {"amount": "abc"}


def test_values_are_revealed_only_with_a_reason_which_the_ledger_keeps(orders: Path) -> None:
    assert call("quarantine", "show", "orders.yaml", "--reveal").exit_code == 2
    found = told("quarantine", "show", "orders.yaml", "--rule", "amount_min", "--reveal", "--why", "ticket 7")
    [row] = found["rows"]
    assert row["email"] == "b@x.org"
    assert json.loads(row["_lakelogic_raw"]) == {"id": "2", "amount": "-5", "email": "b@x.org"}
    with open_ledger(f"sqlite:///{orders}/lakelogic_warehouse/.lakelogic/ledger.db") as ledger:
        [act] = ledger.acts("orders")
    assert (act.act, act.why) == ("reveal", "ticket 7")
    assert act.facts == {
        "table": "shop.quarantine.silver_orders",
        "rows": [row["_lakelogic_row_id"]],
        "columns": ["email"],
    }


def test_revealing_can_be_turned_off_and_needs_the_key(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("quarantine", "show", "orders.yaml", "--reveal", "--why", "ticket 7")
    monkeypatch.setenv("LAKELOGIC_REVEAL", "never")
    assert call(*words).exit_code == 2
    monkeypatch.delenv("LAKELOGIC_REVEAL")
    monkeypatch.delenv("LAKELOGIC_PII_KEY")
    result = call(*words)
    assert result.exit_code == 2
    assert "LAKELOGIC_PII_KEY" in result.stderr


def test_a_copy_for_a_spreadsheet_holds_no_formula_unless_it_is_raw(workspace: Path) -> None:
    cells = ["=1+1", "+49 30 5551234", "-2", "-2 EUR", "@me", "\t=1", "plain", "+1.5"]
    lines = "".join(f'{at},"{cell}"\n' for at, cell in enumerate(cells))
    Path("cells.csv").write_text(f"id,text\n{lines}")
    Path("cells.yaml").write_text(
        "info: {dataset: cells}\nsource: {path: cells.csv}\nprimary_key: [id]\n"
        "model: {fields: [{name: id, type: int, max: -1}, {name: text}]}\n"
        "quality: {max_quarantine_ratio: 1}\nmaterialization: {strategy: merge, target_path: shop.silver.cells}\n"
    )
    told("run", "cells.yaml", "--engine", "duckdb")

    def copied(*words: str) -> list[str]:
        told("quarantine", "export", "cells.yaml", "out.csv", *words)
        with Path("out.csv").open(newline="") as stream:
            return [row["text"] for row in sorted(csv.DictReader(stream), key=lambda row: int(row["id"]))]

    assert copied("--raw") == cells
    assert copied() == ["'=1+1", "'+49 30 5551234", "-2", "'-2 EUR", "'@me", "'\t=1", "plain", "+1.5"]


def test_a_copy_is_masked_in_every_format(orders: Path) -> None:
    for name in ("bad.csv", "bad.json", "bad.ndjson", "bad.parquet"):
        assert told("quarantine", "export", "orders", f"out/{name}")["rows"] == 3
    for name in ("bad.csv", "bad.json", "bad.ndjson"):
        assert "@x.org" not in Path("out", name).read_text()
    with Path("out/bad.csv").open(newline="") as stream:
        by_id = {row["id"]: row for row in csv.DictReader(stream)}
    assert json.loads(by_id["2"]["_lakelogic_errors"]) == ["Rule failed: amount_min (amount >= 0)"]
    assert {row["amount"] for row in json.loads(Path("out/bad.json").read_text())} == {-5, 3, None}
    assert len(Path("out/bad.ndjson").read_text().splitlines()) == 3
    assert pq.read_table("out/bad.parquet").num_rows == 3
    assert call("quarantine", "export", "orders", "out/bad.xls").exit_code == 2


def test_before_any_run_there_is_nothing_to_list(workspace: Path) -> None:
    assert told("quarantine", "list") == {"quarantines": []}


def test_a_landed_row_stays_sealed_where_one_of_its_values_is_masked_for_good(
    orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_SALT", "salt of forty characters, for a test only")
    hashed = "    - {name: phone, masking: hash}\nmaterialization"
    Path("orders.yaml").write_text(CONTRACT.replace("materialization", hashed).replace("orders", "calls"))
    Path("in.csv").write_text("id,amount,email,phone\n1,5,a@x.org,079-444\n2,-5,b@x.org,079-555\n")
    assert call("run", "orders.yaml", "--engine", "duckdb").exit_code == 0
    result = call("quarantine", "show", "orders.yaml", "--reveal", "--why", "ticket 7", "--json")
    [row] = json.loads(result.stdout)["rows"]
    assert row["email"] == "b@x.org"
    assert row["_lakelogic_raw"].startswith("enc:")
    assert "079-555" not in result.output
