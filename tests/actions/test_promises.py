"""What was promised, what was found, since when: by runs that the ledger remembers and the clock of now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lakelogic.actions.look.estate import EstateRequest
from lakelogic.actions.look.promises import service_levels
from lakelogic.actions.look.served import Served
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.records import RunRecord
from lakelogic.ledger.store import open_ledger
from lakelogic.run.surroundings import Surroundings

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
CONTRACT = """
info: {dataset: silver_orders, target_layer: silver}
source: {path: data/orders.csv}
model: {fields: [{name: id, required: true}]}
service_levels:
  freshness: 24h
  row_count: {min_rows: 10}
materialization: {strategy: append, target_path: shop.silver.orders}
"""


@pytest.fixture
def told(workspace, monkeypatch):
    """The levels of the one dataset at noon, after runs: (hours before noon, age it found, rows)."""
    (workspace / "contracts").mkdir()
    (workspace / "contracts/orders.yaml").write_text(CONTRACT)
    (workspace / "contracts/other.yaml").write_text(
        CONTRACT.replace("silver_orders", "silver_other").replace("silver.orders", "silver.other").replace(
            "service_levels:\n  freshness: 24h\n  row_count: {min_rows: 10}\n", ""
        )
    )  # fmt: skip
    monkeypatch.setattr("lakelogic.clock.now", lambda: NOON)

    def tell(*runs: tuple[float, float | None, int]) -> dict[str, dict]:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            for before, age, rows in runs:
                at = NOON - timedelta(hours=before)
                levels = [
                    {"name": "freshness", "kept": age is not None and age <= 24, "value": age, "expected": ""},
                    {"name": "row_count", "kept": rows >= 10, "value": rows, "expected": ""},
                ]
                ledger.record(
                    RunRecord(f"run-{at:%d%H}", "silver_orders", "succeeded", at, finished_at=at, service_levels=levels)
                )
        found = service_levels(Served(Surroundings.here(), EstateRequest(("contracts",))), None)
        assert [one["dataset"] for one in found] == ["silver_orders", "silver_other"]
        assert found[1]["levels"] == []
        return {one["name"]: one for one in found[0]["levels"]}

    return tell


def test_a_promise_that_no_run_has_measured_is_neither_kept_nor_broken(told):
    levels = told()
    assert {name: one["kept"] for name, one in levels.items()} == {"freshness": None, "row_count": None}
    assert levels["freshness"]["promised"] == "at most 24 hours"
    assert levels["row_count"]["promised"] == "at least 10 rows"


def test_a_verdict_holds_since_the_first_run_that_had_it(told):
    rows = told((72, 0, 20), (48, 0, 5), (24, 0, 4), (2, 0, 3))["row_count"]
    assert (rows["kept"], rows["found"], rows["since"]) == (False, 3, NOON - timedelta(hours=48))
    assert (rows["attained"], rows["runs"], rows["breaches"]) == (0.25, 4, 3)
    assert [one["found"] for one in rows["history"]] == [3, 4, 5, 20]


def test_data_gets_old_while_nothing_runs(told):
    fresh = told((20, 1.0, 20))["freshness"]
    # One hour old twenty hours ago: twenty-one now, and too old in three.
    assert (fresh["kept"], fresh["found"], fresh["next_due"]) == (True, 21.0, NOON + timedelta(hours=3))


def test_a_promise_breaks_on_its_own_between_two_runs(told):
    old = told((30, 0.0, 20))["freshness"]
    assert (old["kept"], old["found"]) == (False, 30.0)
    assert (old["since"], old["breaches"]) == (NOON - timedelta(hours=6), 0)
