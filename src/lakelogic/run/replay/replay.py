"""Replay: the current contract over quarantined rows as they landed, each exactly once.

A row leaves a place only after it stands in the next, and every step can be found again in the tables:

1. *Quarantine.* Rows that fail again get their new reasons; rows that pass are **claimed** by this batch. They wait on.
   Where only a part of a row fails (one element of an explode), the row is claimed, and the part comes beside it.
2. *Good.* The rows that passed, by the contract's strategy, in one commit of this batch.
3. *Quarantine.* Rows with the claim of a batch that the target has seen become `replayed`; those that its steps
   leave out were not published, and become `superseded`.
4. *Ledger.*

Where no column tells the newer of two rows of a key, the rows of each batch are a replay of their own, the oldest
first: a row of the table that came with a later batch stays.

A claim whose batch never came to the target means nothing: its rows are still active. Between 2 and 3 a row stands in
both places; whoever comes next (a replay, or any run of the dataset) goes on with 3 before it does anything else.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.contract.rules import RowUnique
from lakelogic.contract.steps import Deduplicate
from lakelogic.errors import GateClosed, LakeLogicError, UnsupportedError
from lakelogic.ledger.adoption import batches_elsewhere
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.naming import step_name
from lakelogic.plan.nodes import Read
from lakelogic.plan.rules.datasets import ROWS
from lakelogic.plan.rules.unique import Uniqueness
from lakelogic.plan.strategies.settings import Strategy, adding, strategy_of
from lakelogic.privacy.kept import remembered
from lakelogic.privacy.keys import load_keys
from lakelogic.quarantine import rows as quarantine
from lakelogic.quarantine.folding import Seen
from lakelogic.quarantine.landed import LandedRows, gathers, landed_facts, landed_rows, lead_back
from lakelogic.quarantine.table import (
    ACTIVE,
    LEFT_OUT,
    PART,
    Chosen,
    Queue,
    Stamped,
    claim,
    claim_of,
    is_void,
    put,
)
from lakelogic.run import faults
from lakelogic.run.event_types import (
    GoodRowsWithheld,
    GoodRowsWritten,
    NothingToReplay,
    RowsFailedAgain,
    RowsNotReplayed,
    RunFailed,
    RunStarted,
)
from lakelogic.run.events import Events, logging_sink
from lakelogic.run.formats import tables_of
from lakelogic.run.input import pin as window
from lakelogic.run.input.absent import before, seen
from lakelogic.run.input.arrival import REPLACED, UNTOLD, Arrivals
from lakelogic.run.job import Job, Prepared, Run, Settled
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.masks.changed import refuse_changed
from lakelogic.run.outcome import finish, record_failure
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.run.publish import gates
from lakelogic.run.publish.commit import Commit, committer, stored_names
from lakelogic.run.publish.layout import keeps
from lakelogic.run.publish.measures import measure
from lakelogic.run.publish.reconcile import reconcile
from lakelogic.run.replay import unpublished
from lakelogic.run.result import Result
from lakelogic.run.run_log import RunLog
from lakelogic.run.sequence import link_frames, require
from lakelogic.run.state import leases
from lakelogic.run.state.environments import refuse_others
from lakelogic.run.state.progress import applications, good_commits
from lakelogic.run.state.recover import recover
from lakelogic.storage.room import disk_told
from lakelogic.tables.facts import BatchEnvironment, CommitFacts
from lakelogic.tables.registry import load as load_tables

LATE = (
    "they were read before the table above masked what would be published of them: declare the mask here too and "
    "`lakelogic remask`, or run the contract over its source again"
)
BEATEN = "another row of its key was kept instead of it: only a run over the source can judge it again"


@dataclass(slots=True)
class Replayed:
    """What became of the rows that were chosen."""

    chosen: int = 0
    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # why rows could not be replayed
    result: Result | None = None  # the last one, or one that was withheld; None where there was nothing to replay

    def add(self, other: Replayed) -> None:
        """Count the rows of one more replay."""
        self.chosen += other.chosen
        self.passed += other.passed
        self.failed += other.failed
        self.left_out += other.left_out
        if self.status != "gated":
            self.result = other.result or self.result

    @property
    def status(self) -> str:
        """Of the run that it was; `no_new_data` where there was none."""
        return self.result.status if self.result else "no_new_data"


def replay(job: Job, chosen: Chosen) -> Replayed:
    """Judge the chosen rows of a contract's quarantine again, publish what passes, and keep what does not."""
    contract = job.loaded.contract
    assert job.ledger is not None
    started = clock.now()
    said, ids = RunLog(), list[str]()
    events = Events(contract.dataset_name, (logging_sink, said, *job.sinks))
    run_ = Run(job, names.new_run_id(started), started, events, fingerprint(job.loaded), strategy_of(contract))
    done = Replayed()
    try:
        compile_contract(job.loaded)
        run_.keys = load_keys({f.masking for f in contract.model.fields if f.masking}, job.environ)
        run_.places = places(contract, job.catalog, job.target).adding()
        refuse_others(job.loaded, run_.places, run_.progress, "Nothing was replayed.")
        refuse_changed(contract, run_.places, run_.progress, run_.keys)
        lease = leases.acquire(job.ledger, run_.places.target_location, run_.run_id)
        try:
            faults.reach("after_lease")
            run_.compared = recover(job, run_.places, run_.progress, run_.events).newest
            refuse_others(job.loaded, run_.places, run_.progress, "Nothing was replayed.")
            run_.read_masks = read_masks.masks_above(contract, job.catalog)
            for part in parts_of(run_, chosen):
                if done.result is not None:
                    at = clock.now()
                    run_ = replace(run_, run_id=names.new_run_id(at), started=at, drift={})
                ids.append(run_.run_id)
                with disk_told():
                    done.add(_replay(run_, part, leases.keeper(job.ledger, lease)))
            return done
        finally:
            leases.release(job.ledger, lease)
    except LakeLogicError as error:
        events.tell(RunFailed(contract.dataset_name, error.code, error.message))
        record_failure(run_, error)
        raise
    finally:
        for run_id in ids:
            said.keep(job.ledger, run_id)


