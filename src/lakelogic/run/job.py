"""What one run is asked to do, and what is known of it while it goes on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines.base import Engine, Frame, Staged
from lakelogic.ledger.store import Ledger
from lakelogic.plan.compile import Compiled, SourceColumns
from lakelogic.plan.nodes import Read
from lakelogic.plan.source.watermarks import Bound
from lakelogic.plan.strategies.replaced import Replaced, replaced_by
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.privacy.keys import Keys
from lakelogic.quarantine import rows as quarantine
from lakelogic.run.events import Events, Sink
from lakelogic.run.halting import NEVER, Halt
from lakelogic.run.input import pin as window
from lakelogic.run.input.contents import Digests
from lakelogic.run.input.days import Asked, Cut, newest_day
from lakelogic.run.places import Places
from lakelogic.run.publish import gates
from lakelogic.run.publish.reconcile import Counts
from lakelogic.run.state.progress import Progress, progress_of
from lakelogic.storage.scratch import Scratch

if TYPE_CHECKING:
    from lakelogic.run.input.links import References


@dataclass(slots=True)
class Job:
    """What one run is asked to do."""

    loaded: Loaded
    engine: Engine
    catalog: Catalog
    ledger: Ledger | None
    materialize: bool = True
    target: str | None = None
    data: Any = None  # rows that were handed in, instead of the contract's source
    batch: str | None = None  # what their owner calls them: the same name is the same rows
    pipeline_run_id: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    sinks: tuple[Sink, ...] = ()
    note: str | None = None  # why it reads as much as it does, where somebody else decided that
    halt: Halt = NEVER  # who may give it up
    references: References | None = None  # links that the pass has read for all
    approval: gates.Approval | None = None  # what a person must approve of
    again: bool = False  # read what lies there, whatever was read before
    anew: bool = False  # what is read takes the place of all rows of the table
    asked: Asked | None = None  # the days that it shall read; None for whatever is new
    compiled: Compiled | None = None  # the contract as it is written, where it was compiled when it was read
    judged: tuple[Run, Prepared] | None = None  # what was read, once a run has begun to judge it


@dataclass(slots=True)
class Run:
    """What is known while a run goes on; written into the ledger at its end."""

    job: Job
    run_id: str
    started: datetime
    events: Events
    fingerprint: str
    strategy: Strategy  # how good rows meet their table
    batch_id: str | None = None
    slice: window.Slice | None = None
    links: dict[str, window.Slice] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    places: Places | None = None
    keys: Keys = field(default_factory=Keys)
    drift: dict[str, Any] = field(default_factory=dict)  # how source and table differ from the contract
    landed: dict[str, Any] = field(default_factory=dict)  # what commits say about the columns that landed
    note: str | None = None  # what kind of run this is, where it is no plain one
    cut: Cut | None = None  # the part of the input that was asked for
    told: str | None = None  # what a window means for this contract
    bound: Bound | None = None  # where rows begin that the table does not have
    reached: str | None = None  # where the table ends once the run is done, if its rows tell
    looked: SourceColumns | None = None  # the columns of the slice, where somebody has looked already
    digests: Digests = field(default_factory=Digests)  # what the files hold
    compared: int | None = None  # the last commit of the table that the ledger was compared with
    read_masks: Mapping[str, Sequence[str]] = field(default_factory=dict)  # what is masked where it reads

    @property
    def replaced(self) -> Replaced | None:
        """The part of the table that the batch takes the place of; None where it takes none."""
        return replaced_by(self.identity)

    @property
    def watermark(self) -> str | None:
        """The last day that is read once this run is done; it never moves back. With a bound, where the table ends."""
        if self.bound is not None:
            return self.reached
        remembers = self.job.ledger is not None and self.places is not None
        before = self.job.ledger.watermark(self.progress.key) if remembers and self.job.ledger is not None else None
        return max(filter(None, (before, newest_day(self.slice, self.cut))), default=None)

    @property
    def label(self) -> str:
        """What people call the dataset's runs: a result that is sent elsewhere is told apart."""
        dataset = self.job.loaded.contract.dataset_name
        return f"{dataset}@{self.job.target}" if self.job.target else dataset

    @property
    def progress(self) -> Progress:
        """Whose memory this run reads and writes: the dataset's, towards this target. Only for runs that publish."""
        assert self.places is not None
        return progress_of(self.job.loaded.contract.dataset_name, self.places, self.job.target)


@dataclass(slots=True)
class Prepared:
    """A compiled contract with its frames, ready to be evaluated once."""

    compiled: Compiled
    frame: Frame
    read: Read


@dataclass(slots=True)
class Settled:
    """Everything that was found out about a batch before a table hears of it."""

    prepared: Prepared
    staged: Staged
    bad: quarantine.BadSide
    counts: Counts
    measured: Mapping[str, Any]
    outcomes: Sequence[gates.Outcome]
    closed: Sequence[str]
    folder: Scratch | None = None  # of rows that are only judged
