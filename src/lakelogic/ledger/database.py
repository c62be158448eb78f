"""The database behind a ledger: where it is, how one writer at a time gets in, and what its errors mean.

SQLite: a transaction that writes begins with BEGIN IMMEDIATE, so writers queue from its first statement on.
PostgreSQL: it takes an advisory lock of the transaction, by name, so that only writers of the same thing queue.
Either way a writer reads the newest state and nobody changes it until the writer is done.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, StaticPool, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError

from lakelogic.errors import LedgerError, MissingExtra, UsageError

# How long a writer waits for another one before it gives up; transactions of the ledger take milliseconds.
BUSY_SECONDS = 30.0

_WRITES = "lakelogic_writes"
_POSTGRES_DRIVERS = ("postgresql", "postgres", "postgresql+psycopg")


class Database:
    """Short transactions on SQLite or PostgreSQL; every trouble of the world comes out as `LedgerError`."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        url = _url(place)
        self.name = url.render_as_string(hide_password=True)
        in_memory = url.database in (None, "", ":memory:")
        self.file = None if in_memory or url.drivername != "sqlite" else Path(str(url.database))
        if url.drivername == "sqlite":
            self.name = str(self.file or "in memory")
            self._engine = _sqlite(url, in_memory)
        else:
            self._engine = _postgres(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the ledger is a file of its own (or in memory)."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state and changes nothing."""
        with self._told(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, *locks: str) -> Iterator[Connection]:
        """All or nothing, and alone among all writers that name one of the same locks."""
        with self._told(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                if not self.is_sqlite:
                    for lock in sorted(locks):  # sorted, so that two writers of two things never wait for each other
                        connection.execute(
                            text("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))"),
                            {"lock": f"lakelogic:{lock}"},
                        )
                yield connection

    def create(self) -> None:
        """Make the folder of a ledger that is a file, and let readers and a writer work side by side."""
        if self.file is None:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error
        with self._told(), self._engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            try:
                raw.execute("PRAGMA journal_mode=WAL")
            except sqlite3.Error as error:
                # Some network file systems cannot share memory, and another process may be creating the same
                # ledger: the ordinary journal is slower and just as safe. What is truly wrong fails again below.
                if "readonly" in str(error) or "unable to open" in str(error) or "not a database" in str(error):
                    raise self._error(str(error)) from error

    def close(self) -> None:
        """Give back connections."""
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn errors of the database into errors that say what to do; parameters and SQL stay out of them."""
        try:
            yield
        except DBAPIError as error:
            raise self._error(str(error.orig).strip()) from error
        except SQLAlchemyError as error:
            raise self._error(str(error)) from error

    def _error(self, trouble: str) -> LedgerError:
        return LedgerError(f"The ledger {self.name} cannot be used: {trouble}", hint=self._hint(trouble.lower()))

    def _hint(self, trouble: str) -> str:
        elsewhere = "or name another ledger in LAKELOGIC_LEDGER (a path of your own: sqlite:////path/ledger.db)"
        if not self.is_sqlite:
            return "Check that the server runs and that the user may create and write tables " + elsewhere + "."
        if "locked" in trouble:
            return f"Another process has been writing for {BUSY_SECONDS:.0f} seconds; see which one, and run again."
        if "not a database" in trouble or "malformed" in trouble:
            return "The file is not a ledger or is damaged. Move it away: what was committed is kept in the tables."
        if "full" in trouble:
            return "Make room on the disk and run again."
        return f"Make the folder {self.file.parent if self.file else '.'} writable for this user, {elsewhere}."


def _url(place: str | os.PathLike[str]) -> URL:
    if not isinstance(place, str):
        return URL.create("sqlite", database=os.fspath(place))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        # Not even a part of the text is shown: it may hold a password.
        raise UsageError(
            "The name of the ledger is not a database URL.",
            hint="LAKELOGIC_LEDGER is such as sqlite:////data/ledger.db or postgresql://user@host/database.",
        ) from None
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return url.set(drivername="sqlite")
    if url.drivername in _POSTGRES_DRIVERS:
        return url.set(drivername="postgresql+psycopg")
    raise UsageError(
        f"A ledger cannot be kept in `{url.drivername}`.",
        hint="Use SQLite (sqlite:////path/ledger.db) or PostgreSQL (postgresql://user@host/database).",
    )


def _sqlite(url: URL, in_memory: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=StaticPool if in_memory else NullPool,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        hide_parameters=True,
        json_serializer=_to_json,
    )

    # The driver would begin a transaction late, at the first change, and read before it without any lock.
    @event.listens_for(engine, "connect")
    def no_transactions_by_the_driver(raw: Any, _record: object) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(url: URL) -> Engine:
    try:
        return create_engine(
            url,
            # No connection outlives its transaction: hours may lie between two of them, and firewalls forget.
            poolclass=NullPool,
            # A writer must see what others committed while it waited for its lock.
            isolation_level="READ COMMITTED",
            hide_parameters=True,
            json_serializer=_to_json,
        )
    except (ImportError, NoSuchModuleError) as error:
        raise MissingExtra("postgres", "A ledger in PostgreSQL") from error


def is_missing_table(error: LedgerError) -> bool:
    """Whether the database works and has no ledger in it yet."""
    cause = error.__cause__
    if not isinstance(cause, DBAPIError):
        return False
    if isinstance(cause, OperationalError) and "no such table" in str(cause.orig):
        return True
    return getattr(cause.orig, "sqlstate", None) == "42P01"


def _to_json(value: object) -> str:
    """JSON that every database takes: numbers that are none become NULL, dates and decimals text."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} does not fit into the ledger")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
