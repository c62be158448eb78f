"""Upkeep of Iceberg tables: snapshots that nobody can still be reading, and the files that only they had."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from pyiceberg.table import Table

from lakelogic import clock
from lakelogic.tables import upkeep
from lakelogic.tables.iceberg.catalog import local, trouble

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OWN = re.compile(rf"(?:[0-9]{{5}}-{_ID}\.metadata\.json|(?:snap-[0-9]+-[0-9]+-)?{_ID}(?:-m[0-9]+)?\.avro)")

_UNBORN = timedelta(days=1)  # how long a manifest may wait for its commit


def named(table: Table) -> Iterator[str]:
    """Every file that the metadata of a table names: of all snapshots that it knows, and itself."""
    metadata = table.metadata
    yield local(table.metadata_location)
    yield from (local(entry.metadata_file) for entry in metadata.metadata_log)
    yield from (local(statistics_file.statistics_path) for statistics_file in metadata.statistics)
    for snapshot in metadata.snapshots:
        yield local(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            yield local(manifest.manifest_path)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                yield local(entry.data_file.file_path)
    # What commits that lost or were expired left of their own: only a table's metadata is called so.
    folder = Path(local(table.location())) / "metadata"
    yield from (str(path) for path in folder.glob("*") if _OWN.fullmatch(path.name))


def _manifests(table: Table, ids: Collection[int]) -> set[str]:
    """The manifests of some snapshots, and the lists of these."""
    manifests = set[str]()
    for snapshot in table.snapshots():
        if snapshot.snapshot_id in ids:
            manifests.add(local(snapshot.manifest_list))
            manifests |= {local(manifest.manifest_path) for manifest in snapshot.manifests(table.io)}
    return manifests


def vacuum(table: Table, root: str, before: datetime, *, dry_run: bool) -> list[str]:
    """Expire snapshots that were no longer current at an instant, and delete staged files that no other one has."""
    limit = int(before.timestamp() * 1000)
    newest_first = sorted(table.snapshots(), key=lambda snapshot: snapshot.timestamp_ms, reverse=True)
    kept = []
    for snapshot in newest_first:
        kept.append(snapshot)
        if snapshot.timestamp_ms <= limit:  # this one was current then; older ones were not
            break
    old = {snapshot.snapshot_id for snapshot in newest_first} - {snapshot.snapshot_id for snapshot in kept}
    old -= {ref.snapshot_id for ref in table.refs().values()}
    with trouble(root):
        if old and not dry_run:
            unread = _manifests(table, old) - _manifests(
                table, {snapshot.snapshot_id for snapshot in newest_first} - old
            )
            table.maintenance.expire_snapshots().by_ids(sorted(old)).commit()
            # Their manifests hold lowest and highest values of files.
            for path in unread:
                Path(path).unlink(missing_ok=True)
        needed = {
            local(entry.data_file.file_path)
            for snapshot in newest_first
            if snapshot.snapshot_id not in old
            for manifest in snapshot.manifests(table.io)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        }
    paths = upkeep.unneeded(root, needed, before)
    if not dry_run:
        upkeep.remove(root, paths)
        _remove_lost(table, root, before)
    return paths


def _remove_lost(table: Table, root: str, before: datetime) -> None:
    """Delete manifests that no snapshot has: of commits that lost, and of an expiry that was stopped."""
    limit = min(before, clock.now() - _UNBORN).timestamp()
    with trouble(root):
        manifests = _manifests(table, {snapshot.snapshot_id for snapshot in table.snapshots()})
    for path in (Path(local(table.location())) / "metadata").glob("*.avro"):
        if _OWN.fullmatch(path.name) and str(path) not in manifests and path.stat().st_mtime < limit:
            path.unlink(missing_ok=True)
