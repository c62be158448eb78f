"""The order of things: one contract, once. Nothing else knows it.

`SEQUENCE` reads from top to bottom; `SequenceWalk` goes through it, and no step calls the next one. A run, a replay, a
batch that is released or rolled forward, and the preview of a replay are inputs to it: each answers the steps that it
needs, and the walk goes over the part of the list that it asks for. So would a stream's micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from lakelogic.run import faults
from lakelogic.run.events.types import Phase, PhaseBegan
from lakelogic.run.phases import BegunRun, OpenedRun
from lakelogic.run.publish.order import Done, Publication
from lakelogic.run.result import Result

State = BegunRun | Publication  # what is known at a step
Ending = Result | Done


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """One step: its name, which is the method of the input that does it, and what the walk does around it."""

    name: str
    phase: Phase | None = None  # listeners are told that it begins
    fault: str | None = None  # the point of `faults.py` that is reached when it is done
    within: tuple[str, ...] = ()  # points that are reached in the midst of it
    is_safe: bool = False  # a run may be given up behind it; until then its lease was kept alive


SEQUENCE: tuple[SequenceStep, ...] = (
    # What the contract demands: keys, places, strategy. Nothing is read before that is settled.
    SequenceStep("open"),
    # Nobody else writes to the target; what an earlier run began is finished first.
    SequenceStep("lease", fault="after_lease", is_safe=True),
    SequenceStep("recover"),
    # What lies there, which part of it is read, and whether there is anything to do.
    SequenceStep("list"),
    SequenceStep("pin"),
    SequenceStep("admit"),
    # The plan against the columns that landed, as a lazy frame.
    SequenceStep("look", phase="look"),
    SequenceStep("compile"),
    SequenceStep("lower"),
    # The commit that it is for; from its intent on, others know that something was begun.
    SequenceStep("place"),
    SequenceStep("intend", fault="after_intent", is_safe=True),
    # Both sides in one pass; nothing is visible.
    SequenceStep("stage", phase="stage", fault="after_stage", is_safe=True),
    SequenceStep("sort", phase="check", fault="after_quarantine_stage", is_safe=True),
    # read = good + bad + named losses; then gates decide, and the source must have stood still.
    SequenceStep("account"),
    SequenceStep("gate", fault="after_gates", is_safe=True),
    SequenceStep("verify", is_safe=True),
    # The staged record: from here on the batch is finished from it, whatever happens.
    SequenceStep("write_down", fault="after_staged_record"),
    # Bad rows, good rows, what left the quarantine; the ledger last.
    SequenceStep("put_away", fault="after_quarantine_commit"),
    SequenceStep("put_good", fault="after_good_commit", within=("after_progress_entry",)),
    SequenceStep("let_go", fault="after_settling"),
    SequenceStep("record", within=("after_ledger",)),
)


def steps(first: str, last: str | None = None) -> tuple[SequenceStep, ...]:
    """The part of the sequence from one step to another, both included."""
    names = [step.name for step in SEQUENCE]
    return SEQUENCE[names.index(first) : len(names) if last is None else names.index(last) + 1]


class SequenceWalk:
    """Something on its way through the sequence: what is known of it by now."""

    def __init__(self, rows: Any, state: State, watch: Callable[[State], None] | None = None) -> None:
        self.rows, self.state = rows, state
        self._watch = watch
        self._until = ExitStack()  # what is given back at the end

    @property
    def opened(self) -> OpenedRun:
        """The run, once its contract's demands are settled."""
        if not isinstance(self.state, OpenedRun):
            raise TypeError(f"{type(self.state).__name__} comes before `open`.")
        return self.state

    def through(self, part: Sequence[SequenceStep]) -> Ending | None:
        """Go on through these steps; how it ended, where one of them was the last."""
        for step in part:
            ending = self._take(step)
            if ending is not None:
                return ending
        return None

    def _take(self, step: SequenceStep) -> Ending | None:
        if step.phase is not None and self.rows.tells_phases:
            self.state.events.tell(PhaseBegan(step.phase))
        does = getattr(self.rows, step.name)
        after = does(self.state, self._until) if step.name == "lease" else does(self.state)
        if isinstance(after, Result | Done):
            return after
        if after is self.state:
            return None  # it had nothing to do
        self.state = after
        if self._watch is not None:
            self._watch(after)
        if step.fault is not None:
            faults.reach(step.fault)
        if step.is_safe:
            after.job.halt.safe_point()
            after.keep_lease()
        return None

    def __enter__(self) -> SequenceWalk:
        return self

    def __exit__(self, *_: object) -> None:
        self._until.close()
