"""From a lazy frame to staged files of both sides: the commit that they are for, its intent, and one pass."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.plan.strategies.settings import Strategy
from lakelogic.quarantine import rows as quarantine
from lakelogic.quarantine.identity import digests
from lakelogic.run.input.reread import discarded, met_before
from lakelogic.run.phases import PlacedRun, PreparedRun, SortedRun, StagedRun, grown
from lakelogic.run.publish.commit import committer
from lakelogic.run.publish.record import read_facts
from lakelogic.storage.scratch import scratch


def place(run: PreparedRun, strategy: Strategy) -> PlacedRun:
    """Where both sides are staged: for a commit by `strategy`, or in a folder of rows that are only judged."""
    if run.places is None:
        folder = scratch()
        good, bad = f"{folder.path}/good", f"{folder.path}/bad"
        return grown(PlacedRun, run, commit=None, place=good, bad_place=bad, folder=folder)
    commit = committer(
        run.job.ledger, run.job.loaded.contract, strategy, run.places, run.progress, run.batch_id, run.fingerprint,
        run.run_id, run.job.engine, run.replaced, run.recovery.newest,
    )  # fmt: skip
    drift = dict(run.drift)
    if evolved := commit.compare(run.plan).as_dict():
        drift["table"] = evolved
    staging, bad_staging = commit.staging, commit.quarantine_staging
    run = replace(run, drift=drift)
    return grown(PlacedRun, run, commit=commit, place=staging, bad_place=bad_staging, order=commit.order)


def intend(run: PlacedRun) -> PlacedRun:
    """What the policy forbids stops the run here; otherwise its intent is written."""
    if run.commit is not None:
        run.commit.refuse_changes()
        run.commit.begin(run.identity, run.job.engine.name)
    return replace(run)


def stage(run: PlacedRun) -> StagedRun:
    """Both sides in one pass."""
    if run.commit is not None and run.slice is not None:
        run.digests.begin(run.slice.files)
    plan = run.plan
    staged = run.job.engine.stage(run.frame, plan.columns, plan.masks, run.keys, run.place, run.order)
    return grown(StagedRun, run, staged=staged)


def sort_bad(run: StagedRun) -> SortedRun:
    """Bad rows as the quarantine takes them, with their reasons and identities."""
    reread = run.commit.reread(read_facts(run)) if run.commit else None
    bad = quarantine.build(
        run.plan,
        run.staged.bad,
        run.bad_place,
        run.keys,
        batch_id=run.batch_id,
        contract_version=run.job.loaded.contract.contract_version,
        known_ids=discarded(reread.queue, reread) if reread else frozenset(),
        earlier=met_before(reread.queue, reread) if reread and len(digests(run.plan, run.keys)) > 1 else frozenset(),
        stored=run.commit.quarantine_columns() if run.commit else None,
    )
    return grown(SortedRun, run, bad=bad, reread=reread)
