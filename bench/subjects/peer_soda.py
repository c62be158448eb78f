"""The rules of the reference job with Soda Core on DuckDB: how many rows break each rule, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.reference import NAMES, predicates


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("soda-core", "soda-duckdb", "duckdb")}


def start(_: dict[str, Any]) -> None:
    """Nothing is kept between times."""


def run(_: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """Verify a contract whose checks are the rules, over a view of the source joined to the reference table."""
    import duckdb
    from soda_core.contracts import verify_contract_locally

    files = ", ".join(f"'{file}'" for file in job["files"])
    with duckdb.connect(str(out / "orders.db")) as connection:
        connection.execute(
            f"CREATE VIEW orders AS SELECT s.*, c.customer_id AS known_id FROM read_parquet([{files}]) s "
            f"LEFT JOIN read_parquet('{job['customers']}') c ON s.customer_id = c.customer_id"
        )
    source = {"type": "duckdb", "name": "bench", "connection": {"database": str(out / "orders.db"), "read_only": True}}
    tests = predicates("regexp_matches(phone, '{}')", "known_id IS NOT NULL", prefix="")
    checks = [
        {"failed_rows": {"name": name, "qualifier": name, "expression": f"({test}) IS NOT TRUE"}}
        for name, test in zip(NAMES, tests, strict=True)
    ]
    ids = {"name": "order_id", "checks": [{"duplicate": {"name": "id_unique"}}]}
    contract = {"dataset": "bench/orders/main/orders", "columns": [ids], "checks": checks}
    # JSON is YAML too.
    (out / "source.yml").write_text(json.dumps(source))
    (out / "contract.yml").write_text(json.dumps(contract))
    result = verify_contract_locally(
        data_source_file_path=str(out / "source.yml"), contract_file_path=str(out / "contract.yml")
    )
    found = {
        one.check.name: one.diagnostic_metric_values for one in result.contract_verification_results[0].check_results
    }
    failed = {name: int(found[name]["failed_rows_count"]) for name in NAMES}
    return {"failed": failed, "unique": not found["id_unique"]["duplicate_count"]}
