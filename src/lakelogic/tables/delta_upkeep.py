"""Upkeep of Delta tables: old files, properties, and the end of a table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lakelogic import clock
from lakelogic.tables import upkeep
from lakelogic.tables.delta_open import absolute, trouble


def vacuum(table: Any, root: str, before: datetime, *, dry_run: bool) -> list[str]:
    """Delete files that no version since an instant needs: removed ones by the log, staged ones by their age."""
    # Rounded down: a moment has passed since somebody asked for whole hours.
    hours = int(max((clock.now() - before).total_seconds(), 0) // 3600)
    with trouble(root):
        found = table.vacuum(hours, dry_run=dry_run, enforce_retention_duration=False, full=True)
    if not dry_run:
        upkeep.remove_empty(root)
    return sorted(absolute(root, path) for path in found)


def set_properties(table: Any, root: str, properties: Mapping[str, str]) -> None:
    """Set properties that are not so yet."""
    there = table.metadata().configuration
    changed = {key: value for key, value in properties.items() if there.get(key) != value}
    if changed:
        with trouble(root):
            table.alter.set_table_properties(changed)
