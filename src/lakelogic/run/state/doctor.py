"""Compare what the ledger remembers of a dataset with what its tables hold, and bring the ledger up to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lakelogic import names
from lakelogic.errors import LakeLogicError
from lakelogic.ledger.records import InputFile
from lakelogic.quarantine.queue import Queue, Stamped
from lakelogic.run.formats import tables_of
from lakelogic.run.input import pin as window
from lakelogic.run.places import QUARANTINE_FORMAT, Places, places
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import leases
from lakelogic.run.state.checks import Finding, check_progress
from lakelogic.run.state.progress import applications, good_commits, progress_of
from lakelogic.run.upkeep import folders_needed
from lakelogic.tables.base import TableFormat
from lakelogic.tables.registry import load as load_tables


def check_up(job: ContractRequest, *, mend: bool) -> list[Finding]:
    """Everything about one dataset. Only the ledger is ever changed, and only with `mend`: tables are the truth."""
    contract = job.loaded.contract
    where = places(contract, job.catalog)
    tables = tables_of(contract.materialization.format, job.engine)
    return [
        *_lease(job, where, mend=mend),
        *check_progress(job, where, tables, mend=mend),
        *_upstream(job, where),
        *_left_behind(job, where, tables),
        *_queue(job, where, tables),
    ]


def _lease(job: ContractRequest, where: Places, *, mend: bool) -> Iterator[Finding]:
    held = job.memory.lease(where.target_location)
    if held is None:
        yield Finding("sound", "lease", "nobody writes to the table")
    elif not leases.is_dead(held.owner):
        yield Finding("sound", "lease", f"{held.owner} writes to the table since {held.acquired_at:%Y-%m-%d %H:%M:%S}")
    elif mend:
        job.memory.release(held)
        yield Finding("mended", "lease", f"{held.owner} died and held it; it is free now")
    else:
        yield Finding("look", "lease", f"{held.owner} died and holds it", "any run takes it over")


def _upstream(job: ContractRequest, where: Places) -> Iterator[Finding]:
    """A table that is the source, and was dropped and made again since it was read."""
    contract = job.loaded.contract
    known = job.memory.inputs(progress_of(contract.dataset_name, where).key)
    if not any(file.is_table for file in known.values()):
        return
    try:
        source = window.pin_source(contract, job.catalog, job.engine)
    except LakeLogicError as error:
        yield Finding("look", "source", error.message, error.hint)
        return
    before = known.get(str(source.pinned.table))
    former = (before.content or "").removeprefix(InputFile.TABLE) if before is not None else ""
    if before is not None and former and source.id and former != source.id:
        told = f"`{source.described}` was made anew since it was read up to version {before.size}"
        yield Finding("look", "source", f"{told}; the next run reads all of it", "run the contract")


def _left_behind(job: ContractRequest, where: Places, tables: TableFormat) -> Iterator[Finding]:
    """Folders that runs have staged in, of no run that has published, or is at work, and of no batch that waits.

    What a run that has published does not need any more stays for a while too; upkeep sees to that.
    """
    progress = progress_of(job.loaded.contract.dataset_name, where)
    runs = {str(commit.facts.run_id) for commit in good_commits(tables, progress)}
    needed, root = folders_needed(job.memory, where.target_location), Path(where.target_location)
    unused = [
        folder
        for folder in (sorted(root.glob("batch-*")) if root.is_dir() else ())
        if folder.name not in needed and _run_of(folder.name) not in runs
    ]
    if unused:
        size = sum(file.stat().st_size for folder in unused for file in folder.rglob("*") if file.is_file())
        told = f"{len(unused)} folders hold {size} bytes that are in no table, such as {unused[0].name}"
        yield Finding("look", "staged files", told, "`lakelogic maintain` deletes them in time")


def _run_of(folder: str) -> str:
    """The run that made a staging folder: batch-<batch>-<run>, and -table-… where it was staged for the table."""
    return folder.partition("-table-")[0].removeprefix("batch-")[17:]


def _queue(job: ContractRequest, where: Places, tables: TableFormat) -> Iterator[Finding]:
    progress, keeper = progress_of(job.loaded.contract.dataset_name, where), load_tables(QUARANTINE_FORMAT)
    queue = Queue(keeper, where.quarantine_location, Stamped.by(job.loaded.contract))
    there = {str(commit.batch_id) for commit in queue.commits(applications(progress, "bad"))}
    reached = _reached(queue, applications(progress, "bad"))
    lost = {
        str(commit.batch_id): bad
        for commit in good_commits(tables, progress)
        if commit.n >= reached and (bad := commit.facts.counts.get("quarantined", 0)) and commit.batch_id not in there
    }
    if lost:
        told = f"{sum(lost.values())} bad rows of {len(lost)} published batches are not in {where.quarantine} any more"
        do = "put the table back from a copy, or read their source again: `lakelogic reload`"
        yield Finding("wrong", "quarantine", told, do)
    if queue.state() is None:
        if lost:
            return
        yield Finding("sound", "quarantine", "no row was ever bad")
        return
    waiting = sum(1 for row in queue.entries() if row[names.STATE] == "active")
    yield Finding("sound", "quarantine", f"{waiting} rows wait in {where.quarantine}")


def _reached(queue: Queue, app_ids: tuple[str, ...]) -> int:
    """The number from which on the log of the quarantine tells of its commits."""
    if queue.state() is None or queue.tables.is_whole(queue.location):
        return 0
    return min((commit.n for commit in queue.commits(app_ids)), default=1 << 62)
