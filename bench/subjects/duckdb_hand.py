"""The reference job written by hand for DuckDB, in the form that won: one mask, two COPYs, lists only for bad rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS, NAMES, RULES, predicates
from bench.subjects.commits import commit, told


def versions() -> dict[str, str]:
    """What ran."""
    import duckdb

    return {"duckdb": duckdb.__version__}


def start(job: dict[str, Any]) -> Any:
    """A connection."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    if memory := job.get("memory_limit"):
        connection.execute(f"SET memory_limit = '{memory}'")
    return connection


def read(job: dict[str, Any]) -> str:
    """The source in SQL, with the types of the model."""
    files = ", ".join(f"'{file}'" for file in job["files"])
    if job["format"] == "parquet":
        return f"read_parquet([{files}], filename = true)"
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    return f"read_csv([{files}], header = true, columns = {{{columns}}}, filename = true)"


def run(connection: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job, or with `only: io` reading and writing alone."""
    options = f"(FORMAT parquet, COMPRESSION {CODEC['duckdb']}, PER_THREAD_OUTPUT true)"
    names = ", ".join(COLUMNS)
    if job["only"] == "io":
        connection.execute(f"COPY (SELECT {names} FROM {read(job)}) TO '{out}/all' {options}")
        return {}
    tests = predicates("regexp_matches(phone, '{}')", "c.customer_id IS NOT NULL")
    mask = " + ".join(
        f"CASE WHEN {test} THEN 0 ELSE {1 << at} END" for at, test in enumerate(tests[: job.get("rules", len(tests))])
    )
    lineage = "filename AS _lakelogic_source, now() AS _lakelogic_processed_at, 'run' AS _lakelogic_run_id"
    listed = ", ".join(f"'Rule failed: {name}'" for name in NAMES)
    kinds = ", ".join(f"'{rule.category}'" for rule in RULES)
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW judged AS SELECT s.*, {mask} AS m "
        f"FROM {read(job)} s LEFT JOIN read_parquet('{job['customers']}') c ON s.customer_id = c.customer_id"
    )
    good = ", ".join("sha256(email) AS email" if name == "email" else name for name in COLUMNS)
    connection.execute(f"COPY (SELECT {good}, {lineage} FROM judged WHERE m = 0) TO '{out}/good' {options}")
    chosen = "list_filter({}, lambda x, i: (m >> (i - 1)) & 1 = 1)"
    connection.execute(
        f"COPY (SELECT {names}, {chosen.format(f'[{listed}]')} AS _lakelogic_errors, "
        f"list_distinct({chosen.format(f'[{kinds}]')}) AS _lakelogic_categories, {lineage} "
        f"FROM judged WHERE m <> 0) TO '{out}/bad' {options}"
    )
    unique = connection.execute(
        f"SELECT count(order_id) = count(DISTINCT order_id) FROM read_parquet('{out}/good/*.parquet')"
    ).fetchone()[0]
    files = [commit(out / side, (out / side).glob("*.parquet")) for side in ("good", "bad")]
    return told(*files, unique=unique, rules="list_transform(_lakelogic_errors, lambda x: substr(x, 14))")
