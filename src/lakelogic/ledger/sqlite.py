"""A ledger in a SQLite file, through Python's own module: loading SQLAlchemy would take a third of a small run.

A transaction that writes begins with BEGIN IMMEDIATE: writers queue before their first statement, so what one
of them reads cannot change under it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lakelogic.errors import LedgerError
from lakelogic.ledger.cells import Dialect, from_cells, to_cells
from lakelogic.ledger.database import ELSEWHERE, Connection, MissingTable

# How long a writer waits for another one before it gives up; transactions of the ledger take milliseconds.
BUSY_SECONDS = 30.0


class SQLite:
    """A database in a file, or in memory without one. A connection lives as long as its transaction."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.name = "in memory" if file is None else str(file)
        self._memory = self._connect() if file is None else None
        self._alone = threading.Lock()  # threads share the connection of a ledger in memory

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state and changes nothing."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self, *locks: str) -> Iterator[Connection]:  # noqa: ARG002 — one writer at a time, whatever it locks
        """All or nothing, and the only writer."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def create(self) -> None:
        """Make the folder, and let readers and a writer work side by side where the file system can."""
        if self.file is None:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error
        with self._told(), closing(self._connect()) as connection:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                # Some network file systems cannot share memory, and another process may be making the same ledger:
                # the ordinary journal is slower and just as safe.
                if not any(reason in str(error) for reason in ("locked", "locking", "I/O")):
                    raise

    def close(self) -> None:
        """Forget a ledger in memory; a file has nothing open between transactions."""
        if self._memory is not None:
            self._memory.close()

    def _connect(self) -> sqlite3.Connection:
        # Without an isolation level Python's module begins no transactions of its own.
        place = ":memory:" if self.file is None else str(self.file)
        return sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        if self._memory is not None:
            with self._alone, self._told(), _within(self._memory, begin):
                yield _SQLiteConnection(self._memory)
            return
        with self._told(), closing(self._connect()) as raw, _within(raw, begin):
            yield _SQLiteConnection(raw)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if str(error).startswith("no such table"):
                raise MissingTable(f"There is no ledger in {self.name}.") from error
            raise self._error(str(error)) from error

    def _error(self, trouble: str) -> LedgerError:
        return LedgerError(f"The ledger {self.name} cannot be used: {trouble}", hint=self._hint(trouble))

    def _hint(self, trouble: str) -> str:
        if "locked" in trouble:
            return f"Another process has been writing for {BUSY_SECONDS:.0f} seconds; see which one, and run again."
        if "not a database" in trouble or "malformed" in trouble:
            return "The file is not a ledger or is damaged. Move it away: what was committed is kept in the tables."
        if "full" in trouble or "disk I/O error" in trouble:
            return "Make room on the disk (or see whether it is sound) and run again."
        return f"Make the folder {self.file.parent if self.file else '.'} writable for this user, {ELSEWHERE}."


@contextmanager
def _within(raw: sqlite3.Connection, begin: str) -> Iterator[None]:
    raw.execute(begin)
    try:
        yield
        raw.execute("COMMIT")
    except BaseException:
        # Some errors have rolled back already (a full disk).
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


class _SQLiteConnection:
    dialect: Dialect = "sqlite"

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        cursor = self._raw.execute(statement, to_cells(values, "sqlite"))
        names = [column[0] for column in cursor.description]
        return [from_cells(dict(zip(names, row, strict=True)), "sqlite") for row in cursor]

    def run(self, statement: str, **values: Any) -> int:
        return self._raw.execute(statement, to_cells(values, "sqlite")).rowcount

    def many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        self._raw.executemany(statement, [to_cells(row, "sqlite") for row in values])