def _queue(run_: Run) -> Queue:
    assert run_.places is not None
    contract = run_.job.loaded.contract
    return Queue(load_tables(QUARANTINE_FORMAT), run_.places.quarantine_location, Stamped.by(contract))


def _of_others(run_: Run, queue: Queue) -> frozenset[str]:
    """Batches of the quarantine that are not this target's."""
    progress = run_.progress
    foreign = batches_elsewhere(run_.job.ledger, progress.before, progress.target)
    return queue.of_others(applications(progress, "bad")) | foreign


def _arrivals(run_: Run) -> Arrivals:
    assert run_.places is not None
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    return Arrivals.told_by(
        good_commits(tables, run_.progress),
        _queue(run_).commits(applications(run_.progress, "bad")),
    )


def parts_of(run_: Run, chosen: Chosen) -> list[Chosen]:
    """The replays that a choice becomes: one, or one for each batch where only that tells which row is newer."""
    strategy = run_.strategy
    if not strategy.is_keyed or strategy.order is not None:
        return [chosen]
    queue, numbers = _queue(run_), _arrivals(run_).batches
    waiting = replace(chosen, states=(ACTIVE,))
    found = {row[names.BATCH_ID] for row in queue.entries() if waiting.keeps(row, queue.stamped, run_.started)}
    batches = sorted((batch for batch in found if batch), key=lambda batch: (numbers.get(batch, 0), batch))
    return [replace(chosen, batch=batch) for batch in batches] or [chosen]


@dataclass(frozen=True, slots=True)
class _Came:
    """When the rows of a replay came first: by the clock, by the number of their batch, and before which runs."""

    at: datetime
    brought: int | None = None
    newer: frozenset[str] = frozenset()


@dataclass(slots=True)
class Taken:
    """The rows of one replay as they landed, when they came first, and what is counted so far."""

    queue: Queue
    landed: LandedRows
    came: _Came
    done: Replayed
    rows: list[dict[str, Any]]  # as the quarantine keeps them


def take(run_: Run, chosen: Chosen) -> Taken:
    """The chosen rows that wait, as they landed; nothing is changed."""
    job, contract = run_.job, run_.job.loaded.contract
    assert run_.places is not None
    queue = _queue(run_)
    waiting = replace(chosen, states=(ACTIVE,))
    ours = applications(run_.progress, "bad")
    others = _of_others(run_, queue)
    rows = queue.rows(
        lambda row: (
            waiting.keeps(row, queue.stamped, run_.started) and row[names.BATCH_ID] not in others and not is_void(row)
        )
    ).to_pylist()
    done = Replayed(chosen=len(rows))
    again = unpublished.unpublished(run_, queue.commits(ours), {str(row[names.BATCH_ID]) for row in rows})
    judged = [row for row in rows if row[names.BATCH_ID] not in again]
    reasons = unpublished.reasons(run_, again) if again else {}
    done.left_out.update(reasons[row[names.BATCH_ID]] for row in rows if row[names.BATCH_ID] in again)
    judged = _not_late(run_, _not_beaten(run_, judged, done), done)
    kept, came = _in_time(run_, judged, chosen.batch, done)
    landed = landed_rows(contract, queue, ours, kept, run_.keys, job.engine)
    landed.left_out += done.left_out
    done.left_out = landed.left_out
    return Taken(queue, landed, came, done, rows)


