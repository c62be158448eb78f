"""Compare what the ledger remembers of a dataset with what its tables hold, and bring the ledger up to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lakelogic import names
from lakelogic.errors import LakeLogicError
from lakelogic.ledger.records import InputFile
from lakelogic.plan.sources import replaced_by
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run import leases, window
from lakelogic.run.events import Events
from lakelogic.run.formats import tables_of
from lakelogic.run.job import Job
from lakelogic.run.places import QUARANTINE_FORMAT, Places, places
from lakelogic.run.progress import applications, good_commits, progress_of
from lakelogic.run.queue import Queue, Stamped, facts_of
from lakelogic.run.recover import adopt, recover
from lakelogic.tables.base import TableFormat
from lakelogic.tables.registry import load as load_tables

Level = Literal["sound", "mended", "look"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: as it should be, mended now, or for a person to look at."""

    level: Level
    what: str
    found: str


def check_up(job: Job, *, mend: bool) -> list[Finding]:
    """Everything about one dataset. Only the ledger is ever changed, and only with `mend`: tables are the truth."""
    contract = job.loaded.contract
    where = places(contract, job.catalog)
    tables = tables_of(contract.materialization.format, job.engine)
    return [
        *_lease(job, where, mend=mend),
        *_progress(job, where, tables, mend=mend),
        *_upstream(job, where),
        *_left_behind(where, tables),
        *_queue(job, where, tables),
    ]


def _lease(job: Job, where: Places, *, mend: bool) -> Iterator[Finding]:
    assert job.ledger is not None
    held = job.ledger.lease(where.target_location)
    if held is None:
        yield Finding("sound", "lease", "nobody writes to the table")
    elif not leases.is_dead(held.owner):
        yield Finding("look", "lease", f"{held.owner} writes to the table since {held.acquired_at:%Y-%m-%d %H:%M:%S}")
    elif mend:
        job.ledger.release(held)
        yield Finding("mended", "lease", f"{held.owner} died and held it; it is free now")
    else:
        yield Finding("look", "lease", f"{held.owner} died and holds it")


def _progress(job: Job, where: Places, tables: TableFormat, *, mend: bool) -> Iterator[Finding]:
    assert job.ledger is not None
    progress = progress_of(job.loaded.contract.dataset_name, where)
    key = progress.key
    state = tables.state(where.target_location)
    if state is None:
        seen = len(job.ledger.seen(key))
        told = f"there is no table yet; the next run reads everything ({seen} files are known from before)"
        yield Finding("look" if seen else "sound", "table", told)
        return
    rows = f"{state.rows} rows in " if state.rows is not None else ""
    yield Finding("sound", "table", f"version {state.version}, {rows}{len(state.files)} files")
    adopt(job.ledger, progress, tables)
    commits = [commit for commit in good_commits(tables, progress) if "batch_id" in commit]
    known = job.ledger.batches_done(key)
    unknown = [commit for commit in commits if commit["batch_id"] not in known]
    intent = job.ledger.open_intent(key)
    if mend and (unknown or intent is not None):
        before = len(job.ledger.seen(key))
        job.ledger.compared(key, None)  # every commit is looked at again
        recover(job, where, progress, Events(progress.dataset, ()))
        learned = len(job.ledger.seen(key)) - before
        yield Finding("mended", "ledger", f"{len(unknown)} commits and {learned} files were read back from the table")
        still = job.ledger.open_intent(key)
        if still is not None:
            yield Finding("look", "intent", "a run stopped before it published; the next one does its batch again")
        return
    yield from _doubled(job, commits)
    if unknown:
        yield Finding("look", "ledger", f"it does not know {len(unknown)} of {len(commits)} commits to the table")
    else:
        files = len(job.ledger.seen(key))
        yield Finding("sound", "ledger", f"it knows all {len(commits)} commits to the table, and {files} files")
    if intent is not None:
        yield Finding("look", "intent", "a run was begun and never ended; the next one finishes it")


