"""Upkeep of tables: small files put together, files that nobody needs deleted, old rows of the quarantine removed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lakelogic import clock
from lakelogic.contract.materialization import Compaction
from lakelogic.errors import CommitConflict, LakeLogicError
from lakelogic.ledger.store import Ledger
from lakelogic.quarantine.queue import Queue, Stamped, drop
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import Caution, Note
from lakelogic.run.state import in_use, leases
from lakelogic.run.state.entries import head_of
from lakelogic.storage import fresh
from lakelogic.tables import chain, rows
from lakelogic.tables import upkeep as table_upkeep
from lakelogic.tables.base import CommitInfo, RowTables, StagedFile, TableFormat, TableState

APP = "lakelogic:upkeep"
SMALL, FULL = 32 << 20, 128 << 20
RETENTION = timedelta(hours=168)
UNBORN = timedelta(days=1)  # how long an entry may wait for its commit
_ATTEMPTS = 3
STAGED_BY_UPKEEP = tuple(prefix for prefix in table_upkeep.STAGED if prefix != "batch-")


@dataclass(frozen=True, slots=True)
class Compacted:
    """How many data files were put together into how many."""

    before: int = 0
    after: int = 0
    rows: int = 0
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """How many files were deleted, and their bytes; of a plan: would be."""

    files: int = 0
    size: int = 0


def compact(tables: TableFormat, location: str, *, dry_run: bool = False, small: int = SMALL) -> Compacted:
    """Put small files of a partition together, in one commit that changes no row."""
    conflict: CommitConflict | None = None
    for _ in range(_ATTEMPTS):
        state = tables.state(location)
        if state is not None and state.own:
            assert isinstance(tables, RowTables)
            return Compacted(len(state.files)) if dry_run else Compacted(*tables.optimize(location))
        groups = list(_groups(state, small)) if state is not None else []
        before = sum(len(group) for group in groups)
        if state is None or not groups or dry_run:
            return Compacted(before, len(groups))
        tables.check(location, removes=True)
        folder = fresh.folder(Path(location) / f"compact-{fresh.name()}")
        files = [_together(state, group, folder / f"part-{at:05d}.parquet") for at, group in enumerate(groups)]
        info = CommitInfo(APP, state.transactions.get(APP, 0) + 1, {"lakelogic": f"{before} files put together"})
        removed = [path for group in groups for path in group]
        try:
            done = tables.replace(location, removed, files, state.schema, info, based_on=state.version, same_rows=True)
        except CommitConflict as lost:
            conflict = lost
            continue
        return Compacted(before, len(files), sum(file.rows for file in files), done.version)
    assert conflict is not None
    raise conflict


def after_run(
    settings: Compaction | None, tables: TableFormat, location: str, events: Events, ledger: Ledger | None = None
) -> None:
    """What `compaction` asks for once rows are published. Trouble is told and left to the next run."""
    if settings is None or not settings.auto:
        return
    try:
        done = compact(tables, location)
        if settings.vacuum_retention_hours is not None:
            kept = timedelta(hours=float(settings.vacuum_retention_hours))
            vacuum(tables, location, kept, needed=folders_needed(ledger, location))
    except LakeLogicError as error:
        events.tell(Caution(f"The rows are published, upkeep was not done: {error.message}"))
        return
    if done.before:
        events.tell(Note(f"Put {done.before} small files together into {done.after}"))


def _groups(state: TableState, small: int) -> Iterator[tuple[str, ...]]:
    """Small files of one partition, as many as make a full file; a file alone stays."""
    parts: dict[Any, list[str]] = {}
    for path in state.files:
        parts.setdefault(tuple(sorted(state.parts.get(path, {}).items())), []).append(path)
    for paths in parts.values():
        group: list[str] = []
        size = 0
        for path in paths:
            bytes_ = Path(path).stat().st_size
            if bytes_ >= small:
                continue
            if group and size + bytes_ > FULL:
                if len(group) > 1:
                    yield tuple(group)
                group, size = [], 0
            group.append(path)
            size += bytes_
        if len(group) > 1:
            yield tuple(group)


def _together(state: TableState, group: Sequence[str], target: Path) -> StagedFile:
    """One file with the rows of several, as the table has them."""
    number = 0
    with fresh.parquet_writer(target, state.schema, compression="zstd", coerce_timestamps="us") as writer:
        for batch in rows.batches(replace(state, files=tuple(group))):
            writer.write_batch(batch)
            number += batch.num_rows
    return StagedFile(str(target), number, target.stat().st_size, state.parts.get(group[0], {}))


def vacuum(
    tables: TableFormat,
    location: str,
    retention: timedelta,
    *,
    dry_run: bool = False,
    needed: Collection[str] = frozenset(),
) -> Vacuumed:
    """Delete files that no version of the retention period needs, staged files that were never committed included.

    Folders whose names are, or begin with, one that is `needed` stay, however old: a batch that waits, or a run that
    goes on, is made of them.
    """
    before = clock.now() - retention
    planned = tables.vacuum(location, before, dry_run=True)
    spared = {path for path in planned if any(_is_needed(part, needed) for part in Path(path).parts)}
    spared |= {path for path in planned if _may_be_written(path)}
    gone = [path for path in planned if path not in spared]
    # First, while the log still tells which entry belongs to its newest commit.
    swept = forget_entries(tables, location, before, dry_run=dry_run)
    sizes = [Path(path).stat().st_size for path in gone if Path(path).exists()]
    if not dry_run:
        later = before.timestamp() + 1
        for path in spared:
            os.utime(path, (later, later))  # formats that sweep by age pass it by
        state = tables.state(location)
        if tables.name == "delta" and (spared or (state is not None and not state.own)):
            # Exactly what was planned: what a run has staged since then is its own.
            table_upkeep.remove(location, gone)
        else:
            tables.vacuum(location, before)
        tables.forget_statistics(location, before)
    return Vacuumed(len(sizes) + swept.files, sum(sizes) + swept.size)


def _is_needed(folder: str, needed: Collection[str]) -> bool:
    """Whether a folder is one that is needed, or one that its run staged beside it: for the table, or another one."""
    return folder in needed or any(folder.startswith(f"{name}-") for name in needed)


def _may_be_written(path: str) -> bool:
    """Whether upkeep that knows another ledger may be at work on a file: it takes no number, and tells nobody."""
    if not any(part.startswith(STAGED_BY_UPKEEP) for part in Path(path).parts):
        return False
    with suppress(FileNotFoundError):
        return clock.now().timestamp() - Path(path).stat().st_mtime < leases.LEASE_TIME.total_seconds()
    return False


def forget_entries(tables: TableFormat, location: str, before: datetime, *, dry_run: bool) -> Vacuumed:
    """Delete entries of the table's memory that are named by no commit, or that newer ones hold as well."""
    # A run of a ledger that is not ours may have written one, and be about to commit.
    unborn = min(before, clock.now() - UNBORN).timestamp()
    found: list[str] = []
    for app_id in chain.applications(location):
        if (head := head_of(tables, location, app_id)) is not None:
            found += chain.unneeded(location, app_id, head, before.timestamp(), unborn)
    sizes = [Path(path).stat().st_size for path in found]
    if not dry_run:
        for path in found:
            Path(path).unlink(missing_ok=True)
    return Vacuumed(len(sizes), sum(sizes))


