"""Iceberg tables through pyiceberg: read a table's state, commit staged files; each commit once.

Staged Parquet files are committed as they lie under the table's root, found by the names of their columns; nothing
is rewritten. A commit is one change of the catalog: its snapshot says who committed what, and a property of the
table remembers the last n of every application, also when snapshots have expired.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AddSchemaUpdate, AssertCurrentSchemaId, SetCurrentSchemaUpdate
from pyiceberg.transforms import IdentityTransform

from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.tables import columns, dropping, partitions, rows
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, StagedFile, TableChanges, TableState, up_to
from lakelogic.tables.iceberg import files as iceberg_files
from lakelogic.tables.iceberg import upkeep as iceberg_upkeep
from lakelogic.tables.iceberg.catalog import catalog_for, local, new_table, open_foreign, open_table, trouble
from lakelogic.tables.iceberg.schema import declared, evolved, new_schema, new_spec, promotes, to_pyarrow
from lakelogic.tables.kinds import refuse_other_kinds
from lakelogic.tables.staged import null_counts, read_footer

APP, N, SAID = "lakelogic.app-id", "lakelogic.n", "lakelogic.metadata"
SEEN = "lakelogic.seen."
SAME_ROWS = "same_rows"  # in what a commit says: its rows were there before
NAMES = "schema.name-mapping.default"
_ATTEMPTS = 20

# Which of the table's data files a commit takes out.
Removed = Callable[[Sequence[DataFile]], Sequence[DataFile]]


class IcebergTables:
    """The table format `iceberg`, on local paths."""

    name = "iceberg"

    def check(self, location: str, *, removes: bool = False, layout: Layout = PLAIN) -> None:  # noqa: ARG002
        """Refuse a table that we would misread or damage; no table is fine."""
        root = local(location)
        refuse_other_kinds(root, self.name)
        table = open_table(root)
        if table is None and open_foreign(root) is not None:
            raise FeatureRefused(
                "There is an Iceberg table here that the catalog does not know.",
                where=root,
                hint="Name its catalog in LAKELOGIC_ICEBERG_CATALOG, or write to another target_path.",
            )
        _refuse_properties(root, layout.properties)
        if table is not None:
            _refuse_writing(table, root)
            partitions.refuse_layout(root, layout, _partition_by(table))

    def state(self, location: str, version: int | None = None) -> TableState | None:
        """The table at a version (newest without one); None where there is no table."""
        root = local(location)
        table = open_table(root) or open_foreign(root)
        if table is None:
            return None
        with trouble(root):
            snapshot = table.current_snapshot() if version is None else _snapshot(table, version, root)
            files = [entry.data_file for entry in iceberg_files.entries(table, snapshot, root)]
            parts = {iceberg_files.path_of(file): iceberg_files.partition_of(table, file) for file in files}
            then = snapshot.schema_id if version is not None and snapshot is not None else None
            schema = table.schema() if then is None else table.schemas()[then]
        newest = next((facts for each in _history(table) if (facts := _said(each)) is not None), {})
        return TableState(
            location=root,
            version=_number(table, snapshot),
            schema=to_pyarrow(schema, table.properties),
            files=tuple(parts),
            rows=sum(file.record_count for file in files),
            transactions=_transactions(table),
            metadata=newest,
            parts=parts if any(parts.values()) else {},
            partition_by=_partition_by(table),
            id=str(table.metadata.table_uuid),
        )

    def mark(self, location: str, version: int) -> int | None:
        """The id of a version's snapshot; None where it did not lead to the current one, or has expired."""
        root = local(location)
        table = open_table(root) or open_foreign(root)
        snapshots = (
            (snapshot for snapshot in _history(table) if _number(table, snapshot) == version)
            if table is not None
            else iter(())
        )
        return next((snapshot.snapshot_id for snapshot in snapshots), None)

    def changes(self, location: str, since: int) -> TableChanges | None:
        """What happened after a version, snapshot by snapshot."""
        root = local(location)
        table = open_table(root) or open_foreign(root)
        if table is None:
            return None
        later: list[Snapshot] = []
        for snapshot in _history(table):
            if _number(table, snapshot) == since:
                break
            later.append(snapshot)
        else:
            if since > 0 or (later and later[-1].parent_snapshot_id is not None):
                return None
        with trouble(root):
            return iceberg_files.changes(table, [each for each in reversed(later) if not _lays_out(each)], root)

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
        return self._commit(local(location), files, schema, commit, layout, lambda _: ())

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
        return self._commit(
            local(location), files, schema, commit, layout, lambda there: there, replace_schema=replace_schema
        )

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
        gone = set(removed)

        def out(there: Sequence[DataFile]) -> Sequence[DataFile]:
            files = [file for file in there if iceberg_files.path_of(file) in gone]
            if len(files) < len(gone):
                raise CommitConflict("A file to replace is not in the table any more.", where=location)
            return files

        if same_rows:  # pyiceberg writes one kind of snapshot for both
            commit = dataclasses.replace(commit, metadata={**commit.metadata, SAME_ROWS: "true"})
        return self._commit(local(location), files, schema, commit, layout, out, based_on=(based_on,))

    def set_properties(self, location: str, properties: Mapping[str, str]) -> None:
        """Set properties of a table that is there."""
        root = local(location)
        _refuse_properties(root, properties)
        table = self._opened(root)
        changed = {key: value for key, value in properties.items() if table.properties.get(key) != value}
        if changed:
            with trouble(root), table.transaction() as transaction:
                transaction.set_properties(changed)

    def vacuum(self, location: str, before: datetime, *, dry_run: bool = False) -> list[str]:
        """Expire snapshots that were no longer current at an instant, and delete files that no other one has."""
        root = local(location)
        return iceberg_upkeep.vacuum(self._opened(root), root, before, dry_run=dry_run)

    def forget_statistics(self, location: str, before: datetime) -> None:
        """Nothing: manifests go with the snapshots that had them."""

    def drop(self, location: str) -> None:
        """Take the table out of its catalog, then remove the files that its metadata names."""
        root = local(location)
        table = open_table(root)
        if table is None:
            dropping.drop_listed(root, tuple, None)
            return
        catalog, name = catalog_for(root)
        with trouble(root):
            dropping.drop_listed(root, lambda: iceberg_upkeep.named(table), lambda: catalog.drop_table(name))

    @staticmethod
    def _opened(root: str) -> Table:
        table = open_table(root)
        if table is None:
            raise TableError("There is no Iceberg table here.", where=root)
        return table

    def widen(self, location: str, types: Mapping[str, pa.DataType], metadata: Mapping[str, str]) -> int:
        """Promote types where Iceberg can, which touches no file; otherwise write the rows again in wider types."""
        root = local(location)
        table, state = open_table(root), self.state(location)
        if table is None or state is None:
            raise TableError("There is no Iceberg table here.", where=location)
        if set(types) & set(state.partition_by):
            raise UnsupportedError("Types of partition columns cannot grow.", hint="Write to a new target_path.")
        schema = pa.schema([pa.field(f.name, types.get(f.name, f.type), f.nullable) for f in state.schema])
        wide = new_schema(schema)
        promoted = all(
            promotes(table.schema().find_field(name).field_type, wide.find_field(name).field_type) for name in types
        )
        staged = [] if promoted else rows.rewritten(state, schema)
        with trouble(root):
            transaction = table.transaction()
            _set_schema(transaction, table, schema)
            properties = {SAID: json.dumps(dict(metadata))}
            with transaction.update_snapshot(snapshot_properties=properties).overwrite() as change:
                iceberg_files.forget_bounds(change)
                if not promoted:
                    for file in (entry.data_file for entry in iceberg_files.entries(table, _current(table), root)):
                        change.delete_data_file(file)
                for file in _data_files(root, staged, schema, transaction):
                    change.append_data_file(file)
            done = _once(transaction)
        return _number(done, done.current_snapshot())

    def find_commit(self, location: str, app_id: str, n: int) -> Mapping[str, str] | None:
        """The metadata of the commit that carries (`app_id`, n); None when no snapshot tells of it (any more)."""
        table = open_table(local(location))
        snapshots = (snapshot for snapshot in _history(table) if _is_ours(snapshot, app_id, n)) if table else iter(())
        return next((_said(snapshot) or {} for snapshot in snapshots), None)

    def commits(self, location: str, *app_ids: str, until: str | None = None) -> list[Mapping[str, str]]:
        """The metadata of our commits under these names, newest first, as far back as snapshots reach."""
        table = open_table(local(location))
        ours = (
            (snapshot for snapshot in _history(table) if any(_is_ours(snapshot, name) for name in app_ids))
            if table
            else iter(())
        )
        return up_to((_said(snapshot) or {} for snapshot in ours), until)

    def is_whole(self, location: str) -> bool:
        """Whether every snapshot since the table was made is still there."""
        table = open_table(local(location))
        oldest = list(_history(table))[-1:] if table is not None else []
        # Expiry takes the link to its parent from the oldest that is left; its place in the order stays.
        return all(snapshot.parent_snapshot_id is None and (snapshot.sequence_number or 0) <= 1 for snapshot in oldest)

    def preview(self, location: str, limit: int = 20) -> pa.Table:
        """Some rows of the table, read without an engine."""
        state = self.state(location)
        if state is None:
            raise TableError("There is no Iceberg table here.", where=location)
        return rows.preview(state, limit)

    def _commit(
        self,
        root: str,
        files: Sequence[StagedFile],
        schema: pa.Schema,
        commit: CommitInfo,
        layout: Layout,
        removed: Removed,
        *,
        replace_schema: bool = False,
        based_on: tuple[int | None] | None = None,
    ) -> Committed:
        conflict: CommitConflict | None = None
        for _ in range(_ATTEMPTS if based_on is None else 1):
            table = open_table(root)
            # Looked at first: a commit that is already there needs neither its staged files nor a fitting table.
            if table is not None and _transactions(table).get(commit.app_id, 0) >= commit.n:
                return Committed(_number_of(table, commit), skipped=True)
            if table is not None:
                commit.refuse_overtaken(_transactions(table).get(commit.app_id, 0), root)
            at = None if table is None else _number(table, table.current_snapshot())
            if based_on is not None and at != based_on[0]:
                raise CommitConflict("The table has changed since it was looked at.", where=root, hint="Run again.")
            try:
                if table is None:
                    return _create(root, files, schema, commit, layout)
                return _change(root, table, files, schema, commit, removed, replace_schema=replace_schema)
            except CommitConflict as lost:
                conflict = lost
        assert conflict is not None
        raise conflict


