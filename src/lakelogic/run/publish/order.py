"""From staged to visible: quarantine first, good rows next, what left the queue last; of a run, or of its record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lakelogic.engines.base import Staged
from lakelogic.errors import GateClosed
from lakelogic.plan.nodes import Plan
from lakelogic.quarantine.rows import BadSide
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import BadRowsWritten, GoodRowsWithheld, GoodRowsWritten, RowsGone, RowsReleased
from lakelogic.run.publish.commit import Commit
from lakelogic.run.request import ContractRequest
from lakelogic.tables.facts import CommitFacts

if TYPE_CHECKING:
    from lakelogic.run.phases import GatedRun
    from lakelogic.run.publish.staged import Manifest


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
    """What became of a batch that was published from its record: nothing stands against it, or `closed` says what."""

    commit: Commit
    closed: tuple[str, ...] = ()


def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A batch with its staged record, on its way into its tables: of a run, or of what an earlier run left behind."""

    job: ContractRequest
    events: Events
    batch: Batch
    keep_lease: Callable[[], None] = _nothing
    closed: tuple[str, ...] = ()  # why its good rows are withheld after all
    skipped: bool = False  # whether they were in the table already


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPublication(Publication):
    """The batch of a run that has just judged it."""

    run: GatedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPublication(RunPublication):
    """Its staged record is written: whoever comes next finishes it, if this run does not."""

    record: Manifest


Batchwise = TypeVar("Batchwise", bound=Publication)


def put_away(publication: Batchwise) -> Batchwise:
    """Bad rows first: they are safe before anything good is visible. The same publication where there are none."""
    batch, commit, events = publication.batch, publication.batch.commit, publication.events
    quarantined = int(batch.counts["quarantined"])
    if batch.approved or not (quarantined or commit.is_behind):
        return publication
    done = commit.quarantine(batch.bad, batch.facts)
    if quarantined:
        place, there = commit.places.quarantine, batch.bad.already_there
        events.tell(BadRowsWritten(quarantined, place, already_there=there, skipped=done.skipped))
    return replace(publication)


def put_good(publication: Batchwise) -> Batchwise:
    """Good rows next, unless a gate is closed; whatever was committed before is not committed twice."""
    batch, commit, events = publication.batch, publication.batch.commit, publication.events
    closed = batch.closed
    if not closed:
        try:
            good = commit.good(
                batch.plan, batch.staged, batch.facts, engine=publication.job.engine, now=batch.started,
                newer=batch.newer,
            )  # fmt: skip
        except GateClosed as error:
            closed = (error.message,)
    if closed:
        for reason in closed:
            events.tell(GoodRowsWithheld(reason))
        return replace(publication, closed=closed)
    if good.skipped:
        return replace(publication, skipped=True)
    events.tell(GoodRowsWritten(int(batch.counts["good"]), commit.places.target))
    if gone := commit.applied.get("gone"):
        events.tell(RowsGone(gone, _what_is_gone(batch, gone)))
    return replace(publication)


def let_go(publication: Batchwise) -> Batchwise:
    """Rows that were bad before and are published now leave the quarantine."""
    batch, commit = publication.batch, publication.batch.commit
    if gone := commit.let_go(batch.facts):
        publication.events.tell(RowsReleased(gone, commit.places.quarantine))
    return replace(publication)


def _what_is_gone(batch: Batch, gone: int) -> str:
    commit = batch.commit
    became = "end with this run" if commit.strategy.follows_source and commit.strategy.history else "were removed"
    source = batch.facts.source or "the source"
    lost = f"{gone} rows of {commit.places.target} that {source} does not have any more"
    if commit.strategy.begins_anew and commit.strategy.history:
        lost = f"{gone} versions of {commit.places.target} that were known before"
    return f"{lost} {became}"


class CommitInput(ABC):
    """A batch with its staged record: bad rows, good rows, what left the queue, the ledger last."""

    tells_phases: ClassVar[bool] = True  # whether listeners hear of the phases

    def put_away(self, batch: Any) -> Any:
        """Bad rows are in the quarantine."""
        return put_away(batch)

    def put_good(self, batch: Any) -> Any:
        """Good rows are in the table, or the batch ends here."""
        after = put_good(batch)
        return self.record(after) if after.closed or after.skipped else after

    def let_go(self, batch: Any) -> Any:
        """What was published leaves the quarantine."""
        return let_go(batch)

    @abstractmethod
    def record(self, batch: Any) -> Any:
        """The ledger knows what became of it."""
