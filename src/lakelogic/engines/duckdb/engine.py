"""The DuckDB engine: a database in memory, and the verbs of the protocol on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa

from lakelogic.engines.base import AS_IT_COMES, Capabilities, Frame, Order, Pinned, Staged
from lakelogic.engines.duckdb import exact, nodes, scan
from lakelogic.engines.duckdb import stage as staging
from lakelogic.engines.duckdb.cursors import Cursors
from lakelogic.engines.duckdb.expressions import BUILDERS, expression_sql
from lakelogic.engines.duckdb.frame import Query
from lakelogic.engines.duckdb.functions import aggregates, documents, windows
from lakelogic.engines.duckdb.literals import identifier
from lakelogic.engines.readers import text_reader
from lakelogic.engines.readers.formats import READERS
from lakelogic.plan.nodes import Account, Landed, Link, Mask, Measure, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.sql.types import from_arrow
from lakelogic.storage.scratch import Scratch, scratch

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "true",
    # The statistics of Parquet files leave NaN out, and DuckDB would answer `x > 1e308` from them without looking.
    "disabled_optimizers": "statistics_propagation",
}


@lru_cache(maxsize=1)
def _private_folder() -> Scratch:
    """Where rows go that memory cannot hold. By itself DuckDB takes the working folder, for everybody to read."""
    return scratch()


class DuckDBEngine:
    """Plans on DuckDB: one statement per pass, streamed to staged files."""

    name = "duckdb"
    capabilities = Capabilities(
        name="duckdb",
        functions=frozenset({*BUILDERS, *aggregates.NAMES, *windows.NAMES}),
        formats=frozenset(READERS),
        masks=frozenset({"nullify", "hash", "redact", "partial", "encrypt", "encrypt_deterministic"}),
        nodes=frozenset(kind.__name__ for kind in nodes.LOWER),
    )

    def __init__(self, *, threads: int | None = None, memory_limit: str | None = None) -> None:
        settings: dict[str, Any] = {**_SETTINGS, "temp_directory": _private_folder().path}
        if threads is not None:
            settings["threads"] = threads
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        connection: Any = duckdb.connect(":memory:", config=settings)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        for function, method, gives in exact.REGISTERED:
            connection.create_function(function, method, ["VARCHAR"] * 4, gives, null_handling="special")
        for function, method, takes in documents.FUNCTIONS:
            connection.create_function(function, method, takes, "VARCHAR", null_handling="special")
        self._connection: Any = Cursors(connection)
        self._adopted = count(1)

    @property
    def version(self) -> str:
        """DuckDB's version."""
        return str(duckdb.__version__)

    def expect(self, size: int) -> None:
        """It starts the same for any size."""

    def discover(self, read: Read, pinned: Pinned) -> tuple[Landed, ...]:
        """The top-level keys of ndjson objects."""
        return text_reader.discover(read, pinned)

    def scan(self, read: Read, pinned: Pinned) -> Frame:
        """The landed columns, with the four about where a row came from."""
        return scan.scan(read, pinned)

    def adopt(self, data: Any, read: Read | None = None) -> tuple[Frame, tuple[Landed, ...]]:
        """A frame that somebody hands in; it is held as Arrow."""
        if isinstance(data, Query):
            data = self.collect(data)
        name = read.name if read is not None else f"adopted{next(self._adopted)}"
        return scan.adopt(data, read, name)

    def lower(self, frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
        """The union of what the accounts publish."""
        return nodes.lower(frame, accounts, links)

    def sql(self, frame: Frame) -> str:
        """The statement that a frame stands for, to be shown to people."""
        assert isinstance(frame, Query)
        return frame.sql

    def link(self, link: Link, pinned: Pinned) -> Frame:
        """The rows of a link that count, with its columns."""
        frame = scan.scan(link.read, pinned)
        links = nodes.named_frames({})
        frame = nodes.apply(frame, link.nodes, links)
        if link.keep is not None:
            condition = expression_sql(links.pieces.bound(link.keep), frame.columns)
            kept = f"SELECT * FROM {identifier(frame.name)}\nWHERE coalesce({condition}, FALSE)"
            frame = frame.then("keep", kept, frame.columns)
        return frame

    def stage(
        self,
        frame: Frame,
        columns: Sequence[Published],
        masks: Sequence[Mask],
        keys: Keys,
        place: str,
        order: Order = AS_IT_COMES,
    ) -> Staged:
        """Evaluate once into staged files."""
        return staging.stage(self._connection, frame, columns, masks, keys, place, order)

    def measure(
        self, files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]
    ) -> dict[str, Any]:
        """All measures in one statement."""
        return staging.measure(self._connection, files, columns, measures)

    def duplicates(self, frame: Frame, keys: Sequence[str]) -> int:
        """How many different keys occur more than once."""
        return staging.duplicates(self._connection, self._query(frame), keys)

    def open(self, files: Sequence[str], columns: Sequence[tuple[str, pa.DataType]]) -> Frame:
        """Parquet files as a relation."""
        wanted = {name: (name, from_arrow(type_)) for name, type_ in columns}
        return self._connection.cursor().sql(scan.parquet_sql(files, wanted))

    def wrap(self, table: pa.Table) -> Frame:
        """A small Arrow table as a relation."""
        return self._connection.cursor().from_arrow(table)

    def collect(self, frame: Frame, limit: int | None = None) -> pa.Table:
        """The rows as an Arrow table."""
        return staging.collect(self._connection, self._query(frame), limit)

    def work(self, label: str) -> AbstractContextManager[Callable[[], None]]:  # noqa: ARG002  only pools have names
        """One piece of work, which another thread can interrupt."""
        work: AbstractContextManager[Callable[[], None]] = self._connection.work()
        return work

    def close(self) -> None:
        """Let the database go. Relations that were handed out keep it alive, so they still work in a user's hands."""
        self._connection = None

    def _query(self, frame: Frame) -> Query:
        if isinstance(frame, Query):
            return frame
        adopted, _ = self.adopt(frame)
        assert isinstance(adopted, Query)
        return adopted
