"""The insurance estate runs in the order of its graph, and its tables hold what its files say."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor, build_dag_from_upstream, load_all_contracts, topo_sort
from lakelogic.engines import registry

ROOT = Path(__file__).parents[2]
CONTRACTS = ROOT / "examples/insurance_elt/contracts"
D = Decimal

# Dataset: rows read, good, bad.
COUNTS = {
    "reference_masterdata_products": (3, 3, 0),
    "reference_masterdata_regions": (3, 3, 0),
    "reference_masterdata_claim_causes": (4, 4, 0),
    "bronze_core_customers": (9, 9, 0),
    "bronze_core_agents": (5, 5, 0),
    "bronze_core_policies": (12, 11, 1),  # a line that is cut off
    "bronze_core_claims": (16, 10, 0),  # ten claims, one of them deleted before anybody saw it
    "silver_core_customers": (9, 5, 3),  # an address, a name, a region; an older version of C002
    "silver_core_agents": (5, 3, 1),
    "silver_core_policies": (11, 6, 4),
    "silver_core_claims": (10, 6, 3),  # the tombstone of the deleted one is left out, and counted
    "gold_core_claims_daily": (6, 6, 0),
    "gold_dim_customers": (5, 5, 0),
    "gold_dim_agents": (3, 3, 0),
    "gold_dim_policies": (6, 6, 0),
    "gold_fact_claims": (6, 6, 0),
    "gold_fact_premiums": (6, 3, 0),
}


def rows(warehouse: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(warehouse.joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    return sorted(tuple(row[column] for column in columns) for row in found)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_every_contract_runs_after_what_it_needs_and_the_tables_are_right(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", str(tmp_path))
    started = registry.load(engine)
    found = {}
    for member in topo_sort(build_dag_from_upstream(load_all_contracts(CONTRACTS))):
        result = DataProcessor(member.loaded, started).run()
        assert result.status == "succeeded", (member.dataset, result.reasons)
        found[member.dataset] = (result.counts.source, result.counts.good, result.counts.quarantined)
    started.close()
    assert found == COUNTS
    assert rows(
        tmp_path, "insurance.gold.fact_claims", "claim_id", "policy_customer_id", "policy_line", "amount", "status"
    ) == [
        ("K001", "C001", "motor", D("1350.00"), "paid"),
        ("K004", "C006", "motor", D("880.00"), "open"),
        ("K006", "C002", "motor", D("1900.00"), "paid"),  # the late 2000.00 was overtaken
        ("K008", "C004", "property", D("4100.00"), "open"),
        ("K009", "C003", "liability", D("210.00"), "open"),
        ("K010", "C003", "liability", D("150.00"), "open"),  # came late, and counts
    ]
    assert rows(tmp_path, "insurance.gold.fact_premiums", "line", "currency", "policies", "premium") == [
        ("liability", "CHF", 1, D("120.00")),
        ("motor", "EUR", 3, D("1500.00")),  # 480.00 + 505.00 + 515.00
        ("property", "EUR", 1, D("330.00")),  # P002 is cancelled
    ]
    assert rows(tmp_path, "insurance.gold.dim_agents", "agent_id", "commission_rate") == [
        ("A01", D("0.0800")),
        ("A02", D("0.0900")),
        ("A03", D("0.0900")),
    ]
    reasons = DeltaTable(tmp_path / "insurance/quarantine/silver_policies").to_pyarrow_table().to_pylist()
    assert sorted((row["policy_id"], row["_lakelogic_rules"][0]) for row in reasons) == [
        ("P004", "premium_is_positive"),
        ("P005", "product_is_known"),
        ("P006", "customer_id_foreign_key"),
        ("P007", "start_date_type"),
    ]


def test_the_files_of_the_driver_page_are_where_it_says() -> None:
    for name in (
        "contracts/insurance/_registry.yaml",
        "contracts/shared/reference/_registry.yaml",
        "contracts/insurance/warehouse/_registry.yaml",
        "data/bronze/claims_cdc_2026-02-06.csv",
        "policy_packs/baseline_silver.yaml",
    ):
        assert (ROOT / "examples/insurance_elt" / name).is_file()


def test_nothing_is_wrong_or_doubtful_with_the_estate() -> None:
    assert load_all_contracts(CONTRACTS).problems == ()
    assert load_all_contracts(ROOT / "examples/retail/contracts").problems == ()
