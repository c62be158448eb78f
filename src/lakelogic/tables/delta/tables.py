"""Delta tables through delta-rs: read a table's state, commit staged files; each commit once.

Staged Parquet files are committed as they lie under the table's root; nothing is rewritten.
A commit carries an application transaction (`app_id`, n): delta-rs lets only one of two racing writers of an
`app_id` through, and a commit whose n the table has already seen is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field, Schema, TableFeatures, Transaction
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, create_table_with_add_actions

from lakelogic import clock
from lakelogic.errors import CommitConflict, TableError, UnsupportedError
from lakelogic.sql.types import from_arrow, to_arrow
from lakelogic.tables import columns, dropping, partitions, rows
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, StagedFile, TableChanges, TableState, up_to
from lakelogic.tables.delta import changes as delta_changes
from lakelogic.tables.delta import statistics as delta_statistics
from lakelogic.tables.delta import upkeep as delta_upkeep
from lakelogic.tables.delta.features import refuse_properties, refuse_reading, refuse_writing
from lakelogic.tables.delta.files import DeltaFile, read_footers
from lakelogic.tables.delta.log import (
    USER_METADATA,
    Transactions,
    commit_mark,
    commit_text,
    entries,
    is_whole,
    newest_metadata,
    standing,
)
from lakelogic.tables.delta.open import absolute, open_newest, open_table, root_of, schema_of, trouble
from lakelogic.tables.kinds import refuse_other_kinds

# A lost race for the first version, or for a column, is tried again against the table that won.
_ATTEMPTS = 3


class DeltaTables:
    """The table format `delta`, on local paths."""

    name = "delta"

    def check(self, location: str, *, removes: bool = False, layout: Layout = PLAIN) -> None:
        """Refuse, before anything is staged, a table that we would misread or damage; no table is fine."""
        root = root_of(location)
        table = open_table(root)
        refuse_properties(layout.properties, root)
        if table is None:
            refuse_other_kinds(root, self.name)
        else:
            refuse_writing(table, location, removes=removes)
            partitions.refuse_layout(root, layout, table.metadata().partition_columns)

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version (newest without one); None where there is no table."""
        root = root_of(location)
        if version is None:
            kept = open_newest(root)
            return kept.once("state", lambda: self._state(location, root, kept.table)) if kept is not None else None
        table = open_table(root, version)
        return self._state(location, root, table) if table is not None else None

    @staticmethod
    def _state(location: str, root: str, table: Any) -> TableState:
        refuse_reading(table, location)
        parted = {f"partition.{name}": name for name in table.metadata().partition_columns}
        listed = _actions(table, flatten=True)
        adds = listed.select(["path", "num_records", *parted]).to_pylist()
        counts = [add["num_records"] for add in adds]
        at = table.version()
        return TableState(
            location=root,
            version=at,
            schema=schema_of(table),
            files=tuple(absolute(root, add["path"]) for add in adds),
            rows=None if None in counts else sum(counts),
            transactions=Transactions(root, at, table.transaction_version),
            metadata=newest_metadata(root, at),
            parts={
                absolute(root, add["path"]): {name: add[key] for key, name in parted.items()} for add in adds if parted
            },
            partition_by=tuple(parted.values()),
            id=str(table.metadata().id),
        )

    def mark(self, location: str, version: int) -> int | None:
        """A digest of what a version's commit says; None where it is not in the log."""
        return commit_mark(root_of(location), version)

    def changes(self, location: str, since: int) -> TableChanges | None:
        """What happened after a version, from the commits in the log."""
        root = root_of(location)
        table = open_table(root)
        if table is None or table.version() < since:
            return None
        return delta_changes.changes(root, since, table.version(), schema_of(table))

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
        return self._write(root_of(location), files, schema, commit, "append", layout)

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
        """Replace all rows by the staged files in one commit.

        Columns of the table that they lack stay, as NULL; with `replace_schema` the table has the staged columns.
        """
        return self._write(root_of(location), files, schema, commit, "overwrite", layout, replace_schema=replace_schema)

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
        root = root_of(location)
        table = open_table(root)
        if table is not None and (seen := seen_before(root, table, commit)) is not None:
            return seen
        if (None if table is None else table.version()) != based_on:
            raise CommitConflict("The table has changed since it was looked at.", where=root, hint="Run again.")
        if table is None:
            return self.append(location, files, schema, commit, layout=layout)
        refuse_writing(table, root, removes=bool(removed))
        partitions.refuse_files(root, table.metadata().partition_columns, files)
        staged = read_footers(root, files, schema)
        if schema.names != [field.name for field in schema_of(table)]:
            table = _evolve(root, table, schema)
        _refuse_nulls(root, table, staged)
        there = {absolute(root, add["path"]): add for add in _actions(table).to_pylist()}
        gone = [there[path] for path in removed]
        now = int(clock.now().timestamp() * 1000)
        with trouble(root):
            table.create_write_transaction(
                [
                    *(_removal(add, now, changes=not same_rows) for add in gone),
                    *(_action(file, changes=not same_rows) for file in staged),
                ],
                mode="append",
                schema=table.schema(),
                commit_properties=_properties(commit, retries=0),
            )
        lost = sum(add["num_records"] or 0 for add in gone)
        return Committed(_version_of(root, commit), inserted=sum(file.rows for file in staged), deleted=lost)

    def set_properties(self, location: str, properties: Mapping[str, str]) -> None:
        """Set properties of a table that is there, in a commit of its own."""
        root = root_of(location)
        refuse_properties(properties, root)
        table = self._opened(root)
        refuse_writing(table, root)
        delta_upkeep.set_properties(table, root, properties)

    def vacuum(self, location: str, before: datetime, *, dry_run: bool = False) -> list[str]:
        """Delete files that no version since an instant needs."""
        root = root_of(location)
        table = self._opened(root)
        # Files of deletion vectors lie beside the data, and delta-rs takes them for leftovers.
        refuse_writing(table, root)
        return delta_upkeep.vacuum(table, root, before, dry_run=dry_run)

    def forget_statistics(self, location: str, before: datetime) -> None:
        """Take values of files that are gone out of the log."""
        root = root_of(location)
        table = self._opened(root)
        refuse_writing(table, root)
        delta_statistics.forget(root, table.version(), before)

    def drop(self, location: str) -> None:
        """Remove the table: its log, and the files that any commit of it names."""
        dropping.drop_logged(root_of(location), "_delta_log", delta_upkeep.named)

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Rewrite the table with wider types, in a commit of its own: it changes no value."""
        root = root_of(location)
        table = open_table(root)
        if table is None:
            raise TableError("There is no Delta table here.", where=location)
        refuse_writing(table, root, removes=True)
        if set(types) & set(table.metadata().partition_columns):
            raise UnsupportedError("Types of partition columns cannot grow.", hint="Write to a new target_path.")
        schema = pa.schema([pa.field(f.name, types.get(f.name, f.type), f.nullable) for f in schema_of(table)])
        staged = read_footers(root, rows.rewritten(self._existing(location), schema), schema)
        with trouble(root):
            table.create_write_transaction(
                [_action(file) for file in staged],
                mode="overwrite",
                partition_by=table.metadata().partition_columns or None,
                schema=Schema.from_arrow(schema),
                commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=0),
            )
        return int(DeltaTable(root).version())

    def find_commit(self, location: str, app_id: str, n: int) -> Mapping[str, str] | None:
        """The metadata of the commit that carries (`app_id`, n); None when the log holds no such commit (any more)."""
        root = root_of(location)
        table = open_table(root)
        if table is None:
            return None
        for entry in entries(root, table.version()):
            if entry.transactions.get(app_id) == n:
                return entry.metadata or {}
        return None

    def commits(self, location: str, *app_ids: str, until: str | None = None) -> list[Mapping[str, str]]:
        """The metadata of our commits under these names, newest first, as far back as the log reaches."""
        root = root_of(location)
        table = open_table(root)
        if table is None:
            return []
        ours = (e for e in standing(entries(root, table.version())) if not e.transactions.keys().isdisjoint(app_ids))
        return up_to((entry.metadata for entry in ours if entry.metadata), until)

    def is_whole(self, location: str) -> bool:
        """Whether the log still holds every commit since the table was made."""
        root = root_of(location)
        table = open_table(root)
        return table is None or is_whole(root, table.version())

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows of the table, read without an engine."""
        return rows.preview(self._existing(location), limit)

    def count(self, location: str) -> int:
        """How many rows the table has: from the log's statistics, or the footers where it has none."""
        state = self._existing(location)
        if state.rows is not None:
            return state.rows
        return sum(pq.read_metadata(path).num_rows for path in state.files)

    @staticmethod
    def _opened(root: str) -> Any:
        table = open_table(root)
        if table is None:
            raise TableError("There is no Delta table here.", where=root)
        return table

    def _existing(self, location: str) -> TableState:
        state = self.state(location)
        if state is None:
            raise TableError("There is no Delta table here.", where=location)
        return state

    def _write(
        self,
        root: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        mode: str,
        layout: Layout,
        *,
        replace_schema: bool = False,
    ) -> Committed:
        staged: list[DeltaFile] | None = None
        conflict: CommitConflict | None = None
        for _ in range(_ATTEMPTS):
            table = open_table(root)
            removed = 0
            # Looked at first: a commit that is already there needs neither its staged files nor a fitting table.
            if table is not None and (seen := seen_before(root, table, commit)) is not None:
                return seen
            staged = read_footers(root, files, schema) if staged is None else staged
            try:
                if table is None:
                    with trouble(root):
                        _create(root, schema, staged, commit, layout)
                else:
                    refuse_writing(table, root, removes=mode == "overwrite")
                    partitions.refuse_files(root, table.metadata().partition_columns, files)
                    if replace_schema:
                        columns.refuse_twins(root, schema.names)
                        if any(_has_wall_clock(field.type) for field in schema):
                            _allow_wall_clock(table)
                            table = DeltaTable(root)
                    else:
                        table = _evolve(root, table, schema)
                        _refuse_nulls(root, table, staged)
                    removed = _known_rows(table) if mode == "overwrite" else 0
                    with trouble(root):
                        table.create_write_transaction(
                            [_action(file) for file in staged],
                            mode=mode,
                            partition_by=table.metadata().partition_columns or None,
                            schema=Schema.from_arrow(columns.stored(schema)) if replace_schema else table.schema(),
                            # An overwrite that lost a race has not seen all the rows it is to replace.
                            commit_properties=_properties(commit, retries=0 if mode == "overwrite" else None),
                        )
            except CommitConflict as lost:
                conflict = lost
                continue
            inserted = sum(file.rows for file in staged)
            return Committed(_version_of(root, commit), inserted=inserted, deleted=removed)
        assert conflict is not None
        raise conflict


