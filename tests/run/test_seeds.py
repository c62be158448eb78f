"""The contracts of the first pages run as they were written, completed only by a source and a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.plan.compile import load_checked

SEEDS = Path(__file__).parents[1] / "contract" / "seeds"
# What a seed asks for that runs cannot do yet, with the reason; nothing else may be refused.
NOT_YET: dict[str, str] = {}


@pytest.mark.parametrize("seed", sorted(SEEDS.glob("*.yaml")), ids=lambda seed: seed.stem)
def test_every_contract_of_the_seeds_compiles(seed: Path) -> None:
    completed = {"source.path": "in.csv", "materialization.target_path": "shop.gold.seed"}
    overrides = {} if seed.stem == "home_page" else completed
    assert seed.stem not in NOT_YET, NOT_YET.get(seed.stem)
    loaded = load_checked(seed, overrides=overrides)
    assert loaded.contract.materialization.strategy in ("append", "merge")


def table(place: str) -> list[dict[str, Any]]:
    return DeltaTable(f"lakelogic_warehouse/{place}").to_pyarrow_table().to_pylist()


def test_events_are_judged_by_the_lifecycle_of_their_subscriber(engine: Any, workspace: Path) -> None:
    Path("subscribers.csv").write_text(
        "subscriber_id,start_date,end_date\ns1,2026-01-01,2026-01-31\ns1,2026-03-01,\ns2,2026-02-01,2026-02-28\n"
    )
    Path("events.csv").write_text(
        "event_id,subscriber_id,event_ts\n"
        "1,s1,2026-01-31 23:59:59\n"
        "2,s1,2026-02-01 00:00:00\n"
        "3,s1,2031-01-01\n"
        "4,s2,2026-02-01\n"
        "5,s2,2026-03-01\n"
        "6,s3,2026-02-01\n"
    )
    completed = {"source.path": "events.csv", "materialization.target_path": "tel.silver.events"}
    good, bad = DataProcessor(SEEDS / "lifecycle_window.yaml", engine, overrides=completed).run()
    assert sorted(engine.collect(good).column("event_id").to_pylist()) == ["1", "3", "4"]
    reason = "Rule failed: event_ts_lifecycle_window (event_ts in subscribers.start_date to end_date)"
    rows = engine.collect(bad).to_pylist()
    assert {row["event_id"]: row["_lakelogic_errors"] for row in rows} == {key: [reason] for key in ("2", "5", "6")}


def test_the_end_to_end_pipeline_lands_in_gold(engine: Any, workspace: Path) -> None:
    Path("users.csv").write_text("user_id,email\nu1,Ada@Example.com\nu2,\n,nobody@example.com\nu1,Ada@Example.com\n")
    completed = {"source.path": "users.csv", "materialization.target_path": "crm.gold.users"}
    result = DataProcessor(SEEDS / "end_to_end.yaml", engine, overrides=completed).run()
    assert result.counts.deduplicated == {"merge": 1}
    rows = sorted((row["user_id"], row["email"], row["cleaner_email"]) for row in table("crm/gold/users"))
    assert rows == [("u1", "Ada@Example.com", "ada@example.com"), ("u2", None, None)]
    [bad] = engine.collect(result.bad).to_pylist()
    assert (bad["user_id"], bad["_lakelogic_errors"]) == (None, ["Rule failed: user_id is required"])
    Path("users.csv").write_text("user_id,email\nu2,BOB@example.com\n")
    DataProcessor(SEEDS / "end_to_end.yaml", engine, overrides=completed).run()
    rows = sorted((row["user_id"], row["cleaner_email"]) for row in table("crm/gold/users"))
    assert rows == [("u1", "ada@example.com"), ("u2", "bob@example.com")]


def test_the_gold_rollup_leads_back_to_its_keys_and_to_the_runs_that_brought_them(engine: Any, workspace: Path) -> None:
    silver = {
        "dataset": "silver_sales",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "sale_id"}, {"name": "sale_date", "type": "date"},
                             {"name": "amount", "type": "decimal(10,2)"}]},
        "materialization": {"strategy": "append", "target_path": "shop.silver.sales"},
    }  # fmt: skip
    Path("in").mkdir()
    runs = []
    for name, text in (("a", "S1,2026-01-01,10.50\nS2,2026-01-01,4.50\n"), ("b", "S3,2026-01-01,5\nS4,2026-01-02,7\n")):
        Path("in", f"{name}.csv").write_text("sale_id,sale_date,amount\n" + text)
        runs.append(DataProcessor(silver, engine).run().run_id)
    completed = {
        "source.path": "shop.silver.sales",
        "materialization.target_path": "shop.gold.daily_sales",
        "dataset": "gold_daily_sales",
    }
    gold = DataProcessor(SEEDS / "gold_rollup.yaml", engine, overrides=completed, pipeline_run_id="pipeline-1")
    gold.run()
    rows = sorted(table("shop/gold/daily_sales"), key=lambda row: str(row["sale_date"]))
    stamps = {"_lakelogic_contract_name", "_lakelogic_created_at", "_lakelogic_created_by"}
    assert [{key: value for key, value in row.items() if key not in stamps} for row in rows] == [
        {
            "sale_date": rows[0]["sale_date"],
            "total_sales": rows[0]["total_sales"],
            "_lakelogic_rollup_keys": ["S1", "S2", "S3"],
            "_lakelogic_rollup_keys_count": 3,
            "_upstream_run_id": max(runs),
            "_upstream_lakelogic_run_ids": sorted(runs),
            "_lakelogic_run_id": "pipeline-1",
        },
        {
            "sale_date": rows[1]["sale_date"],
            "total_sales": rows[1]["total_sales"],
            "_lakelogic_rollup_keys": ["S4"],
            "_lakelogic_rollup_keys_count": 1,
            "_upstream_run_id": runs[1],
            "_upstream_lakelogic_run_ids": [runs[1]],
            "_lakelogic_run_id": "pipeline-1",
        },
    ]
    assert [(str(row["sale_date"]), str(row["total_sales"])) for row in rows] == [
        ("2026-01-01", "20.00"),
        ("2026-01-02", "7.00"),
    ]


def test_the_laboratory_s_rules_reject_by_their_labels(engine: Any, workspace: Path) -> None:
    contract = {
        "source": {"path": "orders.csv"},
        "model": {"fields": [{"name": "order_id"}, {"name": "customer_id"}, {"name": "region"},
                             {"name": "amount", "type": "decimal(10,2)"}, {"name": "source_rank", "type": "int"}]},
        "transformations": [{"deduplicate": {"on": ["order_id"], "sort_by": ["source_rank"],
                                             "losers": "quarantine", "label": "stale_duplicate"}}],
        "quality": {"row_rules": [
            {"not_null": "customer_id", "name": "customer_present", "label": "missing_customer"},
            {"not_null": "region", "name": "region_present", "label": "missing_region"},
            {"sql": "amount > 0", "name": "positive_amount", "label": "non_positive_amount"},
        ]},
    }  # fmt: skip
    Path("orders.csv").write_text(
        "order_id,customer_id,region,amount,source_rank\n"
        "O1,C1,EU,10,1\nO2,,EU,10,2\nO3,C3,,10,3\nO4,C4,US,0,4\nO1,C1,EU,12,5\nO5,,,-1,6\n"
    )
    good, bad = DataProcessor(contract, engine).run(materialize=False)
    assert [(row["order_id"], str(row["amount"])) for row in engine.collect(good).to_pylist()] == [("O1", "12.00")]
    rejected = {row["source_rank"]: row["_lakelogic_rules"] for row in engine.collect(bad).to_pylist()}
    assert rejected == {
        1: ["stale_duplicate"],
        2: ["missing_customer"],
        3: ["missing_region"],
        4: ["non_positive_amount"],
        6: ["missing_customer", "missing_region", "non_positive_amount"],
    }
