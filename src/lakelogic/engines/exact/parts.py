"""Long expressions in short pieces: what is long and stands inside something else is computed first, under a name.

Many functions are lowered to native ones that mention an argument more than once. Nested, such an expression grows
with every level, by a factor, and so does the time an engine needs to read and to optimise it. A column is named, not
repeated, and is computed once per row. Where no column can be made (inside a lambda, in a condition over two frames) a
list of one value and a lambda over it gives the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from lakelogic.plan.nodes import (
    Aggregate,
    Assignment,
    Expand,
    Join,
    Keep,
    Node,
    Order,
    Pairs,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
)
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, columns_of, walk
from lakelogic.sql.types import INT, Type

FrameT = TypeVar("FrameT")

PIECE = "~piece"  # how the names begin that are made here

# What can be large beyond all measure, so a branch that is not taken must not compute it.
_BULKY = frozenset({"repeat", "lpad", "rpad", "sequence", "date_sequence"})
# The first argument of these is always computed; of the others only what is needed.
_CHOOSING = frozenset({"case", "coalesce", "and", "or"})


@dataclass(frozen=True, slots=True)
class Pieces:
    """How an engine wants its expressions: `size` tells how long one is when it is lowered."""

    size: Callable[[Expression], int]
    limit: int
    numbers: Iterator[int]  # of the names that are made

    def of_node(self, node: Node) -> tuple[list[RowWise], Node]:
        """The nodes that compute the long parts of a node as columns, and the node that reads these."""
        cutter = _Cutter(self)
        short = _shortened(node, cutter)
        return [RowWise("part", tuple(columns)) for columns in cutter.stages], short

    def bound(self, value: Expression) -> Expression:
        """The expression with its long arguments bound within itself: no column is made."""
        return _Binder(self).whole(value)


class Links(dict[str, FrameT]):
    """Frames by name, and how expressions are cut; grows while nodes are lowered: a fork is known like a link."""

    def __init__(self, frames: Mapping[str, FrameT], size: Callable[[Expression], int], limit: int) -> None:
        super().__init__(frames)
        self.pieces = Pieces(size, limit, count())


class _Shortener:
    """Gives the long arguments of calls names; what the names stand for is kept by the classes below."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.made: dict[Expression, Column] = {}  # in an order in which each reads only those before it

    def __call__(self, value: Expression) -> Expression:
        """The expression with its long arguments as names."""
        if not isinstance(value, Call):
            return value
        return Call(value.function, tuple(self._arguments(value)), value.type)

    def _arguments(self, call: Call) -> Iterator[Expression]:
        for place, argument in enumerate(call.args):
            if isinstance(argument, Lambda):
                yield Lambda(argument.parameters, self.pieces.bound(argument.body))
            elif place and call.function in _CHOOSING and _is_bulky(argument):
                yield self.pieces.bound(argument)
            else:
                yield self._argument(argument)

    def _argument(self, value: Expression) -> Expression:
        short = self(value)
        if not isinstance(short, Call) or self.pieces.size(short) <= self.pieces.limit:
            return short
        if short not in self.made:
            self.made[short] = Column(f"{PIECE}{next(self.pieces.numbers)}", short.type)
        return self.made[short]


class _Cutter(_Shortener):
    """Names are columns, made before the node."""

    @property
    def stages(self) -> list[list[Assignment]]:
        """The columns made, each stage reading only those before it."""
        place: dict[str, int] = {}
        stages: list[list[Assignment]] = []
        for value, column in self.made.items():
            stage = max((place[name] + 1 for name in columns_of(value) if name in place), default=0)
            if stage == len(stages):
                stages.append([])
            stages[stage].append(Assignment(column.name, value))
            place[column.name] = stage
        return stages


class _Binder(_Shortener):
    """Names are the parameters of lambdas over lists of one value."""

    def whole(self, value: Expression) -> Expression:
        """The expression inside what binds its names."""
        short = self(value)
        for bound, column in reversed(self.made.items()):
            alone = Call("array", (bound,), Type("array", element=bound.type))
            each = Call("transform", (alone, Lambda((column,), short)), Type("array", element=short.type))
            short = Call("item", (each, Literal(0, INT)), short.type)
        return short


def _is_bulky(value: Expression) -> bool:
    return any(isinstance(part, Call) and part.function in _BULKY for part in walk(value))


def _shortened(node: Node, cut: _Cutter) -> Node:
    bound = cut.pieces.bound
    match node:
        case RowWise():
            return replace(node, columns=_assigned(node.columns, cut))
        case Keep():
            return replace(node, where=cut(node.where))
        case Expand():
            return replace(node, where=cut(node.where), value=cut(node.value))
        case Join():
            return replace(node, on=tuple((cut(value), key) for value, key in node.on))
        case Pairs():
            # The condition is over both frames.
            condition = None if node.condition is None else bound(node.condition)
            on = tuple((cut(value), key) for value, key in node.on)
            return replace(node, where=cut(node.where), on=on, condition=condition)
        case Stack():
            below = tuple((link, tuple(bound(value) for value in values)) for link, values in node.below)
            return replace(node, where=cut(node.where), own=tuple(cut(value) for value in node.own), below=below)
        case Rank() | Window():
            partition = tuple(cut(value) for value in node.partition)
            order = tuple(Order(cut(key.value), key.descending, key.nulls_first) for key in node.order)
            if isinstance(node, Rank):
                return replace(node, partition=partition, order=order)
            functions = tuple(
                replace(function, args=tuple(cut(arg) for arg in function.args)) for function in node.functions
            )
            return replace(node, partition=partition, order=order, functions=functions)
        case Rollup():
            return replace(
                node,
                where=cut(node.where),
                keys=_assigned(node.keys, cut),
                aggregates=tuple(_aggregate(aggregate, cut) for aggregate in node.aggregates),
            )
    return node


def _assigned(columns: Sequence[Assignment], cut: _Cutter) -> tuple[Assignment, ...]:
    return tuple(Assignment(column.name, cut(column.value)) for column in columns)


def _aggregate(aggregate: Aggregate, cut: _Cutter) -> Aggregate:
    value = None if aggregate.value is None else cut(aggregate.value)
    return replace(aggregate, value=value, more=tuple(cut(part) for part in aggregate.more))
