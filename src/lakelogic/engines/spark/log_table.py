"""Rows about passes in a table that Spark keeps: one more row in a table that is made where it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.engine import SparkEngine
from lakelogic.engines.spark.frame import arrow_frame
from lakelogic.engines.spark.literals import identifier
from lakelogic.errors import TableError, UsageError


def refuse_forgetful(engine: SparkEngine) -> None:
    """A session that we start for one process forgets which tables it has made."""
    session = engine.session
    if sessions.is_launched_here(session) and session.conf.get("spark.sql.catalogImplementation") == "in-memory":
        raise UsageError(
            "--summary-backend spark needs --summary-database here: this Spark forgets its tables when it ends.",
            hint="Name a folder, or run where Spark has a catalog of its own.",
        )


def add_rows(engine: SparkEngine, table: Sequence[str], rows: pa.Table, folder: str | None) -> None:
    """Append rows to a table of the session's catalog, or to a Delta table at a place."""
    try:
        if folder is not None:
            session = engine.own_delta().session
            arrow_frame(session, rows).write.format("delta").mode("append").save(Path(folder).absolute().as_uri())
            return
        session = engine.session
        if len(table) > 1:
            session.sql(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(identifier(part) for part in table[:-1])}")
        arrow_frame(session, rows).write.mode("append").saveAsTable(".".join(identifier(part) for part in table))
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise TableError(
            f"The summary cannot be written to {folder or '.'.join(table)} by Spark: {first}",
            hint="Check that the session may write there, or name another --summary-table or --summary-backend.",
        ) from error
