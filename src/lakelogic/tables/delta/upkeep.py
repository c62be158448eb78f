"""Upkeep of Delta tables: old files, properties, and the end of a table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lakelogic import clock
from lakelogic.tables import upkeep
from lakelogic.tables.delta.open import absolute, trouble

_VECTOR = re.compile(r"deletion_vector_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin")


def named(root: Path, log: Path) -> Iterator[str]:
    """Every file that the commits and checkpoints of a Delta log name."""
    for path in log.glob("*.json"):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    action = json.loads(line)
                    paths = [action[kind]["path"] for kind in ("add", "remove", "cdc") if kind in action]
                except (ValueError, KeyError, TypeError):  # a broken line names nothing, and nothing is removed by it
                    continue
                yield from (absolute(str(root), path) for path in paths)
    for path in log.rglob("*.parquet"):  # checkpoints, and what they hold aside
        with pq.ParquetFile(path) as file:
            for kind in ("add", "remove"):
                if kind in file.schema_arrow.names:
                    for batch in file.iter_batches(columns=[f"{kind}.path"]):
                        rows: list[Any] = batch.column(0).to_pylist()
                        yield from (absolute(str(root), row["path"]) for row in rows if row and row.get("path"))
    yield from (str(path) for path in root.iterdir() if _VECTOR.fullmatch(path.name))


def vacuum(table: Any, root: str, before: datetime, *, dry_run: bool) -> list[str]:
    """Delete files that no version since an instant needs: removed ones by the log, staged ones by their age."""
    # The library counts whole hours: never fewer than were asked for, less the moment that has passed since.
    hours = max(math.ceil(((clock.now() - before).total_seconds() - 60) / 3600), 0)
    with trouble(root):
        unneeded = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
    # delta-rs takes everything in the folder for a leftover; what neither the log names nor we staged is somebody's.
    ours = set(named(Path(root), Path(root) / "_delta_log"))
    places = (absolute(root, path) for path in unneeded)
    paths = sorted(place for place in places if place in ours or upkeep.is_staged(root, place))
    if not dry_run:
        for path in paths:
            Path(path).unlink(missing_ok=True)
        upkeep.remove_empty(root)
    return paths


def set_properties(table: Any, root: str, properties: Mapping[str, str]) -> None:
    """Set properties that are not so yet."""
    there = table.metadata().configuration
    changed = {key: value for key, value in properties.items() if there.get(key) != value}
    if changed:
        with trouble(root):
            table.alter.set_table_properties(changed)
