"""What the ledger keeps of a run: what it said, why it failed, and how fresh what is published is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor, clock
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import CompileError
from lakelogic.ledger.store import open_ledger


def contract(**parts: Any) -> dict[str, Any]:
    return {
        "dataset": "things",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "at", "type": "timestamp"}]},
        "materialization": {"target_path": "shop.silver.things"},
        **parts,
    }


def land(name: str, text: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", name).write_text(text)


def newest() -> tuple[Any, list[str]]:
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        run = ledger.runs("things", limit=1)[0]
        return run, [line.body or "" for line in ledger.log_of(run.run_id)]


def test_every_run_keeps_what_it_said(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,at\n1,2026-01-01 00:00:00\n,2026-01-01 00:00:00\n")
    DataProcessor(contract(), engine).run()
    run, said = newest()
    assert said[0] == f"Run {run.run_id} of things on {engine.name}"
    assert said[-2:] == ["Bad: 1 row by id_required (such as in/a.csv:3)", "Good rows: 1 inserted"]
    assert run.findings["reasons"] == [{"rule": "id_required", "rows": 1, "file": "in/a.csv", "line": 3}] or (
        run.findings["reasons"][0]["file"].endswith("/in/a.csv")
    )
    DataProcessor(contract(), engine).run()
    assert newest()[1][-1].startswith("Nothing new")


def test_a_failed_run_keeps_its_diagnostics(duckdb_engine: Any, workspace: Path) -> None:
    Path("c.yaml").write_text(
        "dataset: things\nsource: {path: in/*.csv}\n"
        "transformations:\n  - {derive: {field: twice, sql: amuont * 2}, phase: pre}\n"
        "materialization: {target_path: shop.silver.things}\n"
    )
    land("a.csv", "id,amount\n1,2\n")
    with pytest.raises(CompileError):
        DataProcessor("c.yaml", duckdb_engine).run()
    run, said = newest()
    assert run.status == "failed"
    [told] = run.error["diagnostics"]
    assert (told["code"], told["file"], told["line"]) == ("LL-C203", "c.yaml", 4)
    assert "amount" in told["hint"]
    assert said[-1].startswith("things: 1 problem in the contract")


def test_a_defect_is_kept_as_a_failed_run_without_the_text_of_its_error(
    duckdb_engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the value ann@example.org")

    land("a.csv", "id,at\n1,2026-01-01 00:00:00\n")
    monkeypatch.setattr("lakelogic.run.steps.weigh.measure", broken)
    with pytest.raises(RuntimeError):
        DataProcessor(contract(), duckdb_engine).run()
    run, said = newest()
    assert (run.status, run.error_code) == ("failed", "LL-E090")
    assert "ann@example.org" not in f"{run} {said}"


def freshness(run: Any) -> tuple[bool, Any]:
    [level] = [one for one in run.service_levels if one["name"] == "freshness"]
    return level["kept"], level["value"]


@pytest.mark.parametrize("field", [None, "at"])
def test_rows_behind_a_closed_gate_keep_nothing_fresh(
    duckdb_engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch, field: str | None
) -> None:
    start = clock.now()
    monkeypatch.setattr(clock, "now", lambda: start)
    level = {"freshness": {"threshold": "24h", **({"field": field} if field else {})}}
    told = start.strftime("%Y-%m-%d %H:%M:%S")
    gated = contract(
        service_levels=level, quality={"dataset_rules": [{"name": "many", "row_count_between": {"min": 5}}]}
    )
    land("a.csv", f"id,at\n1,{told}\n")
    assert DataProcessor(gated, duckdb_engine).run().status == "gated"
    assert freshness(newest()[0]) == (False, None)  # never published
    monkeypatch.setattr(clock, "now", lambda: start + timedelta(minutes=1))
    land("b.csv", "".join(["id,at\n", *(f"{n},{told}\n" for n in range(5))]))
    assert DataProcessor(contract(service_levels=level), duckdb_engine).run().status == "succeeded"
    assert freshness(newest()[0])[0] is True
    # Thirty hours later a batch is withheld, and another run finds nothing: what is published is thirty hours old.
    monkeypatch.setattr(clock, "now", lambda: start + timedelta(hours=30))
    land("c.csv", f"id,at\n9,{(start + timedelta(hours=30)).strftime('%Y-%m-%d %H:%M:%S')}\n")
    assert DataProcessor(gated, duckdb_engine).run().status == "gated"
    kept, hours = freshness(newest()[0])
    assert kept is False
    assert hours == pytest.approx(30, abs=0.02)
