"""What one run is asked to do, and what is known of it while it goes on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.load import Loaded
from lakelogic.engines.base import Engine, Frame, Staged
from lakelogic.ledger.store import Ledger
from lakelogic.plan.compile import Compiled
from lakelogic.plan.days import Days
from lakelogic.plan.nodes import Read
from lakelogic.privacy.keys import Keys
from lakelogic.run import gates, quarantine, window
from lakelogic.run.cuts import Asked, Cut, newest_day
from lakelogic.run.events import Events, Sink
from lakelogic.run.halting import NEVER, Halt
from lakelogic.run.places import Places
from lakelogic.run.reconcile import Counts

if TYPE_CHECKING:
    from lakelogic.run.references import References


@dataclass(slots=True)
class Job:
    """What one run is asked to do."""

    loaded: Loaded
    engine: Engine
    catalog: LocalCatalog
    ledger: Ledger | None
    materialize: bool = True
    target: str | None = None
    data: Any = None  # rows that were handed in, instead of the contract's source
    pipeline_run_id: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    sinks: tuple[Sink, ...] = ()
    note: str | None = None  # why it reads as much as it does, where somebody else decided that
    halt: Halt = NEVER  # who may give it up
    references: References | None = None  # links that the pass has read for all
    approval: gates.Approval | None = None  # what a person must approve of
    asked: Asked | None = None  # the days that it shall read; None for whatever is new
    judged: tuple[Run, Prepared] | None = None  # what was read, once a run has begun to judge it


@dataclass(slots=True)
class Run:
    """What is known while a run goes on; written into the ledger at its end."""

    job: Job
    run_id: str
    started: datetime
    events: Events
    fingerprint: str
    batch_id: str | None = None
    slice: window.Slice | None = None
    links: dict[str, window.Slice] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    places: Places | None = None
    keys: Keys = field(default_factory=Keys)
    drift: dict[str, Any] = field(default_factory=dict)  # how source and table differ from the contract
    note: str | None = None  # what kind of run this is, where it is no plain one
    cut: Cut | None = None  # the part of the input that was asked for
    told: str | None = None  # what a window means for this contract

    @property
    def replaced(self) -> tuple[str, Days] | None:
        """The column of the table and the days whose rows the batch takes the place of; None where it takes none."""
        return (self.cut.column, self.cut.days) if self.cut is not None and self.cut.column else None

    @property
    def watermark(self) -> str | None:
        """The last day that is read once this run is done; it never moves back."""
        before = self.job.ledger.watermark(self.progress) if self.job.ledger is not None else None
        return max(filter(None, (before, newest_day(self.slice, self.cut))), default=None)

    @property
    def progress(self) -> str:
        """Under which name the ledger keeps what was read: a result that is sent elsewhere has progress of its own."""
        dataset = self.job.loaded.contract.dataset_name
        return f"{dataset}@{self.job.target}" if self.job.target else dataset


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
