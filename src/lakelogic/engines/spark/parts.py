"""Long expressions in short pieces: what is long and stands inside something else becomes a column first.

Spark is told expressions as text, and several functions name an argument more than once. Nested, such a text grows with
every level, and Spark's parser and optimizer with it. A column is named, not repeated, and is computed once per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakelogic.engines.spark.expressions import sql
from lakelogic.plan.nodes import Aggregate, Assignment, Expand, Join, Keep, Node, Order, Rank, Rollup, RowWise, Window
from lakelogic.sql.expressions import Call, Column, Expression, columns_of

LONG = 400  # characters of SQL, from which an argument becomes a column


def in_parts(node: Node, numbers: Iterator[int]) -> Iterator[Node]:
    """The node, after the nodes that compute its long parts."""
    cutter = _Cutter(numbers)
    short = _shortened(node, cutter)
    for columns in cutter.stages:
        yield RowWise("part", tuple(columns))
    yield short


class _Cutter:
    """Cuts expressions; `stages` are the columns made, each stage reading only those before it."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.stages: list[list[Assignment]] = []
        self._numbers = numbers
        self._stage: dict[str, int] = {}
        self._made: dict[Expression, Column] = {}

    def __call__(self, value: Expression) -> Expression:
        """The expression with its long arguments as columns; a lambda stays whole: its parameters are no columns."""
        if not isinstance(value, Call):
            return value
        return Call(value.function, tuple(self._argument(argument) for argument in value.args), value.type)

    def _argument(self, value: Expression) -> Expression:
        short = self(value)
        if not isinstance(short, Call) or len(sql(short)) <= LONG:
            return short
        known = self._made.get(short)
        if known is not None:
            return known
        column = Column(f"~piece{next(self._numbers)}", short.type)
        stage = max((self._stage[name] + 1 for name in columns_of(short) if name in self._stage), default=0)
        while len(self.stages) <= stage:
            self.stages.append([])
        self.stages[stage].append(Assignment(column.name, short))
        self._stage[column.name] = stage
        self._made[short] = column
        return column


def _shortened(node: Node, cut: _Cutter) -> Node:
    match node:
        case RowWise():
            return replace(node, columns=tuple(Assignment(one.name, cut(one.value)) for one in node.columns))
        case Keep():
            return replace(node, where=cut(node.where))
        case Expand():
            return replace(node, where=cut(node.where), value=cut(node.value))
        case Join():
            return replace(node, on=tuple((cut(value), key) for value, key in node.on))
        case Rank() | Window():
            partition = tuple(cut(value) for value in node.partition)
            order = tuple(Order(cut(key.value), key.descending, key.nulls_first) for key in node.order)
            if isinstance(node, Rank):
                return replace(node, partition=partition, order=order)
            functions = tuple(replace(one, args=tuple(cut(arg) for arg in one.args)) for one in node.functions)
            return replace(node, partition=partition, order=order, functions=functions)
        case Rollup():
            return replace(
                node,
                where=cut(node.where),
                keys=tuple(Assignment(key.name, cut(key.value)) for key in node.keys),
                aggregates=tuple(_aggregate(one, cut) for one in node.aggregates),
            )
    return node


def _aggregate(one: Aggregate, cut: _Cutter) -> Aggregate:
    value = None if one.value is None else cut(one.value)
    return replace(one, value=value, more=tuple(cut(part) for part in one.more))
