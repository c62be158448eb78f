"""One row a pass in a summary table, in whatever kind of database somebody keeps it."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from lakelogic.catalogs.base import Catalog
from lakelogic.driver.passes import Pass
from lakelogic.engines import registry
from lakelogic.engines.base import Engine
from lakelogic.errors import TableError, UsageError
from lakelogic.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

Backend = Literal["duckdb", "sqlite", "delta", "spark", "postgres"]

# Column: its type where the summary table is made; DuckDB's words, SQLite keeps instants as text.
COLUMNS: Final = {
    "pipeline_run_id": "VARCHAR", "status": "VARCHAR", "exit_code": "INTEGER", "started_at": "TIMESTAMPTZ",
    "finished_at": "TIMESTAMPTZ", "duration_seconds": "DOUBLE", "engines": "VARCHAR", "window_kind": "VARCHAR",
    "datasets": "BIGINT", "succeeded": "BIGINT", "no_new_data": "BIGINT", "gated": "BIGINT", "failed": "BIGINT",
    "held_back": "BIGINT", "skipped": "BIGINT", "rows_source": "BIGINT", "rows_good": "BIGINT",
    "rows_quarantined": "BIGINT", "reasons": "VARCHAR", "details": "VARCHAR", "lakelogic_version": "VARCHAR",
}  # fmt: skip
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def row_of(done: Pass) -> dict[str, Any]:
    """The row of a pass in a summary table; why datasets did not come out well is in `reasons`, by dataset."""
    counts, rows = done.counts, done.rows
    reasons = {
        outcome.dataset: "; ".join(outcome.reasons)
        for outcome in done.outcomes
        if outcome.reasons and not outcome.is_done
    }
    if done.error is not None:
        reasons["*"] = str(done.error)
    return {
        "pipeline_run_id": done.pipeline_run_id,
        "status": done.status,
        "exit_code": done.exit_code,
        "started_at": done.started_at.isoformat(),
        "finished_at": done.finished_at.isoformat(),
        "duration_seconds": done.seconds,
        "engines": ",".join(sorted({outcome.engine for outcome in done.outcomes if outcome.engine})),
        "window_kind": done.settings.window,
        "datasets": len(done.outcomes),
        **counts,
        "rows_source": rows["source"],
        "rows_good": rows["good"],
        "rows_quarantined": rows["quarantined"],
        "reasons": json.dumps(reasons, ensure_ascii=False),
        "details": json.dumps([outcome.as_dict() for outcome in done.outcomes], ensure_ascii=False, default=str),
        "lakelogic_version": VERSION,
    }


@dataclass(slots=True)
class SummaryTable:
    """A table for summaries; `open` finds out whether it can be written before a pass begins."""

    table: str
    catalog: Catalog
    backend: Backend = "duckdb"
    database: str | None = None
    engine_settings: dict[str, Any] = field(default_factory=dict)
    _spark: Engine | None = None

    def check(self) -> None:
        """Refuse what cannot be a summary table; nothing is opened."""
        most = 3 if self.backend in ("spark", "delta") else 2
        if len(self.parts) > most or not all(_PART.fullmatch(part) for part in self.parts):
            raise UsageError(f"`{self.table}` is not the name of a summary table.", hint="Write schema.table or table.")
        if self.backend in ("duckdb", "sqlite", "postgres") and not self.database:
            example = "postgresql://user@host/database" if self.backend == "postgres" else "logs/pipeline_runs.duckdb"
            raise UsageError("--summary-table needs a database.", hint=f"Add --summary-database {example}.")
        if self.backend == "postgres":
            from lakelogic.ledger.log_table import check_url

            check_url(str(self.database))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its name."""
        return tuple(self.table.split("."))

    def open(self) -> None:
        """Start what writing needs and a pass can share: the Spark session."""
        if self.backend != "spark":
            return
        self._spark = registry.load("spark", **self.engine_settings)
        if self.database is None:
            from lakelogic.engines.spark.log_table import refuse_forgetful

            refuse_forgetful(self._spark)  # type: ignore[arg-type]
        else:
            self._spark.own_delta()  # type: ignore[attr-defined]

    def close(self) -> None:
        """Give back what was started."""
        if self._spark is not None:
            self._spark.close()
            self._spark = None

    def write(self, done: Pass) -> None:
        """Add the row of a pass to the table, which is made with its schema where it is missing."""
        row = row_of(done)
        if self.backend == "duckdb":
            from lakelogic.engines.duckdb.log_table import add_row

            add_row(self._file(), self.parts, COLUMNS, row)
        elif self.backend == "sqlite":
            self._to_sqlite(row)
        elif self.backend == "postgres":
            from lakelogic.ledger.log_table import add_row as add_to_postgres

            add_to_postgres(str(self.database), self.parts, COLUMNS, row)
        elif self.backend == "delta":
            from lakelogic.tables.log_table import add_rows

            add_rows(self._folder(), _arrow(row))
        else:
            from lakelogic.engines.spark.log_table import add_rows as add_by_spark

            if self._spark is None:  # the pass could not even begin, and is told of all the same
                self.open()
            folder = self._folder() if self.database is not None else None
            add_by_spark(self._spark, self.parts, _arrow(row), folder)  # type: ignore[arg-type]

    def _file(self) -> str:
        database = str(self.database)
        Path(database).absolute().parent.mkdir(parents=True, exist_ok=True)
        return database

    def _folder(self) -> str:
        """The place of a table that is a folder: below the one that was named, or in the warehouse."""
        if self.database is None:
            return self.catalog.resolve(self.table)
        return str(Path(self.database, *self.parts))

    def _to_sqlite(self, row: dict[str, Any]) -> None:
        # SQLite has no schemas: `lakelogic.pipeline_runs` is the table `lakelogic_pipeline_runs`.
        name = f'"{"_".join(self.parts)}"'
        columns = ", ".join(f'"{column}" {kind.replace("TIMESTAMPTZ", "TEXT")}' for column, kind in COLUMNS.items())
        names, marks = ", ".join(f'"{column}"' for column in COLUMNS), ", ".join(f":{column}" for column in COLUMNS)
        try:
            with closing(sqlite3.connect(self._file(), timeout=30)) as connection, connection:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
                connection.execute(f"INSERT INTO {name} ({names}) VALUES ({marks})", row)
        except sqlite3.Error as error:
            raise TableError(f"The summary cannot be written to {self.table} in {self.database}: {error}") from error


def _arrow(row: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    kinds = {
        "VARCHAR": pa.string(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(),
        "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    }  # fmt: skip
    values = {
        name: datetime.fromisoformat(row[name]) if kind == "TIMESTAMPTZ" else row[name]
        for name, kind in COLUMNS.items()
    }
    return pa.Table.from_pylist([values], schema=pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()]))
