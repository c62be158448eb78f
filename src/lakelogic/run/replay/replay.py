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
from dataclasses import dataclass, replace

from lakelogic import clock, names
from lakelogic.errors import GateClosed, LakeLogicError, UnsupportedError
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.nodes import Read
from lakelogic.plan.rules.datasets import ROWS
from lakelogic.plan.strategies.settings import Strategy, adding
from lakelogic.privacy.kept import remembered
from lakelogic.quarantine import rows as quarantine
from lakelogic.quarantine.landed import gathers, landed_facts, lead_back
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.contract_run import run_of
from lakelogic.run.events.kept_lines import RunLog
from lakelogic.run.events.types import (
    GoodRowsWithheld,
    GoodRowsWritten,
    NothingToReplay,
    RowsFailedAgain,
    RowsNotReplayed,
    RunFailed,
    RunStarted,
)
from lakelogic.run.input import watermarks
from lakelogic.run.input.absent import before, seen
from lakelogic.run.input.pin import batch_id, look_at_links, pin_links
from lakelogic.run.inputs.kinds import RunInput
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.masks.changed import refuse_changed
from lakelogic.run.outcome import finish, record_failure
from lakelogic.run.phases import (
    AccountedRun,
    BegunRun,
    CompiledRun,
    GatedRun,
    ListedRun,
    LookedRun,
    OpenedRun,
    PinnedRun,
    PlacedRun,
    PreparedRun,
    SortedRun,
    StagedRun,
    grown,
)
from lakelogic.run.places import places
from lakelogic.run.publish import gates
from lakelogic.run.publish.commit import stored_names
from lakelogic.run.publish.layout import keeps
from lakelogic.run.publish.measures import measure
from lakelogic.run.publish.order import Batch, RunPublication
from lakelogic.run.publish.reconcile import reconcile
from lakelogic.run.replay.claims import Verdicts, claim_rows
from lakelogic.run.replay.waiting import Replayed, Taken, of_others, parts_of, take
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.run.sequence import SequenceWalk, steps
from lakelogic.run.state.environments import refuse_others
from lakelogic.run.state.progress import progress_of
from lakelogic.run.state.recover import recover
from lakelogic.run.steps import open as opening
from lakelogic.run.steps import prepare, stage
from lakelogic.storage.room import disk_told
from lakelogic.tables.facts import BatchEnvironment, CommitFacts
from lakelogic.tables.kept import kept_open