def _create(root: str, files: Sequence[StagedFile], schema: pa.Schema, commit: CommitInfo, layout: Layout) -> Committed:
    refuse_other_kinds(root, "iceberg")
    fresh = columns.stored(schema)
    columns.refuse_twins(root, schema.names)
    partitions.refuse_columns(root, layout.partition_by, fresh)
    catalog, name = catalog_for(root)
    made = new_schema(fresh)
    properties = {"format-version": "2", **declared(fresh), **layout.properties, NAMES: _names(made)}
    with trouble(root):
        _make_namespaces(catalog, name[:-1])
        transaction = new_table(
            catalog,
            name,
            made,
            location=root,
            partition_spec=new_spec(made, layout.partition_by),
            properties=properties,
        )
        staged = _data_files(root, files, schema, transaction)
        with transaction.update_snapshot(snapshot_properties=_saying(commit)).fast_append() as change:
            for file in staged:
                change.append_data_file(file)
        transaction.set_properties({SEEN + commit.app_id: str(commit.n)})
        table = transaction.commit_transaction()
    return Committed(_number(table, table.current_snapshot()), inserted=sum(file.record_count for file in staged))


def _change(
    root: str,
    table: Table,
    files: Sequence[StagedFile],
    schema: pa.Schema,
    commit: CommitInfo,
    removed: Removed,
    *,
    replace_schema: bool,
) -> Committed:
    _refuse_writing(table, root)
    there = to_pyarrow(table.schema(), table.properties)
    fresh = columns.stored(schema)
    columns.refuse_twins(root, schema.names)
    wanted = fresh if replace_schema else columns.grown(root, there, fresh)
    partitions.refuse_columns(root, _partition_by(table), wanted)
    with trouble(root):
        transaction = table.transaction()
        if wanted != there:
            _set_schema(transaction, table, wanted)
        staged = _data_files(root, files, schema, transaction)
        out = removed([entry.data_file for entry in iceberg_files.entries(table, _current(table), root)])
        update = transaction.update_snapshot(snapshot_properties=_saying(commit))
        with update.overwrite() if out else update.fast_append() as change:
            for file in out:
                change.delete_data_file(file)
            for file in staged:
                change.append_data_file(file)
            iceberg_files.forget_bounds(change)
        transaction.set_properties({SEEN + commit.app_id: str(commit.n)})
        done = _once(transaction)
    return Committed(
        _number(done, done.current_snapshot()),
        inserted=sum(file.record_count for file in staged),
        deleted=sum(file.record_count for file in out),
    )


