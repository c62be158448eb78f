"""Where the values of a table come from: for each column of a plan the landed columns it is made of, and how.

Only values are followed. A column that a filter, a join key or a verdict looks at decides which rows there are, not
what stands in them, and is no origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from lakelogic import names
from lakelogic.plan.explain import written
from lakelogic.plan.nodes import (
    APART,
    Account,
    Expand,
    Fork,
    Join,
    Link,
    Node,
    Opening,
    Pairs,
    Plan,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
    WindowFunction,
)
from lakelogic.sql.expressions import Call, Column, Expression, columns_of

Kind: TypeAlias = Literal["copied", "joined", "derived", "masked", "aggregated"]
# What happened to a value on a way of several steps is what changed it most.
_STRENGTH: Mapping[str, int] = {"copied": 0, "joined": 1, "derived": 2, "masked": 3, "aggregated": 4}
_COUNTS = frozenset({"count", "count_all", "count_distinct", "approx_count_distinct"})
EVERY_COLUMN = "*"  # a number of rows comes from the rows, not from one of their columns


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did to a value, as a person would write it."""

    label: str
    expression: str


@dataclass(frozen=True, slots=True)
class Origin:
    """A landed column of the source, or of a link by its name in the contract.

    `tells`: whether its values can be seen in what is made of it. A count, a position among rows and whether a value
    is there do not show it.
    """

    place: str
    column: str
    kind: Kind
    steps: tuple[Step, ...] = ()
    tells: bool = True

    def then(self, kind: Kind, step: Step | None, *, tells: bool = True) -> Origin:
        """The same origin, one step further on."""
        strongest = max(self.kind, kind, key=_STRENGTH.__getitem__)
        steps = (*self.steps, step) if step is not None and step not in self.steps else self.steps
        return Origin(self.place, self.column, strongest, steps, self.tells and tells)


Origins: TypeAlias = tuple[Origin, ...]
_Frame: TypeAlias = dict[str, Origins]


@dataclass(slots=True)
class _Frames:
    """What is known beside the rows: links and forks, by the names under which nodes know them."""

    links: Mapping[str, Link]
    made: dict[str, _Frame] = field(default_factory=dict)

    def of(self, name: str) -> _Frame:
        frame = self.made.get(name)
        if frame is None:
            link = self.links[name]
            place = link.reference or name
            frame = {column.name: (Origin(place, column.name, "copied"),) for column in link.read.columns}
            for node in link.nodes:
                frame = _after(node, frame, self)
            self.made[name] = frame
        return frame


def column_origins(plan: Plan) -> dict[str, Origins]:
    """The origins of every column that good rows have; none where a column is made of constants and stamps."""
    frame: _Frame = {column.name: (Origin(Plan.SOURCE, column.name, "copied"),) for column in plan.read.columns}
    frames = _Frames(plan.links)
    for account in plan.accounts:
        frame = _through(account, frame, frames)
    masked = {mask.column: mask for mask in plan.masks}
    origins_by_column: dict[str, Origins] = {}
    for name, value in good_values(plan).items():
        if name.startswith(names.INTERNAL):
            continue
        origins = _made(value, frame, "publish", quiet=True)
        if (mask := masked.get(name)) is not None:
            origins = tuple(origin.then("masked", Step("mask", mask.strategy)) for origin in origins)
        origins_by_column[name] = origins
    return origins_by_column


def bad_origins(plan: Plan) -> dict[str, Origins]:
    """The origins of every column that bad rows have: scratch columns stand there that good rows no longer have."""
    frame: _Frame = {column.name: (Origin(Plan.SOURCE, column.name, "copied"),) for column in plan.read.columns}
    frames = _Frames(plan.links)
    shown = {column.name for column in plan.columns if column.on_bad}
    origins_by_column: dict[str, Origins] = {}
    for account in plan.accounts:
        frame = _through(account, frame, frames)
        values = _without_verdicts(frame)
        for value in account.publish.values:
            name = value.name.removeprefix("~bad:")
            if value.name in shown and not name.startswith((names.INTERNAL, names.RESERVED_PREFIX)):
                earlier = origins_by_column.get(name, ())
                origins_by_column[name] = _distinct([*earlier, *_made(value.value, values, "publish", quiet=True)])
    return origins_by_column


def _without_verdicts(frame: _Frame) -> _Frame:
    """A verdict decides on which side a row is, not what stands in it."""
    return {name: origins for name, origins in frame.items() if not name.startswith(("~bad", "~note"))}


def _through(account: Account, frame: _Frame, frames: _Frames) -> _Frame:
    if account.opening is not None:
        frame = _opened(account.opening, frame, frames)
    for node in account.nodes:
        frame = _after(node, frame, frames)
    return frame


def _after(node: Node, frame: _Frame, frames: _Frames) -> _Frame:
    match node:
        case RowWise():
            if node.label == APART:
                seen = _without_verdicts(frame)
                return {**frame, **{a.name: _made(a.value, seen, node.label, quiet=True) for a in node.columns}}
            columns = {
                a.name: _made(a.value, frame, node.label) for a in node.columns if not a.name.startswith(names.FATE)
            }
            return {**frame, **columns}
        case Rank():
            by = [*node.partition, *(key.value for key in node.order)]
            step = Step(node.label, "; ".join(node.detail))
            return {**frame, node.output: _together(by, frame, "derived", step, tells=False)}
        case Window():
            around = [*node.partition, *(key.value for key in node.order)]
            return {
                **frame,
                **{
                    function.name: _seen_over(function, around, frame, node.label) for function in node.functions
                },
            }  # fmt: skip
        case Expand():
            made_of = _together([node.value], frame, "derived", Step(node.label, _plain(node.value)))
            added = [node.item, *([node.key] if node.key else [])]
            return {**frame, node.position: (), **dict.fromkeys(added, made_of)}
        case Join():
            return {**frame, **_taken(node.take, frames.of(node.link)), node.found: ()}
        case Fork():
            own = frame if node.start is None else frames.of(node.start)
            for inner in node.nodes:
                own = _after(inner, own, frames)
            frames.made[node.name] = own
            return frame
        case Rollup() | Pairs() | Stack():
            return _opened(node, frame, frames)
        case _:
            return frame


