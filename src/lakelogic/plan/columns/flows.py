"""How values flow through a plan while it is made: what each column is made of, and what conditions tie together.

Masks follow it both ways. What a masked field is made of shows its value as plainly as the field would, and a column
of a link that a condition ties to a masked value tells that value, whatever the condition is called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from lakelogic import names
from lakelogic.plan.columns.taints import Taint, changed, taint_of, together
from lakelogic.plan.nodes import Expand, Fork, Join, Link, Node, Pairs, Rank, Rollup, RowWise, Stack, Window
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, columns_of
from lakelogic.sql.types import BOOLEAN

_COUNTS = frozenset({"count", "count_all", "count_distinct", "approx_count_distinct"})
# Verdicts, fates and whether a row was found say which rows there are, not what stands in them.
_SILENT = ("~bad", "~note", names.FATE, names.COPY, "~found", "~has.")
_Frame = dict[str, str]  # column → its name in the whole plan


def conditions_of(predicate: Expression, *, holds: bool = True) -> list[Expression]:
    """The conditions that are all met where the predicate is TRUE (or, with `holds` False, where it is not)."""
    if isinstance(predicate, Call):
        if predicate.function == "not":
            return conditions_of(predicate.args[0], holds=not holds)
        if predicate.function == ("and" if holds else "or"):
            return [part for argument in predicate.args for part in conditions_of(argument, holds=holds)]
        if predicate.function in ("same", "eq") and predicate.args[0].type == BOOLEAN:
            first, second = predicate.args
            if isinstance(second, Literal) and isinstance(second.value, bool):
                return conditions_of(first, holds=holds == second.value)
    return [predicate]


def told_by(value: Expression) -> frozenset[str]:
    """The columns whose values an expression looks at; whether a value is there is no look at it."""
    if isinstance(value, Column):
        return frozenset({value.name})
    if isinstance(value, Lambda):
        return told_by(value.body) - {parameter.name for parameter in value.parameters}
    if not isinstance(value, Call):
        return columns_of(value)
    if value.function == "is_null" and isinstance(value.args[0], Column):
        return frozenset()
    return frozenset().union(*map(told_by, value.args))


def of_link(link: str, column: str) -> str:
    """The name in the whole plan of a column that a link's own nodes make."""
    return f"{link}\0{column}"