def _once(transaction: Transaction) -> Table:
    """Commit on the snapshot that was looked at. pyiceberg would try again on a newer one, which may hold this very
    commit of a racing writer; without its snapshot producers it gives up at the first conflict.
    """
    transaction._snapshot_producers.clear()
    return transaction.commit_transaction()


def _set_schema(transaction: Transaction, table: Table, schema: pa.Schema) -> None:
    """Let the table have exactly these columns; files are found by names, so the names are mapped again."""
    metadata = transaction.table_metadata
    number = 1 + max(schema.schema_id for schema in metadata.schemas)
    changed = Schema(*evolved(table.schema(), metadata.last_column_id, schema), schema_id=number)
    transaction._apply(
        (AddSchemaUpdate(schema=changed), SetCurrentSchemaUpdate()),
        (AssertCurrentSchemaId.model_validate({"current-schema-id": table.schema().schema_id}),),
    )
    transaction.set_properties({NAMES: _names(changed), **declared(schema)})


def _names(schema: Schema) -> str:
    return schema.name_mapping.model_dump_json()


def _data_files(root: str, files: Sequence[StagedFile], schema: pa.Schema, transaction: Transaction) -> list[DataFile]:
    metadata = transaction.table_metadata
    spec, stored = metadata.spec(), metadata.schema()
    partitions.refuse_files(root, tuple(field.name for field in spec.fields), files)
    strict = pa.schema([pa.field(f.name, pa.null(), not f.required) for f in stored.fields])
    data_files = []
    for file in files:
        footer = read_footer(root, file, schema)
        columns.refuse_nulls(root, strict, footer.path, null_counts(footer.metadata, schema))
        data_files.append(iceberg_files.data_file(file, footer, schema, stored, spec))
    return data_files


