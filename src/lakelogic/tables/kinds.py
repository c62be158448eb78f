"""Tell which kind of table lies in a folder, by what its format leaves there."""

from __future__ import annotations

import os
from pathlib import Path

from lakelogic.errors import TableError


def kind_of(location: str) -> str | None:
    """`delta`, `iceberg` or `parquet` (a table of ours, with versions); None for anything else."""
    root = Path(location.removeprefix("file://"))
    if (root / "_delta_log").is_dir():
        return "delta"
    if (root / "_lakelogic").is_dir():
        return "parquet"
    if any((root / "metadata").glob("*.metadata.json")):
        return "iceberg"
    return None


def refuse_other_kinds(root: str, name: str) -> None:
    """A folder that holds another kind of table is not written to."""
    kind = kind_of(root)
    if kind is not None and kind != name:
        raise TableError(
            f"There is a table of the format `{kind}` here, the contract says `{name}`.",
            where=root,
            hint=f"Say format: {kind}, or write to a new target_path.",
        )


def refuse_loose_files(root: str) -> None:
    """Parquet files that belong to no table are nobody's to replace."""
    if kind_of(root) is None and any(Path(root).glob("*.parquet")):
        raise TableError(
            "There are Parquet files here that belong to no table.",
            where=root,
            hint="Write to another target_path, or move the files away.",
        )


def commit_mark(location: str) -> str | None:
    """What is another text after every commit to a local Delta table, without opening it; None where nobody can tell.

    The name of the newest commit alone would not do: a table that was dropped and made again begins anew.
    """
    try:
        with os.scandir(Path(location.removeprefix("file://")) / "_delta_log") as entries:
            newest = max(
                (entry for entry in entries if entry.name.endswith(".json")), key=lambda entry: entry.name, default=None
            )
            if newest is None:
                return None
            stat = newest.stat()
            return f"{newest.name} {stat.st_ino} {stat.st_mtime_ns} {stat.st_size}"
    except OSError:
        return None


def table_around(path: Path) -> Path | None:
    """The table inside which a place lies; None where it lies in none."""
    return next((folder for folder in path.parents if kind_of(str(folder)) is not None), None)