def folders_needed(ledger: Ledger | None, location: str) -> frozenset[str]:
    """The names of the staging folders that open intents and waiting batches are made of.

    Of this ledger, as it knows; of others, as they told beside the table.
    """
    others = in_use.needed_by_others(ledger, location, leases.LEASE_TIME, leases.is_dead)
    if ledger is None:
        return others
    targets = {intent.target for intent in ledger.intents_with_files()} | {held.target for held in ledger.waiting()}
    paths = (Path(folder) for target in targets for folder in in_use.folders_of(ledger, target))
    return others | {part for path in paths for part in path.parts if part.startswith("batch-")}


def forget_bad_rows(
    tables: TableFormat, location: str, stamped: Stamped, retention: timedelta, *, dry_run: bool = False
) -> int:
    """Remove rows of a quarantine that are older than it keeps them, whatever became of them; how many."""
    queue, limit = Queue(tables, location, stamped), clock.now() - retention

    def is_old(row: Mapping[str, Any]) -> bool:
        at: datetime | None = row.get(stamped.at)
        return at is not None and at < limit

    state = queue.state()
    if state is None:
        return 0
    if dry_run:
        return sum(1 for row in queue.light() if is_old(row))
    info = CommitInfo(APP, state.transactions.get(APP, 0) + 1, {"lakelogic": "rows older than the retention"})
    place = f"{location}/rewrite-{fresh.name()}"
    return queue.change(info, place, is_old, drop)[1]
