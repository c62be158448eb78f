"""Batches behind a closed gate: good rows stay staged until a person releases exactly these, or gives them up."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lakelogic.errors import GateClosed, UsageError
from lakelogic.ledger.records import Held, RunRecord
from lakelogic.plan.fingerprint import is_of
from lakelogic.run import faults
from lakelogic.run.events.hub import Events, logging_sink
from lakelogic.run.events.types import GoodRowsWritten
from lakelogic.run.formats import tables_of
from lakelogic.run.places import Places, places
from lakelogic.run.publish import roll_forward, withhold
from lakelogic.run.publish.commit import Commit
from lakelogic.run.publish.staged import Manifest, of_held
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import leases
from lakelogic.run.state.environments import refuse_others
from lakelogic.run.state.progress import Progress, good_commits, progress_of
from lakelogic.run.state.recover import recover


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a held batch."""

    run_id: str
    dataset: str
    state: str
    rows: int
    target: str
    version: int | None = None
    again: bool = False  # it had been decided so before, and the ledger was not told


def release(
    job: ContractRequest, run_id: str, *, person: str, why: str | None, approved_at: datetime | None = None
) -> Decision:
    """Publish the good rows of a held batch, as they were staged; refused where anything that matters has changed."""
    held, record = _waiting(job, run_id, releases=True)
    where = _same_contract(job, held)
    batch = of_held(held, job.loaded.contract, where, record)
    lease = leases.acquire(job.memory, where.target_location, f"{run_id}-approve")
    try:
        faults.reach("after_lease")
        events = Events(held.dataset, (logging_sink, *job.sinks))
        recover(job, where, _progress(job, held, where), events)
        refuse_others(job.loaded, where, _progress(job, held, where), "Nothing was published; the batch waits on.")
        done = Decision(held.run_id, held.dataset, "released", batch.good_rows, where.target)
        if _is_there(job, where, held):
            roll_forward.decide(job, held, "released", person, why)
            return replace(done, again=True)
        if trouble := batch.trouble():
            raise GateClosed(trouble, hint="Exactly the judged rows are released, or none. Run the contract again.")
        at = f"{approved_at:%Y-%m-%d %H:%M} UTC" if approved_at is not None else None
        approved = {"person": person, "why": why, "gate": list(batch.reasons), "at": at}
        commit = _publish(job, replace(batch, approved=approved), events)
        events.tell(GoodRowsWritten(done.rows, where.target, approved_by=person))
        return replace(done, version=commit.good_version)
    finally:
        leases.release(job.memory, lease)


def _publish(job: ContractRequest, batch: Manifest, events: Events) -> Commit:
    """The good commit of the batch, under a new number, by the strategy of the contract."""
    commit = roll_forward.committing(job, batch)
    later = roll_forward.later_commits(commit.tables, batch)
    if reason := roll_forward.stands_against(commit, batch, later) if later else None:
        for newer in reversed(later):  # of a ledger that was not told of them
            withhold.overtake(job.memory, batch.progress.label, batch.places, newer.facts)
        raise GateClosed(
            reason, hint="Give the batch up with --discard; what it read and nobody published is read by the next run."
        )
    silent = Events(batch.progress.label, ())
    done = roll_forward.publish_record(roll_forward.RecordInput(later), job, commit, batch, silent, events)
    if done.closed:
        raise GateClosed(done.closed[0], hint="Nothing was published; the batch waits on.")
    return commit


def give_up(job: ContractRequest, run_id: str, *, person: str, why: str | None) -> Decision:
    """Throw the staged rows of a held batch away; its input was never published and can be read again."""
    held, record = _waiting(job, run_id, releases=False)
    facts: Any = held.facts
    where = places(job.loaded.contract, job.catalog, _target(job, held))
    rows = of_held(held, job.loaded.contract, where, record).good_rows
    lease = leases.acquire(job.memory, held.target, f"{run_id}-discard")
    try:
        recover(job, where, _progress(job, held, where), Events(held.dataset, (logging_sink, *job.sinks)))
        if _is_there(job, where, held):
            roll_forward.decide(job, held, "released", person, why)
            return Decision(held.run_id, held.dataset, "released", rows, where.target, again=True)
        roll_forward.decide(job, held, "discarded", person, why)
        shutil.rmtree(facts["folder"], ignore_errors=True)
    finally:
        leases.release(job.memory, lease)
    return Decision(held.run_id, held.dataset, "discarded", rows, where.target)


def _waiting(job: ContractRequest, run_id: str, *, releases: bool) -> tuple[Held, RunRecord]:
    record = job.memory.run(run_id)
    held = withhold.of_run(job.memory, record)
    record = job.memory.run(held.run_id) if held is not None else record
    if held is None:
        raise UsageError(
            f"The run `{record.run_id}` ({record.status}) has no rows that wait for a decision.",
            hint="Only a run whose gate was closed has; `lakelogic approve` without a run lists them.",
        )
    if releases:
        withhold.refuse_overtaken(held)
    if held.state != "waiting":
        when = f"{held.decided_at:%Y-%m-%d %H:%M} UTC" if held.decided_at else "before"
        raise UsageError(
            f"The batch of `{held.run_id}` was {held.state} {when}"
            + (f" by {held.person}" if held.person else "")
            + (f": {held.why}." if held.why else ".")
        )
    return held, record


def _target(job: ContractRequest, held: Held) -> str | None:
    """Where the run was sent, where that was not the contract's own place."""
    dataset = job.loaded.contract.dataset_name
    return held.dataset.removeprefix(f"{dataset}@") if held.dataset != dataset else None


def _progress(job: ContractRequest, held: Held, where: Places) -> Progress:
    return progress_of(job.loaded.contract.dataset_name, where, _target(job, held))


def _same_contract(job: ContractRequest, held: Held) -> Places:
    facts: Any = held.facts
    if not is_of(job.loaded, facts["fingerprint"]):
        raise GateClosed(
            "The contract has changed since these rows were judged.",
            hint="Run it again. Where the run was given --set or --env, give the same here.",
        )
    where = places(job.loaded.contract, job.catalog, _target(job, held))
    if where.target_location != held.target:
        raise GateClosed(f"The contract writes to {where.target_location} now, the batch belongs to {held.target}.")
    return where


def _is_there(job: ContractRequest, where: Places, held: Held) -> bool:
    """Whether the target has this batch already."""
    tables = tables_of(job.loaded.contract.materialization.format, job.engine)
    commits = good_commits(tables, _progress(job, held, where))
    return any(commit.batch_id == held.batch_id for commit in commits)
