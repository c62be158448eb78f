"""Upkeep of plain Parquet tables: versions that nobody can still be reading, and the files that only they had."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from lakelogic.tables import upkeep
from lakelogic.tables.parquet import log as parquet_log


def vacuum(root: str, before: datetime, *, dry_run: bool) -> list[str]:
    """Delete the links of versions that were no longer current at an instant, and the files that no other version has.

    The log itself stays: it remembers which commits the table has seen.
    """
    newest = parquet_log.newest(root) or 0
    heads = list(parquet_log.heads(root, newest))
    kept = []
    for head in heads:
        kept.append(head)
        if _written(root, head.number) <= before:  # this one was current then; older ones were not
            break
    needed = {str(Path(root) / entry.path) for head in kept for entry in parquet_log.read(root, head.number).files}
    paths = upkeep.unneeded(root, needed, before)
    if not dry_run:
        folders = {head.folder for head in kept}
        for folder in (Path(root) / parquet_log.VERSIONS).iterdir():
            old = datetime.fromtimestamp(folder.stat().st_mtime, UTC) <= before
            if f"{parquet_log.VERSIONS}/{folder.name}" not in folders and old:
                shutil.rmtree(folder)
        upkeep.remove(root, paths)
    return paths


def _written(root: str, number: int) -> datetime:
    return datetime.fromtimestamp(parquet_log.log_file(root, number).stat().st_mtime, UTC)
