"""A ledger on a PostgreSQL server, through SQLAlchemy Core.

A transaction that writes takes advisory locks of the transaction, by name, so that only writers of the same thing
queue, and it sees what those before it committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from lakelogic.errors import LedgerError, MissingExtra, UsageError
from lakelogic.ledger.cells import Dialect, from_cells, to_cells
from lakelogic.ledger.database import ELSEWHERE, Connection, MissingTable

_UNDEFINED_TABLE = "42P01"


class Postgres:
    """A database on a server. A connection lives as long as its transaction: hours may lie between two of them."""

    file: Path | None = None

    def __init__(self, place: str) -> None:
        try:
            url = sqlalchemy.make_url(place).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError):
            # Not even a part of the text is shown: it may hold a password.
            raise UsageError(
                "The name of the ledger is not a database URL.",
                hint="It is such as postgresql://user@host:5432/database; special signs in a password are %-encoded.",
            ) from None
        self.name = url.set(drivername="postgresql").render_as_string(hide_password=True)
        try:
            self._engine = sqlalchemy.create_engine(
                url, poolclass=sqlalchemy.NullPool, isolation_level="READ COMMITTED", hide_parameters=True
            )
        except ImportError as error:
            raise MissingExtra("postgres", "A ledger in PostgreSQL") from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that changes nothing."""
        with self._told(), self._engine.connect() as raw:
            yield _ServerConnection(raw)

    @contextmanager
    def write(self, *locks: str) -> Iterator[Connection]:
        """All or nothing, and alone among all writers that name one of the same locks."""
        with self._told(), self._engine.begin() as raw:
            connection = _ServerConnection(raw)
            for lock in sorted(locks):  # sorted, so that two writers of two things never wait for each other
                connection.rows("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))", lock=f"lakelogic:{lock}")
            yield connection

    def create(self) -> None:
        """The database itself is made by whoever runs the server."""

    def close(self) -> None:
        """Give back connections."""
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == _UNDEFINED_TABLE:
                raise MissingTable(f"There is no ledger in {self.name}.") from error
            raise self._error(str(error.orig).strip()) from error
        except SQLAlchemyError as error:
            raise self._error(str(error)) from error

    def _error(self, trouble: str) -> LedgerError:
        return LedgerError(
            f"The ledger {self.name} cannot be used: {trouble}",
            hint=f"Check that the server runs and that the user may create and write tables, {ELSEWHERE}.",
        )


class _ServerConnection:
    dialect: Dialect = "postgresql"

    def __init__(self, raw: sqlalchemy.Connection) -> None:
        self._raw = raw

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        cursor = self._raw.execute(sqlalchemy.text(statement), to_cells(values, "postgresql"))
        return [from_cells(row._asdict(), "postgresql") for row in cursor]

    def run(self, statement: str, **values: Any) -> int:
        return self._raw.execute(sqlalchemy.text(statement), to_cells(values, "postgresql")).rowcount

    def many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        if values:
            self._raw.execute(sqlalchemy.text(statement), [to_cells(row, "postgresql") for row in values])
