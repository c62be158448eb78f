"""The tables of the ledger as SQLAlchemy sees them; `migrations.py` makes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, DateTime, Double, MetaData, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from lakelogic.ledger.records import RUN_COLUMNS, Kind


class Instant(TypeDecorator[datetime]):
    """A point in time: aware and UTC in Python, `timestamptz` in PostgreSQL, UTC without a zone in SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; SQLite keeps no zone."""
        if value is None:
            return None
        in_utc = value.astimezone(UTC)
        return in_utc.replace(tzinfo=None) if dialect.name == "sqlite" else in_utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To an aware instant in UTC, whatever zone the session of the server has."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class Words(TypeDecorator[str]):
    """Text for people: what a database cannot hold (NUL, half a surrogate pair) becomes a question mark."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """PostgreSQL refuses NUL, both refuse lone surrogates; an error message must not break the ledger."""
        if value is None:
            return None
        return value.replace("\0", "?").encode("utf-8", "replace").decode("utf-8")


class FilePath(TypeDecorator[str]):
    """A path that comes back exactly, even where its name is not UTF-8 (Python reads such bytes as surrogates)."""

    impl = Text
    cache_ok = True
    MARK = "bytes:"

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Hex of the bytes for the rare name that is not text."""
        if value is None or (value.isascii() and not value.startswith(self.MARK)):
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return self.MARK + value.encode("utf-8", "surrogateescape").hex()
        return self.MARK + value.encode("utf-8").hex() if value.startswith(self.MARK) else value

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The path as Python would list it."""
        if value is None or not value.startswith(self.MARK):
            return value
        return bytes.fromhex(value.removeprefix(self.MARK)).decode("utf-8", "surrogateescape")


_ALWAYS = {"run_id", "dataset", "status", "started_at"}


def _type(kind: Kind) -> TypeEngine[Any]:
    match kind:
        case "instant":
            return Instant()
        case "integer":
            return BigInteger()
        case "double":
            return Double()
        case "json":
            return JSON(none_as_null=True)
    return Words()


metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    *(
        Column(name, _type(kind), primary_key=name == "run_id", nullable=name not in _ALWAYS)
        for name, kind in RUN_COLUMNS.items()
    ),
)

intents = Table(
    "intents",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("batch_id", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("input", JSON(none_as_null=True)),
    Column("fingerprint", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("state", Text, nullable=False),
)

# The last number given out for a dataset; numbers only grow, gaps mean nothing.
sequences = Table(
    "sequences",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("last_n", BigInteger, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("target", Text, primary_key=True),
    Column("owner", Words, nullable=False),
    Column("token", Text, nullable=False),
    Column("acquired_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
)

inputs = Table(
    "inputs",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("path", FilePath, primary_key=True),
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("mtime_ns", BigInteger, primary_key=True, autoincrement=False),
    Column("batch_id", Text, nullable=False),
    Column("recorded_at", Instant, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("batch_id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("contract_fingerprint", Text),
    Column("finished_at", Instant, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("status", Text, nullable=False),
)

migrations = Table(
    "lakelogic_migrations",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("applied_at", Instant, nullable=False),
)
