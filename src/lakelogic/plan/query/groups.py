"""Rows that are alive merge into groups: the keys and aggregates that stand for them afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakelogic.plan.nodes import Aggregate, Assignment, Rollup
from lakelogic.plan.state import State
from lakelogic.sql.expressions import Column, Expression
from lakelogic.sql.scope import BoundAggregate
from lakelogic.sql.types import BIGINT


@dataclass(frozen=True, slots=True)
class Groups:
    """The columns of the groups: one per key, in order; one per aggregate, by the name it was bound under."""

    keys: tuple[Column, ...]
    aggregates: dict[str, Expression]
    grouping: Column | None


def group(
    state: State,
    step: str,
    keys: Sequence[tuple[str, Expression]],
    aggregates: Sequence[BoundAggregate],
    detail: tuple[str, ...],
    sets: tuple[tuple[int, ...], ...] | None = None,
) -> Groups:
    """Open a new account of groups; what was in scope before is gone, the caller says what is now."""
    names = [state.fresh(name) for name, _ in keys]
    named = {aggregate.name: state.fresh(f"~aggregate.{aggregate.name.lstrip('~')}") for aggregate in aggregates}
    grouping = state.fresh("~grouping") if sets is not None else None
    node = Rollup(
        "rollup",
        state.alive,
        tuple(Assignment(name, value) for name, (_, value) in zip(names, keys, strict=True)),
        tuple(Aggregate(named[a.name], a.function, a.value, a.type, a.more, a.distinct) for a in aggregates),
        detail,
        sets,
        grouping,
    )
    for name, (_, value) in zip(names, keys, strict=True):
        state.inherit(name, value)
    for aggregate in aggregates:
        if aggregate.value is not None and not aggregate.function.startswith("count"):
            state.inherit(named[aggregate.name], aggregate.value, copied=False)
    state.open(node, step)
    return Groups(
        tuple(Column(name, value.type) for name, (_, value) in zip(names, keys, strict=True)),
        {aggregate.name: Column(named[aggregate.name], aggregate.type) for aggregate in aggregates},
        Column(grouping, BIGINT) if grouping is not None else None,
    )


def same_aggregate(left: BoundAggregate, right: BoundAggregate) -> bool:
    """Whether two aggregates yield the same number."""
    return (left.function, left.value, left.type, left.more, left.distinct) == (
        right.function,
        right.value,
        right.type,
        right.more,
        right.distinct,
    )