def _opened(opening: Opening, frame: _Frame, frames: _Frames) -> _Frame:
    match opening:
        case Rollup():
            columns = {key.name: _made(key.value, frame, opening.label) for key in opening.keys}
            for aggregate in opening.aggregates:
                values = [*([aggregate.value] if aggregate.value is not None else []), *aggregate.more]
                shown = ", ".join(map(_plain, values)) or EVERY_COLUMN
                step = Step(opening.label, f"{aggregate.function}({shown})")
                tells = aggregate.function not in _COUNTS
                columns[aggregate.name] = _together(values, frame, "aggregated", step, tells=tells) or _rows(
                    frame, step
                )
            return columns
        case Pairs():
            return {**frame, **_taken(opening.take, frames.of(opening.link))}
        case Stack():
            parts = [(frame, opening.own), *((frames.of(name), values) for name, values in opening.below)]
            return {
                name: _distinct(
                    origin for columns, values in parts for origin in _made(values[at], columns, opening.label)
                )
                for at, name in enumerate(opening.columns)
            }


def _rows(frame: _Frame, step: Step) -> Origins:
    """A count of rows: it comes from the rows of wherever the frame's values are from."""
    places = dict.fromkeys(origin.place for origins in frame.values() for origin in origins)
    return tuple(Origin(place, EVERY_COLUMN, "aggregated", (step,)) for place in list(places)[:1])


def _taken(take: Sequence[tuple[str, str]], link: _Frame) -> _Frame:
    return {new: tuple(origin.then("joined", None) for origin in link.get(old, ())) for old, new in take}


def _made(value: Expression, frame: _Frame, label: str, *, quiet: bool = False) -> Origins:
    if isinstance(value, Column):
        return frame.get(value.name, ())
    step = None if quiet else Step(label, _plain(value))
    return _together([value], frame, "derived", step, tells=not _is_absence(value))


def _is_absence(value: Expression) -> bool:
    """Whether it only says if a column has a value."""
    return isinstance(value, Call) and value.function == "is_null" and isinstance(value.args[0], Column)


def _seen_over(function: WindowFunction, around: Sequence[Expression], frame: _Frame, label: str) -> Origins:
    """What a function over other rows is made of: what it takes shows in it, what rows are ordered by does not."""
    step = Step(label, f"{function.function}({', '.join(map(_plain, function.args))}) over rows")
    taken = _together(function.args, frame, "derived", step, tells=function.function not in _COUNTS)
    return _distinct([*taken, *_together(around, frame, "derived", step, tells=False)])


def _together(
    values: Iterable[Expression], frame: _Frame, kind: Kind, step: Step | None, *, tells: bool = True
) -> Origins:
    used = [name for value in values for name in sorted(columns_of(value))]
    return _distinct(origin.then(kind, step, tells=tells) for name in used for origin in frame.get(name, ()))


def _distinct(origins: Iterable[Origin]) -> Origins:
    """Each landed column once, by the way on which most happened to it; one way that tells is enough."""
    best: dict[tuple[str, str], Origin] = {}
    for origin in origins:
        best_origin = best.get((origin.place, origin.column))
        if best_origin is None or _STRENGTH[origin.kind] > _STRENGTH[best_origin.kind]:
            tells = origin.tells or (best_origin is not None and best_origin.tells)
            best[origin.place, origin.column] = replace(origin, tells=tells)
        elif origin.tells and not best_origin.tells:
            best[origin.place, origin.column] = replace(best_origin, tells=True)
    return tuple(best.values())


def _plain(value: Expression) -> str:
    return readable(written(value))


def readable(text: str) -> str:
    """Without the numbers that tell several columns of one name apart in a plan."""
    return re.sub(r"(?<=\w)~\d+\b", "", text)


def good_values(plan: Plan) -> dict[str, Expression]:
    """What good rows get in each column, over the last frame of the plan."""
    last = plan.accounts[-1].publish
    never = frozenset(_conditions(last.side))
    return {
        column.name: _settled(value.value, never)
        for column, value in zip(plan.columns, last.values, strict=True)
        if column.on_good
    }


def _conditions(side: Expression) -> list[Expression]:
    """What does not hold of a good row: every condition under which a row is lost or bad."""
    if isinstance(side, Call) and side.function == "case":
        return [*side.args[:-1:2], *_conditions(side.args[-1])]
    return []


def _settled(value: Expression, never: frozenset[Expression]) -> Expression:
    """A value without the cases that do not occur."""
    while isinstance(value, Call) and value.function == "case":
        pairs = [
            part
            for condition, then in zip(value.args[:-1:2], value.args[1:-1:2], strict=True)
            if condition not in never
            for part in (condition, then)
        ]
        if len(pairs) == len(value.args) - 1:
            break
        value = Call("case", (*pairs, value.args[-1]), value.type) if pairs else value.args[-1]
    return value
