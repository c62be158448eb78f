"""The reference job in the manner of dbt: a failing-rows query for each rule, stored; good rows are the rest.

Each test is a SELECT of its own over the source, as stored test failures are; the reasons of a row are gathered at the
end. Run by DuckDB directly, without what dbt itself costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS, NAMES, predicates
from bench.subjects.duckdb_hand import read, start, versions

__all__ = ["run", "start", "versions"]


def run(connection: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job."""
    options = f"(FORMAT parquet, COMPRESSION {CODEC['duckdb']})"
    tests = predicates("regexp_matches(phone, '{}')", "c.customer_id IS NOT NULL")
    source = f"{read(job)} s LEFT JOIN read_parquet('{job['customers']}') c ON s.customer_id = c.customer_id"
    for name, test in zip(NAMES, tests, strict=True):
        failing = f"SELECT order_id, '{name}' AS rule FROM {source} WHERE ({test}) IS NOT TRUE"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE failing_{name} AS {failing}")
    union = " UNION ALL ".join(f"SELECT * FROM failing_{name}" for name in NAMES)
    gathered = f"SELECT order_id, list(rule) AS why FROM ({union}) GROUP BY order_id"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE why AS {gathered}")
    lineage = "filename AS _lakelogic_source, now() AS _lakelogic_processed_at, 'run' AS _lakelogic_run_id"
    good = ", ".join("sha256(email) AS email" if name == "email" else name for name in COLUMNS)
    connection.execute(
        f"COPY (SELECT {good}, {lineage} FROM {read(job)} ANTI JOIN why USING (order_id)) "
        f"TO '{out}/good.parquet' {options}"
    )
    connection.execute(
        f"COPY (SELECT {', '.join(COLUMNS)}, why, {lineage} FROM {read(job)} JOIN why USING (order_id)) "
        f"TO '{out}/bad.parquet' {options}"
    )
    unique = connection.execute(f"SELECT count(order_id) = count(DISTINCT order_id) FROM {read(job)}").fetchone()[0]
    return {"good": [f"{out}/good.parquet"], "bad": [f"{out}/bad.parquet"], "unique": unique, "rules": "why"}
