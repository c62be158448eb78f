"""What a replay would do, without doing it: the rows as they landed through the plan of now; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic import names
from lakelogic.quarantine.queue import Chosen
from lakelogic.quarantine.rows import Decoder, Verdict
from lakelogic.run.events.hub import Events
from lakelogic.run.phases import BegunRun, OpenedRun, PreparedRun
from lakelogic.run.replay.replay import ReplayInput, open_replay, strategy_for
from lakelogic.run.replay.waiting import Taken, parts_of, take
from lakelogic.run.request import ContractRequest
from lakelogic.run.sequence import SequenceWalk, steps
from lakelogic.run.state.environments import refuse_others
from lakelogic.run.steps import open as opening


@dataclass(frozen=True, slots=True)
class Judged:
    """One row: what would become of it, and why."""

    row: Mapping[str, Any]  # as the quarantine keeps it
    outcome: str  # passed, failed, left_out
    rules: tuple[str, ...] = ()
    why: str | None = None


@dataclass(slots=True)
class ReplayPreview:
    """What would become of the chosen rows."""

    chosen: int = 0
    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str | None, str]] = field(default_factory=Counter)  # rule, label, text → rows
    rows: list[Judged] = field(default_factory=list)


class PreviewInput(ReplayInput):
    """Rows of a replay of which nothing is staged: the sequence is left once their plan is a frame."""

    def open(self, run: BegunRun) -> OpenedRun:
        """What the contract demands is settled, and the quarantine is this environment's."""
        opened = open_replay(run)
        strategy_for(opened)  # what cannot be replayed at all is refused
        refuse_others(run.job.loaded, opened.target, opened.progress, "Nothing is shown.")
        return opened


def preview(job: ContractRequest, chosen: Chosen, most_rows: int = 50) -> ReplayPreview:
    """Judge the chosen rows by the contract as it is now; `most_rows` of them are told one by one."""
    walk = SequenceWalk(
        PreviewInput(), replace(opening.begin(job), events=Events(job.loaded.contract.dataset_name, ()))
    )
    shown = ReplayPreview()
    with walk:
        walk.through(steps("open", "open"))
        opened = walk.opened
        for part in parts_of(opened, chosen):
            _judge(opened, take(opened, part), shown, most_rows)
    return shown


def _judge(run_: OpenedRun, taken: Taken, found: ReplayPreview, most_rows: int) -> None:
    found.chosen += taken.done.chosen
    found.left_out += taken.landed.left_out
    judged: dict[tuple[str, str | None], Judged] = {}
    by_id = {(row[names.ROW_ID], row.get(names.BATCH_ID)): row for row in taken.rows}
    if taken.landed.origins:
        verdicts, good = _verdicts(run_, taken)
        for place, origin in enumerate(taken.landed.origins, 1):
            one = (origin.row_id, origin.batch_id)
            failed = verdicts.get(place)
            if failed is None:
                found.passed += 1
                why = None if place in good else "a step leaves it out"
                judged[one] = Judged(by_id[one], "passed", (), why)
            else:
                found.failed += 1
                told = tuple(dict.fromkeys(failed))
                found.reasons.update(told)
                judged[one] = Judged(by_id[one], "failed", tuple(label or rule for rule, label, _ in told))
    said = ", ".join(taken.landed.left_out) or None
    for one, row in by_id.items():
        if len(found.rows) >= most_rows:
            break
        found.rows.append(judged.get(one) or Judged(row, "left_out", (), said))


def _verdicts(run_: OpenedRun, taken: Taken) -> tuple[dict[int, list[tuple[str, str | None, str]]], set[int]]:
    """Of each row that fails, by its place, the reasons; and the places of rows of which a good one is made."""
    walk = SequenceWalk(PreviewInput(taken), run_)
    walk.through(steps("list", "lower"))
    prepared = walk.state
    if not isinstance(prepared, PreparedRun):
        raise TypeError("The sequence has no frame.")
    plan = prepared.plan
    decoder = Decoder(plan.reasons)
    wanted = [names.NUMBER, names.SIDE, names.BROKEN, *decoder.columns]
    made = run_.job.engine.collect(prepared.frame)
    failed: dict[int, list[tuple[str, str | None, str]]] = {}
    good: set[int] = set()
    known: dict[tuple[int, ...], Verdict] = {}
    for row in made.select([name for name in wanted if name in made.column_names]).to_pylist():
        if row[names.SIDE] == names.GOOD_SIDE:
            good.add(row[names.NUMBER])
        elif row[names.SIDE] == names.BAD_SIDE:
            bits = tuple(row.get(column) or 0 for column in decoder.columns)
            verdict = known.setdefault(bits, decoder.of(bits))
            texts = verdict.errors(row.get(names.BROKEN))
            failed.setdefault(row[names.NUMBER], []).extend(
                (reason.rule, reason.label, text) for reason, text in zip(verdict.hard, texts, strict=True)
            )
    return failed, good