def _refuse_writing(table: Table, root: str) -> None:
    metadata = table.metadata
    wrong = []
    if metadata.format_version != 2:
        wrong.append(f"format version {metadata.format_version}")
    if any(not isinstance(field.transform, IdentityTransform) for field in table.spec().fields):
        wrong.append("partitions by a transform")
    elif any(field.name != table.schema().find_column_name(field.source_id) for field in table.spec().fields):
        wrong.append("partitions under other names")
    if wrong:
        raise FeatureRefused(
            f"Cannot write to this Iceberg table without the risk to damage it. It uses: {', '.join(wrong)}.",
            where=root,
            hint="Choose another target.",
        )
    with trouble(root):
        iceberg_files.entries(table, table.current_snapshot(), root)


def _refuse_properties(root: str, properties: Mapping[str, str]) -> None:
    """Properties by which a table would be laid out or promised in another way than we write it."""
    ours = ("lakelogic.", "schema.name-mapping", "format-version")
    foreign = sorted(key for key in properties if key.startswith(ours))
    if foreign:
        raise UnsupportedError(f"table_properties cannot set {', '.join(foreign)}.", where=root, hint="Leave it out.")


def _make_namespaces(catalog: Catalog, name: tuple[str, ...]) -> None:
    for depth in range(1, len(name) + 1):
        catalog.create_namespace_if_not_exists(name[:depth])


def _saying(commit: CommitInfo) -> dict[str, str]:
    return {APP: commit.app_id, N: str(commit.n), SAID: json.dumps(dict(commit.metadata), sort_keys=True)}


def _said(snapshot: Snapshot) -> dict[str, str] | None:
    summary = snapshot.summary
    text = summary.additional_properties.get(SAID) if summary and summary.additional_properties.get(APP) else None
    return json.loads(text) if text else None


def _is_ours(snapshot: Snapshot, app_id: str, n: int | None = None) -> bool:
    properties = snapshot.summary.additional_properties if snapshot.summary else {}
    return properties.get(APP) == app_id and (n is None or properties.get(N) == str(n))


def _history(table: Table) -> Iterator[Snapshot]:
    """The snapshots that led to the current one, newest first, as far back as they are kept."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None


def _lays_out(snapshot: Snapshot) -> bool:
    """Whether a snapshot only lays rows out anew, or gives their columns wider types."""
    summary = snapshot.summary
    if summary is None or summary.operation == Operation.REPLACE:
        return True
    properties = summary.additional_properties
    if properties.get(APP) is None and properties.get(SAID) is not None:
        return True  # wider types: nobody else of ours commits without a name
    return bool((_said(snapshot) or {}).get(SAME_ROWS))


def _current(table: Table) -> Snapshot | None:
    return table.current_snapshot()


def _number(table: Table, snapshot: Snapshot | None) -> int:
    """1, 2, 3… by commit; tables of the first format version number nothing, and their snapshots' ids are taken."""
    if snapshot is None:
        return 0
    return snapshot.sequence_number or 0 if table.metadata.format_version >= 2 else snapshot.snapshot_id


def _number_of(table: Table, commit: CommitInfo) -> int:
    carried = (snapshot for snapshot in _history(table) if _is_ours(snapshot, commit.app_id, commit.n))
    return _number(table, next(carried, table.current_snapshot()))


def _snapshot(table: Table, version: int, root: str) -> Snapshot | None:
    if version == 0:
        return None
    snapshot = next((snapshot for snapshot in _history(table) if _number(table, snapshot) == version), None)
    if snapshot is None:
        raise TableError(f"The table has no version {version}.", where=root)
    return snapshot


def _transactions(table: Table) -> dict[str, int]:
    properties = table.properties.items()
    return {key.removeprefix(SEEN): int(n) for key, n in properties if key.startswith(SEEN)}


def _partition_by(table: Table) -> tuple[str, ...]:
    return tuple(
        str(table.schema().find_column_name(field.source_id))
        for field in table.spec().fields
        if isinstance(field.transform, IdentityTransform)
    )
