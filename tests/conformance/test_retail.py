"""The retail example comes to what plain Python says it must, on every engine, and a second pass changes nothing."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import sys
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.actions.operate.demo import DemoReport, run_demo
from lakelogic.run.surroundings import Surroundings

LOSSES = ("filtered", "deduplicated")
ENGINES = ("duckdb", "polars", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow]))


def load_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retail_reference", Path(__file__).with_name("retail_reference.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


REFERENCE = load_reference()
FIGURES = REFERENCE.figures()


class Estate:
    """One pass of the example on an engine, with its warehouse."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.first = self.run()

    def run(self) -> DemoReport:
        return run_demo(Surroundings.here(), self.engine, str(self.folder))

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self.folder.joinpath(*name.split("."))))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.table(name).to_pyarrow_table().to_pylist()

    def rule_failures(self) -> dict[str, dict[str, int]]:
        with sqlite3.connect(self.folder / ".lakelogic" / "ledger.db") as ledger:
            return {
                name: json.loads(told or "{}")
                for name, told in ledger.execute("SELECT dataset, rule_failures FROM runs")
            }


def place(dataset: str) -> str:
    layer, _, entity = dataset.partition("_")
    return f"retail.{layer}.{entity}"


@pytest.fixture(scope="module", params=ENGINES)
def estate(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Estate:
    return Estate(request.param, tmp_path_factory.mktemp(f"retail-{request.param}"))


def test_every_dataset_has_the_figures_of_the_reference(estate: Estate) -> None:
    told = {
        row.dataset: {"read": row.read, "good": row.good, "quarantined": row.quarantined, "losses": row.losses}
        for row in estate.first.rows
    }
    expected = {
        name: {
            "read": figures["read"],
            "good": figures["good"],
            "quarantined": figures["quarantined"],
            "losses": {step: n for kind in LOSSES for step, n in figures[kind].items()},
        }
        for name, figures in FIGURES.items()
    }
    assert told == expected
    assert estate.first.exit_code == 0


def test_every_rule_made_as_many_rows_bad_as_the_reference_says(estate: Estate) -> None:
    expected = {name: {**figures["rules"], **figures["warnings"]} for name, figures in FIGURES.items()}
    assert estate.rule_failures() == expected


@pytest.mark.parametrize("dataset", sorted(set(FIGURES) - {"silver_crm_customers"}))
def test_a_table_holds_the_rows_of_the_reference(estate: Estate, dataset: str) -> None:
    expected = REFERENCE.rows()[dataset]
    columns = sorted(expected[0])
    found = [tuple(shown(row[name]) for name in columns) for row in estate.rows(place(dataset))]
    wanted = [tuple(shown(row[name]) for name in columns) for row in expected]
    assert sorted(found) == sorted(wanted)


def shown(value: Any) -> str:
    """A value as text that tells types and scales apart, and not two ways to write UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return repr(value.quantize(Decimal("0.01")) if isinstance(value, Decimal) else value)


def test_customers_are_those_of_the_reference_and_masked(estate: Estate) -> None:
    expected = {row["customer_id"]: row for row in REFERENCE.accounts()["silver_crm_customers"].good}
    found = {row["customer_id"]: row for row in estate.rows("retail.silver.crm_customers")}
    assert sorted(found) == sorted(expected)
    for key, row in found.items():
        assert row["email"].startswith("enc:")
        assert row["full_name"] != expected[key]["full_name"]
        assert row["country"] == expected[key]["country"]
        assert row["loyalty_points"] == expected[key]["loyalty_points"]


def test_a_quarantined_row_tells_its_categories_as_the_reference_does(estate: Estate) -> None:
    for dataset, figures in FIGURES.items():
        if not figures["quarantined"]:
            continue
        rows = estate.rows(f"retail.quarantine.{dataset}")
        told = Counter(category for row in rows for category in row["_lakelogic_categories"])
        assert told == figures["categories"], dataset
        assert all(row["_lakelogic_errors"] for row in rows)


def test_a_second_pass_finds_nothing_new_and_changes_no_table(estate: Estate) -> None:
    names = [place(dataset) for dataset in FIGURES]
    before = {name: estate.table(name).version() for name in names}
    again = estate.run()
    assert {row.status for row in again.rows} == {"no_new_data"}
    assert {name: estate.table(name).version() for name in names} == before