def _not_late(run_: Run, rows: list[dict[str, Any]], done: Replayed) -> list[dict[str, Any]]:
    """The rows without those that were read before a table above masked what would be published of them."""
    catalog = run_.job.catalog
    above = read_masks.look_above(run_.job.loaded, catalog, read_masks.Upstream(catalog)) if rows else None
    if above is None:
        return rows
    commits = _queue(run_).commits(applications(run_.progress, "bad"))
    # A row that failed again keeps the batch that it came with, so the first word on a batch is the one that counts.
    read = {str(commit.batch_id): commit.facts.read_masks for commit in commits}
    late = {batch for batch in {row[names.BATCH_ID] for row in rows} if above.late(read.get(batch), "good")}
    kept = [row for row in rows if row[names.BATCH_ID] not in late]
    if len(kept) < len(rows):
        done.left_out[LATE] += len(rows) - len(kept)
    return kept


def _not_beaten(run_: Run, rows: list[dict[str, Any]], done: Replayed) -> list[dict[str, Any]]:
    """The rows without those that lost against a row of their key which is in the table: alone they would win.

    A strategy that settles rows by their key looks at the table itself.
    """
    contract = run_.job.loaded.contract
    if run_.strategy.is_keyed:
        return rows
    beaten = {
        rule.label or Uniqueness.of(rule, "").name
        for rule in contract.quality.row_rules
        if isinstance(rule, RowUnique) and rule.keep == "first"
    }
    for at, step in enumerate(contract.transformations):
        if isinstance(step, Deduplicate) and step.losers == "quarantine":
            beaten.add(step.label or step_name(step, f"transformations[{at}]"))
    kept = [row for row in rows if not beaten & set(row[names.RULES] or ())]
    if len(kept) < len(rows):
        done.left_out[BEATEN] += len(rows) - len(kept)
    return kept


def _replay(run_: Run, chosen: Chosen, keep_lease: Callable[[], None]) -> Replayed:
    job, contract = run_.job, run_.job.loaded.contract
    assert run_.places is not None
    taken = take(run_, chosen)
    landed, done = taken.landed, taken.done
    for why, count in landed.left_out.items():
        run_.events.tell(RowsNotReplayed(count, why))
    if not landed.origins:
        run_.events.tell(NothingToReplay(run_.places.quarantine))
        return done
    run_.note = f"replay of {len(landed.origins)} quarantined rows"
    run_.events.tell(RunStarted(run_.run_id, contract.dataset_name, job.engine.name, run_.note))
    run_.links = window.pin_links(contract, job.catalog, job.engine)
    ids = sorted(origin.row_id for origin in landed.origins)
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    links = {name: found.identity() for name, found in sorted(run_.links.items())}
    run_.identity = {"replay": {"rows": len(ids), "digest": digest}, **({"links": links} if links else {})}
    run_.batch_id = window.batch_id(contract.dataset_name, run_.fingerprint, run_.identity)
    return _evaluate(run_, taken.queue, landed, done, taken.came, keep_lease)


def _in_time(
    run_: Run, rows: list[dict[str, Any]], batch: str | None, done: Replayed
) -> tuple[list[dict[str, Any]], _Came]:
    """The rows for which it is not too late; the others are counted as left out."""
    contract, now = run_.job.loaded.contract, _Came(run_.started)
    if not rows or (batch is None and not run_.strategy.needs_whole_batches):
        return rows, now
    arrivals = _arrivals(run_)
    if batch is None:
        # What was read with another batch than the one in the table is not a part of it.
        kept = [row for row in rows if row[names.BATCH_ID] == arrivals.last]
        done.left_out[REPLACED] += len(rows) - len(kept)
        done.left_out += Counter()
        return kept, now
    newer = arrivals.newer_than(batch)
    assert run_.places is not None
    state = tables_of(contract.materialization.format, run_.job.engine).state(run_.places.target_location)
    told = contract.lineage.run_id_column_name.lower()
    if newer and state is not None and told not in {name.lower() for name in state.schema.names}:
        done.left_out[UNTOLD] += len(rows)
        return [], now
    return rows, _Came(arrivals.times.get(batch, run_.started), arrivals.batches.get(batch), newer)


