"""What a ledger needs of a database, and which database a name means.

Statements are SQL that SQLite and PostgreSQL read alike, with `:name` parameters. SQLite is spoken to with
Python's own module (`sqlite.py`), servers through SQLAlchemy Core (`server.py`), which only then is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from lakelogic.errors import LedgerError, UsageError
from lakelogic.ledger.cells import Dialect

ELSEWHERE = "or name another ledger in LAKELOGIC_LEDGER, such as sqlite:////path/of/yours/ledger.db"

_SQLITE = re.compile(r"sqlite(?:\+pysqlite)?://(?:/(?P<path>[^?]*))?")
_POSTGRES = re.compile(r"(?:postgresql|postgres|postgresql\+psycopg)://")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class MissingTable(LedgerError):
    """The database works and has no ledger in it yet."""


class Connection(Protocol):
    """One transaction. Values go in and come out as records hold them (`cells.py`)."""

    dialect: Dialect

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        """What a SELECT finds."""
        ...

    def run(self, statement: str, **values: Any) -> int:
        """Change something; how many rows changed."""
        ...

    def many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        """The same change for each of these values."""
        ...


class Database(Protocol):
    """Short transactions; every trouble of the world comes out as `LedgerError`."""

    name: str  # for people; never with a password
    file: Path | None  # where the ledger is a file

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that changes nothing."""
        ...

    def write(self, *locks: str) -> AbstractContextManager[Connection]:
        """All or nothing, and alone among all writers that name one of the same locks.

        The writer sees what those before it did, and nobody changes it until the writer is done.
        """
        ...

    def create(self) -> None:
        """Make the place in which tables can be made."""
        ...

    def close(self) -> None:
        """Give back what is open."""
        ...


def open_database(place: str | os.PathLike[str]) -> Database:
    """The database at a URL, or in a SQLite file given as a path object. Nothing is opened yet."""
    from lakelogic.ledger.sqlite import SQLite

    if not isinstance(place, str):
        return SQLite(Path(place))
    if sqlite := _SQLITE.fullmatch(place):
        path = sqlite["path"]
        return SQLite(Path(path) if path and path != ":memory:" else None)
    if _POSTGRES.match(place):
        from lakelogic.ledger.server import Postgres

        return Postgres(place)
    # No part of the text but its scheme is shown: it may hold a password.
    scheme = _SCHEME.match(place)
    raise UsageError(
        f"A ledger cannot be kept in `{scheme[1]}`." if scheme else "The name of the ledger is not a database URL.",
        hint="Use SQLite (sqlite:////path/ledger.db, without options) or PostgreSQL (postgresql://user@host/database).",
    )