@dataclass(slots=True)
class Flows:
    """What the columns of a plan are made of, by their names in the plan."""

    links: Mapping[str, Link]
    places: Mapping[str, str] = field(default_factory=dict)  # name of a link → where it lies
    source: str = ""  # where the source lies
    made_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    foreign: set[str] = field(default_factory=set)  # columns as a link has them, however often the plan reads it
    landed: dict[str, str] = field(default_factory=dict)  # column of a link over the source → the landed column
    _frames: dict[str, _Frame] = field(default_factory=dict)
    _rows: _Frame = field(default_factory=dict)

    def follow(self, nodes: Iterable[Node]) -> None:
        """Walk further nodes of the rows themselves."""
        for node in nodes:
            self._rows = self._after(node, self._rows)

    def meet(self, column: str, frame: str, value: Expression) -> None:
        """A column that a condition asked of another frame's rows, whether these were taken along or only asked."""
        self._make(self._frame(frame), column, [value], "")

    def origins(self, columns: Iterable[str]) -> frozenset[str]:
        """These columns and all that they are made of."""
        origins, waiting = set(columns), list(columns)
        while waiting:
            further = self.made_of.get(waiting.pop(), set()) - origins
            origins |= further
            waiting += further
        return frozenset(origins)

    def _frame(self, name: str) -> _Frame:
        frame = self._frames.get(name)
        if frame is None:
            link = self.links[name]
            # One column of one file or table, under whichever name and in whichever query it is read.
            place = self.places.get(link.reference) or link.reference or name
            frame = {column.name: of_link(place, column.name.lower()) for column in link.read.columns}
            self.foreign |= set(frame.values())
            if place == self.source:
                self.landed |= {whole: column for column, whole in frame.items()}
            for node in link.nodes:
                frame = self._after(node, frame, of_link(name, ""))
            self._frames[name] = frame
        return frame

    def _make(self, frame: _Frame, name: str, values: Iterable[Expression], prefix: str) -> str:
        physical = prefix + name
        self.made_of[physical] |= {
            frame.get(read, read) for value in values for read in told_by(value) if not read.startswith(_SILENT)
        } - {physical}
        return physical

    def _after(self, node: Node, frame: _Frame, prefix: str = "") -> _Frame:
        match node:
            case RowWise():
                added = [a for a in node.columns if not a.name.startswith(_SILENT)]
                return {**frame, **{a.name: self._make(frame, a.name, [a.value], prefix) for a in added}}
            case Rank():
                return {**frame, node.output: prefix + node.output}
            case Window():
                columns = {
                    function.name: self._make(
                        frame, function.name, () if function.function in _COUNTS else function.args, prefix
                    )
                    for function in node.functions
                }
                return {**frame, **columns}
            case Expand():
                added_names = [node.item, *([node.key] if node.key else [])]
                return {**frame, **{name: self._make(frame, name, [node.value], prefix) for name in added_names}}
            case Join() | Pairs():
                return {**frame, **self._taken(node.take, self._frame(node.link), prefix)}
            case Fork():
                own = dict(frame) if node.start is None else self._frame(node.start)
                for inner in node.nodes:
                    own = self._after(inner, own)
                self._frames[node.name] = own
                return frame
            case Rollup():
                groups = {key.name: self._make(frame, key.name, [key.value], prefix) for key in node.keys}
                for aggregate in node.aggregates:
                    values = [*([aggregate.value] if aggregate.value is not None else []), *aggregate.more]
                    counts = aggregate.function in _COUNTS
                    groups[aggregate.name] = self._make(frame, aggregate.name, () if counts else values, prefix)
                return groups
            case Stack():
                stacked: _Frame = {}
                parts = [(frame, node.own), *((self._frame(name), values) for name, values in node.below)]
                for at, name in enumerate(node.columns):
                    for part, given in parts:
                        stacked[name] = self._make(part, name, [given[at]], prefix)
                return stacked
            case _:
                return frame

    def _taken(self, take: Sequence[tuple[str, str]], other: _Frame, prefix: str) -> _Frame:
        columns = {}
        for old, new in take:
            columns[new] = prefix + new
            self.made_of[columns[new]].add(other.get(old, old))
        return columns


def tied(
    flows: Flows, conditions: Sequence[Expression], taints: Mapping[str, Taint], shown: AbstractSet[str] = frozenset()
) -> dict[str, Taint]:
    """The taints of columns that hold a link's values, where conditions tie these to masked ones.

    A condition ties all that it looks at, directly or through columns made before: where it is met, who sees the one
    may have learned the other. What a tied column is made of, and what is made of that, is tied with it, in every
    place where the plan reads the link. What a masked column of the rows is made of ties like it, but for what is
    `shown`.
    """
    masked_columns = dict(taints)
    masked_columns |= {name: changed(taints[landed]) for name, landed in flows.landed.items() if landed in taints}
    reads = [(condition, flows.origins(told_by(condition))) for condition in conditions]
    ancestry = {name: flows.origins([name]) for name in (*flows.made_of, *flows.foreign)}
    theirs = {name for name, origins in ancestry.items() if origins & flows.foreign}
    flowing: defaultdict[str, list[Taint]] = defaultdict(list)
    for name in taints.keys() - theirs:
        for origin in flows.origins([name]) - masked_columns.keys() - theirs - shown:
            flowing[origin].append(changed(taints[name]))
    masked_columns |= {name: whole for name, carried in flowing.items() if (whole := together(carried)) is not None}
    own = masked_columns.keys() - flows.foreign
    while True:
        before = len(masked_columns)
        for condition, columns in reads:
            if not columns & theirs - masked_columns.keys():
                continue
            masked = [masked_columns[name] for name in sorted(columns & masked_columns.keys())]
            if (whole := taint_of(condition, masked_columns)) is not None:
                masked.append(whole)
            if masked and (mask := together([changed(taint) for taint in masked])) is not None:
                masked_columns |= dict.fromkeys(columns & theirs - masked_columns.keys(), mask)
        for name in theirs - masked_columns.keys():
            ancestors = [
                masked_columns[origin] for origin in ancestry[name] if origin in masked_columns and origin not in taints
            ]
            if ancestors and (mask := together([changed(taint) for taint in ancestors])) is not None:
                masked_columns[name] = mask
        if len(masked_columns) == before:
            return {name: taint for name, taint in masked_columns.items() if name not in own}
