"""What one run of a contract is asked to do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines.base import Engine
from lakelogic.errors import UsageError
from lakelogic.ledger.store import Ledger
from lakelogic.plan.compile import Compiled
from lakelogic.run.events.hub import Sink
from lakelogic.run.halting import NEVER, Halt
from lakelogic.run.input.days import Asked
from lakelogic.run.publish import gates

if TYPE_CHECKING:
    from lakelogic.run.input.links import References


@dataclass(frozen=True, slots=True)
class ContractRequest:
    """One contract, the surroundings that it runs in, and what is wanted of it."""

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

    @property
    def memory(self) -> Ledger:
        """The ledger, for what cannot be done without one."""
        if self.ledger is None:
            raise UsageError("This needs a ledger, and there is none.", hint="Name one in LAKELOGIC_LEDGER.")
        return self.ledger
