"""Plain Parquet tables: versions of links to staged files, and one pointer that others read.

Anything that reads Parquet reads `<table>/current/*.parquet` and sees exactly one version. File names are never
used twice, so a reader that lists the folder while a version is published finds its files or an error, never a
mixture. Each commit happens once, by application transaction, as on Delta.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from lakelogic.errors import CommitConflict, TableError, UnsupportedError
from lakelogic.tables import columns, dropping, partitions, rows
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, StagedFile, TableChanges, TableState, up_to
from lakelogic.tables.kinds import refuse_loose_files, refuse_other_kinds
from lakelogic.tables.parquet import log as parquet_log
from lakelogic.tables.parquet import upkeep as parquet_upkeep
from lakelogic.tables.parquet.log import Entry, Head, Version
from lakelogic.tables.staged import null_counts, read_footer

# Appends give way to one another; each try does little work.
_ATTEMPTS = 50

# What a commit makes of the version that it found (None: there is no table).
Change = Callable[[Version | None], tuple[Version, Committed]]


class ParquetTables:
    """The table format `parquet`, on local paths."""

    name = "parquet"

    def check(self, location: str, *, removes: bool = False, layout: Layout = PLAIN) -> None:  # noqa: ARG002
        """Refuse a folder that holds something else; a table of ours may always be written."""
        root = _root(location)
        refuse_other_kinds(root, self.name)
        refuse_loose_files(root)
        if layout.properties:
            raise UnsupportedError(
                "Plain Parquet has no table_properties.", where=root, hint="Leave them out, or use another format."
            )
        there = _version(root)
        if there is not None:
            partitions.refuse_layout(root, layout, there.partition_by)

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version (newest without one); None where there is no table."""
        root = _root(location)
        snapshot = _version(root) if version is None else parquet_log.read(root, version)
        if snapshot is None:
            return None
        if version is None:
            _heal(root)
        files = {str(Path(root) / entry.path): entry for entry in snapshot.files}
        return TableState(
            location=root,
            version=snapshot.head.number,
            schema=snapshot.schema,
            files=tuple(files),
            rows=sum(entry.rows for entry in snapshot.files),
            transactions=dict(snapshot.head.transactions),
            metadata=next((head.metadata for head in parquet_log.heads(root, snapshot.head.number) if head.app_id), {}),
            parts={path: entry.partition for path, entry in files.items()} if snapshot.partition_by else {},
            partition_by=snapshot.partition_by,
            id=parquet_log.table_id(root, snapshot.head.number),
        )

    def mark(self, location: str, version: int) -> int | None:
        """A digest of a version's folder, which is drawn by lot; None where the log has no such version."""
        return parquet_log.mark(_root(location), version)

    def changes(self, location: str, since: int) -> TableChanges | None:
        """What happened after a version, version by version."""
        root = _root(location)
        newest = parquet_log.newest(root)
        return None if newest is None or newest < since else parquet_log.changes(root, since, newest)

    def append(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        *,
        layout: Layout = PLAIN,
    ) -> Committed:
        """Add staged files; creates the table. No files still records the transaction."""
        root = _root(location)

        def change(there: Version | None) -> tuple[Version, Committed]:
            version = _next(root, there, schema, commit, layout)
            new = _entries(root, files, schema, version)
            done = Committed(version.head.number, inserted=sum(entry.rows for entry in new))
            return _with(version, [*(there.files if there else ()), *new]), done

        return self._commit(root, commit, change)

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
        root = _root(location)

        def change(there: Version | None) -> tuple[Version, Committed]:
            version = _next(root, there, schema, commit, layout, replace_schema=replace_schema)
            new = _entries(root, files, schema, version)
            gone = sum(entry.rows for entry in there.files) if there else 0
            done = Committed(version.head.number, inserted=sum(entry.rows for entry in new), deleted=gone)
            return _with(version, new), done

        return self._commit(root, commit, change)

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
        """Take data files out and put staged ones in, in one commit on top of `based_on`."""
        root = _root(location)

        def change(there: Version | None) -> tuple[Version, Committed]:
            if (there.head.number if there else None) != based_on:
                raise CommitConflict("The table has changed since it was looked at.", where=root, hint="Run again.")
            version = _next(root, there, schema, commit, layout)
            if same_rows:
                version = replace(version, head=replace(version.head, same_rows=True))
            new = _entries(root, files, schema, version)
            kept = {str(Path(root) / entry.path): entry for entry in (there.files if there else ())}
            gone = [kept.pop(path) for path in removed]
            done = Committed(
                version.head.number,
                inserted=sum(entry.rows for entry in new),
                deleted=sum(entry.rows for entry in gone),
            )
            return _with(version, [*kept.values(), *new]), done

        return self._commit(root, commit, change, attempts=1)

    def set_properties(self, location: str, properties: Mapping[str, str]) -> None:
        """There are none."""
        self.check(location, layout=Layout(properties=properties))

    def vacuum(self, location: str, before: datetime, *, dry_run: bool = False) -> list[str]:
        """Delete versions that were no longer current at an instant, and files that no other version has."""
        return parquet_upkeep.vacuum(_root(location), before, dry_run=dry_run)

    def forget_statistics(self, location: str, before: datetime) -> None:
        """Nothing: the log of a plain Parquet table has no statistics."""

    def drop(self, location: str) -> None:
        """Remove the table: its log, the files that any version of it names, and the links to them."""
        dropping.drop_logged(_root(location), parquet_log.LOG, parquet_log.named)

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Write the rows again in wider types, in a version of their own: it changes no value."""
        root = _root(location)
        there = _version(root)
        state = self.state(location, there.head.number) if there else None
        if there is None or state is None:
            raise TableError("There is no Parquet table here.", where=location)
        if set(types) & set(there.partition_by):
            raise UnsupportedError("Types of partition columns cannot grow.", hint="Write to a new target_path.")
        schema = pa.schema([pa.field(f.name, types.get(f.name, f.type), f.nullable) for f in there.schema])
        staged = rows.rewritten(state, schema)
        files = [
            Entry(str(Path(file.path).relative_to(root)), file.rows, file.size, dict(file.partition)) for file in staged
        ]
        number = there.head.number + 1
        folder = parquet_log.new_folder(number)
        head = Head(number, folder, there.head.transactions, metadata=dict(metadata), same_rows=True)
        if not parquet_log.put(root, Version(head, schema, tuple(files), there.partition_by, there.properties)):
            raise CommitConflict("Somebody else committed first.", where=root, hint="Try again.")
        return number

    def find_commit(self, location: str, app_id: str, n: int) -> Mapping[str, str] | None:
        """The metadata of the commit that carries (`app_id`, n); None when the log holds no such commit."""
        root = _root(location)
        heads = (head for head in _heads(root) if head.app_id == app_id and head.n == n)
        return next((head.metadata for head in heads), None)

    def commits(self, location: str, *app_ids: str, until: str | None = None) -> list[Mapping[str, str]]:
        """The metadata of our commits under these names, newest first, as far back as the log reaches."""
        return up_to((head.metadata for head in _heads(_root(location)) if head.app_id in app_ids), until)

    def is_whole(self, location: str) -> bool:
        """Whether the log still holds every version since the table was made."""
        root = _root(location)
        return all(parquet_log.log_file(root, at).exists() for at in range(1, (parquet_log.newest(root) or 0) + 1))

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows of the table, read without an engine."""
        state = self.state(location)
        if state is None:
            raise TableError("There is no Parquet table here.", where=location)
        return rows.preview(state, limit)

    def _commit(self, root: str, commit: CommitInfo, change: Change, attempts: int = _ATTEMPTS) -> Committed:
        for _ in range(attempts):
            there = _version(root)
            # Looked at first: a commit that is already there needs neither its staged files nor a fitting table.
            if there is not None and there.head.transactions.get(commit.app_id, 0) >= commit.n:
                _heal(root)
                return Committed(_number_of(root, commit, there.head.number), skipped=True)
            if there is not None:
                commit.refuse_overtaken(there.head.transactions.get(commit.app_id, 0), root)
            if there is None:
                refuse_other_kinds(root, self.name)
            version, done = change(there)
            if parquet_log.put(root, version):
                return done
        raise CommitConflict("Somebody else committed first.", where=root, hint="Try again.")


