"""Finish what an earlier run began: from its staged record, never by judging its rows again.

- Its good rows are in the table: the queue, the other places and the ledger are brought up to that.
- It has a staged record: the batch is committed from it, or held where its gate was closed.
- It has none: nothing of it can be visible. Its files are dropped, and whoever reads its input next takes a new number.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakelogic import clock
from lakelogic.contract.document import Contract
from lakelogic.errors import DataError, UnsupportedError
from lakelogic.ledger.records import Act, Held, Intent
from lakelogic.plan.strategies.replaced import replaced_by
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run import faults
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import Caution, Note, RolledForward
from lakelogic.run.input.tracked import inputs_told, replaced_inputs
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.publish import withhold
from lakelogic.run.publish.commit import Commit, committer
from lakelogic.run.publish.order import Batch, CommitInput, Done, Publication, put_away
from lakelogic.run.publish.staged import Manifest
from lakelogic.run.request import ContractRequest
from lakelogic.run.sequence import SequenceWalk, steps
from lakelogic.run.state.progress import Progress, application, good_commits
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitRecord
from lakelogic.tables.registry import load as load_tables

ROLLED = "rolled forward from its staged rows: it had stopped before everything was published"
FOUND = "it had published before it stopped; the ledger was told later"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPublication(Publication):
    """A batch that an earlier run has staged, as its record tells."""

    record: Manifest
    reason: str  # why it is published now
    listener: Events  # who hears what became of it


class RecordInput(CommitInput):
    """A staged record as an input to the sequence: nothing is read or judged, only its commits are left to do.

    It keeps its number, unless others have committed since: then it is published behind `later` under a new one, and
    the intent of the `earlier` number is given up.
    """

    tells_phases = False

    def __init__(self, later: Sequence[CommitRecord] | None = None, earlier: Intent | None = None) -> None:
        self.later, self.earlier = later, earlier

    def intend(self, batch: RecordPublication) -> RecordPublication:
        """The intent is written with its record, under a new number; not where it keeps the one that it has."""
        if self.later is None:
            return batch
        record = renumber(batch.job, batch.batch.commit, batch.record, self.later)
        return replace(batch, record=record, batch=ready(batch.batch.commit, record))

    def put_away(self, batch: RecordPublication) -> RecordPublication:
        """Bad rows are in the quarantine; those of a batch that was held are there already."""
        if self.earlier is not None and self.later is not None:
            batch.job.memory.abandon(self.earlier)
        return put_away(batch)

    def record(self, batch: RecordPublication) -> Done:
        """The ledger knows what became of it."""
        conclude(batch.job, batch.record, batch.batch.commit, batch.closed, batch.reason, batch.listener)
        return Done(batch.batch.commit, batch.closed)


def publish_record(
    rows: RecordInput, job: ContractRequest, commit: Commit, record: Manifest, events: Events, listener: Events
) -> Done:
    """The commits of a staged record; `listener` hears what became of it."""
    batch = RecordPublication(
        job=job, events=events, batch=ready(commit, record), record=record, reason=ROLLED, listener=listener
    )
    done = SequenceWalk(rows, batch).through((*steps("intend", "intend"), *steps("put_away")))
    return done if isinstance(done, Done) else Done(commit)


def roll(job: ContractRequest, intent: Intent, batch: Manifest, events: Events) -> None:
    """Finish a batch from its staged record."""
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
    later: list[CommitRecord] | None = None
    if is_overtaken(commit, batch):
        later = later_commits(commit.tables, batch)
        if any(newer.batch_id == batch.batch_id for newer in later):
            conclude(job, batch, commit, (), FOUND, events)
            return
        if reason := stands_against(commit, batch, later):
            _give_up(job, intent, batch, reason, events)
            return
    counts = batch.facts.counts
    events.tell(RolledForward(batch.run_id, int(counts["good"]), int(counts["quarantined"])))
    publish_record(RecordInput(later, intent), job, commit, batch, events, events)


def committing(job: ContractRequest, batch: Manifest) -> Commit:
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


def renumber(job: ContractRequest, commit: Commit, batch: Manifest, later: Sequence[CommitRecord]) -> Manifest:
    """The batch under a new number, behind what others have committed since; its intent is written with its record."""
    newer = tuple(str(commit.facts.run_id) for commit in later)
    given = batch

    def staged() -> Mapping[str, Any]:
        nonlocal given
        given = replace(batch, n=commit.n, seen=commit.seen, had_queue=commit.had_queue, newer=newer)
        return given.to_json()

    commit.begin(batch.facts.input, job.engine.name, staged)
    commit.is_behind = True
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


def conclude(
    job: ContractRequest, batch: Manifest, commit: Commit, closed: tuple[str, ...], reason: str, events: Events
) -> None:
    """Tell the ledger what became of a batch that was finished from its record, last of all."""
    if closed:
        withhold.hold(job.memory, replace(batch, reasons=closed), events)
        told = "; ".join((*closed, reason))
        record = replace(batch.record, status="gated", reason=told, finished_at=clock.now(), watermark=None)
        job.memory.finish(
            replace(record, quarantine_version=commit.quarantine_version), (), batch.batch_id, batch.progress.key
        )
        faults.reach("after_ledger")
        return
    _published(job, batch, commit.applied, reason, (commit.good_version, commit.quarantine_version))


def found(job: ContractRequest, batch: Manifest, commit: CommitRecord) -> None:
    """Tell the ledger of a batch whose good commit was found in the table."""
    _published(job, batch, commit.facts.applied, FOUND, (None, None))


def _published(
    job: ContractRequest,
    batch: Manifest,
    applied: Mapping[str, int],
    reason: str,
    versions: tuple[int | None, int | None],
) -> None:
    account = {**(batch.record.account if isinstance(batch.record.account, Mapping) else {}), "applied": dict(applied)}
    good, bad = versions
    record = replace(batch.record, finished_at=clock.now(), target_version=good, quarantine_version=bad)
    if batch.approved is not None:
        record, reason = replace(record, status="succeeded"), approval(batch.approved)
    read = batch.facts.input
    replaced = replaced_inputs(read, whole=batch.facts.replaces)
    record = replace(record, reason=reason, account=account)
    job.memory.finish(record, inputs_told(read), batch.batch_id, batch.progress.key, replaced=replaced)
    faults.reach("after_ledger")
    withhold.overtake(job.memory, batch.progress.label, batch.places, batch.facts)
    if batch.approved is not None and (held := job.memory.held(batch.run_id)) is not None:
        decide(job, held, "released", str(batch.approved["person"]), batch.approved["why"])


def approval(approved: Mapping[str, Any]) -> str:
    """Who released a batch, when that was said, and why."""
    at = f" at {approved['at']}" if approved.get("at") else ""
    return f"approved by {approved['person']}{at}" + (f": {approved['why']}" if approved["why"] else "")


def decide(job: ContractRequest, held: Held, state: Any, person: str, why: str | None) -> None:
    """Write down what became of a waiting batch, and who said so; once."""
    if (known := job.memory.held(held.run_id)) is not None and known.state != "waiting":
        return
    facts: Any = held.facts
    rows = sum(int(file["rows"]) for file in facts["good"])
    job.memory.decide(replace(held, state=state, person=person, why=why, decided_at=clock.now()))
    told = {"run_id": held.run_id, "batch_id": held.batch_id, "rows": rows, "gate": facts["reasons"]}
    job.memory.tell(Act("approve" if state == "released" else "give up", held.dataset, person, why, told))


def drop(job: ContractRequest, where: Places, progress: Progress, intent: Intent, events: Events) -> None:
    """Give up what a run began and did not stage to the end; its files go, and nothing else."""
    job.memory.abandon(intent)
    events.tell(Note(f"An earlier run of {progress} stopped before it published; its rows are read again"))
    if intent.run_id is None:  # of a version that did not name its folders
        return
    shutil.rmtree(where.staging(intent.batch_id, intent.run_id), ignore_errors=True)
    # A replay puts rows back into the quarantine without a record: what was committed stays.
    bad = load_tables(QUARANTINE_FORMAT).find_commit(where.quarantine_location, application(progress, "bad"), intent.n)
    if bad is None:
        shutil.rmtree(where.quarantine_staging(intent.batch_id, intent.run_id), ignore_errors=True)


def _give_up(job: ContractRequest, intent: Intent, batch: Manifest, why: str, events: Events) -> None:
    """A batch that cannot be finished from its record: the run failed, and what it read is new again."""
    again = "Hand the rows in again" if batch.was_handed_in else "Its input is read again"
    reason = f"could not be finished from its staged rows: {why} {again}."
    now = clock.now()
    job.memory.record(replace(batch.record, status="failed", reason=reason, finished_at=now, watermark=None))
    job.memory.abandon(intent)
    events.tell(Caution(f"Run {batch.run_id} {reason}"))
