"""What an engine must do: the protocol, and the values that pass through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from lakelogic.errors import LakeLogicError
from lakelogic.plan.nodes import Account, Landed, Link, Mask, Measure, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.tables.base import OwnDelta

# An engine's own lazy rows: a PySpark DataFrame, a Polars LazyFrame, a DuckDB relation.
Frame: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Pinned:
    """The exact input of a run. Files are absolute paths or URIs that were listed and measured before.

    For a Delta table `files` are its data files at `version` and `table` its root.
    """

    files: tuple[str, ...] = ()
    table: str | None = None
    version: int | None = None
    own: bool = False  # to be read by the engine's own library of the table's format: the files alone mislead
    part: bool = False  # with `own`: `files` are not all of the table's


@dataclass(frozen=True, slots=True)
class DataFile:
    """A staged Parquet file: absolute path, rows and bytes as its footer and the file system tell."""

    path: str
    rows: int
    size: int
    partition: Mapping[str, Any] = field(default_factory=dict)  # where it was asked for: column → its one value here


@dataclass(frozen=True, slots=True)
class Order:
    """How good rows are laid out in staged files.

    Each file holds one value of every `partition_by` column. Within what is written at once (a batch, a task), rows
    are sorted by `cluster_by`, so that rows alike lie together; across files there is no order.
    """

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()


AS_IT_COMES = Order()


@dataclass(frozen=True, slots=True)
class Staged:
    """What one pass wrote and counted; nothing of it is visible in any table yet.

    `scanned` is how many rows the scan itself saw, counted apart from everything downstream; None where the
    engine cannot tell. `fates` counts rows by their number in `~fate` (rows that were lost), over all accounts;
    `copies` counts rows, lost or not, by their number in `~copy`, where that is not 0. `totals` tells of each good
    column how many values were written and what they total (`plan/totals.py`); None where nobody added them up.
    """

    good: tuple[DataFile, ...]
    bad: tuple[DataFile, ...]
    scanned: int | None
    fates: Mapping[int, int] = field(default_factory=dict)
    copies: Mapping[int, int] = field(default_factory=dict)
    totals: Mapping[str, tuple[int, Decimal | None]] | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; compared with what a plan needs before anything is read."""

    name: str
    functions: frozenset[str]
    formats: frozenset[str]
    masks: frozenset[str]
    nodes: frozenset[str] = frozenset({"RowWise", "Rank", "Join", "Rollup"})
    distributed: bool = False
    streaming: bool = False
    reads_later: bool = True  # frames that were opened read their files when somebody asks for rows


@runtime_checkable
class Engine(Protocol):
    """Six verbs, and four small ones around them. An engine translates and decides nothing."""

    name: str
    capabilities: Capabilities

    @property
    def version(self) -> str:
        """The version of the library behind the engine, for the ledger."""
        ...

    def expect(self, size: int) -> None:
        """About so many bytes are going to be read: an engine that is yet to start may start for it."""
        ...

    def discover(self, read: Read, pinned: Pinned) -> tuple[Landed, ...]:
        """The top-level keys of all ndjson objects in the input, in sorted order, as string columns.

        Other formats are discovered without an engine. Lines that cannot be parsed add nothing.
        """
        ...

    def scan(self, read: Read, pinned: Pinned) -> Frame:
        """The landed columns of `read`, with the four columns about where a row came from."""
        ...

    def adopt(self, data: Any, read: Read | None = None) -> tuple[Frame, tuple[Landed, ...]]:
        """A frame that somebody hands in (of this or another engine, Arrow, pandas), and its columns.

        With `read`, the frame is given the four internal columns as a scan would.
        """
        ...

    def lower(self, frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
        """The union of what the accounts publish: the plan's columns, then `~fate`, `~copy` and `ll_side`. Lazy."""
        ...

    def link(self, link: Link, pinned: Pinned) -> Frame:
        """The rows of a link that count, with its columns."""
        ...

    def sql(self, frame: Frame) -> str:
        """What the engine will run for a frame, for people: a statement, or the engine's own plan."""
        ...

    def stage(
        self,
        frame: Frame,
        columns: Sequence[Published],
        masks: Sequence[Mask],
        keys: Keys,
        place: str,
        order: Order = AS_IT_COMES,
    ) -> Staged:
        """Evaluate once: mask, then write both sides as Parquet under `place`, in folders `good` and `bad`.

        Good files hold at least the columns with `on_good`, bad files at least those with `on_bad`, with the
        types of `sql.types.to_arrow`. Rows without a side are counted by fate and not written. `order` says how good
        rows are laid out; columns that files are parted by stay in the files. No folder is named `column=value`: the
        files become those of a table, and readers of Delta take such a folder for a partition that they do not know.
        """
        ...

    def measure(
        self, files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]
    ) -> dict[str, Any]:
        """All measures over the staged good files, in one query; no files is no rows."""
        ...

    def duplicates(self, frame: Frame, keys: Sequence[str]) -> int:
        """How many different key values occur more than once.

        A partly NULL key equals another by value; rows whose whole key is NULL do not count.
        """
        ...

    def open(self, files: Sequence[str], columns: Sequence[tuple[str, pa.DataType]]) -> Frame:
        """Staged or committed Parquet files as a native frame a user can hold, with these columns in order."""
        ...

    def wrap(self, table: pa.Table) -> Frame:
        """A small Arrow table as a native frame a user can hold."""
        ...

    def collect(self, frame: Frame, limit: int | None = None) -> pa.Table:
        """The rows as an Arrow table with the types of `sql.types.to_arrow`."""
        ...

    def close(self) -> None:
        """Give back what the engine started itself; never a session somebody handed in."""
        ...


@runtime_checkable
class CanStop(Protocol):
    """An engine whose work for one run can be stopped from another thread, without harm to other runs."""

    def work(self, label: str) -> AbstractContextManager[Callable[[], None]]:
        """While the block lasts, what this thread asks for is one piece of work; what is handed out stops it.

        Work that is stopped raises an `EngineError`, now and whenever it goes on.
        """
        ...


@runtime_checkable
class ExplainsErrors(Protocol):
    """An engine that works in another process, which can end without a word."""

    def explained(self, error: Exception) -> LakeLogicError | None:
        """What an error of another library means, where it means that this process has ended; else None."""
        ...


@runtime_checkable
class HasOwnDelta(Protocol):
    """An engine whose session may have Delta of its own, for tables that are more than their files."""

    def own_delta(self) -> OwnDelta:
        """That Delta; raises with the reason where there is none."""
        ...
