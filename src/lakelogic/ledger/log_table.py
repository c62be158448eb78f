"""Rows about passes in a PostgreSQL database: one more row in a table that is made where it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from lakelogic.errors import MissingExtra, TableError, UsageError

_TYPES = {"DOUBLE": "DOUBLE PRECISION"}


def check_url(url: str) -> sqlalchemy.URL:
    """The address of a database; no part of a text that is none is shown, it may hold a password."""
    try:
        parsed = sqlalchemy.make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise UsageError(
            "--summary-backend postgres needs the URL of a database.",
            hint="Write --summary-database postgresql://user@host:5432/database; a password can be in PGPASSWORD.",
        ) from None
    return parsed.set(drivername="postgresql+psycopg")


def add_row(url: str, table: Sequence[str], columns: Mapping[str, str], row: Mapping[str, Any]) -> None:
    """Add a row to `schema.table`; `columns` are names and types of the table if it has to be made."""
    address = check_url(url)
    name = ".".join(f'"{part}"' for part in table)
    declared = ", ".join(f'"{column}" {_TYPES.get(kind, kind)}' for column, kind in columns.items())
    try:
        engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool, hide_parameters=True)
    except ImportError as error:
        raise MissingExtra("postgres", "A summary table in PostgreSQL") from error
    named, marks = ", ".join(f'"{column}"' for column in columns), ", ".join(f":{column}" for column in columns)
    try:
        with engine.begin() as connection:
            # IF NOT EXISTS alone loses a race: two passes at once would both try, and one would fail.
            connection.execute(
                sqlalchemy.text("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))"), {"lock": f"summary:{name}"}
            )
            if len(table) > 1:
                connection.execute(sqlalchemy.text(f'CREATE SCHEMA IF NOT EXISTS "{table[0]}"'))
            connection.execute(sqlalchemy.text(f"CREATE TABLE IF NOT EXISTS {name} ({declared})"))
            connection.execute(sqlalchemy.text(f"INSERT INTO {name} ({named}) VALUES ({marks})"), dict(row))
    except SQLAlchemyError as error:
        reason = str(error.orig).strip() if isinstance(error, DBAPIError) else type(error).__name__
        raise TableError(
            f"The summary cannot be written to {'.'.join(table)} in {address.render_as_string(hide_password=True)}: "
            f"{reason}",
            hint="Check that the server runs and that the user may create and write tables.",
        ) from error
    finally:
        engine.dispose()