def prepare(run_: Run, landed: LandedRows) -> Prepared:
    """The plan by which rows are judged again, and the frame of what it makes of them."""
    job, contract, engine = run_.job, run_.job.loaded.contract, run_.job.engine
    assert run_.places is not None
    landed.source = landed.source.settled(contract, before(run_, landed.source).memory)
    compiled = compile_contract(
        job.loaded,
        landed.source,
        window.look_at_links(run_.links, engine),
        stamps=Stamps(run_.run_id, job.pipeline_run_id, run_.started, "quarantine"),
        can_encrypt=bool(run_.keys.encryption),
        stored=stored_names(contract, run_.places, engine),
    )
    if step := gathers(compiled.plan):
        raise UnsupportedError(
            f"`{contract.dataset_name}` makes one row of several (`{step}`): some of them alone would make other rows.",
            hint="Run the contract over its source again instead.",
        )
    plan = lead_back(compiled.plan, contract.lineage.source_path_column_name)
    # How many rows a batch must have says nothing about a part of one.
    rules = tuple(check for check in compiled.checks.checks if check.measure != ROWS.name or check.over)
    compiled = replace(compiled, plan=plan, checks=replace(compiled.checks, checks=rules))
    require(plan, engine)
    frame, _ = engine.adopt(landed.table, Read("source", "parquet", ()))
    return Prepared(compiled, engine.lower(frame, plan.accounts, link_frames(run_, plan)), plan.read)


def _evaluate(
    run_: Run, queue: Queue, landed: LandedRows, done: Replayed, came: _Came, keep_lease: Callable[[], None]
) -> Replayed:
    job, engine = run_.job, run_.job.engine
    contract, strategy = job.loaded.contract, strategy_for(run_)
    assert run_.places is not None
    assert run_.batch_id is not None
    prepared = prepare(run_, landed)
    plan = prepared.compiled.plan
    commit = committer(
        job.ledger, contract, strategy, run_.places, run_.progress, run_.batch_id, run_.fingerprint, run_.run_id,
        engine, compared=run_.compared,
    )  # fmt: skip
    if evolved := commit.compare(plan).as_dict():
        run_.drift["table"] = evolved
    commit.refuse_changes()
    commit.begin(run_.identity, engine.name)
    faults.reach("after_intent")
    staged = engine.stage(prepared.frame, plan.columns, plan.masks, run_.keys, commit.staging, commit.order)
    faults.reach("after_stage")
    keep_lease()
    bad = quarantine.build(
        plan,
        staged.bad,
        commit.quarantine_staging,
        run_.keys,
        batch_id=run_.batch_id,
        contract_version=contract.contract_version,
        stored=commit.quarantine_columns(),
        origins=landed.origins,
    )
    faults.reach("after_quarantine_stage")
    counts = reconcile(plan, staged, bad.by_verdict, lambda: len(landed.origins))
    if not counts.good and keeps(commit.tables.state(run_.places.target_location), commit.strategy):
        run_.drift.pop("table", None)  # no row brings new columns, so the table gets none
    measured, outcomes = measure(contract, strategy, prepared.compiled, engine, staged, run_.links, writes=True)
    closed = gates.closed_by_rules(contract, outcomes)
    faults.reach("after_gates")
    settled = Settled(prepared, staged, bad, counts, measured, outcomes, closed)
    done.failed = len(bad.origins)
    done.passed = len(landed.origins) - done.failed
    done.result = _publish(run_, queue, commit, settled, landed, came)
    return done


def strategy_for(run_: Run) -> Strategy:
    """How replayed rows meet the table: they are a part of a batch. What only a whole one can do is refused."""
    if run_.strategy.reconcile is not None:
        raise UnsupportedError(
            f"`{run_.job.loaded.contract.dataset_name}` deletes what a snapshot lacks, and quarantined rows alone are "
            "no snapshot.",
            hint="Run the contract over its source again instead.",
        )
    return adding(run_.strategy)


