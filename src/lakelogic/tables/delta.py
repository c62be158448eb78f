"""Delta tables through delta-rs: read a table's state, commit staged files, merge; each commit once.

Staged Parquet files are committed as they lie under the table's root; nothing is rewritten but by `merge`.
A commit carries an application transaction (`app_id`, n): delta-rs lets only one of two racing writers of an
`app_id` through, and a commit whose n the table has already seen is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field, Schema, TableFeatures, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, create_table_with_add_actions

from lakelogic import clock
from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.sql.types import from_arrow, to_arrow
from lakelogic.storage import parquet
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, StagedFile, TableState
from lakelogic.tables.delta_features import refuse_reading, refuse_writing
from lakelogic.tables.delta_files import DeltaFile, read_footers
from lakelogic.tables.delta_log import USER_METADATA, Transactions, commit_text, entries, newest_metadata

# A lost race for the first version, or for a column, is tried again against the table that won.
_ATTEMPTS = 3

_FEW = 50_000


class DeltaTables:
    """The table format `delta`, on local paths."""

    name = "delta"

    def check(self, location: str, *, removes: bool = False) -> None:
        """Refuse, before anything is staged, a table that we would misread or damage; no table is fine."""
        table = _open(_root(location))
        if table is not None:
            refuse_writing(table, location, removes=removes)

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version (newest without one); None where there is no table."""
        root = _root(location)
        table = _open(root, version)
        if table is None:
            return None
        refuse_reading(table, location)
        partitions = {f"partition.{name}": name for name in table.metadata().partition_columns}
        listed = pa.table(table.get_add_actions(flatten=True))
        adds = listed.select(["path", "num_records", *partitions]).to_pylist()
        counts = [add["num_records"] for add in adds]
        at = table.version()
        return TableState(
            location=root,
            version=at,
            schema=_schema(table),
            files=tuple(_absolute(root, add["path"]) for add in adds),
            rows=None if None in counts else sum(counts),
            transactions=Transactions(root, at, table.transaction_version),
            metadata=newest_metadata(root, at),
            parts={
                _absolute(root, add["path"]): {name: add[key] for key, name in partitions.items()}
                for add in adds
                if partitions
            },
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
        """Add staged files; creates the table. No files still records the transaction."""
        _refuse_layout(location, layout)
        return self._write(_root(location), files, schema, commit, "append")

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
        _refuse_layout(location, layout)
        return self._write(_root(location), files, schema, commit, "overwrite", replace_schema=replace_schema)

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
    ) -> Committed:
        """Take data files out and put staged ones in, in one commit on top of `based_on`."""
        root = _root(location)
        table = _open(root)
        if table is not None and (seen := _seen(root, table, commit)) is not None:
            return seen
        if (None if table is None else table.version()) != based_on:
            raise CommitConflict("The table has changed since it was looked at.", where=root, hint="Run again.")
        if table is None:
            return self.append(location, files, schema, commit, layout=layout)
        refuse_writing(table, root, removes=bool(removed))
        staged = read_footers(root, files, schema)
        if schema.names != [field.name for field in _schema(table)]:
            table = _evolve(root, table, schema)
        _refuse_nulls(root, table, staged)
        there = {_absolute(root, add["path"]): add for add in pa.table(table.get_add_actions()).to_pylist()}
        gone = [there[path] for path in removed]
        now = int(clock.now().timestamp() * 1000)
        with _trouble(root):
            table.create_write_transaction(
                [*(RemoveAction(add["path"], True, now, add["size_bytes"], {}) for add in gone), *map(_action, staged)],
                mode="append",
                schema=table.schema(),
                commit_properties=_properties(commit, retries=0),
            )
        lost = sum(add["num_records"] or 0 for add in gone)
        return Committed(_version_of(root, commit), inserted=sum(file.rows for file in staged), deleted=lost)

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Rewrite the table with wider types, in a commit of its own: it changes no value."""
        root = _root(location)
        table = _open(root)
        if table is None:
            raise TableError("There is no Delta table here.", where=location)
        refuse_writing(table, root, removes=True)
        if table.metadata().partition_columns:
            raise UnsupportedError("Types of a partitioned table cannot grow yet.", hint="Write to a new target_path.")
        schema = pa.schema([pa.field(f.name, types.get(f.name, f.type), f.nullable) for f in _schema(table)])
        state = self._existing(location)

        def rows() -> Iterator[pa.RecordBatch]:
            for path in state.files:
                yield from parquet.reader([path], schema)

        reader = pa.RecordBatchReader.from_batches(schema, rows())
        with _trouble(root):
            write_deltalake(
                table,
                reader,
                mode="overwrite",
                schema_mode="overwrite",
                commit_properties=CommitProperties(custom_metadata=dict(metadata), max_commit_retries=0),
            )
        return int(DeltaTable(root).version())

    def merge(
        self,
        location: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        keys: Sequence[str],
        commit: CommitInfo,
        *,
        compare: Sequence[str],
        keep: Sequence[str] = (),
        sequence: str | None = None,
    ) -> Committed:
        """Upsert staged rows by key; delta-rs rewrites the data files that hold changed rows.

        The staged files themselves are not part of the table afterwards. A merge that changes nothing is an
        empty commit, so that the transaction is known all the same.
        """
        root = _root(location)
        table = _open(root)
        if table is None:
            _refuse_keys(root, files, schema, keys)
            return self.append(location, files, schema, commit)
        if (seen := _seen(root, table, commit)) is not None:
            return seen
        refuse_writing(table, root, removes=True)
        staged = read_footers(root, files, schema)
        _refuse_keys(root, files, schema, keys)
        table = _evolve(root, table, schema)
        _refuse_nulls(root, table, staged)
        with _trouble(root):
            rows = _source(files, schema) if staged else None
            metrics = {}
            if rows is not None:
                metrics = _merge(table, rows, commit, keys=keys, compare=compare, keep=keep, sequence=sequence)
        inserted = int(metrics.get("num_target_rows_inserted", 0))
        updated = int(metrics.get("num_target_rows_updated", 0))
        unchanged = sum(file.rows for file in staged) - inserted - updated
        if not inserted and not updated:
            with _trouble(root):
                # On the version that was compared, so that nobody's later change is taken for seen.
                table.create_write_transaction(
                    [], mode="append", schema=table.schema(), commit_properties=_properties(commit, retries=0)
                )
        return Committed(_version_of(root, commit), inserted=inserted, updated=updated, unchanged=unchanged)

    def find_commit(self, location: str, app_id: str, n: int) -> Mapping[str, str] | None:
        """The metadata of the commit that carries (`app_id`, n); None when the log holds no such commit (any more)."""
        root = _root(location)
        table = _open(root)
        if table is None:
            return None
        for entry in entries(root, table.version()):
            if entry.transactions.get(app_id) == n:
                return entry.metadata or {}
        return None

    def commits(self, location: str, app_id: str) -> list[Mapping[str, str]]:
        """The metadata of our commits under `app_id`, newest first, as far back as the log reaches."""
        root = _root(location)
        table = _open(root)
        if table is None:
            return []
        found = (e for e in entries(root, table.version()) if app_id in e.transactions and e.metadata)
        return [entry.metadata for entry in found if entry.metadata]

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows of the table, read without an engine."""
        state = self._existing(location)
        if not state.files or limit < 1:
            return state.schema.empty_table()
        found: list[pa.RecordBatch] = []
        for batch in parquet.reader(state.files, state.schema):
            found.append(batch)
            if sum(one.num_rows for one in found) >= limit:
                break
        return pa.Table.from_batches(found, state.schema).slice(0, limit)

    def count(self, location: str) -> int:
        """How many rows the table has: from the log's statistics, or the footers where it has none."""
        state = self._existing(location)
        if state.rows is not None:
            return state.rows
        return sum(pq.read_metadata(path).num_rows for path in state.files)

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
        *,
        replace_schema: bool = False,
    ) -> Committed:
        staged: list[DeltaFile] | None = None
        conflict: CommitConflict | None = None
        for _ in range(_ATTEMPTS):
            table = _open(root)
            removed = 0
            # Looked at first: a commit that is already there needs neither its staged files nor a fitting table.
            if table is not None and (seen := _seen(root, table, commit)) is not None:
                return seen
            staged = read_footers(root, files, schema) if staged is None else staged
            try:
                if table is None:
                    with _trouble(root):
                        _create(root, schema, staged, commit)
                else:
                    refuse_writing(table, root, removes=mode == "overwrite")
                    if replace_schema:
                        _refuse_twins(root, schema.names)
                        if any(_has_wall_clock(field.type) for field in schema):
                            _allow_wall_clock(table)
                            table = DeltaTable(root)
                    else:
                        table = _evolve(root, table, schema)
                        _refuse_nulls(root, table, staged)
                    removed = _known_rows(table) if mode == "overwrite" else 0
                    with _trouble(root):
                        table.create_write_transaction(
                            [_action(file) for file in staged],
                            mode=mode,
                            schema=Schema.from_arrow(_stored(schema)) if replace_schema else table.schema(),
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


def _root(location: str) -> str:
    """The table's folder as an absolute path."""
    if "://" in location and not location.startswith("file://"):
        raise UnsupportedError(f"Tables at `{location}` are not available yet.", hint="Use a local path.")
    path = unquote(urlsplit(location).path) if location.startswith("file://") else location
    if "%" in path:
        # delta-rs decodes the table's own path once too often and would write beside it.
        raise TableError("The path of a Delta table cannot contain `%`.", where=path)
    return os.path.abspath(path)  # noqa: PTH100 (links stay as they are)


def _refuse_layout(location: str, layout: Layout) -> None:
    if layout != PLAIN:
        raise UnsupportedError(
            "Partitions, clustering and properties are not available yet.", where=location, hint="Leave them out."
        )


def _open(root: str, version: int | None = None) -> Any:
    """The table; None where there is none."""
    try:
        return DeltaTable(root, version=version)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        text = str(error)
        if version is not None and "end version" in text:
            raise TableError(f"The table has no version {version}.", where=root) from error
        if isinstance(error, DeltaProtocolError) or "nsupported" in text:
            raise FeatureRefused(f"delta-rs cannot open this table: {text}", where=root) from error
        raise TableError(f"The table cannot be opened: {text}", where=root) from error


@contextmanager
def _trouble(root: str) -> Iterator[None]:
    """Turn errors of delta-rs into ours."""
    try:
        yield
    except CommitFailedError as error:
        raise CommitConflict(f"Somebody else committed first: {error}", where=root, hint="Try again.") from error
    except DeltaProtocolError as error:
        raise FeatureRefused(f"delta-rs cannot write to this table: {error}", where=root) from error
    except DeltaError as error:
        if "already exists" in str(error):
            raise CommitConflict("Somebody else created the table first.", where=root, hint="Try again.") from error
        raise TableError(f"The commit failed: {error}", where=root) from error


def _absolute(root: str, logged: str) -> str:
    """A path of the log, which is relative and percent-encoded, as a path of the file system."""
    if logged.startswith("file:"):
        return unquote(urlsplit(logged).path)
    return str(Path(root) / unquote(logged))


def _schema(table: Any) -> pa.Schema:
    """The table's schema with the Arrow types of `sql.types`."""
    stored = pa.schema(table.schema().to_arrow())
    return pa.schema([pa.field(f.name, to_arrow(from_arrow(f.type)), f.nullable) for f in stored])


def _properties(commit: CommitInfo, *, retries: int | None = None) -> CommitProperties:
    return CommitProperties(
        custom_metadata={USER_METADATA: commit_text(commit.app_id, commit.n, commit.metadata)},
        app_transactions=[Transaction(commit.app_id, commit.n)],
        max_commit_retries=retries,
    )


def _action(file: DeltaFile) -> AddAction:
    return AddAction(file.path, file.size, {}, file.modified_ms, True, file.stats)


def _stored(schema: pa.Schema) -> pa.Schema:
    """The columns in the types that a table keeps."""
    return pa.schema([pa.field(field.name, to_arrow(from_arrow(field.type))) for field in schema])


def _create(root: str, schema: pa.Schema, staged: Sequence[DeltaFile], commit: CommitInfo) -> None:
    Path(root).mkdir(parents=True, exist_ok=True)
    _refuse_twins(root, schema.names)
    create_table_with_add_actions(
        root,
        Schema.from_arrow(_stored(schema)),
        [_action(file) for file in staged],
        mode="error",
        commit_properties=_properties(commit),
    )


def _seen(root: str, table: Any, commit: CommitInfo) -> Committed | None:
    """What to answer when the table has seen the transaction: the version that carried it, or the newest."""
    last = table.transaction_version(commit.app_id)
    if last is None or last < commit.n:
        return None
    return Committed(_version_of(root, commit), skipped=True)


def _version_of(root: str, commit: CommitInfo) -> int:
    """The version that carries the transaction: the newest one may already be somebody else's."""
    newest: int = DeltaTable(root).version()
    for entry in entries(root, newest):
        if entry.transactions.get(commit.app_id) == commit.n:
            return entry.version
    return newest


def _evolve(root: str, table: Any, schema: pa.Schema) -> Any:
    """Add columns that are new to the table, in a commit of their own: on its own it changes no row."""
    stored = _schema(table)
    types = {field.name: field.type for field in stored}
    changed = [
        f"`{field.name}` is stored as {from_arrow(types[field.name])}, the new rows have {from_arrow(field.type)}"
        for field in schema
        if field.name in types and from_arrow(types[field.name]) != from_arrow(field.type)
    ]
    if changed:
        raise TableError(
            f"The type of a column cannot change: {'; '.join(changed)}.",
            where=root,
            hint="Give the field its stored type, publish it under another name, or choose another target.",
        )
    new = [field for field in schema if field.name not in types]
    _refuse_twins(root, [*types, *(field.name for field in new)])
    if not new:
        return table
    with _trouble(root):
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


def _refuse_twins(root: str, names: Sequence[str]) -> None:
    """Delta compares column names without case; two spellings of one name would break the table for Spark."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise TableError(
                f"Columns `{other}` and `{name}` differ only in case; a Delta table cannot hold both.",
                where=root,
                hint=f"Publish the column as `{other}`.",
            )


def _refuse_nulls(root: str, table: Any, staged: Sequence[DeltaFile]) -> None:
    """delta-rs does not look into staged files, so a NOT NULL column is checked by their footers."""
    required = [field.name for field in _schema(table) if not field.nullable]
    for file in staged:
        for name in required:
            if file.nulls.get(name) != 0:
                raise TableError(
                    f"The table's column `{name}` is NOT NULL; {file.path} has or may have NULLs in it.", where=root
                )


def _known_rows(table: Any) -> int:
    counts = pa.table(table.get_add_actions(flatten=True)).column("num_records")
    return sum(count or 0 for count in counts.to_pylist())


def _source(files: Sequence[StagedFile], schema: pa.Schema) -> pa.RecordBatchReader:
    return parquet.reader([file.path for file in files], schema)


def _refuse_keys(root: str, files: Sequence[StagedFile], schema: pa.Schema, keys: Sequence[str]) -> None:
    """A merge needs keys that are known and told apart; the plan promises that, and here it is verified."""
    if not keys:
        raise TableError("A merge needs at least one key column.", where=root)
    if not files:
        return
    found = _source(files, pa.schema([schema.field(key) for key in keys])).read_all()
    for key in keys:
        if found.column(key).null_count:
            raise TableError(f"Key column `{key}` is NULL in staged rows; such a row cannot be merged.", where=root)
    if _different(found, keys) < found.num_rows:
        raise TableError(f"The staged rows hold a key ({', '.join(keys)}) more than once.", where=root)


def _different(rows: pa.Table, keys: Sequence[str]) -> int:
    """How many different keys there are; Arrow's grouping costs a small run more to load than to do."""
    if rows.num_rows <= _FEW:
        return len(set(zip(*(rows.column(key).to_pylist() for key in keys), strict=True)))
    return int(rows.group_by(list(keys)).aggregate([]).num_rows)


def _merge(
    table: Any,
    source: pa.RecordBatchReader,
    commit: CommitInfo,
    *,
    keys: Sequence[str],
    compare: Sequence[str],
    keep: Sequence[str],
    sequence: str | None,
) -> dict[str, Any]:
    same = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
    differs = " OR ".join(f"(target.{_quoted(name)} IS DISTINCT FROM source.{_quoted(name)})" for name in compare)
    if sequence is not None and differs:
        newer = f"target.{_quoted(sequence)} IS NULL OR source.{_quoted(sequence)} >= target.{_quoted(sequence)}"
        differs = f"({differs}) AND ({newer})"
    values = {_quoted(name): f"source.{_quoted(name)}" for name in source.schema.names}
    fixed = {_quoted(name) for name in (*keys, *keep)}
    updates = {name: value for name, value in values.items() if name not in fixed}
    merger = table.merge(
        source,  # streamed: the staged rows are never in memory all at once
        predicate=same,
        source_alias="source",
        target_alias="target",
        # Rows are compared with the version that was read; a merge that lost a race is done again by the run.
        commit_properties=_properties(commit, retries=0),
    )
    if differs and updates:
        merger = merger.when_matched_update(updates, predicate=differs)
    metrics: dict[str, Any] = merger.when_not_matched_insert(values).execute()
    return metrics


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