def _properties(commit: CommitInfo, *, retries: int | None = None) -> CommitProperties:
    return CommitProperties(
        custom_metadata={USER_METADATA: commit_text(commit.app_id, commit.n, commit.metadata)},
        app_transactions=[Transaction(commit.app_id, commit.n)],
        max_commit_retries=retries,
    )


def _removal(add: Mapping[str, Any], now: int, *, changes: bool) -> RemoveAction:
    texts = {name: partitions.text_of(value) for name, value in (add.get("partition") or {}).items()}
    return RemoveAction(add["path"], changes, now, add["size_bytes"], texts)


def _action(file: DeltaFile, *, changes: bool = True) -> AddAction:
    return AddAction(file.path, file.size, dict(file.partition), file.modified_ms, changes, file.stats)


def _create(root: str, schema: pa.Schema, staged: Sequence[DeltaFile], commit: CommitInfo, layout: Layout) -> None:
    Path(root).mkdir(parents=True, exist_ok=True)
    columns.refuse_twins(root, schema.names)
    partitions.refuse_columns(root, layout.partition_by, schema)
    create_table_with_add_actions(
        root,
        Schema.from_arrow(columns.stored(schema)),
        [_action(file) for file in staged],
        mode="error",
        partition_by=list(layout.partition_by) or None,
        configuration=dict(layout.properties) or None,
        commit_properties=_properties(commit),
    )


