"""Where the time of a run goes: its phases by the clock, and what each rule costs, measured on a sample of the batch.

A rule's cost is what its own evaluation adds to passing the sampled rows through the engine, by itself. Rules that
share work (the same cast, the same join) are cheaper together than the sum of their costs says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from lakelogic.engines.base import Engine, Frame
from lakelogic.plan.nodes import Account, Assignment, Node, Plan, Publish, Reason, RowWise
from lakelogic.run.events.hub import Event
from lakelogic.run.events.types import PhaseBegan, RunStarted
from lakelogic.run.phases import PreparedRun
from lakelogic.run.result import Result
from lakelogic.sql.expressions import FALSE, Call, Column, Expression, Literal, columns_of, text, walk
from lakelogic.sql.types import BIGINT, from_arrow

SAMPLE = 20_000  # rows
MOST_BYTES = 32 << 20  # of the sample: rows may be large, and a step may make many of each
_FIRST = 64  # rows, by which the size of a row is judged
SLOWEST = 3
_TIMES = 3  # each rule is measured so often, and the shortest time counts
_FLAG = "~flag"
_BEGIN = ("begin", "taking the lease, recovering and finding what is new")
# What the rows of a phase are, by their name in the report.
_ROWS = {"stage": "source", "check": "quarantined", "commit": "good"}


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a run; `cpu_seconds` are of this process, without a Spark server's."""

    name: str
    text: str
    seconds: float
    cpu_seconds: float
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What one rule costs and rejects. Seconds are None for rules over rows that a step has made or merged."""

    rule: str
    text: str
    seconds_per_million_rows: float | None
    rejected: int  # in the whole batch


@dataclass(frozen=True, slots=True)
class Profile:
    """A run by phases and rules, the most expensive rule first."""

    phases: tuple[Phase, ...]
    rules: tuple[RuleCost, ...]
    sampled_rows: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        slowest = [rule.rule for rule in self.rules[:SLOWEST] if rule.seconds_per_million_rows is not None]
        return {
            "phases": [asdict(phase) for phase in self.phases],
            "sampled_rows": self.sampled_rows,
            "rules": [asdict(rule) for rule in self.rules],
            "slowest_rules": slowest,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{'phase':<8} {'seconds':>9} {'CPU':>9} {'rows':>12}"
        for phase in self.phases:
            rows = "" if phase.rows is None else f"{phase.rows:,}"
            yield f"{phase.name:<8} {phase.seconds:>9.2f} {phase.cpu_seconds:>9.2f} {rows:>12}  {phase.text}"
        measured = [rule for rule in self.rules if rule.seconds_per_million_rows is not None]
        if measured:
            yield ""
            yield f"The slowest rules, by {self.sampled_rows:,} rows of this batch; seconds are for a million rows:"
            for rule in measured[:SLOWEST]:
                cost = f"{rule.seconds_per_million_rows:>9.3f}"
                yield f"{cost} s  rejects {rule.rejected:,}  {rule.rule}  ({rule.text})"


class Stopwatch:
    """A sink that takes the time of the phases that a run tells of."""

    def __init__(self) -> None:
        self._marks: list[tuple[str, str, float, float]] = []

    def __call__(self, event: Event) -> None:
        """Begin the next phase."""
        if isinstance(event.what, RunStarted):
            self._mark(*_BEGIN)
        elif isinstance(event.what, PhaseBegan):
            self._mark(event.what.phase, event.text)
        elif event.kind in ("complete", "failed"):
            self._mark("", "")

    def _mark(self, name: str, said: str) -> None:
        self._marks.append((name, said, time.perf_counter(), time.process_time()))

    def phases(self, counts: Mapping[str, Any]) -> tuple[Phase, ...]:
        """The phases, with the rows that a run has counted in them."""
        found = []
        for (name, said, start, busy), (_, _, end, busy_end) in zip(self._marks, self._marks[1:], strict=False):
            if name:
                rows = counts.get(_ROWS.get(name, ""))
                found.append(Phase(name, said, round(end - start, 3), round(busy_end - busy, 3), rows))
        return tuple(found)


def profile(stopwatch: Stopwatch, result: Result, judged: PreparedRun | None, rows: int = SAMPLE) -> Profile:
    """The profile of a run that has ended; `judged` is what it read, None where there was nothing new."""
    phases = stopwatch.phases(result.report.get("counts") or {})
    if judged is None:
        return Profile(phases, (), 0)
    plan, engine = judged.plan, judged.job.engine
    landed, links = _sample(judged, rows), _links(judged, plan)
    # So few rows that the time would be that of a start only are passed through many times over.
    most = _most_rows(landed, rows)
    sample = pa.concat_tables([landed] * max(1, most // max(landed.num_rows, 1))).combine_chunks()
    costs: dict[tuple[str, int], float] = {}
    for index, node in enumerate(plan.accounts[0].nodes):
        flags = _flags(node, plan.reasons)
        if flags:
            costs |= _costs(engine, sample, plan.accounts[0].nodes[:index], flags, links, most)
    failed = {one["name"]: one["failed"] for one in result.report.get("row_rules", ())}
    rules = [_told(name, reasons, costs, sample.num_rows, failed) for name, reasons in _by_rule(plan.reasons).items()]
    rules.sort(key=lambda rule: (-(rule.seconds_per_million_rows or -1.0), rule.rule))
    return Profile(phases, tuple(rules), landed.num_rows)


def _by_rule(reasons: Sequence[Reason]) -> dict[str, list[Reason]]:
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        found.setdefault(reason.rule, []).append(reason)
    return found


def _told(
    name: str,
    reasons: Sequence[Reason],
    costs: Mapping[tuple[str, int], float],
    rows: int,
    failed: Mapping[str, int],
) -> RuleCost:
    places = [(reason.column, reason.bit) for reason in reasons if (reason.column, reason.bit) in costs]
    seconds = round(sum(costs[place] for place in places) * 1_000_000 / rows, 4) if places and rows else None
    return RuleCost(name, reasons[0].text, seconds, failed.get(name, 0))


def _sample(run_: PreparedRun, rows: int) -> Any:
    """The first rows of the batch, as they landed."""
    engine = run_.job.engine
    if run_.slice is None:
        frame, _ = engine.adopt(run_.job.data, run_.plan.read)
    else:
        frame = engine.scan(run_.plan.read, run_.slice.pinned)
    first = engine.collect(frame, min(rows, _FIRST))
    most = _most_rows(first, rows)
    return first.slice(0, most) if most <= first.num_rows or first.num_rows < _FIRST else engine.collect(frame, most)


def _most_rows(landed: Any, rows: int) -> int:
    """How many rows like these may be held at once: one in any case."""
    size = max(landed.nbytes // max(landed.num_rows, 1), 1)
    return int(max(1, min(rows, MOST_BYTES // size)))


def _links(run_: PreparedRun, plan: Plan) -> dict[str, Frame]:
    engine = run_.job.engine
    return {name: engine.link(link, run_.links[link.reference].pinned) for name, link in plan.links.items()}


def _flags(node: Node, reasons: Sequence[Reason]) -> dict[tuple[str, int], Expression]:
    """What the bits of a node's verdict columns ask."""
    verdicts = {reason.column for reason in reasons}
    if not isinstance(node, RowWise):
        return {}
    return {
        (made.name, bit): flag
        for made in node.columns
        if made.name in verdicts
        for bits in walk(made.value)
        if isinstance(bits, Call) and bits.function == "bits"
        for bit, flag in enumerate(bits.args)
    }