class ReplayInput(RunInput):
    """Rows of the quarantine that were taken for a replay: judged again, claimed, and added as a part of a batch."""

    tells_phases = False

    def __init__(self, taken: Taken | None = None) -> None:
        self._taken = taken

    @property
    def taken(self) -> Taken:
        """The rows; only what comes before `list` in the sequence does without."""
        if self._taken is None:
            raise UnsupportedError("No rows were taken for this replay.")
        return self._taken

    def open(self, run: BegunRun) -> OpenedRun:
        """What the contract demands is settled; other places only receive rows, so these come in addition."""
        opened = open_replay(run)
        refuse_others(run.job.loaded, opened.target, opened.progress, "Nothing was replayed.")
        refuse_changed(run.job.loaded.contract, opened.target, opened.progress, opened.keys)
        return opened

    def recover(self, run: OpenedRun) -> OpenedRun:
        """What an earlier run began is finished, and nobody else's rows came with it."""
        recovery = recover(run.job, run.target, run.progress, run.events)
        refuse_others(run.job.loaded, run.target, run.progress, "Nothing was replayed.")
        return replace(
            run, recovery=recovery, read_masks=read_masks.masks_above(run.job.loaded.contract, run.job.catalog)
        )

    def list(self, run: OpenedRun) -> ListedRun:
        """Only links lie somewhere: the rows were taken."""
        return grown(ListedRun, run, links=pin_links(run.job.loaded.contract, run.job.catalog, run.job.engine))

    def pin(self, run: ListedRun) -> PinnedRun:
        """The batch is known by its rows and its links."""
        ids = sorted(origin.row_id for origin in self.taken.landed.origins)
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        links = {name: link.identity() for name, link in sorted(run.links.items())}
        identity = {"replay": {"rows": len(ids), "digest": digest}, **({"links": links} if links else {})}
        batch = batch_id(run.job.loaded.contract.dataset_name, run.fingerprint, identity)
        strategy_for(run)  # what cannot be replayed at all is refused
        return grown(PinnedRun, run, identity=identity, batch_id=batch)

    def admit(self, run: PinnedRun) -> PinnedRun:
        """A replay is always asked for."""
        return run

    def look(self, run: PinnedRun) -> LookedRun:
        """The columns as they landed, with the types of keys that nobody declared."""
        landed = self.taken.landed
        source = landed.source.settled(run.job.loaded.contract, before(run, landed.source).memory)
        frame, _ = run.job.engine.adopt(landed.table, Read("source", "parquet", ()))
        return grown(LookedRun, run, source=source, adopted=frame)

    def compile(self, run: LookedRun) -> CompiledRun:
        """The plan of now, which leads each result back to the row that it was made of."""
        job, contract, engine = run.job, run.job.loaded.contract, run.job.engine
        compiled = compile_contract(
            job.loaded,
            run.source,
            look_at_links(run.links, engine),
            stamps=Stamps(run.run_id, job.pipeline_run_id, run.started, "quarantine"),
            can_encrypt=bool(run.keys.encryption),
            stored=stored_names(contract, run.target, engine),
        )
        if step := gathers(compiled.plan):
            raise UnsupportedError(
                f"`{contract.dataset_name}` makes one row of several (`{step}`): some of them alone would make other "
                "rows.",
                hint="Run the contract over its source again instead.",
            )
        plan = lead_back(compiled.plan, contract.lineage.source_path_column_name)
        # How many rows a batch must have says nothing about a part of one.
        rules = tuple(check for check in compiled.checks.checks if check.measure != ROWS.name or check.over)
        compiled = replace(compiled, plan=plan, checks=replace(compiled.checks, checks=rules))
        landed = landed_facts(plan, run.source, seen(run.source, before(run, run.source)))
        return grown(CompiledRun, run, compiled=compiled, landed=landed)

    def lower(self, run: CompiledRun) -> PreparedRun:
        """The plan as a lazy frame; columns that nobody declares were there before."""
        prepare.require(run.plan, run.job.engine)
        return prepare.lower(run)

    def place(self, run: PreparedRun) -> PlacedRun:
        """For a commit that adds rows, also to a table that a run replaces."""
        return stage.place(run, strategy_for(run))

    def sort(self, run: StagedRun) -> SortedRun:
        """Rows that fail again keep their id and the batch that they came with."""
        bad = quarantine.build(
            run.plan,
            run.staged.bad,
            run.bad_place,
            run.keys,
            batch_id=run.batch_id,
            contract_version=run.job.loaded.contract.contract_version,
            stored=run.commit.quarantine_columns() if run.commit else None,
            origins=self.taken.landed.origins,
        )
        return grown(SortedRun, run, bad=bad)

    def account(self, run: SortedRun) -> AccountedRun:
        """Every row that was taken is accounted for."""
        counts = reconcile(run.plan, run.staged, run.bad.by_verdict, lambda: len(self.taken.landed.origins))
        drift = dict(run.drift)
        if run.commit and not counts.good:
            state = run.commit.tables.state(run.target.target_location)
            if keeps(state, run.commit.strategy):
                drift.pop("table", None)  # no row brings new columns, so the table gets none
        return grown(AccountedRun, replace(run, drift=drift), counts=counts)

    def gate(self, run: AccountedRun) -> GatedRun:
        """Only dataset rules hold good rows back: the share of bad ones was judged when the batch came."""
        contract = run.job.loaded.contract
        measured, outcomes = measure(
            contract, run.strategy, run.compiled, run.job.engine, run.staged, run.links, writes=True
        )
        closed = tuple(gates.closed_by_rules(contract, outcomes))
        ends = watermarks.ends(run, measured)
        return grown(GatedRun, run, measured=measured, outcomes=outcomes, closed=closed, watermark=ends)

    def write_down(self, run: GatedRun) -> ReplayPublication | Result:
        """No record is staged: rows that wait are read again by whoever comes next."""
        if run.closed or run.commit is None:
            return _withheld(run)
        facts, came = self._facts(run), self.taken.came
        batch = Batch(run.commit, run.plan, run.staged, run.bad, facts, came.at, newer=came.newer)
        verdicts = Verdicts.of(run, self.taken.landed)
        return ReplayPublication(
            job=run.job, events=run.events, keep_lease=run.keep_lease, batch=batch, run=run, verdicts=verdicts
        )

    def put_away(self, batch: ReplayPublication) -> ReplayPublication:
        """Rows that passed are claimed, and wait on; rows that failed again have their new reasons."""
        run, commit, queue = batch.run, batch.batch.commit, self.taken.queue
        claim_rows(run, commit, queue, self.taken.landed, batch.verdicts, batch.batch.facts, of_others(run, queue))
        if again := len(batch.verdicts.again):
            batch.events.tell(RowsFailedAgain(again, commit.places.quarantine))
        return replace(batch)

    def put_good(self, batch: ReplayPublication) -> ReplayPublication | Result:
        """The rows that passed, in one commit; without any, no table is made."""
        run, commit = batch.run, batch.batch.commit
        if not run.counts.good and commit.tables.state(commit.places.target_location) is None:
            commit.give_up()
            return finish(run, "succeeded", published=False)
        staged = batch.batch
        try:
            commit.good(
                staged.plan, staged.staged, staged.facts, engine=run.job.engine, now=staged.started, newer=staged.newer
            )
        except GateClosed as error:
            return _withheld(replace(run, closed=(error.message,)))
        batch.events.tell(GoodRowsWritten(run.counts.good, commit.places.target))
        return replace(batch)

    def let_go(self, batch: ReplayPublication) -> ReplayPublication:
        """Rows with a claim that the target has seen become `replayed`."""
        batch.batch.commit.let_go(batch.batch.facts)
        return replace(batch)

    def record(self, batch: ReplayPublication) -> Result:
        """The ledger knows what became of it."""
        return finish(batch.run, "succeeded", published=True)

    def _facts(self, run: GatedRun) -> CommitFacts:
        loaded = run.job.loaded
        facts = CommitFacts(
            run_id=run.run_id,
            counts=run.counts.as_dict(),
            contract_version=loaded.contract.contract_version,
            input=run.identity,
            engine=run.job.engine.name,
            landed=run.landed,
            replay=True,
            environment=BatchEnvironment(loaded.environment),
            masks=remembered(loaded.contract, run.keys),
            brought=self.taken.came.brought,
        )
        return read_masks.with_masks(facts, run.plan, run.read_masks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPublication(RunPublication):
    """The batch of a replay."""

    verdicts: Verdicts


def replay(job: ContractRequest, chosen: Chosen) -> Replayed:
    """Judge the chosen rows of a contract's quarantine again, publish what passes, and keep what does not."""
    log, ids, done = RunLog(), list[str](), Replayed()
    begun = opening.begin(job, log)
    walk = SequenceWalk(ReplayInput(), begun)
    try:
        with walk, kept_open():
            walk.through(steps("open", "recover"))
            opened = walk.opened
            for part in parts_of(opened, chosen):
                if done.result is not None:
                    at = clock.now()
                    opened = replace(opened, run_id=names.new_run_id(at), started=at)
                ids.append(opened.run_id)
                with disk_told():
                    opened = _replay(walk, opened, part, done)
            return done
    except LakeLogicError as error:
        begun.events.tell(RunFailed(job.loaded.contract.dataset_name, error.code, error.message))
        record_failure(run_of(walk.state), error)
        raise
    finally:
        for run_id in ids:
            log.keep(job.ledger, run_id)


def _replay(walk: SequenceWalk, run: OpenedRun, chosen: Chosen, done: Replayed) -> OpenedRun:
    """One replay of those that a choice becomes; the run as the next one begins with it."""
    taken = take(run, chosen)
    landed = taken.landed
    for why, count in landed.left_out.items():
        run.events.tell(RowsNotReplayed(count, why))
    if not landed.origins:
        run.events.tell(NothingToReplay(run.target.quarantine))
        done.add(taken.done)
        return run
    note = f"replay of {len(landed.origins)} quarantined rows"
    run.events.tell(RunStarted(run.run_id, run.job.loaded.contract.dataset_name, run.job.engine.name, note))
    walk.rows, walk.state = ReplayInput(taken), replace(run, note=note)
    result = walk.through(steps("list"))
    at = run_of(walk.state)
    if isinstance(at, GatedRun) and isinstance(result, Result):
        taken.done.failed = len(at.bad.origins)
        taken.done.passed = len(landed.origins) - taken.done.failed
        taken.done.result = result
        if result.published and at.commit is not None:  # the next part of this replay comes after it
            run = replace(run, recovery=replace(run.recovery, newest=at.commit.n))
    done.add(taken.done)
    return run


def open_replay(run: BegunRun) -> OpenedRun:
    """The contract of now, and the places that it publishes to."""
    job, contract = run.job, run.job.loaded.contract
    if job.compiled is None:
        compile_contract(job.loaded)
    keys, where = opening.keys_of(job), places(contract, job.catalog, job.target).adding()
    progress = progress_of(contract.dataset_name, where, job.target)
    return grown(OpenedRun, run, keys=keys, places=where, progress=progress)


def strategy_for(run: OpenedRun) -> Strategy:
    """How replayed rows meet the table: they are a part of a batch. What only a whole one can do is refused."""
    if run.strategy.reconcile is not None:
        raise UnsupportedError(
            f"`{run.job.loaded.contract.dataset_name}` deletes what a snapshot lacks, and quarantined rows alone are "
            "no snapshot.",
            hint="Run the contract over its source again instead.",
        )
    return adding(run.strategy)


def _withheld(run: GatedRun) -> Result:
    for reason in run.closed:
        run.events.tell(GoodRowsWithheld(reason, "the rows that passed wait on in quarantine"))
    return finish(run, "gated", published=False)
