"""The story of one row: what each step made of it and how each rule saw it, in the order of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine, Frame
from lakelogic.plan.nodes import (
    APART,
    Account,
    Assignment,
    Expand,
    Join,
    Keep,
    Node,
    Plan,
    Publish,
    Rank,
    RowWise,
    Window,
)
from lakelogic.sql.expressions import Call, Column, Expression, Literal, columns_of, convert, text, walk
from lakelogic.sql.types import BIGINT, INT, STRING, Type

HIDDEN = "••••"
UNREADABLE = "unreadable"  # the rule that every line passes which is a row at all
# What looks at other rows too; a row that is looked at alone may get another answer.
_TOGETHER = (Rank, Window)


@dataclass(frozen=True, slots=True)
class Chapter:
    """One step or one verdict: what it is, what it made or saw, and how it came out."""

    kind: str  # landed, a step's label, rule
    what: str
    values: Mapping[str, str | None] = field(default_factory=dict)
    outcome: str | None = None  # of rules: passed, failed, not judged; of steps that lose rows: lost

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"kind": self.kind, "what": self.what, "values": dict(self.values), "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class Story:
    """The chapters of one row, and what to know when reading them."""

    chapters: tuple[Chapter, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """The rules that the row failed."""
        return tuple(chapter.what for chapter in self.chapters if chapter.outcome == "failed")


def tell(
    contract: Contract,
    plan: Plan,
    engine: Engine,
    frame: Frame,
    links: Mapping[str, Frame],
    only: Expression | None = None,
) -> list[Story]:
    """The stories of the rows of a frame, or of those where `only` is TRUE at the end; masked values stay hidden."""
    first = plan.accounts[0]
    types = dict(_types(plan, first.nodes))
    nodes = first.nodes if only is None else (*first.nodes, Keep("keep", only))
    values = [
        Assignment(f"c{at}", convert(Column(name, type_), STRING)) for at, (name, type_) in enumerate(types.items())
    ]
    account = Account(None, nodes, Publish(tuple(values), Literal(0, INT), text(names.GOOD_SIDE)))
    answers = engine.collect(engine.lower(frame, (account,), links))
    hidden = _hidden(contract, plan, first.nodes)
    notes = []
    if any(isinstance(node, _TOGETHER) for node in first.nodes):
        notes.append("some steps compare rows with one another; here only the rows that are shown were there")
    if len(plan.accounts) > 1:
        notes.append("after these steps rows are paired, stacked or grouped; what follows is not told")
    stories = []
    for row in answers.to_pylist():
        row_values = {name: row[f"c{at}"] for at, name in enumerate(types)}
        stories.append(Story(tuple(_chapters(plan, first.nodes, row_values, hidden)), tuple(notes)))
    return stories


def _types(plan: Plan, nodes: Sequence[Node]) -> Iterator[tuple[str, Type]]:
    """Every column that is made on the way, and its type."""
    yield from ((column.name, column.type) for column in plan.read.columns)
    for node in nodes:
        if isinstance(node, RowWise):
            yield from ((assignment.name, assignment.value.type) for assignment in node.columns)
        elif isinstance(node, Rank):
            yield node.output, BIGINT


def _hidden(contract: Contract, plan: Plan, nodes: Sequence[Node]) -> set[str]:
    """The columns whose values are hidden: of masked fields, and everything that is made of them."""
    masked = {mask.column.removeprefix("~bad:").lower() for mask in plan.masks}
    masked |= {field_.name.lower() for field_ in contract.model.fields if field_.masking or field_.pii or field_.phi}
    hidden = {column.name for column in plan.read.columns if column.name.lower() in masked}
    for node in nodes:
        if isinstance(node, RowWise):
            for assignment in node.columns:
                if _base(assignment.name).lower() in masked or columns_of(assignment.value) & hidden:
                    hidden.add(assignment.name)
        elif isinstance(node, Join):
            hidden |= {new for _, new in node.take if _base(new).lower() in masked}
        elif isinstance(node, Expand) and columns_of(node.value) & hidden:
            hidden |= {node.item, *([node.key] if node.key else [])}
    return hidden


def _base(physical: str) -> str:
    return physical.partition("~")[0] or physical


def _chapters(
    plan: Plan, nodes: Sequence[Node], values: Mapping[str, str | None], hidden: set[str]
) -> Iterator[Chapter]:
    def shown(columns: Sequence[str]) -> dict[str, str | None]:
        texts: dict[str, str | None] = {}
        for name in columns:
            if not name.startswith(names.INTERNAL):
                # Of several values of one column, the one before a step changed it.
                value = values.get(name)
                texts.setdefault(_base(name), HIDDEN if name in hidden and value is not None else value)
        return texts

    yield Chapter("landed", "as it landed", shown([column.name for column in plan.read.columns]))
    alive, causes = True, set[Expression]()
    for node in nodes:
        if isinstance(node, Rank) or (isinstance(node, RowWise) and node.label == APART):
            continue  # what a number among rows decides is told next; what bad rows show is moved, not made
        if isinstance(node, RowWise) and node.label == "judge":
            judged = alive
            for chapter in _rules(plan, node, values, shown, causes, alive=judged):
                alive = alive and chapter.outcome != "failed"
                if chapter.what != UNREADABLE or chapter.outcome == "failed":
                    yield chapter
        elif not alive:
            yield Chapter(node.label, "; ".join(node.detail), outcome="not reached")
        elif isinstance(node, RowWise) and any(a.name.startswith(names.FATE) for a in node.columns):
            lost = any(values.get(a.name) not in (None, "0") for a in node.columns)
            alive = not lost
            yield Chapter(node.label, "; ".join(node.detail), outcome="lost" if lost else "kept")
        elif isinstance(node, RowWise):
            texts = shown([assignment.name for assignment in node.columns])
            if texts:
                yield Chapter(node.label, "; ".join(node.detail), texts)
        else:
            yield Chapter(node.label, "; ".join(node.detail))


def _rules(
    plan: Plan, node: RowWise, values: Mapping[str, str | None], shown: Any, causes: set[Expression], *, alive: bool
) -> Iterator[Chapter]:
    """Each rule of a verdict; `causes`, what earlier ones found to be so, grows."""
    flags = {assignment.name: _flags(assignment.value) for assignment in node.columns}
    tested_reasons = [
        (reason, flags[reason.column][reason.bit], bool(int(values.get(reason.column) or 0) >> reason.bit & 1))
        for reason in plan.reasons
        if reason.bit < len(flags.get(reason.column, ()))
    ]
    causes |= {part for _, tested, failed in tested_reasons if failed for part in _all_of(tested)}
    for reason, tested, failed in tested_reasons:
        operands = sorted(columns_of(tested))
        judged = alive and not any(_denies(part, causes) for part in _all_of(tested))
        outcome = "failed" if failed else "passed" if judged else "not judged"
        if reason.severity != "error" and failed:
            outcome = reason.severity
        yield Chapter("rule", reason.rule, {"rule": _plain(reason.text), **shown(operands)}, outcome)


def _all_of(condition: Expression) -> Iterator[Expression]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.args:
            yield from _all_of(part)
    else:
        yield condition


def _denies(part: Expression, causes: set[Expression]) -> bool:
    """Whether a part denies what made another rule fail: then it was that which kept its rule quiet."""
    return isinstance(part, Call) and part.function == "not" and causes.issuperset(_all_of(part.args[0]))


def _plain(reason: str) -> str:
    """What the rule asks, out of the text of its reason."""
    return reason.removeprefix("Rule failed: ")


def _flags(value: Expression) -> Sequence[Expression]:
    """The conditions that are packed into a verdict, by their bits."""
    packed = next((part for part in walk(value) if isinstance(part, Call) and part.function == "bits"), None)
    return packed.args if packed is not None else ()
