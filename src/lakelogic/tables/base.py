"""How rows are kept: what a table format must do. Formats know commits, not rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from lakelogic.errors import Overtaken


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A Parquet file that a commit adds: absolute path under the table's root, rows and bytes."""

    path: str
    rows: int
    size: int
    partition: Mapping[str, Any] = field(default_factory=dict)  # of a partitioned table: column → its one value here


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is laid out when it is made; columns are spelled as in the schema."""

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


PLAIN = Layout()


@dataclass(frozen=True, slots=True)
class TableState:
    """A table at one version. `transactions` are the application transactions it has seen: id → last n."""

    location: str
    version: int
    schema: pa.Schema
    files: tuple[str, ...]  # absolute paths of the data files
    rows: int | None
    transactions: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)  # of the newest commit that we wrote
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # file → its partition values, typed
    partition_by: tuple[str, ...] = ()
    own: bool = False  # its rows are read and changed by the engine's own library of the format, never file by file
    id: str | None = None  # the table's own: a table that is dropped and made again at the same place has another


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What commits did to the rows of a table since a version. Rows that were only laid out anew are no change.

    `added` are data files with rows that came, as they were written; `removed` how many data files lost rows, or went.
    """

    added: tuple[str, ...] = ()
    removed: int = 0
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # added file → its partition values, typed


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Who commits what: (`app_id`, `n`) makes a commit happen once, `metadata` is kept in the log."""

    app_id: str  # lakelogic:<dataset>:<side>
    n: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    after: int | None = None  # the n that the table has seen last, as the writer knows it; None: whichever

    def refuse_overtaken(self, last: int, where: str) -> None:
        """A batch that was worked out before another one was committed may hold the same rows."""
        if self.after is not None and last != self.after:
            raise Overtaken(
                "Another run has committed to this table since this one began.",
                where=where,
                hint="Nothing was published by this one. Run again: what is still new will be read.",
            )


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit did. `skipped`: the table had seen (app_id, n) before and nothing was written."""

    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    skipped: bool = False


def up_to(commits: Iterable[Mapping[str, str]], batch_id: str | None) -> list[Mapping[str, str]]:
    """Commits, newest first, up to the one of a batch."""
    found = []
    for commit in commits:
        found.append(commit)
        if batch_id is not None and commit.get("batch_id") == batch_id:
            break
    return found


