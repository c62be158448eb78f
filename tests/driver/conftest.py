"""Estates in a folder of their own, written as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Lay = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Write files by name below a folder, and hand back the folder."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


@pytest.fixture
def shop() -> dict[str, str]:
    """Seed 002's estate: three sources, two dimensions, one fact."""

    def contract(layer: str, name: str, source: str, *upstream: str, more: str = "") -> str:
        return (
            f"info: {{target_layer: {layer}, dataset: {layer}_{name}, owner: team}}\n"
            f"upstream: [{', '.join(upstream)}]\nsource: {{path: {source}}}\n"
            f"materialization: {{target_path: shop.{layer}.{name}}}\n{more}"
        )

    files = {}
    for name in ("crm_customers", "erp_products", "pos_orders"):
        files[f"bronze/{name}.yaml"] = contract("bronze", name, f"landing/{name}.csv")
        files[f"silver/{name}.yaml"] = contract("silver", name, f"shop.bronze.{name}", f"bronze_{name}")
    files["gold/dim_customers.yaml"] = contract("gold", "dim_customers", "shop.silver.crm_customers")
    files["gold/dim_products.yaml"] = contract("gold", "dim_products", "shop.silver.erp_products")
    files["gold/fact_sales.yaml"] = contract(
        "gold",
        "fact_sales",
        "shop.silver.pos_orders",
        more="links: [{name: customers, table: shop.gold.dim_customers}]\n"
        "model: {fields: [{name: product_id, foreign_key: {contract: gold_dim_products, column: product_id}}]}\n",
    )
    return files
