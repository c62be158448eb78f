"""The rules of the reference job with cuallee on Polars: how many rows break each rule, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import COUNTRIES, EMAIL, NAMES, PHONE, STATUSES


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("cuallee", "polars")}


def start(_: dict[str, Any]) -> Any:
    """The library."""
    import polars as pl

    return pl


def run(pl: Any, job: dict[str, Any], _: Path) -> dict[str, Any]:
    """Count; the reference table is joined by hand."""
    from cuallee import Check, CheckLevel

    known = pl.read_parquet(job["customers"]).select("customer_id", is_customer=pl.lit(value=True))
    rows = pl.read_parquet(job["files"]).join(known, on="customer_id", how="left")
    check = (
        Check(CheckLevel.WARNING, "orders")
        .is_complete("customer_id")
        .is_complete("email")
        .is_complete("sku")
        .satisfies("email", f"email IS NULL OR email LIKE '{EMAIL}'")
        .has_pattern("phone", PHONE)
        .is_between("amount", (0, 10_000))
        .is_contained_in("country", COUNTRIES)
        .is_contained_in("status", STATUSES)
        .satisfies("discount", "discount <= amount")
        .satisfies("shipped_on", "shipped_on >= ordered_on")
        .satisfies("note", "LENGTH(note) BETWEEN 1 AND 60")
        .satisfies("customer_id", "customer_id IS NULL OR is_customer IS NOT NULL")
        .is_unique("order_id")
    )
    found = check.validate(rows).sort("id")
    failed = found["violations"].to_list()
    return {"failed": dict(zip(NAMES, failed[:-1], strict=True)), "unique": failed[-1] == 0}
