"""What a join is made on: the columns of the other side, and the parts of a condition by the side they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakelogic.plan.nodes import Assignment, Node, Rollup
from lakelogic.plan.query.statement import Relation
from lakelogic.plan.state import State
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, call, columns_of


@dataclass(slots=True)
class JoinedTable:
    """A join being compiled: the columns of the other side, under the names they will have."""

    other: Relation
    taken: dict[str, Column]  # logical name of the other side → its new column
    back: dict[str, Expression]  # new column → what it is over the other side's own frame


@dataclass(slots=True)
class Conditions:
    """The parts of an ON clause, by the side they read."""

    on: list[tuple[Expression, Expression]] = field(default_factory=list)  # over the rows, over the new columns
    own: list[Expression] = field(default_factory=list)
    other: list[Expression] = field(default_factory=list)
    mixed: list[Expression] = field(default_factory=list)


def meet(state: State, other: Relation, alias: str) -> JoinedTable:
    """Give the columns of the other side their new names."""
    taken: dict[str, Column] = {}
    back: dict[str, Expression] = {}
    for name, value in other.columns.items():
        column = Column(state.fresh(f"~{alias}.{name}"), value.type)
        taken[name], back[column.name] = column, value
        state.met[column.name] = (other.frame, value)
        state.inherit(column.name, value)
    return JoinedTable(other, taken, back)


def share(state: State, joined: JoinedTable, conditions: Conditions) -> None:
    """What is equal to a masked value is masked like it: the other side's key would show it otherwise."""
    parts = [*(call("eq", mine, theirs) for mine, theirs in conditions.on), *conditions.mixed]
    state.share(parts, joined.back)


def conditions(joined: JoinedTable, parts: Sequence[Expression]) -> Conditions:
    """Sort the parts of a condition."""
    theirs = {column.name for column in joined.taken.values()}
    parts_by_side = Conditions()
    for part in parts:
        reads = columns_of(part)
        pair = _equality(part, theirs)
        if pair is not None:
            parts_by_side.on.append(pair)
        elif reads and reads <= theirs:
            parts_by_side.other.append(part)
        elif not reads & theirs:
            parts_by_side.own.append(part)
        else:
            parts_by_side.mixed.append(part)
    return parts_by_side


def _equality(part: Expression, theirs: set[str]) -> tuple[Expression, Expression] | None:
    if not (isinstance(part, Call) and part.function == "eq"):
        return None
    left, right = part.args
    for mine, other in ((left, right), (right, left)):
        reads = columns_of(other)
        if reads and reads <= theirs and columns_of(mine) and not columns_of(mine) & theirs:
            return mine, other
    return None


def conjuncts(predicate: Expression) -> list[Expression]:
    """The parts of an AND."""
    if isinstance(predicate, Call) and predicate.function == "and":
        return [part for argument in predicate.args for part in conjuncts(argument)]
    return [predicate]


def equal_keys(joined: JoinedTable, pairs: Sequence[tuple[Expression, str]]) -> list[tuple[Expression, Expression]]:
    """Keys by name (USING, or a join step's `on` and `key`), both sides in one type."""
    keys = []
    for mine, name in pairs:
        (left, right), _ = unify((mine, joined.taken[name]), f"{name}:")
        keys.append((left, right))
    return keys


def distinct_keys(nodes: list[Node], keys: Mapping[str, Expression]) -> list[Node]:
    """One row per key: nothing can be found twice."""
    return [*nodes, Rollup("distinct", TRUE, tuple(Assignment(n, v) for n, v in keys.items()), ())]
