"""Finish what an earlier run began: from its staged record, never by judging its rows again.

- Its good rows are in the table: the queue, the other places and the ledger are brought up to that.
- It has a staged record: the batch is committed from it, or held where its gate was closed.
- It has none: nothing of it can be visible. Its files are dropped, and whoever reads its input next takes a new number.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lakelogic import clock
from lakelogic.contract.document import Contract
from lakelogic.errors import DataError, UnsupportedError
from lakelogic.ledger.records import Act, Held, Intent
from lakelogic.plan.strategies.replaced import replaced_by
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run import faults
from lakelogic.run.event_types import Caution, Note, RolledForward
from lakelogic.run.events import Events
from lakelogic.run.input.tracked import inputs_told, replaced_inputs
from lakelogic.run.job import Job
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.publish import withhold
from lakelogic.run.publish.commit import Commit, committer
from lakelogic.run.publish.order import Batch, Done, publish
from lakelogic.run.publish.staged import Manifest
from lakelogic.run.state.progress import Progress, application, good_commits
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitRecord
from lakelogic.tables.registry import load as load_tables

ROLLED = "rolled forward from its staged rows: it had stopped before everything was published"
FOUND = "it had published before it stopped; the ledger was told later"


def roll(job: Job, intent: Intent, batch: Manifest, events: Events) -> None:
    """Finish a batch from its staged record."""
    assert job.ledger is not None
    if trouble := batch.trouble():
        _give_up(job, intent, batch, trouble, events)
        return
    try:
        commit = committing(job, batch)
    except (DataError, UnsupportedError) as error:
        if batch.was_handed_in:
            raise
        _give_up(job, intent, batch, error.message, events)
        return
    if is_overtaken(commit, batch):
        later = later_commits(commit.tables, batch)
        if any(commit.batch_id == batch.batch_id for commit in later):
            conclude(job, batch, commit, Done(), FOUND, events)
            return
        if reason := stands_against(commit, batch, later):
            _give_up(job, intent, batch, reason, events)
            return
        batch = renumber(job, commit, batch, later)
        job.ledger.abandon(intent)
    counts = batch.facts.counts
    events.tell(RolledForward(batch.run_id, int(counts["good"]), int(counts["quarantined"])))
    done = publish(ready(commit, batch), job.engine, events)
    conclude(job, batch, commit, done, ROLLED, events)


def committing(job: Job, batch: Manifest) -> Commit:
    """The commit of a batch by the contract and into the places that it was staged for, whatever they are now."""
    contract = Contract.model_validate(batch.contract)
    strategy = replace(strategy_of(contract), unbounded=batch.approved is not None)
    commit = committer(
        job.ledger, contract, strategy, batch.places, batch.progress, batch.batch_id,
        batch.fingerprint, batch.run_id, job.engine, replaced_by(batch.facts.input),
    )  # fmt: skip
    commit.compare(batch.plan())
    commit.refuse_changes()
    commit.n, commit.seen, commit.had_queue, commit.is_behind = batch.n, batch.seen, batch.had_queue, True
    return commit


def ready(commit: Commit, batch: Manifest) -> Batch:
    """The batch as it is published."""
    facts = replace(batch.facts, approved=dict(batch.approved)) if batch.approved else batch.facts
    return Batch(
        commit,
        batch.plan(),
        batch.staged(commit.order.partition_by),
        batch.bad_side(),
        facts,
        batch.started,
        () if batch.approved else batch.reasons,
        frozenset(batch.newer),
        approved=batch.approved is not None,
    )


def renumber(job: Job, commit: Commit, batch: Manifest, later: list[CommitRecord]) -> Manifest:
    """The batch under a new number, behind what others have committed since; its intent is written with its record."""
    newer = tuple(str(commit.facts.run_id) for commit in later)
    given = batch

    def staged() -> Mapping[str, Any]:
        nonlocal given
        given = replace(batch, n=commit.n, seen=commit.seen, had_queue=commit.had_queue, newer=newer)
        return given.to_json()

    commit.begin(batch.facts.input, job.engine.name, staged)
    commit.is_behind = True
    faults.reach("after_intent")
    return given


def is_overtaken(commit: Commit, batch: Manifest) -> bool:
    """Whether others have committed since the batch was begun, so that nothing can be committed under its number."""
    state = commit.tables.state(batch.places.target_location)
    newest = state.transactions.get(application(batch.progress, "good"), 0) if state is not None else 0
    waiting = commit.queue.state(batch.places.quarantine_location)
    bad = waiting.transactions.get(application(batch.progress, "bad"), 0) if waiting is not None else 0
    return newest != batch.seen or bad > batch.n


def later_commits(tables: TableFormat, batch: Manifest) -> list[CommitRecord]:
    """The good commits that came after the batch was begun, newest first."""
    return [commit for commit in good_commits(tables, batch.progress) if commit.n > batch.seen]


def stands_against(commit: Commit, batch: Manifest, later: list[CommitRecord]) -> str | None:
    """Why a batch cannot be published behind others that came later; None where it can."""
    if commit.tables.state(batch.places.target_location) is None:
        return f"The table {batch.places.target} is gone."
    if later and commit.strategy.replaces:
        return f"{batch.places.target} has moved on: a later run has published since."
    if any(withhold.overlaps(batch.facts.input, other.facts.input) for other in later):
        return f"{batch.places.target} has moved on: a later run has read the same input."
    return None


def conclude(job: Job, batch: Manifest, commit: Commit, done: Done, reason: str, events: Events) -> None:
    """Tell the ledger what became of a batch that was finished from its record, last of all."""
    assert job.ledger is not None
    if done.closed:
        withhold.hold(job.ledger, replace(batch, reasons=done.closed), events)
        told = "; ".join((*done.closed, reason))
        record = replace(batch.record, status="gated", reason=told, finished_at=clock.now(), watermark=None)
        job.ledger.finish(
            replace(record, quarantine_version=commit.quarantine_version), (), batch.batch_id, batch.progress.key
        )
        faults.reach("after_ledger")
        return
    _published(job, batch, commit.applied, reason, (commit.good_version, commit.quarantine_version))


def found(job: Job, batch: Manifest, commit: CommitRecord) -> None:
    """Tell the ledger of a batch whose good commit was found in the table."""
    _published(job, batch, commit.facts.applied, FOUND, (None, None))


def _published(
    job: Job, batch: Manifest, applied: Mapping[str, int], reason: str, versions: tuple[int | None, int | None]
) -> None:
    assert job.ledger is not None
    account = {**(batch.record.account if isinstance(batch.record.account, Mapping) else {}), "applied": dict(applied)}
    good, bad = versions
    record = replace(batch.record, finished_at=clock.now(), target_version=good, quarantine_version=bad)
    if batch.approved is not None:
        record, reason = replace(record, status="succeeded"), approval(batch.approved)
    read = batch.facts.input
    replaced = replaced_inputs(read, whole=batch.facts.replaces)
    record = replace(record, reason=reason, account=account)
    job.ledger.finish(record, inputs_told(read), batch.batch_id, batch.progress.key, replaced=replaced)
    faults.reach("after_ledger")
    withhold.overtake(job.ledger, batch.progress.label, batch.places, batch.facts)
    if batch.approved is not None and (held := job.ledger.held(batch.run_id)) is not None:
        decide(job, held, "released", str(batch.approved["person"]), batch.approved["why"])


def approval(approved: Mapping[str, Any]) -> str:
    """Who released a batch, when that was said, and why."""
    at = f" at {approved['at']}" if approved.get("at") else ""
    return f"approved by {approved['person']}{at}" + (f": {approved['why']}" if approved["why"] else "")


def decide(job: Job, held: Held, state: Any, person: str, why: str | None) -> None:
    """Write down what became of a waiting batch, and who said so; once."""
    assert job.ledger is not None
    if (known := job.ledger.held(held.run_id)) is not None and known.state != "waiting":
        return
    facts: Any = held.facts
    rows = sum(int(file["rows"]) for file in facts["good"])
    job.ledger.decide(replace(held, state=state, person=person, why=why, decided_at=clock.now()))
    told = {"run_id": held.run_id, "batch_id": held.batch_id, "rows": rows, "gate": facts["reasons"]}
    job.ledger.tell(Act("approve" if state == "released" else "give up", held.dataset, person, why, told))


def drop(job: Job, where: Places, progress: Progress, intent: Intent, events: Events) -> None:
    """Give up what a run began and did not stage to the end; its files go, and nothing else."""
    assert job.ledger is not None
    job.ledger.abandon(intent)
    events.tell(Note(f"An earlier run of {progress} stopped before it published; its rows are read again"))
    if intent.run_id is None:  # of a version that did not name its folders
        return
    shutil.rmtree(where.staging(intent.batch_id, intent.run_id), ignore_errors=True)
    # A replay puts rows back into the quarantine without a record: what was committed stays.
    bad = load_tables(QUARANTINE_FORMAT).find_commit(where.quarantine_location, application(progress, "bad"), intent.n)
    if bad is None:
        shutil.rmtree(where.quarantine_staging(intent.batch_id, intent.run_id), ignore_errors=True)


def _give_up(job: Job, intent: Intent, batch: Manifest, why: str, events: Events) -> None:
    """A batch that cannot be finished from its record: the run failed, and what it read is new again."""
    assert job.ledger is not None
    again = "Hand the rows in again" if batch.was_handed_in else "Its input is read again"
    reason = f"could not be finished from its staged rows: {why} {again}."
    now = clock.now()
    job.ledger.record(replace(batch.record, status="failed", reason=reason, finished_at=now, watermark=None))
    job.ledger.abandon(intent)
    events.tell(Caution(f"Run {batch.run_id} {reason}"))