def _publish(run_: Run, queue: Queue, commit: Commit, settled: Settled, landed: LandedRows, came: _Came) -> Result:
    counts, bad = settled.counts, settled.bad
    plan = settled.prepared.compiled.plan
    facts = CommitFacts(
        run_id=run_.run_id,
        counts=counts.as_dict(),
        contract_version=run_.job.loaded.contract.contract_version,
        input=run_.identity,
        engine=run_.job.engine.name,
        landed=landed_facts(plan, landed.source, seen(landed.source, before(run_, landed.source))),
        replay=True,
        environment=BatchEnvironment(run_.job.loaded.environment),
        masks=remembered(run_.job.loaded.contract, run_.keys),
        brought=came.brought,
    )
    facts = read_masks.with_masks(facts, plan, run_.read_masks)
    # A row is itself by its id: what several readings of it left are one.
    again = {origin.row_id for place, origin in enumerate(landed.origins, 1) if place in bad.origins}
    passed = {origin.row_id for place, origin in enumerate(landed.origins, 1) if place not in bad.origins}
    noted = Seen(queue.stamped.at)
    if settled.closed:
        return _withheld(run_, commit, settled)
    mark = claim_of(commit.batch_id, commit.n)

    judged = passed | again
    others = _of_others(run_, queue)

    def meant(row: Mapping[str, Any]) -> bool:
        is_ours = row[names.STATE] == ACTIVE and row[names.BATCH_ID] not in others
        return is_ours and (row[names.ROW_ID] in judged or is_void(row))

    def parts(table: pa.Table) -> pa.Table:
        table = noted.put(table)
        return put({names.CLAIM: PART + mark})(table, [one in bad.parts for one in table[names.ROW_ID].to_pylist()])

    left_out = _left_out(run_, settled, landed) & passed

    done, _ = queue.change(
        commit.info("bad", facts),
        f"{commit.quarantine_staging}/edited",
        meant,
        lambda table, chosen: _judged(table, chosen, passed, left_out, mark, noted),
        bad.files,
        bad.schema,
        finish=parts,
    )
    commit.quarantine_version = done.version if done else None
    if again:
        run_.events.tell(RowsFailedAgain(len(again), commit.places.quarantine))
    faults.reach("after_quarantine_commit")
    if not counts.good and commit.tables.state(commit.places.target_location) is None:
        commit.give_up()
        return finish(run_, settled, "succeeded", published=False, commit=commit)  # no row, no table
    try:
        plan = settled.prepared.compiled.plan
        commit.good(plan, settled.staged, facts, engine=run_.job.engine, now=came.at, newer=came.newer)
        run_.compared = commit.n  # the next part of this replay comes after it
    except GateClosed as error:
        return _withheld(run_, commit, replace(settled, closed=[error.message]))
    run_.events.tell(GoodRowsWritten(counts.good, commit.places.target))
    faults.reach("after_good_commit")
    commit.let_go(facts)
    faults.reach("after_settling")
    return finish(run_, settled, "succeeded", published=True, commit=commit)


def _withheld(run_: Run, commit: Commit, settled: Settled) -> Result:
    for reason in settled.closed:
        run_.events.tell(GoodRowsWithheld(reason, "the rows that passed wait on in quarantine"))
    return finish(run_, settled, "gated", published=False, commit=commit)


def _left_out(run_: Run, settled: Settled, landed: LandedRows) -> set[str]:
    """The rows of which the steps make no good row; looked for only where steps have left some out."""
    counts = settled.counts
    if not sum((*counts.filtered.values(), *counts.deduplicated.values())):
        return set()
    made = run_.job.engine.collect(settled.prepared.frame).select([names.NUMBER, names.SIDE]).to_pylist()
    good = {row[names.NUMBER] for row in made if row[names.SIDE] == names.GOOD_SIDE}
    return {origin.row_id for place, origin in enumerate(landed.origins, 1) if place not in good}


def _judged(
    table: pa.Table, chosen: list[bool], passed: set[str], left_out: set[str], mark: str, noted: Seen
) -> pa.Table:
    """Rows that passed are claimed; the others are left out, their new version comes beside them."""
    rows = table.column(names.ROW_ID).to_pylist()
    claimed = [one and row in passed - left_out for one, row in zip(chosen, rows, strict=True)]
    aside = [one and row in left_out for one, row in zip(chosen, rows, strict=True)]
    dropped = [one and row not in passed for one, row in zip(chosen, rows, strict=True)]
    return noted.drop(claim(LEFT_OUT + mark)(claim(mark)(table, claimed), aside), dropped)
