"""What a pass leaves behind for others, whether it went well or not: a summary, a row in a table, metrics."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

from lakelogic.driver.passes import Pass
from lakelogic.errors import TableError, UsageError
from lakelogic.version import VERSION

Backend = Literal["duckdb", "sqlite"]

# Column: its type where the summary table is made; DuckDB's words, SQLite keeps instants as text.
COLUMNS: Final = {
    "pipeline_run_id": "VARCHAR", "status": "VARCHAR", "exit_code": "INTEGER", "started_at": "TIMESTAMPTZ",
    "finished_at": "TIMESTAMPTZ", "duration_seconds": "DOUBLE", "engines": "VARCHAR", "window_kind": "VARCHAR",
    "datasets": "BIGINT", "succeeded": "BIGINT", "no_new_data": "BIGINT", "gated": "BIGINT", "failed": "BIGINT",
    "held_back": "BIGINT", "skipped": "BIGINT", "rows_source": "BIGINT", "rows_good": "BIGINT",
    "rows_quarantined": "BIGINT", "reasons": "VARCHAR", "details": "VARCHAR", "lakelogic_version": "VARCHAR",
}  # fmt: skip
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def write_json(path: str, value: Any) -> None:
    """One JSON object in a file that is either the old one or the new one, never half of it."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    written = target.with_name(f".{target.name}.{os.getpid()}")
    written.write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    written.replace(target)


def row_of(done: Pass) -> dict[str, Any]:
    """The row of a pass in a summary table; why datasets did not come out well is in `reasons`, by dataset."""
    counts, rows = done.counts, done.rows
    reasons = {one.dataset: "; ".join(one.reasons) for one in done.outcomes if one.reasons and not one.is_done}
    if done.error is not None:
        reasons["*"] = str(done.error)
    return {
        "pipeline_run_id": done.pipeline_run_id,
        "status": done.status,
        "exit_code": done.exit_code,
        "started_at": done.started_at.isoformat(),
        "finished_at": done.finished_at.isoformat(),
        "duration_seconds": done.seconds,
        "engines": ",".join(sorted({one.engine for one in done.outcomes if one.engine})),
        "window_kind": done.settings.window,
        "datasets": len(done.outcomes),
        **counts,
        "rows_source": rows["source"],
        "rows_good": rows["good"],
        "rows_quarantined": rows["quarantined"],
        "reasons": json.dumps(reasons, ensure_ascii=False),
        "details": json.dumps([one.as_dict() for one in done.outcomes], ensure_ascii=False, default=str),
        "lakelogic_version": VERSION,
    }


def table_parts(table: str) -> tuple[str, ...]:
    """The parts of a summary table's name; refused before anything runs where it is none."""
    parts = tuple(table.split("."))
    if len(parts) > 2 or not all(_PART.fullmatch(part) for part in parts):
        raise UsageError(f"`{table}` is not the name of a summary table.", hint="Write schema.table or table.")
    return parts


def write_row(done: Pass, table: str, backend: Backend, database: str) -> None:
    """Add the row of a pass to a table, which is made with its schema where it is missing."""
    parts, row = table_parts(table), row_of(done)
    Path(database).absolute().parent.mkdir(parents=True, exist_ok=True)
    if backend == "duckdb":
        from lakelogic.engines.duckdb.log_table import add_row

        add_row(database, parts, COLUMNS, row)
        return
    # SQLite has no schemas: `lakelogic.pipeline_runs` is the table `lakelogic_pipeline_runs`.
    name = f'"{"_".join(parts)}"'
    columns = ", ".join(f'"{column}" {kind.replace("TIMESTAMPTZ", "TEXT")}' for column, kind in COLUMNS.items())
    marks = ", ".join(f":{column}" for column in COLUMNS)
    try:
        with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            names = ", ".join(f'"{column}"' for column in COLUMNS)
            connection.execute(f"INSERT INTO {name} ({names}) VALUES ({marks})", row)
    except sqlite3.Error as error:
        raise TableError(f"The summary cannot be written to {table} in {database}: {error}") from error


def metrics_of(done: Pass) -> dict[str, Any]:
    """Numbers about a pass and its datasets: a name, labels, a value."""
    found: list[dict[str, Any]] = [
        _metric("pass_exit_code", done.exit_code),
        _metric("pass_duration_seconds", done.seconds),
        *(_metric("pass_datasets", count, status=status) for status, count in done.counts.items()),
        *(_metric("pass_rows", count, side=side) for side, count in done.rows.items()),
    ]
    for one in done.outcomes:
        labels = {"dataset": one.dataset, "layer": one.layer or ""}
        found += [
            _metric("dataset_done", int(one.is_done), **labels, status=one.status),
            _metric("dataset_duration_seconds", one.seconds, **labels),
            _metric("dataset_attempts", one.attempts, **labels),
            _metric("dataset_rows", one.rows_source, **labels, side="source"),
            _metric("dataset_rows", one.rows_good, **labels, side="good"),
            _metric("dataset_rows", one.rows_quarantined, **labels, side="quarantined"),
        ]
    return {
        "pipeline_run_id": done.pipeline_run_id,
        "status": done.status,
        "at": done.finished_at.isoformat(),
        "metrics": found,
    }


def _metric(name: str, value: float, **labels: str) -> dict[str, Any]:
    return {"name": f"lakelogic_{name}", "labels": labels, "value": value}
