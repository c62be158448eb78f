"""JOIN: each row meets those of a link or a query, by keys where that is enough, in pairs otherwise.

A left or inner join by equality stays in its account: rows are repeated for each match, and counted. Every other
join pairs rows, and a new account begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal as OneOf

from lakelogic.plan.nodes import Assignment, Fork, Join, Keep, Node, Order, Pairs, Rank, RowWise
from lakelogic.plan.predicates import both, fails, holds, ordered
from lakelogic.plan.query.exists import has_match
from lakelogic.plan.query.join_conditions import Conditions, JoinedTable, share
from lakelogic.plan.state import State
from lakelogic.sql.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    call,
    replace_columns,
)
from lakelogic.sql.types import BIGINT

Kind = OneOf["inner", "left", "right", "full", "semi", "anti"]


def join(
    state: State, joined: JoinedTable, kind: Kind, conditions: Conditions, step: str, detail: tuple[str, ...]
) -> Expression:
    """Compile a join; the columns of the other side stand in the frame afterwards. Tells whether a row was found."""
    share(state, joined, conditions)
    if kind in ("semi", "anti"):
        return _only_matching(state, joined, kind, conditions, step, detail)
    if kind in ("inner", "left") and not conditions.mixed and (conditions.on or _is_cross(state, kind, conditions)):
        return _by_keys(state, joined, kind, conditions, step, detail)
    return _in_pairs(state, joined, kind, conditions, step, detail)


def _is_cross(state: State, kind: Kind, conditions: Conditions) -> bool:
    """Every row meets every other: in a fork, where rows that are bad or lost are gone and nobody counts copies."""
    return kind == "inner" and not conditions.own and state.beside


def _prepared(
    state: State, joined: JoinedTable, conditions: Conditions, *, filtered: bool = True
) -> tuple[list[Node], list[tuple[Expression, str]]]:
    """What is done to the other side before rows meet it: its own conditions, and its keys as columns."""
    nodes: list[Node] = []
    if filtered and conditions.other:
        nodes.append(Keep("keep", both(*(replace_columns(part, joined.back) for part in conditions.other))))
    keys: list[tuple[Expression, str]] = []
    columns: list[Assignment] = []
    for mine, theirs in conditions.on:
        name = state.fresh("~key")
        columns.append(Assignment(name, replace_columns(theirs, joined.back)))
        keys.append((mine, name))
    if columns:
        nodes.append(RowWise("key", tuple(columns)))
    return nodes, keys


def _frame(state: State, joined: JoinedTable, nodes: Sequence[Node]) -> str:
    if not nodes:
        return joined.other.frame
    name = state.fresh("~beside")
    state.nodes.append(Fork("fork", name, joined.other.frame, tuple(nodes)))
    return name


def _take(state: State, joined: JoinedTable, nodes: list[Node]) -> tuple[tuple[str, str], ...]:
    """The other side's columns and the names they get; what is no plain column there becomes one first."""
    pairs: list[tuple[str, str]] = []
    assignments: list[Assignment] = []
    for column in joined.taken.values():
        value = joined.back[column.name]
        if not isinstance(value, Column):
            assignments.append(Assignment(state.fresh("~value"), value))
            value = Column(assignments[-1].name, value.type)
        pairs.append((value.name, column.name))
    if assignments:
        nodes.append(RowWise("derive", tuple(assignments)))
    return tuple(pairs)


def _by_keys(
    state: State, joined: JoinedTable, kind: Kind, conditions: Conditions, step: str, detail: tuple[str, ...]
) -> Expression:
    nodes, keys = _prepared(state, joined, conditions)
    take = _take(state, joined, nodes)
    ordinal, place = state.fresh("~ordinal"), state.fresh("~place")
    partition = tuple(Column(name, mine.type) for mine, name in keys)
    values = [ordered(value) for value in joined.other.columns.values()]
    nodes.append(Rank("rank", partition, tuple(Order(value) for value in values), ordinal))
    if conditions.own:
        # A row that the condition leaves out finds nothing: it has no key.
        guard = both(*conditions.own)
        keys = [(Call("case", (guard, mine, Literal(None, mine.type)), mine.type), name) for mine, name in keys]
    matched = state.fresh(f"~found.{step}")
    frame = _frame(state, joined, nodes)
    # Rows that are bad or lost meet nobody, so that they are never repeated.
    if state.alive != TRUE and keys:
        first, name = keys[0]
        keys[0] = (Call("case", (state.alive, first, Literal(None, first.type)), first.type), name)
    state.nodes.append(Join("join", frame, tuple(keys), (*take, (ordinal, place)), matched, detail))
    again = Call("coalesce", (Column(place, BIGINT), Literal(1, BIGINT)), BIGINT)
    state.multiply(step, call("gt", again, Literal(1, BIGINT)))
    if kind == "inner":
        state.lose("filtered", step, call("not", holds(Column(matched, TRUE.type))), detail)
    return Column(matched, TRUE.type)


def _only_matching(
    state: State, joined: JoinedTable, kind: Kind, conditions: Conditions, step: str, detail: tuple[str, ...]
) -> Expression:
    matched = has_match(state, joined, conditions)
    lost = fails(matched) if kind == "semi" else holds(matched)
    state.lose("filtered", step, lost, detail)
    return matched


def _in_pairs(
    state: State, joined: JoinedTable, kind: Kind, conditions: Conditions, step: str, detail: tuple[str, ...]
) -> Expression:
    keeps_others = kind in ("right", "full")
    nodes, keys = _prepared(state, joined, conditions, filtered=not keeps_others)
    take = _take(state, joined, nodes)
    rest = [*conditions.mixed, *conditions.own, *(conditions.other if keeps_others else ())]
    has_left, has_right = state.fresh("~has.left"), state.fresh("~has.right")
    opening = Pairs(
        "join",
        state.alive,
        _frame(state, joined, nodes),
        kind,  # type: ignore[arg-type]
        tuple(keys),
        both(*rest) if rest else None,
        take,
        has_left,
        has_right,
        detail,
    )
    state.open(opening, step, is_landed=True)
    return Column(has_right, TRUE.type)
