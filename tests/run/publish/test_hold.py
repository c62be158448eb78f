"""A closed gate withholds good rows; a person releases exactly these, or gives them up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable

from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: incremental}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: 0}
quality: {max_quarantine_ratio: 0.1}
materialization: {strategy: %s, target_path: shop.silver.orders}
"""
ROWS = "id,amount\n1,10\n2,-5\n3,7\n"


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def told(*words: str, exit_code: int = 0) -> Any:
    result = call(*words, "--json")
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


def ids(place: str) -> list[Any]:
    folder = Path("lakelogic_warehouse/shop") / place
    return (
        sorted(row["id"] for row in DeltaTable(folder).to_pyarrow_table().to_pylist())
        if (folder / "_delta_log").exists()
        else []
    )


@pytest.fixture(params=["duckdb", "polars"])
def engine(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LAKELOGIC_ENGINE", request.param)
    return str(request.param)


def gated(strategy: str = "merge") -> str:
    """A run whose gate is closed; its id."""
    Path("landing").mkdir(exist_ok=True)
    Path("landing/a.csv").write_text(ROWS)
    Path("orders.yaml").write_text(CONTRACT % strategy)
    report = told("run", "orders.yaml", exit_code=1)
    assert report["status"] == "gated"
    return str(report["run_id"])


@pytest.mark.parametrize("strategy", ["append", "overwrite", "merge"])
def test_a_closed_gate_publishes_the_quarantine_and_approval_the_rest(engine: str, strategy: str) -> None:
    run = gated(strategy)
    assert not Path("lakelogic_warehouse/shop/silver/orders/_delta_log").exists()
    assert ids("quarantine/silver_orders") == [2]
    [waiting] = told("approve")["waiting"]
    assert (waiting["run_id"], waiting["counts"]["good"]) == (run, 2)
    assert waiting["reasons"] == ["33.3% of the rows are quarantined, at most 10.0% may be"]
    done = told("approve", run, "--why", "a known bad delivery")
    assert (done["state"], done["rows"]) == ("released", 2)
    assert ids("silver/orders") == [1, 3]
    record = told("runs", "show", run)
    assert record["status"] == "succeeded"
    assert record["reason"].endswith(": a known bad delivery")
    assert told("approve")["waiting"] == []
    # What was released counts as read.
    assert told("run", "orders.yaml")["status"] == "no_new_data"
    assert ids("silver/orders") == [1, 3]


def test_a_batch_is_released_once(engine: str) -> None:
    run = gated("append")
    told("approve", run)
    result = call("approve", run)
    assert result.exit_code == 2
    assert "was released" in result.stderr
    assert ids("silver/orders") == [1, 3]


def test_a_batch_that_is_given_up_is_not_published_and_its_file_is_read_again(engine: str) -> None:
    run = gated("append")
    assert told("approve", run, "--discard", "--why", "wrong file")["state"] == "discarded"
    assert call("approve", run).exit_code == 2
    assert list(Path("lakelogic_warehouse/shop/silver").rglob("*.parquet")) == []
    Path("orders.yaml").write_text((CONTRACT % "append").replace("0.1", "0.5"))
    assert told("run", "orders.yaml")["status"] == "succeeded"
    assert ids("silver/orders") == [1, 3]
    with open_ledger(f"sqlite:///{Path.cwd()}/lakelogic_warehouse/.lakelogic/ledger.db") as ledger:
        [act] = ledger.acts("orders")
    assert (act.act, act.why) == ("give up", "wrong file")


def test_a_table_that_has_moved_on_refuses_the_older_batch(engine: str) -> None:
    run = gated("append")
    Path("orders.yaml").write_text((CONTRACT % "append").replace("0.1", "0.5"))
    assert told("run", "orders.yaml")["status"] == "succeeded"
    Path("orders.yaml").write_text(CONTRACT % "append")
    result = call("approve", run)
    assert result.exit_code == 1
    assert "has moved on" in result.stderr
    assert ids("silver/orders") == [1, 3]


@pytest.mark.parametrize("strategy", ["append", "merge", "overwrite"])
def test_a_batch_whose_whole_input_was_published_by_another_run_waits_no_more(engine: str, strategy: str) -> None:
    run = gated(strategy)
    Path("orders.yaml").write_text((CONTRACT % strategy).replace("0.1", "0.5"))
    later = told("run", "orders.yaml")["run_id"]
    assert told("approve")["waiting"] == []
    result = call("approve", run)
    assert result.exit_code == 1
    assert later in result.stderr
    assert "nothing left to decide" in result.stderr
    assert call("approve", run, "--discard").exit_code == 2


def test_a_batch_of_which_a_part_was_published_by_another_run_says_so_until_it_is_given_up(engine: str) -> None:
    Path("landing").mkdir()
    Path("landing/b.csv").write_text("id,amount\n4,1\n")
    run = gated("append")
    Path("landing/a.csv").rename("a.csv")
    Path("orders.yaml").write_text((CONTRACT % "append").replace("0.1", "0.5"))
    later = told("run", "orders.yaml")["run_id"]
    [waiting] = told("approve")["waiting"]
    assert waiting["run_id"] == run
    assert waiting["overtaken"] == f"shop.silver.orders has moved on: a later run has read the same input ({later})."
    assert "Give it up with --discard" in call("approve").stdout
    Path("orders.yaml").write_text(CONTRACT % "append")
    assert call("approve", run).exit_code == 1
    assert call("approve", run, "--approval-file", "approvals.json").exit_code == 1
    assert told("approve", run, "--discard")["state"] == "discarded"
    assert told("approve")["waiting"] == []
    # What nobody has published is read when it is there again.
    Path("a.csv").rename("landing/a.csv")
    Path("orders.yaml").write_text((CONTRACT % "append").replace("0.1", "0.5"))
    told("run", "orders.yaml")
    assert ids("silver/orders") == [1, 3, 4]


def test_what_another_ledger_was_told_of_is_found_when_a_batch_shall_be_released(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = gated("append")
    Path("orders.yaml").write_text((CONTRACT % "append").replace("0.1", "0.5"))
    monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{Path.cwd()}/other.db")
    told("run", "orders.yaml")
    monkeypatch.delenv("LAKELOGIC_LEDGER")
    Path("orders.yaml").write_text(CONTRACT % "append")
    assert [batch["run_id"] for batch in told("approve")["waiting"]] == [run]
    assert call("approve", run).exit_code == 1
    assert told("approve")["waiting"] == []
    assert ids("silver/orders") == [1, 3]


def test_staged_rows_that_were_touched_are_not_released(engine: str) -> None:
    run = gated("append")
    [file] = Path("lakelogic_warehouse/shop/silver").rglob("good/*.parquet")
    kept = file.read_bytes()
    file.write_bytes(kept[:-1] + b"?")
    assert call("approve", run).exit_code == 1
    file.unlink()
    result = call("approve", run)
    assert result.exit_code == 1
    assert "is gone" in result.stderr
    assert ids("silver/orders") == []


def test_a_contract_that_changed_does_not_speak_for_rows_it_did_not_judge(engine: str) -> None:
    run = gated("append")
    Path("orders.yaml").write_text((CONTRACT % "append").replace("min: 0", "min: 9"))
    result = call("approve", run)
    assert result.exit_code == 1
    assert "contract has changed" in result.stderr


def test_only_a_gated_run_has_something_to_approve(engine: str) -> None:
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,amount\n1,1\n")
    Path("orders.yaml").write_text(CONTRACT % "append")
    run = told("run", "orders.yaml")["run_id"]
    assert call("approve", run).exit_code == 2
    assert call("approve", "run-nowhere").exit_code == 2


def test_a_batch_that_waits_is_not_judged_again(engine: str) -> None:
    first = gated("append")
    report = told("run", "orders.yaml", exit_code=1)
    assert (report["status"], report["counts"]["good"], report["counts"]["quarantined"]) == ("gated", 2, 1)
    assert report["reason"].endswith(f"the batch waits for a decision: lakelogic approve {first}")
    assert [one["run_id"] for one in told("approve")["waiting"]] == [first]
    # The run that found it waiting stands for it too.
    assert told("approve", report["run_id"])["run_id"] == first
    assert ids("silver/orders") == [1, 3]
    assert ids("quarantine/silver_orders") == [2]


def test_a_batch_that_has_read_its_files_again_takes_the_place_of_one_that_waits(engine: str) -> None:
    first = gated("append")
    Path("landing/b.csv").write_text("id,amount\n4,1\n")
    second = str(told("run", "orders.yaml", exit_code=1)["run_id"])
    assert [one["run_id"] for one in told("approve")["waiting"]] == [second]
    assert call("approve", first).exit_code == 2
    told("approve", second)
    assert ids("silver/orders") == [1, 3, 4]
    assert ids("quarantine/silver_orders") == [2]


def test_a_batch_whose_file_is_gone_waits_beside_the_next_one(engine: str) -> None:
    first = gated("append")
    Path("landing/a.csv").unlink()
    Path("landing/b.csv").write_text("id,amount\n4,-1\n5,1\n")
    second = str(told("run", "orders.yaml", exit_code=1)["run_id"])
    assert {one["run_id"] for one in told("approve")["waiting"]} == {first, second}
    told("approve", second)
    told("approve", first)
    assert ids("silver/orders") == [1, 3, 5]
    assert ids("quarantine/silver_orders") == [2, 4]


def test_an_approval_that_died_is_finished_by_the_next_run(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = gated("append")
    monkeypatch.setenv("LAKELOGIC_FAULT", "after_intent:lose")
    assert call("approve", run).exit_code == 4
    monkeypatch.delenv("LAKELOGIC_FAULT")
    assert told("run", "orders.yaml")["status"] == "no_new_data"
    assert ids("silver/orders") == [1, 3]
    assert ids("quarantine/silver_orders") == [2]


@pytest.mark.parametrize("point", ["after_intent", "after_good_commit", "after_settling", "after_ledger"])
def test_an_approval_that_is_interrupted_is_gone_on_with(
    engine: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = gated("append")
    monkeypatch.setenv("LAKELOGIC_FAULT", f"{point}:lose")
    assert call("approve", run).exit_code == 4
    monkeypatch.delenv("LAKELOGIC_FAULT")
    assert told("approve", run)["state"] == "released"
    assert ids("silver/orders") == [1, 3]
    assert told("run", "orders.yaml")["status"] == "no_new_data"


def test_a_snapshot_without_rows_is_held_too_and_deletes_when_it_is_released(engine: str) -> None:
    Path("snap.csv").write_text("id,amount\n1,10\n2,20\n")
    contract = CONTRACT.replace("landing/*.csv, load_mode: incremental", "snap.csv") % "snapshot_reconcile"
    Path("orders.yaml").write_text(contract)
    assert told("run", "orders.yaml")["status"] == "succeeded"
    Path("snap.csv").write_text("id,amount\n")
    report = told("run", "orders.yaml", exit_code=1)
    assert report["status"] == "gated"
    assert told("approve", report["run_id"], "--why", "the shop is closed")["state"] == "released"
    rows = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["_lakelogic_is_deleted"]) for row in rows) == [(1, True), (2, True)]


def test_a_released_batch_keeps_what_a_missing_column_was(engine: str) -> None:
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,amount\n1,10\n2,5\n3,7\n")
    Path("orders.yaml").write_text(CONTRACT % "merge")
    told("run", "orders.yaml")
    Path("landing/b.csv").write_text("id\n1\n4\n")
    Path("landing/c.csv").write_text("id,amount\n2,\n3,-1\n")
    held = told("run", "orders.yaml", exit_code=1)["run_id"]
    told("approve", held)
    rows = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["amount"]) for row in rows) == [(1, 10), (2, None), (3, 7), (4, None)]