def _root(location: str) -> str:
    if "://" in location and not location.startswith("file://"):
        raise UnsupportedError(f"Tables at `{location}` are not available yet.", hint="Use a local path.")
    path = unquote(urlsplit(location).path) if location.startswith("file://") else location
    return os.path.abspath(path)  # noqa: PTH100 (links stay as they are)


def _heal(root: str) -> None:
    """A writer may have died before it moved the pointer; who may only read leaves that to the next writer."""
    with suppress(PermissionError):
        parquet_log.follow(root)


def _version(root: str) -> Version | None:
    number = parquet_log.newest(root)
    return None if number is None else parquet_log.read(root, number)


def _heads(root: str) -> Iterator[Head]:
    return parquet_log.heads(root, parquet_log.newest(root) or 0)


def _number_of(root: str, commit: CommitInfo, newest: int) -> int:
    carried = (head for head in parquet_log.heads(root, newest) if (head.app_id, head.n) == (commit.app_id, commit.n))
    return next((head.number for head in carried), newest)


def _next(
    root: str,
    there: Version | None,
    schema: pa.Schema,
    commit: CommitInfo,
    layout: Layout,
    *,
    replace_schema: bool = False,
) -> Version:
    """The version after the one that is there, without files."""
    number = there.head.number + 1 if there else 1
    transactions = {**(there.head.transactions if there else {}), commit.app_id: commit.n}
    head = Head(number, parquet_log.new_folder(number), transactions, commit.app_id, commit.n, dict(commit.metadata))
    fresh = columns.stored(schema)
    if there is None:
        columns.refuse_twins(root, schema.names)
        partitions.refuse_columns(root, layout.partition_by, fresh)
        return Version(head, fresh, (), layout.partition_by, dict(layout.properties))
    if replace_schema:
        columns.refuse_twins(root, schema.names)
        partitions.refuse_columns(root, there.partition_by, fresh)
        return Version(head, fresh, (), there.partition_by, there.properties)
    grown = columns.grown(root, there.schema, schema)
    return Version(head, grown, (), there.partition_by, there.properties)


def _with(version: Version, files: Sequence[Entry]) -> Version:
    return Version(version.head, version.schema, tuple(files), version.partition_by, version.properties)


def _entries(root: str, files: Sequence[StagedFile], schema: pa.Schema, version: Version) -> list[Entry]:
    partitions.refuse_files(root, version.partition_by, files)
    entries = []
    for file in files:
        footer = read_footer(root, file, schema)
        columns.refuse_nulls(root, version.schema, footer.path, null_counts(footer.metadata, schema))
        entries.append(Entry(footer.path, footer.rows, footer.size, dict(file.partition)))
    return entries
