"""Sweeping a table's folder: which staged files nobody needs any more, and folders that became empty."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

# Folders that runs and upkeep make under a table's root; nothing outside them is ever swept.
IN_USE = "_lakelogic_in_use"  # beside a table: which staged folders ledgers still need (`run/state/in_use.py`)
STAGED = ("batch-", "compact-", "rewrite-", "copy-", "remask-", "reset-")


def unneeded(root: str, needed: Iterable[str], before: datetime) -> list[str]:
    """Files in folders of ours that are older than an instant and that no kept version names."""
    kept, limit = set(needed), before.timestamp()
    return sorted(
        str(path)
        for folder in _folders(root)
        for path in folder.rglob("*")
        if path.is_file() and str(path) not in kept and path.stat().st_mtime < limit
    )


def is_staged(root: str, path: str) -> bool:
    """Whether a file lies in a folder that runs or upkeep made under a table's root."""
    place = Path(path)
    return place.is_relative_to(root) and place.relative_to(root).parts[0].startswith(STAGED)


def remove(root: str, paths: Iterable[str]) -> None:
    """Delete files, and the folders of ours that held nothing else."""
    for path in paths:
        Path(path).unlink(missing_ok=True)
    remove_empty(root)


def remove_empty(root: str) -> None:
    """Delete folders of ours in which nothing is left."""
    for folder in _folders(root):
        for inner in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
            _remove_if_empty(inner)
        _remove_if_empty(folder)


def _folders(root: str) -> list[Path]:
    place = Path(root)
    return (
        [path for path in place.iterdir() if path.is_dir() and path.name.startswith(STAGED)] if place.is_dir() else []
    )


def _remove_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
