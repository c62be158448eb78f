"""Delta tables both ways: staged files through delta-rs, or rows through a session that has Delta of its own.

A table with features that a commit of staged files would break (deletion vectors, column mapping, constraints, …) is
read and written by the Delta of the engine's session, where it has one. Which way a table takes is told by the table,
every time it is looked at; every other table takes the way of `DeltaTables`. Both ways leave the same traces in the
log: an application transaction, and what the commit says in `userMetadata`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from lakelogic import clock
from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.tables import columns, partitions, upkeep
from lakelogic.tables.base import (
    PLAIN,
    CommitInfo,
    Committed,
    Layout,
    Mode,
    OwnDelta,
    RowChange,
    StagedFile,
    TableState,
)
from lakelogic.tables.delta.features import own_properties, refuse_own, refuse_properties, unread, unwritten
from lakelogic.tables.delta.files import read_footers
from lakelogic.tables.delta.log import LogEntry, Transactions, commit_text, entries, newest_metadata
from lakelogic.tables.delta.open import absolute, open_table, root_of, schema_of
from lakelogic.tables.delta.tables import DeltaTables, seen_before

# A lost race is tried again against the table that won.
_ATTEMPTS = 3


class DeltaBothWays(DeltaTables):
    """The table format `delta` on an engine that may have Delta of its own.

    `own` opens that Delta, or raises with the reason why there is none; it is asked for only when a table needs it.
    Without `own` such tables can be looked at (their version, their commits), and nothing is written. `reads`: only
    what reading needs decides.
    """

    def __init__(self, own: Callable[[], OwnDelta] | None, *, reads: bool = False) -> None:
        self._own = own
        self._needs = unread if reads else unwritten

    def check(self, location: str, *, removes: bool = False, layout: Layout = PLAIN) -> None:
        """Refuse, before anything is staged, what neither way can write."""
        root = root_of(location)
        table = open_table(root)
        asked = own_properties(layout.properties)
        if table is None and asked:
            self._opened_own(root)
            refuse_properties(layout.properties, root, own=True)
            super().check(location, layout=Layout(layout.partition_by, layout.cluster_by))
        elif table is None or not self._needs(table):
            if asked:
                raise UnsupportedError(
                    f"The table is there without {', '.join(asked)}, and setting it would change who can write to it.",
                    where=root,
                    hint="Set it once with ALTER TABLE … SET TBLPROPERTIES in Spark, or write to a new target_path.",
                )
            super().check(location, removes=removes, layout=layout)
        else:
            refuse_properties(layout.properties, root, own=True)
            refuse_own(table, root, removes=removes)
            partitions.refuse_layout(root, layout, table.metadata().partition_columns)
            self._opened_own(root)

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version; `own` where its rows cannot be told file by file."""
        root = root_of(location)
        table = open_table(root, version)
        if table is None or not self._needs(table):
            return super().state(location, version)
        refuse_own(table, root)
        if self._own is not None:
            self._opened_own(root)
        at = table.version()
        paths = pa.table(table.get_add_actions()).column("path").to_pylist()
        return TableState(
            location=root,
            version=at,
            schema=schema_of(table),
            files=tuple(absolute(root, path) for path in paths),
            rows=None,
            transactions=Transactions(root, at, table.transaction_version),
            metadata=newest_metadata(root, at),
            partition_by=tuple(table.metadata().partition_columns),
            own=True,
            id=str(table.metadata().id),
        )

    def append(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        *,
        layout: Layout = PLAIN,
    ) -> Committed:
        """Add staged files, or their rows."""
        root = root_of(location)
        table = open_table(root)
        if table is None and own_properties(layout.properties):
            columns.refuse_twins(root, schema.names)
            partitions.refuse_columns(root, layout.partition_by, schema)
            read_footers(root, files, schema)
            text, paths = commit_text(commit.app_id, commit.n, commit.metadata), [file.path for file in files]
            self._opened_own(root).write(root, paths, schema, commit.app_id, commit.n, text, "append", layout)
            return self._done(root, commit, sum(file.rows for file in files))
        if table is None or not unwritten(table):
            return super().append(location, files, schema, commit, layout=layout)
        return self._put(root, files, schema, commit, "append")

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
        """Replace all rows."""
        root = root_of(location)
        table = open_table(root)
        if table is None and own_properties(layout.properties):
            return self.append(location, files, schema, commit, layout=layout)
        if table is None or not unwritten(table):
            return super().overwrite(location, files, schema, commit, replace_schema=replace_schema, layout=layout)
        if replace_schema:
            raise _other_types(root)
        return self._put(root, files, schema, commit, "overwrite")

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
        """Files out and in, where a table is its files."""
        table = open_table(root_of(location))
        if table is not None and based_on is not None and unwritten(table):
            raise FeatureRefused("The files of this table cannot be changed one by one.", where=location)
        return super().replace(
            location, removed, files, schema, commit, based_on=based_on, layout=layout, same_rows=same_rows
        )

    def replace_partitions(
        self, location: str, files: Sequence[StagedFile], schema: pa.Schema, commit: CommitInfo
    ) -> Committed:
        """The rows of staged files take the place of all rows of their partitions; only of a table with `own`."""
        return self._put(root_of(location), files, schema, commit, "partitions")

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
        """Staged rows take the place of rows of the table, in one commit on top of `based_on`; only with `own`.

        A row that is no longer as it was then makes it a conflict. What others add in the moment before the commit is
        there beside our rows, as if they had come later.
        """
        root = root_of(location)
        table = open_table(root)
        assert table is not None
        if (seen := seen_before(root, table, commit)) is not None:
            return seen
        if table.version() != based_on:
            raise CommitConflict("The table has changed since it was looked at.", where=root, hint="Run again.")
        refuse_own(table, root, removes=True)
        read_footers(root, files, schema)
        own = self._opened_own(root)
        kept = pa.schema([schema.field(name) for name in change.columns])
        base = based_on + self._evolve(own, root, table, kept)
        text = commit_text(commit.app_id, commit.n, commit.metadata)
        own.change(root, [file.path for file in files], schema, commit.app_id, commit.n, text, change)
        done = self._done(root, commit, sum(file.rows for file in files))
        if not done.skipped:
            _refuse_gap(root, base, done.version)
        return done

    def rows_by_file(self, location: str, version: int) -> Mapping[str, int]:
        """The rows of each file of a table with `own`."""
        root = root_of(location)
        return self._opened_own(root).counts(root, version)

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows of the table."""
        root = root_of(location)
        table = open_table(root)
        if table is None or not unread(table):
            return super().preview(location, limit)
        return self._opened_own(root).preview(root, limit)

    def optimize(self, location: str) -> tuple[int, int]:
        """Put small files of a table with `own` together: how many, into how many."""
        root = root_of(location)
        return self._opened_own(root).optimize(root)

    def vacuum(self, location: str, before: datetime, *, dry_run: bool = False) -> list[str]:
        """Delete files that no version since an instant needs."""
        root = root_of(location)
        table = open_table(root)
        if table is None or not unwritten(table):
            return super().vacuum(location, before, dry_run=dry_run)
        hours = int(max((clock.now() - before).total_seconds(), 0) // 3600)
        paths = self._opened_own(root).vacuum(root, hours, dry_run=dry_run)
        if not dry_run:
            upkeep.remove_empty(root)
        return paths

    def forget_statistics(self, location: str, before: datetime) -> None:
        """Take values of files that are gone out of the log; the session's own Delta cleans its logs itself."""
        table = open_table(root_of(location))
        if table is not None and not unwritten(table):
            super().forget_statistics(location, before)

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Wider types, where a table is its files."""
        root = root_of(location)
        table = open_table(root)
        if table is not None and unwritten(table):
            raise _other_types(root)
        return super().widen(location, types, metadata)

    def _opened_own(self, root: str) -> OwnDelta:
        if self._own is None:
            raise FeatureRefused(
                "Only Spark's own Delta can read or write this table, and no engine is at work here.",
                where=root,
                hint="Run the contract with --engine spark, or use Spark for upkeep (OPTIMIZE, VACUUM, ALTER TABLE).",
            )
        return self._own()

    def _put(
        self, root: str, files: Sequence[StagedFile], schema: pa.Schema, commit: CommitInfo, mode: Mode
    ) -> Committed:
        text = commit_text(commit.app_id, commit.n, commit.metadata)
        conflict: CommitConflict | None = None
        for _ in range(_ATTEMPTS):
            table = open_table(root)
            if table is None:
                raise TableError("The table is gone.", where=root, hint="Run again.")
            if (seen := seen_before(root, table, commit)) is not None:
                return seen
            refuse_own(table, root, removes=mode != "append")
            read_footers(root, files, schema)
            own = self._opened_own(root)
            try:
                self._evolve(own, root, table, schema)
                own.write(root, [file.path for file in files], schema, commit.app_id, commit.n, text, mode)
            except CommitConflict as lost:
                conflict = lost
                continue
            return self._done(root, commit, sum(file.rows for file in files))
        assert conflict is not None
        raise conflict

    @staticmethod
    def _evolve(own: OwnDelta, root: str, table: Any, schema: pa.Schema) -> int:
        """Add columns that are new to the table, in a commit of their own; how many commits that took."""
        new = columns.added(root, schema_of(table), schema)
        if not new:
            return 0
        own.add_columns(root, list(columns.stored(pa.schema(new))))
        return 1

    @staticmethod
    def _done(root: str, commit: CommitInfo, rows: int) -> Committed:
        """What the log says of our commit: of two that race with one number, the session lets one through silently."""
        entry = _entry_of(root, commit)
        if entry.metadata != {key: str(value) for key, value in commit.metadata.items()}:
            return Committed(entry.version, skipped=True)
        return Committed(entry.version, inserted=rows)


def _entry_of(root: str, commit: CommitInfo) -> LogEntry:
    for entry in entries(root, open_table(root).version()):
        if entry.transactions.get(commit.app_id) == commit.n:
            return entry
    raise TableError("The commit is not in the table's log.", where=root, hint="Run again: what is there is found.")


def _refuse_gap(root: str, base: int, version: int) -> None:
    """Between the last look and the session's own, somebody may have changed rows of keys that we have added."""
    read = version
    for entry in entries(root, version):
        if entry.version == version:
            read = base if entry.read_version is None else entry.read_version
        elif entry.version <= base:
            return
        elif entry.version <= read and not entry.only_adds:
            raise TableError(
                f"Somebody changed rows (version {entry.version}) in the moment before version {version} was made.",
                where=root,
                hint="This batch is in the table, and the next run knows it. Look for keys that occur twice.",
            )


def _other_types(root: str) -> Exception:
    return UnsupportedError(
        "Types and columns of a table that Spark's own Delta writes to cannot be changed by a run.",
        where=root,
        hint="Use ALTER TABLE in Spark, or write to a new target_path.",
    )