@runtime_checkable
class TableFormat(Protocol):
    """Reading the state of a table and committing to it, each commit once."""

    name: str

    def check(self, location: str, *, removes: bool = False, layout: Layout = PLAIN) -> None:
        """Refuse a table that writing (or, with `removes`, replacing rows) would damage, and a layout that the format
        does not know or that the table does not have; asked before staging.
        """
        ...

    def find_commit(self, location: str, app_id: str, n: int) -> Mapping[str, str] | None:
        """The metadata of our commit (`app_id`, `n`), or None when the table has not seen it."""
        ...

    def commits(self, location: str, *app_ids: str, until: str | None = None) -> Sequence[Mapping[str, str]]:
        """The metadata of our commits under these names that the log still holds, newest first.

        The commit of the batch `until` is the last that is read: whoever knows it knows what was before.
        """
        ...

    def is_whole(self, location: str) -> bool:
        """Whether the log still holds every commit since the table was made."""
        ...

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows, without an engine."""
        ...

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version (newest without one); None where there is no table."""
        ...

    def mark(self, location: str, version: int) -> int | None:
        """What tells a version from another that has the same number: a table that was put back counts on from there.

        None where the table has no such version (any more).
        """
        ...

    def changes(self, location: str, since: int) -> TableChanges | None:
        """What happened after a version; None where the table's history does not reach back so far any more."""
        ...

    def append(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        *,
        layout: Layout = PLAIN,
    ) -> Committed:
        """Add staged files; creates the table. Columns that are new to the table are added to its schema."""
        ...

    def replace(
        self,
        location: str,
        removed: Sequence[str],
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        *,
        based_on: int | None,
        layout: Layout = PLAIN,
        same_rows: bool = False,
    ) -> Committed:
        """Take data files out and put staged ones in, in one commit that holds only on top of version `based_on`.

        What was worked out from the table at that version is wrong for any other: a table that has moved on raises
        CommitConflict. None: there is no table yet. A commit that the table has seen is skipped before that.
        `same_rows`: the rows are the ones that were there, only laid out anew; who follows changes sees none.
        """
        ...

    def overwrite(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        *,
        replace_schema: bool = False,
        layout: Layout = PLAIN,
    ) -> Committed:
        """Replace all rows by the staged files, in one commit; with `replace_schema` the columns and types too."""
        ...

    def set_properties(self, location: str, properties: Mapping[str, str]) -> None:
        """Set properties of a table that is there; rows and columns stay."""
        ...

    def vacuum(self, location: str, before: datetime, *, dry_run: bool = False) -> Sequence[str]:
        """Delete the files that no version since an instant needs, staged ones that were never committed included.

        Versions that were no longer current at that instant cannot be read any more. The paths that were deleted,
        or, with `dry_run`, would be.
        """
        ...

    def forget_statistics(self, location: str, before: datetime) -> None:
        """Take values of files that are gone, which no version since an instant needs, out of the table's log."""
        ...

    def drop(self, location: str) -> None:
        """Remove the table with all its rows; no table is fine."""
        ...

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Give columns of the table types that hold all their values; the rows stay the same. The new version."""
        ...


Mode: TypeAlias = Literal["append", "overwrite", "partitions"]


@dataclass(frozen=True, slots=True)
class RowChange:
    """How staged rows meet rows of the table.

    `was` tells for each column by which a row of the table is found, in which staged column its value there stands.
    Staged rows with `stood` are rows of the table: with `stays` they get new values, without they go. All others are
    new. `columns` are the ones that are set; the table looks after the rest. `in_groups`: what is found by `was` is
    several rows, and all of them go.
    """

    columns: tuple[str, ...]
    was: Mapping[str, str]
    stood: str
    stays: str
    in_groups: bool = False


@runtime_checkable
class RowTables(Protocol):
    """What a format does for tables with `own`: rows are changed one by one, by the engine's own library."""

    def replace_rows(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        change: RowChange,
        commit: CommitInfo,
        *,
        based_on: int,
    ) -> Committed:
        """Staged rows take the place of rows of the table, in one commit on top of `based_on`."""
        ...

    def replace_partitions(
        self, location: str, files: Sequence[StagedFile], schema: pa.Schema, commit: CommitInfo
    ) -> Committed:
        """The rows of staged files take the place of all rows of their partitions."""
        ...

    def rows_by_file(self, location: str, version: int) -> Mapping[str, int]:
        """The rows of each data file at a version, as readers see them."""
        ...

    def optimize(self, location: str) -> tuple[int, int]:
        """Put small files together: how many, into how many."""
        ...


class OwnDelta(Protocol):
    """What a session that has Delta does for us. A commit carries (`app_id`, n) and says `text`."""

    def counts(self, root: str, version: int) -> Mapping[str, int]:
        """The rows of each data file at a version, as readers see them."""
        ...

    def preview(self, root: str, limit: int) -> pa.Table:
        """Some rows."""
        ...

    def add_columns(self, root: str, fields: Sequence[pa.Field]) -> None:
        """New columns behind the others."""
        ...

    def write(
        self,
        root: str,
        files: Sequence[str],
        schema: pa.Schema,
        app_id: str,
        n: int,
        text: str,
        mode: Mode,
        layout: Layout = PLAIN,
    ) -> None:
        """The rows of staged files, beside those of the table, or in place of all or of those of their partitions.

        Makes the table, with the layout, where there is none.
        """
        ...

    def change(
        self, root: str, files: Sequence[str], schema: pa.Schema, app_id: str, n: int, text: str, change: RowChange
    ) -> None:
        """Rows of staged files take the place of rows of the table, in one commit."""
        ...

    def optimize(self, root: str) -> tuple[int, int]:
        """Put small files together: how many, into how many."""
        ...

    def vacuum(self, root: str, hours: int, *, dry_run: bool) -> list[str]:
        """Delete files that no version of the last hours needs."""
        ...
