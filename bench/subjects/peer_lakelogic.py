"""The reference job with lakelogic 1.84: a contract, run over the source, materialised, on its three engines.

Without the digest: what it calls `hash` differs between its engines, and not masking is cheaper for it. NULL passes are
written into the predicates, as it has no `nulls: pass`. On Spark its rule about a reference table compares every order
with every customer, which does not end in any useful time: there the join is by hand, as an SQL step of the contract,
and the rule is a plain one over the column that the join adds. Two more things are done for it there: a backslash in a
pattern stands twice, because it writes patterns as plain literals, and Spark does not look for constraints, because it
does not come to an end with the plan otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import COLUMNS, NAMES, RULES

JOIN = (
    "SELECT /*+ BROADCAST(c) */ s.*, c.customer_id AS known_id FROM source s "
    "LEFT JOIN customers c ON s.customer_id = c.customer_id"
)
SETTINGS = {"spark.sql.constraintPropagation.enabled": "false"}


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("lakelogic", "polars", "duckdb", "pyspark")}


def start(job: dict[str, Any]) -> Any:
    """A Spark session where one is needed, so that it serves all times."""
    import logging

    logging.disable(logging.WARNING)
    if job["engine"] != "spark":
        return None
    from bench.subjects import spark_hand

    return spark_hand.session({**(job.get("settings") or {}), **SETTINGS})


def stop(spark: Any) -> None:
    """End the session."""
    if spark is not None:
        spark.stop()


def contract(job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The reference job in its own words."""
    by_hand = job["engine"] == "spark"
    rules: list[dict[str, Any]] = []
    for rule in RULES:
        about = {"name": rule.name, "category": rule.category}
        if by_hand and rule.short and rule.short[0] == "referential_integrity":
            rules.append({**about, "sql": "customer_id IS NULL OR known_id IS NOT NULL"})
        elif rule.short:
            said = dict(rule.short[1])
            if by_hand and "pattern" in said:
                said["pattern"] = said["pattern"].replace("\\", "\\\\")
            rules.append({rule.short[0]: {**said, **about}})
        elif rule.nulls_pass:
            rules.append({**about, "sql": f"email IS NULL OR {rule.sql}"})
        else:
            rules.append({**about, "sql": rule.sql})
    kinds = {"bigint": "bigint", "string": "string", "decimal(12,2)": "decimal(12,2)", "date": "date"}
    fields = [{"name": name, "type": kinds[kind]} for name, kind in COLUMNS.items()]
    if by_hand:
        fields.append({"name": "known_id", "type": "bigint"})
    return {
        "version": "1.0.0",
        "dataset": "orders",
        "info": {"title": "Orders", "target_layer": "silver"},
        "links": [{"name": "customers", "path": str(job["customers"]), "type": "parquet", "broadcast": True}],
        "model": {"fields": fields},
        **({"transformations": [{"sql": JOIN, "phase": "pre"}]} if by_hand else {}),
        "quality": {"row_rules": rules, "dataset_rules": [{"unique": "order_id"}]},
        "quarantine": {"enabled": True, "target": str(out / "bad"), "format": "parquet"},
        "lineage": {"enabled": True},
        "materialization": {"strategy": "overwrite", "target_path": str(out / "good"), "format": "parquet"},
    }


def run(_: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """One run."""
    from lakelogic import DataProcessor

    processor = DataProcessor(contract(job, out), engine=job["engine"])
    good, bad = processor.run_source(str(job["source"]))
    processor.materialize(good, bad)
    written = [file for file in out.rglob("*.parquet") if file.is_file()]  # Spark's folders are called *.parquet too
    files = {
        side: sorted(str(file) for file in written if f"/{side}" in str(file.relative_to(out.parent)))
        for side in ("good", "bad")
    }
    names = "|".join(NAMES)
    found = f"list_transform(_lakelogic_errors, lambda x: regexp_extract(x, '({names})', 1))"
    # It also says that a customer who is missing does not exist; that is its reading, and no mistake.
    rules = f"list_filter({found}, lambda x: NOT (x = 'customer_exists' AND customer_id IS NULL))"
    return {**files, "unique": True, "leaves": ["digest"], "rules": rules}