def _doubled(job: Job, commits: Sequence[Mapping[str, str]]) -> Iterator[Finding]:
    """The same input in two commits that add rows: whatever the ledger believes, its rows are in the table twice."""
    if strategy_of(job.loaded.contract).kind != "append":
        return
    first: dict[str, str] = {}
    twice: dict[str, str] = {}
    for commit in reversed(commits):
        facts = facts_of(commit)
        read = facts.get("input", {})
        if facts.get("replaces"):
            if replaced_by(read) is None:
                first, twice = {}, {}  # all that was there before is gone
            continue
        if facts.get("replay"):
            continue
        for told, one in _inputs(read):
            if one in first:
                twice[one] = f"{told} by {first[one]} and {facts.get('run_id')}"
            first.setdefault(one, str(facts.get("run_id")))
    if twice:
        told = f"{len(twice)} inputs were published twice: {next(iter(twice.values()))}"
        yield Finding("look", "rows", f"{told}; their rows are in the table twice. `lakelogic reload` makes it anew")


def _inputs(read: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every file of an input, or its table, as people call it and as exactly what was read."""
    for path, *rest in read.get("files", ()):
        yield str(path), json.dumps([path, *rest])
    if "table" in read and "files" not in read:
        exact = {name: value for name, value in read.items() if name != "links"}
        yield f"{read['table']} at version {read.get('version')}", json.dumps(exact, sort_keys=True, default=str)


def _upstream(job: Job, where: Places) -> Iterator[Finding]:
    """A table that is the source, and was dropped and made again since it was read."""
    assert job.ledger is not None
    contract = job.loaded.contract
    known = job.ledger.inputs(progress_of(contract.dataset_name, where).key)
    if not any(file.is_table for file in known.values()):
        return
    try:
        source = window.pin_source(contract, job.catalog, job.engine)
    except LakeLogicError as error:
        yield Finding("look", "source", error.message)
        return
    before = known.get(str(source.pinned.table))
    former = (before.content or "").removeprefix(InputFile.TABLE) if before is not None else ""
    if before is not None and former and source.id and former != source.id:
        told = f"`{source.described}` was made anew since it was read up to version {before.size}"
        yield Finding("look", "source", f"{told}; the next run reads all of it")


def _left_behind(where: Places, tables: TableFormat) -> Iterator[Finding]:
    """Staged folders in which no file belongs to the table: of runs that failed, or wait for a decision."""
    state = tables.state(where.target_location)
    used = {str(Path(file).parent) for file in state.files} if state is not None else set()
    root = Path(where.target_location)
    folders = sorted(root.glob("batch-*")) if root.is_dir() else []
    unused = [folder for folder in folders if not any(one.startswith(str(folder)) for one in used)]
    if unused:
        size = sum(file.stat().st_size for folder in unused for file in folder.rglob("*") if file.is_file())
        told = (
            f"{len(unused)} folders hold {size} bytes that are in no table; `lakelogic maintain` deletes them in time"
        )
        yield Finding("look", "staged files", told)


def _queue(job: Job, where: Places, tables: TableFormat) -> Iterator[Finding]:
    progress, keeper = progress_of(job.loaded.contract.dataset_name, where), load_tables(QUARANTINE_FORMAT)
    queue = Queue(keeper, where.quarantine_location, Stamped.by(job.loaded.contract))
    there = {str(one.get("batch_id")) for one in queue.commits(applications(progress, "bad"))}
    lost = {
        str(commit.get("batch_id")): bad
        for commit in good_commits(tables, progress)
        if (bad := facts_of(commit).get("counts", {}).get("quarantined", 0)) and commit.get("batch_id") not in there
    }
    if lost:
        told = f"{sum(lost.values())} bad rows of {len(lost)} published batches are not in {where.quarantine} any more"
        yield Finding("look", "quarantine", f"{told}; put the table back, or read their source again by reload")
    if queue.state() is None:
        if lost:
            return
        yield Finding("sound", "quarantine", "no row was ever bad")
        return
    waiting = sum(1 for row in queue.entries() if row[names.STATE] == "active")
    yield Finding("sound", "quarantine", f"{waiting} rows wait in {where.quarantine}")
