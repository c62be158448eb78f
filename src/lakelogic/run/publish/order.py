"""From staged to visible: quarantine first, good rows next, what left the queue last; of a run, or of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.engines.base import Engine, Staged
from lakelogic.errors import GateClosed
from lakelogic.plan.nodes import Plan
from lakelogic.quarantine.rows import BadSide
from lakelogic.run import faults
from lakelogic.run.event_types import BadRowsWritten, GoodRowsWithheld, GoodRowsWritten, RowsGone, RowsReleased
from lakelogic.run.events import Events
from lakelogic.run.publish.commit import Commit
from lakelogic.tables.facts import CommitFacts


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is staged and accounted for, on its way into its tables."""

    commit: Commit
    plan: Plan
    staged: Staged
    bad: BadSide
    facts: CommitFacts
    started: datetime
    closed: tuple[str, ...] = ()  # why its good rows are withheld
    newer: frozenset[str] = frozenset()
    approved: bool = False  # its bad rows were put away when it was held

    @property
    def counts(self) -> Mapping[str, Any]:
        """The counts as commits tell them."""
        return self.facts.counts


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a batch: published, withheld (`closed` says why), or there already."""

    closed: tuple[str, ...] = ()
    skipped: bool = False


def publish(batch: Batch, engine: Engine, events: Events) -> Done:
    """Commit both sides of a batch. Whatever was committed before is not committed twice."""
    commit, quarantined = batch.commit, int(batch.counts["quarantined"])
    if (quarantined or commit.is_behind) and not batch.approved:
        done = commit.quarantine(batch.bad, batch.facts)
        if quarantined:
            place, there = commit.places.quarantine, batch.bad.already_there
            events.tell(BadRowsWritten(quarantined, place, already_there=there, skipped=done.skipped))
        faults.reach("after_quarantine_commit")
    closed = batch.closed
    if not closed:
        try:
            good = commit.good(
                batch.plan, batch.staged, batch.facts, engine=engine, now=batch.started, newer=batch.newer
            )
        except GateClosed as error:
            closed = (error.message,)
    for reason in closed:
        events.tell(GoodRowsWithheld(reason))
    if closed:
        return Done(closed)
    if good.skipped:
        return Done(skipped=True)
    events.tell(GoodRowsWritten(int(batch.counts["good"]), commit.places.target))
    if gone := commit.applied.get("gone"):
        became = "end with this run" if commit.strategy.follows_source and commit.strategy.history else "were removed"
        source = batch.facts.source or "the source"
        lost = f"{gone} rows of {commit.places.target} that {source} does not have any more"
        if commit.strategy.begins_anew and commit.strategy.history:
            lost = f"{gone} versions of {commit.places.target} that were known before"
        events.tell(RowsGone(gone, f"{lost} {became}"))
    faults.reach("after_good_commit")
    if gone := commit.let_go(batch.facts):
        events.tell(RowsReleased(gone, commit.places.quarantine))
    faults.reach("after_settling")
    return Done()
