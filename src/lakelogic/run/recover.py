"""What was done before: the ledger says so, and where it is lost or behind, the tables do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakelogic import clock, names
from lakelogic.ledger.records import InputFile, RunRecord
from lakelogic.run.commit import application
from lakelogic.run.events import Events
from lakelogic.run.formats import tables_of
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.queue import Queue, Stamped
from lakelogic.run.reread import let_go
from lakelogic.run.secondary import publish
from lakelogic.tables.base import TableFormat
from lakelogic.tables.kinds import refuse_other_kinds
from lakelogic.tables.registry import load as load_tables
from lakelogic.version import VERSION


@dataclass(frozen=True, slots=True)
class Known:
    """The files that are in the table already, and whether there is a table at all."""

    seen: set[tuple[str, int, int]] = field(default_factory=set)
    table_exists: bool = False


def recover(job: Any, where: Places, progress: str, events: Events) -> Known:
    """Find out what the target holds, and bring the ledger up to it.

    - No table: nothing was read, whatever the ledger says; a table that was removed is made again.
    - A run that died after it published is finished in the ledger.
    - A ledger that was lost, or is older than the table, is filled again from the commits of the table.

    Where good rows were not committed, nothing is done here: the batch is evaluated again under its old number,
    and what it had put into quarantine is not put there twice.
    """
    tables = tables_of(job.loaded.contract.materialization.format, job.engine)
    if tables.state(where.target_location) is None:
        refuse_other_kinds(where.target_location, job.loaded.contract.materialization.format)
        if job.ledger.seen(progress):
            events.tell("note", f"The table {where.target} is gone; everything is read again")
        return Known()
    _finish_intent(job, where, progress, events, tables)
    _fill_ledger(job, where, progress, events, tables)
    return Known(job.ledger.seen(progress), table_exists=True)


def _finish_intent(job: Any, where: Places, progress: str, events: Events, tables: TableFormat) -> None:
    intent = job.ledger.open_intent(progress)
    if intent is None or intent.target != where.target_location:
        return
    found = tables.find_commit(where.target_location, application(progress, "good"), intent.n)
    if found is None or found.get("batch_id") != intent.batch_id:
        state = tables.state(where.target_location)
        if state is not None and state.transactions.get(application(progress, "good"), 0) >= intent.n:
            job.ledger.abandon(intent)  # others went ahead of it; under its number nothing can be committed any more
            return
        events.tell("note", f"An earlier run of {progress} stopped before it published; its rows are read again")
        return
    _let_go(job, where, progress, found, intent.n)
    _give(where, progress, found, intent.n, events)
    _record(job, where, progress, found)
    events.tell("note", f"An earlier run of {progress} had published before it stopped; the ledger now says so")


def _fill_ledger(job: Any, where: Places, progress: str, events: Events, tables: TableFormat) -> None:
    """Commits with numbers that this ledger never gave out were made while it was lost, or before it was put back."""
    state = tables.state(where.target_location)
    newest = state.transactions.get(application(progress, "good"), 0) if state else 0
    if newest <= job.ledger.last_n(progress):
        return
    if last := tables.find_commit(where.target_location, application(progress, "good"), newest):
        _let_go(job, where, progress, last, newest)
        _give(where, progress, last, newest, events)
    commits = tables.commits(where.target_location, application(progress, "good"))
    unknown = [found for found in commits if not job.ledger.batch_done(found["batch_id"])]
    for found in reversed(unknown):
        _record(job, where, progress, found)
    job.ledger.next_n(progress, newest)
    if unknown:
        events.tell("note", f"The ledger knew nothing of {len(unknown)} commits to {where.target}; they were read back")


def _let_go(job: Any, where: Places, progress: str, commit: Mapping[str, str], n: int) -> None:
    """What a good commit published leaves the queue, where its run did not live to see to it."""
    contract = job.loaded.contract
    queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
    attempt = names.new_run_id(clock.now())
    let_go(queue, progress, commit, n, where.quarantine_staging(commit["batch_id"], attempt))


def _give(where: Places, progress: str, commit: Mapping[str, str], n: int, events: Events) -> None:
    """Other places get what a good commit published, where its run did not live to see to it."""
    metadata = {key: value for key, value in commit.items() if key != "facts"}
    facts = json.loads(commit.get("facts", "{}"))
    others = where.adding().others if facts.get("replay") else where.others
    for name in publish(others, progress, n, metadata, facts):
        events.tell("note", f"{name} was given the rows of an earlier run")


def _record(job: Any, where: Places, progress: str, commit: Mapping[str, str]) -> None:
    contract = job.loaded.contract
    facts = json.loads(commit.get("facts", "{}"))
    counts = facts.get("counts", {})
    files = [InputFile(path, size, mtime) for path, size, mtime in facts.get("input", {}).get("files", [])]
    now = clock.now()
    record = RunRecord(
        run_id=facts.get("run_id") or names.new_run_id(now),
        dataset=progress,
        status="succeeded",
        started_at=now,
        finished_at=now,
        reason="read back from the table's own log",
        batch_id=commit["batch_id"],
        contract=job.loaded.file or contract.title,
        contract_version=facts.get("contract_version"),
        contract_fingerprint=commit.get("fingerprint"),
        layer=contract.layer,
        domain=contract.domain,
        system=contract.system,
        engine=facts.get("engine"),
        account={"read": counts.get("source"), **{k: v for k, v in counts.items() if k != "source"}}
        | {"applied": facts.get("applied", {}), "digests": facts.get("digests", {})},
        counts_source=counts.get("source"),
        counts_good=counts.get("good"),
        counts_quarantined=counts.get("quarantined"),
        counts_filtered=sum(counts.get("filtered", {}).values()),
        counts_deduplicated=sum(counts.get("deduplicated", {}).values()),
        watermark=facts.get("watermark"),
        target=where.target,
        quarantine_target=where.quarantine,
        lakelogic_version=VERSION,
    )
    job.ledger.finish(record, files, commit["batch_id"])
