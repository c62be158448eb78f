"""How much a run is going to read, before anything is read: an engine that is yet to start may start for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lakelogic.run.phases import PinnedRun


def bytes_ahead(run_: PinnedRun) -> int:
    """The input, the links, and the table where the strategy looks at it; only what is on this machine is counted."""
    inputs = [*([run_.slice] if run_.slice else []), *run_.links.values()]
    found = sum(_size(Path(file) for file in one.pinned.files) for one in inputs)
    if run_.places is not None and run_.strategy.looks_at_the_table:
        found += _size(Path(run_.places.target_location).rglob("*.parquet"))
    return found


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())
