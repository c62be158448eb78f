"""Rows about passes in a DuckDB database: one more row in a table that is made where it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from lakelogic.engines.duckdb.literals import identifier
from lakelogic.errors import TableError


def add_row(database: str, table: Sequence[str], columns: Mapping[str, str], row: Mapping[str, Any]) -> None:
    """Add a row to `schema.table`; `columns` are names and types of the table if it has to be made."""
    name = ".".join(identifier(part) for part in table)
    declared = ", ".join(f"{identifier(column)} {kind}" for column, kind in columns.items())
    try:
        with duckdb.connect(database) as connection:
            connection.begin()
            if len(table) > 1:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(table[0])}")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({declared})")
            named, marks = ", ".join(identifier(column) for column in columns), ", ".join("?" for _ in columns)
            connection.execute(f"INSERT INTO {name} ({named}) VALUES ({marks})", [row[column] for column in columns])
            connection.commit()
    except duckdb.Error as error:
        raise TableError(
            f"The summary cannot be written to {'.'.join(table)} in {database}: {type(error).__name__}.",
            hint="Another process may have the database open; name another --summary-database.",
        ) from error
