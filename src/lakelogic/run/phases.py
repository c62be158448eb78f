"""What is known of a run, phase by phase: each phase has what the one before had, and what its step found out.

A function asks for the earliest phase that has what it needs; a value is there or its phase is not. What a run only
has sometimes (a table, days that were asked for) is `None` where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from lakelogic.engines.base import AS_IT_COMES, Frame, Order, Staged
from lakelogic.errors import UsageError
from lakelogic.plan.compile import Compiled, SourceColumns
from lakelogic.plan.nodes import Plan
from lakelogic.plan.source.watermarks import Bound
from lakelogic.plan.strategies.replaced import Replaced, replaced_by
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.privacy.keys import Keys
from lakelogic.quarantine.rows import BadSide
from lakelogic.run.events.hub import Events
from lakelogic.run.input.days import Cut
from lakelogic.run.input.file_digests import Digests
from lakelogic.run.input.pin import Slice
from lakelogic.run.places import Places
from lakelogic.run.publish import gates
from lakelogic.run.publish.reconcile import Counts
from lakelogic.run.request import ContractRequest
from lakelogic.run.state.known import Known
from lakelogic.run.state.progress import Progress
from lakelogic.storage.scratch import Scratch

if TYPE_CHECKING:
    from lakelogic.run.input.reread import Reread
    from lakelogic.run.publish.commit import Commit


def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunRun:
    """Who it is, and what it was asked for."""

    job: ContractRequest
    run_id: str
    started: datetime
    events: Events
    fingerprint: str
    strategy: Strategy  # how good rows meet their table
    note: str | None = None  # what kind of run this is, where it is no plain one
    drift: Mapping[str, Any] = field(default_factory=dict)  # how source and table differ from the contract
    digests: Digests = field(default_factory=Digests)  # what the files hold
    keep_lease: Callable[[], None] = _nothing  # called where nothing was heard of the run for a while

    @property
    def label(self) -> str:
        """What people call the dataset's runs: a result that is sent elsewhere is told apart."""
        dataset = self.job.loaded.contract.dataset_name
        return f"{dataset}@{self.job.target}" if self.job.target else dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun(BegunRun):
    """What the contract demands is settled: keys are there, places are known and free of others."""

    keys: Keys
    places: Places | None  # None for rows that are only judged
    progress: Progress  # whose memory it reads and writes: the dataset's, towards its target
    cut: Cut | None = None  # the part of the input that was asked for
    input_text: str | None = None  # what the days, or the watermark, mean for this contract
    recovery: Known = field(default_factory=Known)  # what the target holds, once an earlier run was recovered
    read_masks: Mapping[str, Sequence[str]] = field(default_factory=dict)  # what is masked where it reads

    @property
    def target(self) -> Places:
        """The places, for what a run that only judges cannot do."""
        if self.places is None:
            raise UsageError("This needs a table, and the rows of this run are only judged.")
        return self.places


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun(OpenedRun):
    """What lies there: links, and the state of the table where it tells where to begin."""

    links: Mapping[str, Slice] = field(default_factory=dict)
    bound: Bound | None = None  # where rows begin that the table does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource(ListedRun):
    """A run over the contract's source, as it lies there."""

    listed: Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRun(ListedRun):
    """What is read of it: these files, this version of a table, these rows; and what the batch is called for it."""

    batch_id: str
    identity: Mapping[str, Any]
    slice: Slice | None = None  # None for rows that were handed in, or waited in quarantine
    looked: SourceColumns | None = None  # the columns of the slice, where somebody has looked already

    @property
    def replaced(self) -> Replaced | None:
        """The part of the table that the batch takes the place of; None where it takes none."""
        return replaced_by(self.identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedSource(PinnedRun):
    """A run over the contract's source, as far as it is read."""

    slice: Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedRun(PinnedRun):
    """Which columns what is read has; and the rows themselves, where they did not lie in a source."""

    source: SourceColumns
    adopted: Frame = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRun(LookedRun):
    """What will happen to the rows: the plan against what landed."""

    compiled: Compiled
    landed: Mapping[str, Any]  # what commits say about the columns that landed

    @property
    def plan(self) -> Plan:
        """What engines lower."""
        return self.compiled.plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun(CompiledRun):
    """The plan as a lazy frame of the engine, ready to be evaluated once."""

    frame: Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRun(PreparedRun):
    """Where both sides are staged, and the commit that they are staged for; none for rows that are only judged."""

    commit: Commit | None
    place: str
    bad_place: str
    order: Order = AS_IT_COMES
    folder: Scratch | None = None  # of rows that are only judged: it goes with the result


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRun(PlacedRun):
    """Both sides as the engine staged them; nothing is visible."""

    staged: Staged


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRun(StagedRun):
    """Bad rows as the quarantine takes them, and those of its rows that the batch reads again."""

    bad: BadSide
    reread: Reread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedRun(SortedRun):
    """Every row that was read is accounted for."""

    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedRun(AccountedRun):
    """What was measured of the staged rows, and whether they may be published: all that is known before a commit."""

    measured: Mapping[str, Any]
    outcomes: Sequence[gates.Outcome]
    closed: Sequence[str]  # why not
    watermark: str | None = None  # where the table ends once the run is done


Later = TypeVar("Later", bound=BegunRun)


def grown(phase: type[Later], run: BegunRun, **more: Any) -> Later:
    """The run in a later phase: what was known of it, and what is known more."""
    kept = {part.name for part in fields(phase)} - more.keys()
    return phase(**{part.name: getattr(run, part.name) for part in fields(run) if part.name in kept}, **more)
