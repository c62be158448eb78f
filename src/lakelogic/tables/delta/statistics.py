"""Statistics in a Delta log tell values: those of files that are gone are taken out, and nothing else changes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable

from lakelogic.storage import fresh
from lakelogic.tables.delta.open import absolute, trouble

_COMMIT = re.compile(r"(?P<version>[0-9]{20})\.(?:[0-9]{20}\.compacted\.)?json")
_CHECKPOINT = re.compile(r"(?P<version>[0-9]{20})\.checkpoint(?:\.[0-9]{10}\.[0-9]{10})?\.parquet")
_CHECKSUM = re.compile(r"(?P<version>[0-9]{20})\.crc")
_VALUES = ("minValues", "maxValues")


def forget(root: str, newest: int, before: datetime) -> None:
    """Take lowest and highest values of files that are not on the disk any more out of the log.

    Commits stay, with everything else that they say, and so does the time that they were written at. Checkpoints
    cannot be changed in place: one is made of the version that was current at the instant, and earlier ones go.
    """
    log = Path(root) / "_delta_log"
    current = _current(log, newest, before)
    if current is None:
        return
    for path in _up_to(log, _COMMIT, current):
        _strip(root, path)
    old = [path for path in _up_to(log, _CHECKPOINT, current - 1) if _tells(root, path)]
    if old:
        with trouble(root):
            DeltaTable(root, version=current).create_checkpoint()
        if not list(log.glob(f"{current:020d}.checkpoint*.parquet")):
            return  # without it versions that are kept could not be read
    # Checksums of a version may list its files, with their statistics; readers do without them.
    for path in (*old, *_up_to(log, _CHECKSUM, current - 1)):
        _unsummed(path)
        path.unlink(missing_ok=True)


def _current(log: Path, newest: int, before: datetime) -> int | None:
    """The version that was current at an instant, by the commits that are there."""
    limit = before.timestamp()
    for version in range(newest, -1, -1):
        try:
            if (log / f"{version:020d}.json").stat().st_mtime <= limit:
                return version
        except FileNotFoundError:
            return None
    return None


def _up_to(log: Path, kind: re.Pattern[str], version: int) -> list[Path]:
    matches = ((path, kind.fullmatch(path.name)) for path in sorted(log.iterdir()))
    return [path for path, match in matches if match is not None and int(match["version"]) <= version]


def _strip(root: str, path: Path) -> None:
    """Write a commit again without values of files that are gone; nothing is written where it has none."""
    with path.open(encoding="utf-8", newline="\n") as commit:  # other ends of lines may stand in values
        lines = list(commit)
    kept = [_stripped(root, line) for line in lines]
    if kept == lines:
        return
    there = path.stat()
    with fresh.in_place_of(path) as stream:
        stream.write("".join(kept).encode())
        stream.flush()
        os.fsync(stream.fileno())
        # Readers take the time of the file for that of the commit.
        os.utime(stream.fileno(), ns=(there.st_atime_ns, there.st_mtime_ns))
        _unsummed(path)


def _unsummed(path: Path) -> None:
    """Hadoop keeps a checksum beside a file that it wrote, and refuses to read the file when it is another."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _stripped(root: str, line: str) -> str:
    if not any(name in line for name in _VALUES):
        return line
    try:
        action = json.loads(line)
        file = next((action[kind] for kind in ("add", "remove") if kind in action), None)
        stats = json.loads(file["stats"]) if file and file.get("stats") else {}
    except (ValueError, TypeError):  # a line that we do not understand stays as it is
        return line
    if file is None or not _has_values(stats) or Path(absolute(root, file["path"])).exists():
        return line
    file["stats"] = json.dumps(_without_values(stats), separators=(",", ":"))
    return json.dumps(action, separators=(",", ":"), ensure_ascii=False) + ("\n" if line.endswith("\n") else "")


def _has_values(stats: Collection[str]) -> bool:
    return any(name in stats for name in _VALUES)


def _without_values(stats: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stats.items() if name not in _VALUES}


def _tells(root: str, path: Path) -> bool:
    """Whether a checkpoint names files that are gone."""
    with pq.ParquetFile(path) as checkpoint:
        if "add" not in checkpoint.schema_arrow.names:
            return False
        for batch in checkpoint.iter_batches(columns=["add.path"]):
            rows: list[Any] = batch.column(0).to_pylist()
            named = (row["path"] for row in rows if row and row.get("path"))
            if any(not Path(absolute(root, name)).exists() for name in named):
                return True
    return False
