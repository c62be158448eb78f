"""What goes through the sequence: an input says where rows come from, how they are judged, and how they are published.

One method for each step of `sequence.py`, by its name. A step that has nothing to do for an input hands on what it was
given; an answer that is no phase ends the sequence.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from typing import Any

from lakelogic.run.inputs import handed, source
from lakelogic.run.phases import (
    AccountedRun,
    BegunRun,
    CompiledRun,
    GatedRun,
    ListedRun,
    ListedSource,
    LookedRun,
    OpenedRun,
    PinnedRun,
    PinnedSource,
    PlacedRun,
    PreparedRun,
    SortedRun,
    StagedRun,
)
from lakelogic.run.publish import record
from lakelogic.run.publish.order import CommitInput, Publication
from lakelogic.run.result import Result
from lakelogic.run.state.namesakes import warn_of_namesakes
from lakelogic.run.steps import open as opening
from lakelogic.run.steps import prepare, stage, weigh


class RunInput(CommitInput):
    """Rows that a run judges."""

    def open(self, run: BegunRun) -> OpenedRun:
        """What the contract demands is settled."""
        return opening.open_run(run)

    def lease(self, run: OpenedRun, until: ExitStack) -> OpenedRun:
        """Nobody else writes to the target."""
        return opening.take_lease(run, until)

    def recover(self, run: OpenedRun) -> OpenedRun:
        """What an earlier run began is finished, and it is known what the target holds."""
        return opening.recover_target(run)

    @abstractmethod
    def list(self, run: OpenedRun) -> ListedRun | Result:
        """What lies there."""

    @abstractmethod
    def pin(self, run: Any) -> PinnedRun:
        """What of it is read."""

    @abstractmethod
    def admit(self, run: Any) -> PinnedRun | Result:
        """Whether there is anything to do."""

    @abstractmethod
    def look(self, run: Any) -> LookedRun:
        """Which columns it has."""

    def compile(self, run: LookedRun) -> CompiledRun:
        """The plan against these columns."""
        return prepare.compile_rows(run)

    def lower(self, run: CompiledRun) -> PreparedRun:
        """The plan as a lazy frame, where nothing of it is refused."""
        prepare.refuse_unknown(run)
        prepare.require(run.plan, run.job.engine)
        return prepare.lower(run)

    def place(self, run: PreparedRun) -> PlacedRun:
        """Where both sides are staged, for which commit."""
        return stage.place(run, run.strategy)

    def intend(self, run: PlacedRun) -> PlacedRun:
        """The intent is written."""
        return stage.intend(run)

    def stage(self, run: PlacedRun) -> StagedRun:
        """Both sides are staged."""
        return stage.stage(run)

    def sort(self, run: StagedRun) -> SortedRun:
        """Bad rows are as the quarantine takes them."""
        return stage.sort_bad(run)

    def account(self, run: SortedRun) -> AccountedRun | Result:
        """Every row is accounted for."""
        return weigh.account(run)

    def gate(self, run: AccountedRun) -> GatedRun:
        """It is known whether good rows may be seen."""
        return weigh.gate(run)

    def verify(self, run: GatedRun) -> GatedRun:
        """The source stood still."""
        return weigh.verify(run)

    def write_down(self, run: GatedRun) -> Publication | Result:
        """The batch can be finished without looking at its input again."""
        return record.write_down(run)

    def record(self, batch: Any) -> Any:
        """The ledger knows what became of it."""
        return record.conclude(batch)


class SourceInput(RunInput):
    """What the contract's source holds, as far as it is new."""

    def recover(self, run: OpenedRun) -> OpenedRun:
        """Two contracts that call their dataset the same are told apart before anything is listed."""
        run = super().recover(run)
        warn_of_namesakes(run)
        return run

    def list(self, run: OpenedRun) -> ListedSource:
        """Files, or the version of a table."""
        return source.list_source(run)

    def pin(self, run: ListedSource) -> PinnedSource:
        """Those that the table does not have."""
        return source.pin_source(run)

    def admit(self, run: PinnedSource) -> PinnedSource | Result:
        """Not for an input that was taken before."""
        return source.admit_source(run)

    def look(self, run: PinnedSource) -> LookedRun:
        """By their first rows, or the table's schema."""
        return source.look_at_source(run)


class HandedInput(RunInput):
    """Rows that were handed in."""

    def list(self, run: OpenedRun) -> ListedRun:
        """Only links lie somewhere."""
        return handed.list_handed(run)

    def pin(self, run: ListedRun) -> PinnedRun:
        """All of them."""
        return handed.pin_handed(run)

    def admit(self, run: PinnedRun) -> PinnedRun | Result:
        """Not under a name that was published before."""
        return handed.admit_handed(run)

    def look(self, run: PinnedRun) -> LookedRun:
        """By the frame that was handed in."""
        return handed.adopt(run)