def seen_before(root: str, table: Any, commit: CommitInfo) -> Committed | None:
    """What to answer when the table has seen the transaction: the version that carried it, or the newest."""
    last = table.transaction_version(commit.app_id)
    if last is None or last < commit.n:
        commit.refuse_overtaken(last or 0, root)
        return None
    return Committed(_version_of(root, commit), skipped=True)


def _version_of(root: str, commit: CommitInfo) -> int:
    """The version that carries the transaction: the newest one may already be somebody else's."""
    newest: int = open_table(root).version()
    for entry in entries(root, newest):
        if entry.transactions.get(commit.app_id) == commit.n:
            return entry.version
    return newest


def _evolve(root: str, table: Any, schema: pa.Schema) -> Any:
    """Add columns that are new to the table, in a commit of their own: on its own it changes no row."""
    new = columns.added(root, schema_of(table), schema)
    if not new:
        return table
    with trouble(root):
        if any(_has_wall_clock(field.type) for field in new):
            _allow_wall_clock(table)
            table = DeltaTable(root)
        table.alter.add_columns([Field.from_arrow(pa.field(f.name, to_arrow(from_arrow(f.type)))) for f in new])
    return DeltaTable(root)


def _has_wall_clock(kind: pa.DataType) -> bool:
    return "timestamp_ntz" in str(from_arrow(kind))


def _allow_wall_clock(table: Any) -> None:
    """Without the feature in the protocol, delta-rs may write such a column and then cannot open the table."""
    if "timestampNtz" not in (table.protocol().writer_features or ()):
        table.alter.add_feature(TableFeatures.TimestampWithoutTimezone, allow_protocol_versions_increase=True)


def _refuse_nulls(root: str, table: Any, staged: Sequence[DeltaFile]) -> None:
    for file in staged:
        columns.refuse_nulls(root, schema_of(table), file.path, file.nulls)


def _known_rows(table: Any) -> int:
    counts = _actions(table, flatten=True).column("num_records")
    return sum(count or 0 for count in counts.to_pylist())


def _actions(table: DeltaTable, *, flatten: bool = False) -> pa.Table:
    """The data files of a table. By the stream: `pa.table` would first import pandas, to ask whether it is one's."""
    return pa.RecordBatchReader.from_stream(table.get_add_actions(flatten=flatten)).read_all()