def _costs(
    engine: Engine,
    sample: Any,
    before: Sequence[Node],
    flags: Mapping[tuple[str, int], Expression],
    links: Mapping[str, Frame],
    most: int,
) -> dict[tuple[str, int], float]:
    """Seconds of each flag, over rows that have gone through all nodes before it."""
    read = {
        part.name: part
        for flag in flags.values()
        for part in walk(flag)
        if isinstance(part, Column) and part.name in columns_of(flag)
    }
    landed, named = _adopted(engine, sample)
    # A row that was exploded is as large as before, and there are as many as it had elements.
    made = engine.lower(landed, [_account([named, *before], read)], links)
    ready = engine.collect(made, most).select(list(read))
    times = 1 if engine.capabilities.distributed else _TIMES
    _seconds(engine, ready, FALSE, 1)  # what is only slow the first time
    nothing = _seconds(engine, ready, FALSE, times)
    return {place: max(_seconds(engine, ready, flag, times) - nothing, 0.0) for place, flag in flags.items()}


def _adopted(engine: Engine, table: Any) -> tuple[Frame, RowWise]:
    """Rows as a frame, and the node that gives its columns their names back: an engine adopts no names of ours."""
    passing = [f"sampled{index}" for index in range(table.num_columns)]
    frame, _ = engine.adopt(table.rename_columns(passing))
    columns = (
        Assignment(field.name, Column(name, from_arrow(field.type)))
        for name, field in zip(passing, table.schema, strict=True)
    )
    return frame, RowWise("sample", tuple(columns))


def _account(nodes: Sequence[Node], values: Mapping[str, Expression]) -> Account:
    published = tuple(Assignment(name, value) for name, value in values.items())
    return Account(None, tuple(nodes), Publish(published, Literal(0, BIGINT), text("good")))


def _seconds(engine: Engine, ready: Any, flag: Expression, times: int) -> float:
    # CPU seconds say more than the clock where the work is done in this process.
    now = time.perf_counter if engine.capabilities.distributed else time.process_time
    shortest = float("inf")
    judge = RowWise("judge", (Assignment(_FLAG, flag),))
    for _ in range(times):
        frame, named = _adopted(engine, ready)
        account = _account([named, judge], {_FLAG: Column(_FLAG, flag.type)})
        start = now()
        engine.collect(engine.lower(frame, [account], {}))
        shortest = min(shortest, now() - start)
    return shortest
