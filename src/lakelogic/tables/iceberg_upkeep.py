"""Upkeep of Iceberg tables: snapshots that nobody can still be reading, and the files that only they had."""

from __future__ import annotations

from datetime import datetime

from pyiceberg.table import Table

from lakelogic.tables import upkeep
from lakelogic.tables.iceberg_catalog import local, trouble


def vacuum(table: Table, root: str, before: datetime, *, dry_run: bool) -> list[str]:
    """Expire snapshots that were no longer current at an instant, and delete staged files that no other one has."""
    limit = int(before.timestamp() * 1000)
    newest_first = sorted(table.snapshots(), key=lambda one: one.timestamp_ms, reverse=True)
    kept = []
    for snapshot in newest_first:
        kept.append(snapshot)
        if snapshot.timestamp_ms <= limit:  # this one was current then; older ones were not
            break
    old = {one.snapshot_id for one in newest_first} - {one.snapshot_id for one in kept}
    old -= {ref.snapshot_id for ref in table.refs().values()}
    with trouble(root):
        if old and not dry_run:
            table.maintenance.expire_snapshots().by_ids(sorted(old)).commit()
        needed = {
            local(entry.data_file.file_path)
            for snapshot in newest_first
            if snapshot.snapshot_id not in old
            for manifest in snapshot.manifests(table.io)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        }
    found = upkeep.unneeded(root, needed, before)
    if not dry_run:
        upkeep.remove(root, found)
    return found
