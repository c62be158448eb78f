"""The lab: twelve orders, four of them wrong on purpose, the same figures on every engine."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.actions.author.import_rules import import_rules
from lakelogic.errors import UsageError

LAB = Path(__file__).parents[2] / "examples/orders_lab"


def rows(warehouse: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(warehouse.joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    return sorted(tuple(row[column] for column in columns) for row in found)


def test_the_lab_rejects_one_order_of_each_kind_and_its_figures_are_those_of_the_rest(
    engine: Any, workspace: Path
) -> None:
    shutil.copytree(LAB, workspace, dirs_exist_ok=True)
    for contract in ("bronze/orders", "silver/orders", "gold/region_kpis"):
        assert DataProcessor(f"contracts/{contract}.yaml", engine).run().status == "succeeded"
    warehouse = workspace / "lakelogic_warehouse"
    bronze = rows(warehouse, "lab.bronze.orders", "order_id", "source_rank", "amount")
    assert len(bronze) == 12
    assert [row for row in bronze if row[0] == "LO-1008"] == [("LO-1008", 1, "24.90"), ("LO-1008", 2, "19.90")]
    envelopes = {json.loads(text)["order_id"] for (text,) in rows(warehouse, "lab.bronze.orders", "raw_envelope")}
    assert len(envelopes) == 11
    assert rows(warehouse, "lab.quarantine.silver_orders", "order_id", "_lakelogic_rules") == [
        ("LO-1003", ["missing_customer"]),
        ("LO-1005", ["missing_region"]),
        ("LO-1007", ["non_positive_amount"]),
        ("LO-1008", ["stale_duplicate"]),
    ]
    # LO-1001 120.00 + LO-1004 310.25; LO-1002 75.50 + LO-1009 150.00; LO-1006 64.00 + LO-1008 24.90; 205.10 + 99.99
    kpis = ["gross_revenue_usd", "accepted_orders", "completed_orders", "pipeline_orders", "distinct_customers"]
    assert rows(warehouse, "lab.gold.region_kpis", "region", *kpis) == [
        ("east", Decimal("305.09"), 2, 2, 0, 2),
        ("north", Decimal("430.25"), 2, 1, 1, 2),
        ("south", Decimal("225.50"), 2, 1, 1, 1),
        ("west", Decimal("88.90"), 2, 1, 1, 2),
    ]


def test_the_rules_of_the_lab_are_those_of_its_json_file() -> None:
    imported = yaml.safe_load(import_rules(str(LAB / "data/quality_rules.json")).text)
    contract = yaml.safe_load((LAB / "contracts/silver/orders.yaml").read_text())
    assert imported["quality"]["row_rules"] == contract["quality"]["row_rules"]


def test_rules_may_be_a_bare_list_with_other_words_for_the_keys(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(
        json.dumps([
            {"rule": "sold", "column": "qty", "check": ">= 1", "label": "unsold"},
            {"rule": "one", "column": "id", "check": "Must be unique"},
        ])
    )  # fmt: skip
    assert import_rules(str(file)).rules == (
        {"name": "sold", "sql": "qty >= 1", "label": "unsold"},
        {"name": "one", "unique": {"fields": ["id"]}},
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "is not JSON"),
        ("{}", "no list of rules"),
        ('[{"name": "a", "field": "b"}]', "no `condition`"),
        ('[{"name": "a", "field": "b", "condition": "looks fine"}]', "`looks fine` is not known"),
        ('[{"name": "a", "field": "b", "condition": "Dedup, keep newest"}]', "does not say by what"),
        ('[{"name": "a", "field": "b", "condition": "not null", "order_by": 3}, 4]', "not a list of columns"),
    ],
)
def test_rules_that_cannot_be_understood_are_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=said):
        import_rules(str(file))
