"""Compare what the ledger remembers of a dataset with what its tables hold, and bring the ledger up to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lakelogic import names
from lakelogic.run import leases
from lakelogic.run.commit import application
from lakelogic.run.events import Events
from lakelogic.run.formats import tables_of
from lakelogic.run.job import Job
from lakelogic.run.places import QUARANTINE_FORMAT, Places, places
from lakelogic.run.queue import Queue, Stamped, facts_of
from lakelogic.run.recover import recover
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
    dataset = job.loaded.contract.dataset_name
    state = tables.state(where.target_location)
    if state is None:
        seen = len(job.ledger.seen(dataset))
        told = f"there is no table yet; the next run reads everything ({seen} files are known from before)"
        yield Finding("look" if seen else "sound", "table", told)
        return
    rows = f"{state.rows} rows in " if state.rows is not None else ""
    yield Finding("sound", "table", f"version {state.version}, {rows}{len(state.files)} files")
    commits = tables.commits(where.target_location, application(dataset, "good"))
    unknown = [commit for commit in commits if not job.ledger.batch_done(commit["batch_id"])]
    behind = state.transactions.get(application(dataset, "good"), 0) > job.ledger.last_n(dataset)
    intent = job.ledger.open_intent(dataset)
    if mend and (behind or intent is not None):
        before = len(job.ledger.seen(dataset))
        recover(job, where, dataset, Events(dataset, ()))
        learned = len(job.ledger.seen(dataset)) - before
        yield Finding("mended", "ledger", f"{len(unknown)} commits and {learned} files were read back from the table")
        still = job.ledger.open_intent(dataset)
        if still is not None:
            yield Finding("look", "intent", "a run stopped before it published; the next one does its batch again")
        return
    if behind:
        yield Finding("look", "ledger", f"it does not know {len(unknown)} of {len(commits)} commits to the table")
    else:
        files = len(job.ledger.seen(dataset))
        yield Finding("sound", "ledger", f"it knows all {len(commits)} commits to the table, and {files} files")
    if intent is not None:
        yield Finding("look", "intent", "a run was begun and never ended; the next one finishes it")


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
    dataset, keeper = job.loaded.contract.dataset_name, load_tables(QUARANTINE_FORMAT)
    queue = Queue(keeper, where.quarantine_location, Stamped.by(job.loaded.contract))
    there = {str(one.get("batch_id")) for one in keeper.commits(queue.location, application(dataset, "bad"))}
    lost = {
        str(commit.get("batch_id")): bad
        for commit in tables.commits(where.target_location, application(dataset, "good"))
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
    waiting = sum(1 for row in queue.light(wanted=(names.STATE,)) if row[names.STATE] == "active")
    yield Finding("sound", "quarantine", f"{waiting} rows wait in {where.quarantine}")
