"""The retail example's landing files and contracts: reproducible, troubled on purpose, and adding up."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from lakelogic.contract.reading.load import load

ROOT = Path(__file__).parents[2]
RETAIL = ROOT / "examples" / "retail"
CONTRACTS = sorted((RETAIL / "contracts").glob("*/*.yaml"))


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = loaded  # dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded


def test_the_landing_files_are_what_the_script_makes() -> None:
    made = module("scripts/make_retail_data.py").landing_files()
    kept = {
        path.relative_to(RETAIL / "landing").as_posix(): path.read_bytes().decode()
        for path in (RETAIL / "landing").rglob("*.*")
    }
    assert sorted(made) == sorted(kept)
    assert [name for name in made if made[name] != kept[name]] == []


def test_the_reference_finds_trouble_of_every_kind() -> None:
    figures = module("tests/conformance/retail_reference.py").figures()
    categories = {category for dataset in figures.values() for category in dataset["categories"]}
    assert categories == {"schema", "completeness", "correctness", "validity", "timeliness", "consistency"}
    totals = {name: (f["read"], f["good"], f["quarantined"]) for name, f in figures.items()}
    assert totals == {
        "bronze_crm_customers": (233, 231, 2),
        "bronze_erp_products": (73, 71, 2),
        "bronze_pos_orders": (1507, 1505, 2),
        "silver_crm_customers": (231, 189, 22),
        "silver_erp_products": (71, 49, 11),
        "silver_pos_orders": (1505, 1409, 21),
        "gold_dim_customers": (189, 189, 0),
        "gold_dim_products": (49, 49, 0),
        "gold_fact_sales": (1409, 1403, 6),
    }


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_a_contract_loads_and_is_called_as_its_file_says(path: Path) -> None:
    contract = load(path).contract
    assert contract.info is not None
    assert contract.info.dataset == f"{path.parent.name}_{path.stem}"
    assert contract.materialization is not None
    assert contract.materialization.target_path == f"retail.{path.parent.name}.{path.stem}"


def test_the_contract_of_the_home_page_loads() -> None:
    assert load(ROOT / "examples" / "home" / "contract.yaml").contract.source is not None
