"""Data files of an Iceberg table: those it has, and staged ones as its manifests name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DEFAULT_READ_VERSION,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from lakelogic.errors import FeatureRefused
from lakelogic.tables.base import StagedFile, TableChanges
from lakelogic.tables.iceberg.catalog import local
from lakelogic.tables.staged import Footer, column_places, null_counts

_BOUNDS = [at for at, field in enumerate(DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields) if field.name.endswith("_bounds")]
_PREFIX = 16  # characters of a text bound, as Iceberg writes them by default


def entries(table: Table, snapshot: Snapshot | None, root: str) -> list[ManifestEntry]:
    """The data files of a snapshot; refuses what reading the files by the names of their columns would misread."""
    if snapshot is None:
        return []
    manifests = snapshot.manifests(table.io)
    if any(manifest.content == ManifestContent.DELETES and _is_live(manifest) for manifest in manifests):
        raise _refused(root, "rows are deleted by delete files")
    live = [
        entry
        for manifest in manifests
        if manifest.content == ManifestContent.DATA
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    ]
    if other := {str(entry.data_file.file_format) for entry in live} - {"PARQUET", "FileFormat.PARQUET"}:
        raise _refused(root, f"data files are {', '.join(sorted(other))}")
    if renamed := _renamed(table, live):
        raise _refused(root, f"columns were renamed or made again ({', '.join(sorted(renamed))})")
    return live


def changes(table: Table, snapshots: Sequence[Snapshot], root: str) -> TableChanges:
    """The files that snapshots added, in order, and how many that were there before they took out."""
    added: dict[str, DataFile] = {}
    removed: set[str] = set()
    for snapshot in snapshots:
        for manifest in snapshot.manifests(table.io):
            if manifest.content == ManifestContent.DELETES and _is_live(manifest):
                raise _refused(root, "rows are deleted by delete files")
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue  # of an earlier one
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                if entry.snapshot_id != snapshot.snapshot_id:
                    continue
                if entry.status == ManifestEntryStatus.ADDED:
                    added[path_of(entry.data_file)] = entry.data_file
                elif entry.status == ManifestEntryStatus.DELETED:
                    removed.add(path_of(entry.data_file))
    kept = {path: partition_of(table, file) for path, file in added.items() if path not in removed}
    return TableChanges(tuple(kept), len(removed - added.keys()), kept if any(kept.values()) else {})


def _is_live(manifest: Any) -> bool:
    return bool(manifest.has_added_files() or manifest.has_existing_files())


def _refused(root: str, what: str) -> FeatureRefused:
    return FeatureRefused(
        f"Cannot read this Iceberg table without the risk to misread it: {what}.",
        where=root,
        hint="Rewrite its data files with the engine that made them (rewrite_data_files), or read a copy.",
    )


def _renamed(table: Table, entries: Sequence[ManifestEntry]) -> set[str]:
    """Columns whose name means something else in some of the files than it means now."""
    metadata = table.metadata
    now = {field.name: field.field_id for field in table.schema().fields}
    names: dict[int, set[str]] = {}
    ids: dict[str, set[int]] = {}
    for schema in metadata.schemas:
        for field in schema.fields:
            names.setdefault(field.field_id, set()).add(field.name)
            ids.setdefault(field.name, set()).add(field.field_id)
    wrong = {name for name, number in now.items() if len(names[number]) > 1}
    oldest = min((entry.sequence_number or 0 for entry in entries), default=0)
    for name, number in now.items():
        if len(ids[name]) > 1 and entries:
            having = {schema.schema_id for schema in metadata.schemas if number in {f.field_id for f in schema.fields}}
            since = [snapshot.sequence_number or 0 for snapshot in metadata.snapshots if snapshot.schema_id in having]
            # Files that are older than the column hold the values of another one under its name.
            if not since or oldest < min(since):
                wrong.add(name)
    return wrong


def path_of(file: DataFile) -> str:
    """The file's place in the file system."""
    return local(file.file_path)


def partition_of(table: Table, file: DataFile) -> dict[str, Any]:
    """The values of the columns that a file is partitioned by as they are."""
    spec = table.specs()[file.spec_id]
    schema = table.schema()
    names = {field.field_id: field.name for field in schema.fields}
    kinds = {field.field_id: field.field_type for field in schema.fields}
    values = {}
    for at, field in enumerate(spec.fields):
        if isinstance(field.transform, IdentityTransform) and field.source_id in names:
            values[names[field.source_id]] = _as_value(file.partition[at], kinds[field.source_id])
    return values


def _as_value(value: Any, kind: IcebergType) -> Any:
    if value is not None and isinstance(kind, DateType) and isinstance(value, int):
        from datetime import date, timedelta

        return date(1970, 1, 1) + timedelta(days=value)
    return value


def data_file(file: StagedFile, footer: Footer, schema: pa.Schema, columns: Schema, spec: PartitionSpec) -> DataFile:
    """A staged file as a manifest names it, with the bounds that its footer is sure of."""
    ids = {field.name: field.field_id for field in columns.fields}
    nulls = {ids[name]: n for name, n in null_counts(footer.metadata, schema).items() if n is not None and name in ids}
    low, high = _bounds(footer.metadata, columns)
    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.path,
        file_format=FileFormat.PARQUET,
        partition=Record(*(_as_stored(file.partition[field.name]) for field in spec.fields)),
        record_count=footer.rows,
        file_size_in_bytes=footer.size,
        column_sizes={},
        value_counts=dict.fromkeys(nulls, footer.rows),
        null_value_counts=nulls,
        nan_value_counts={},
        lower_bounds=low,
        upper_bounds=high,
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
    )
    made.spec_id = spec.spec_id
    return made


def forget_bounds(change: Any) -> None:
    """Let a snapshot name the files that it takes out without their lowest and highest values.

    pyiceberg copies these from the manifest before. They would stay as long as the snapshot is the newest, also where
    it was made to hide them.
    """
    deleted = change._deleted_entries

    def without_bounds() -> list[ManifestEntry]:
        entries: list[ManifestEntry] = deleted()
        for entry in entries:
            for place in _BOUNDS:
                entry.data_file[place] = None
        return entries

    change._deleted_entries = without_bounds


def _as_stored(value: Any) -> Any:
    from datetime import date

    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def _bounds(footer: Any, columns: Schema) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Lowest and highest values of the kinds whose footers can be taken as they are."""
    low: dict[int, bytes] = {}
    high: dict[int, bytes] = {}
    places: Mapping[str, int] = column_places(footer)
    for field in columns.fields:
        if field.name not in places:
            continue
        groups = [
            footer.row_group(group).column(places[field.name]).statistics for group in range(footer.num_row_groups)
        ]
        if not groups or any(group is None or not group.has_min_max for group in groups):
            continue
        extremes = _extremes(groups, field.field_type)
        if extremes is None or not isinstance(field.field_type, PrimitiveType):
            continue
        low[field.field_id] = to_bytes(field.field_type, extremes[0])
        if extremes[1] is not None:
            high[field.field_id] = to_bytes(field.field_type, extremes[1])
    return low, high


def _extremes(groups: Sequence[Any], kind: IcebergType) -> tuple[Any, Any] | None:
    if isinstance(kind, IntegerType | LongType | DateType | TimestampType | TimestamptzType):
        return min(int(group.min_raw) for group in groups), max(int(group.max_raw) for group in groups)
    if isinstance(kind, StringType):
        lowest, highest = min(str(group.min) for group in groups), max(str(group.max) for group in groups)
        return lowest[:_PREFIX], highest if len(highest) <= _PREFIX else None
    return None
