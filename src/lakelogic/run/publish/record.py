"""The staged record of a run: what its commits will say, written down before the first of them."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.plan.fingerprint import making, reading
from lakelogic.privacy.kept import remembered
from lakelogic.run import upkeep
from lakelogic.run.events.types import PhaseBegan, RowsQuarantined
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.outcome import finish, foreseen, nothing_new
from lakelogic.run.phases import GatedRun, PinnedRun
from lakelogic.run.publish import withhold
from lakelogic.run.publish.account import digests_of
from lakelogic.run.publish.commit import Commit
from lakelogic.run.publish.order import Batch, RecordedPublication
from lakelogic.run.publish.staged import make_durable, manifest
from lakelogic.run.result import Result
from lakelogic.tables.facts import BatchEnvironment, CommitFacts


def write_down(run: GatedRun) -> RecordedPublication | Result:
    """From here on the batch can be finished from its record; rows that are only judged end here."""
    if run.commit is None:
        return finish(run, "gated" if run.closed else "succeeded", published=False)
    run.job.halt.committing()
    counts = run.counts
    if counts.quarantined:
        run.events.tell(RowsQuarantined(run.job.loaded.contract.entity, counts.quarantined, counts.total))
    run.events.tell(PhaseBegan("commit"))
    facts = _facts(run, run.commit)
    record = manifest(run, run.commit, facts, foreseen(run))
    if run.job.ledger is not None:
        make_durable((*record.good, *record.bad, *record.quarantine))
        run.job.ledger.stage(run.progress.key, run.commit.n, record.to_json())
        run.commit.tell_in_use()
    batch = Batch(run.commit, run.plan, run.staged, run.bad, facts, run.started, record.reasons)
    return RecordedPublication(
        job=run.job, events=run.events, keep_lease=run.keep_lease, batch=batch, run=run, record=record
    )


def conclude(publication: RecordedPublication) -> Result:
    """Tell the ledger what became of the batch, last of all."""
    run, commit, ledger = publication.run, publication.batch.commit, publication.job.ledger
    if publication.closed:
        if ledger is not None:
            withhold.hold(ledger, replace(publication.record, reasons=publication.closed), run.events)
        return finish(replace(run, closed=publication.closed), "gated", published=False)
    if publication.skipped:
        return nothing_new(run, "another run has published this batch meanwhile")
    result = finish(run, "succeeded", published=True)
    if ledger is not None:
        withhold.overtake(ledger, run.label, commit.places, publication.batch.facts)
    place = commit.places.target_location
    upkeep.after_run(run.job.loaded.contract.materialization.compaction, commit.tables, place, run.events, ledger)
    return result


def read_facts(run: PinnedRun) -> CommitFacts:
    """What a commit says about its input: whoever comes later can tell whether a row was read again."""
    whole = run.strategy.replaces and not run.strategy.in_partitions
    table = run.slice is not None and run.slice.pinned.table is not None
    return CommitFacts(
        input=run.identity,
        source=run.slice.described if run.slice and table else None,
        replaces=whole or run.replaced is not None,
    )


def _facts(run: GatedRun, commit: Commit) -> CommitFacts:
    loaded = run.job.loaded
    facts = replace(
        read_facts(run),
        run_id=run.run_id,
        at=run.started,
        counts=run.counts.as_dict(),
        digests=digests_of(run),
        contract_version=loaded.contract.contract_version,
        made_by=making(loaded),
        read_by=reading(loaded),
        target=commit.places.target_location,
        engine=run.job.engine.name,
        watermark=run.watermark,
        landed=run.landed,
        masks=remembered(loaded.contract, run.keys),
        environment=BatchEnvironment(loaded.environment),
    )
    return read_masks.with_masks(facts, run.plan, run.read_masks)
