"""The sequence is a list: every step is answered by every input, and a walk does around it what the step carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.run import faults
from lakelogic.run.events.types import EventType
from lakelogic.run.inputs.kinds import HandedInput, SourceInput
from lakelogic.run.phases import BegunRun
from lakelogic.run.publish.order import Done
from lakelogic.run.publish.roll_forward import RecordInput
from lakelogic.run.replay.preview import PreviewInput
from lakelogic.run.replay.replay import ReplayInput
from lakelogic.run.request import ContractRequest
from lakelogic.run.sequence import SEQUENCE, SequenceStep, SequenceWalk, steps
from lakelogic.run.steps.open import begin

NAMES = [step.name for step in SEQUENCE]


class Heard:
    """A sink and a halt that keep what they were told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, event: Any) -> None:
        self.told.append(f"event {event.text}" if isinstance(event.what, EventType) else "")

    def safe_point(self) -> None:
        self.told.append("safe point")

    def committing(self) -> None:
        self.told.append("committing")

    def reason(self, error: Any) -> Any:
        return error


def begun(heard: Heard) -> BegunRun:
    loaded = load({"dataset": "orders", "source": {"path": "x.csv"}, "model": {"fields": []}})
    request = ContractRequest(loaded, None, None, None, sinks=(heard,), halt=heard)  # type: ignore[arg-type]
    return replace(begin(request), keep_lease=lambda: heard.told.append("lease kept"))


def test_the_order_is_the_one_that_is_told_to_people() -> None:
    told = ["lease", "recover", "pin", "lower", "stage", "account", "gate", "write_down", "put_good", "record"]
    assert [name for name in NAMES if name in told] == told
    assert NAMES.index("put_away") < NAMES.index("put_good") < NAMES.index("let_go") < NAMES.index("record")


def test_every_fault_point_is_carried_by_one_step() -> None:
    points = [point for step in SEQUENCE for point in (step.fault, *step.within) if point is not None]
    assert sorted(points) == sorted(faults.POINTS)


@pytest.mark.parametrize("kind", [SourceInput, HandedInput, ReplayInput, PreviewInput])
def test_every_input_answers_every_step(kind: Any) -> None:
    assert [name for name in NAMES if not callable(getattr(kind, name, None))] == []


def test_a_staged_record_has_only_its_commits_left_to_do() -> None:
    answered = [name for name in NAMES if callable(getattr(RecordInput, name, None))]
    assert answered == ["intend", "put_away", "put_good", "let_go", "record"]


def test_a_walk_tells_the_phase_reaches_the_point_and_keeps_the_lease() -> None:
    heard = Heard()

    class Rows:
        tells_phases = True

        def stage(self, run: BegunRun) -> BegunRun:
            heard.told.append("stage")
            return replace(run, note="staged")

    walk = SequenceWalk(Rows(), begun(heard))
    with faults.watched(heard.told.append):
        assert walk.through([SequenceStep("stage", phase="stage", fault="after_stage", is_safe=True)]) is None
    assert walk.state.note == "staged"  # type: ignore[union-attr]
    said, *rest = heard.told
    assert said.startswith("event ")
    assert rest == ["stage", "after_stage", "safe point", "lease kept"]


def test_a_step_that_has_nothing_to_do_reaches_no_point() -> None:
    heard = Heard()

    class Rows:
        tells_phases = False

        def intend(self, run: BegunRun) -> BegunRun:
            return run

    with faults.watched(heard.told.append):
        SequenceWalk(Rows(), begun(heard)).through([SequenceStep("intend", fault="after_intent", is_safe=True)])
    assert heard.told == []


def test_an_answer_that_is_no_phase_ends_the_walk() -> None:
    done = Done(None)  # type: ignore[arg-type]

    class Rows:
        tells_phases = False

        def account(self, _run: BegunRun) -> Done:
            return done

    assert SequenceWalk(Rows(), begun(Heard())).through(steps("account")) is done


def test_a_part_of_the_sequence_is_named_by_its_ends() -> None:
    assert [step.name for step in steps("list", "admit")] == ["list", "pin", "admit"]
    assert steps("record")[-1].name == "record"
