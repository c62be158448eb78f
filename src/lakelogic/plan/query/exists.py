"""Whether a row meets another: EXISTS, SEMI and ANTI JOIN; no row is repeated."""

from __future__ import annotations

from lakelogic.plan.nodes import Aggregate, Fork, Join, Keep, Node, Rollup
from lakelogic.plan.predicates import both
from lakelogic.plan.query.candidates import any_candidate
from lakelogic.plan.query.join_conditions import Conditions, JoinedTable, distinct_keys
from lakelogic.plan.query.statement import Relation
from lakelogic.plan.state import State
from lakelogic.sql.expressions import TRUE, Column, Expression, Literal, call, replace_columns
from lakelogic.sql.types import BIGINT, BOOLEAN


def has_match(state: State, joined: JoinedTable, conditions: Conditions) -> Expression:
    """TRUE or FALSE: is there a row on the other side that meets this one."""
    nodes: list[Node] = []
    if conditions.other:
        nodes.append(Keep("keep", both(*(replace_columns(part, joined.back) for part in conditions.other))))
    if conditions.mixed:
        return any_candidate(state, joined, conditions, nodes)
    if not conditions.on:
        frame = state.fresh("~beside")
        state.nodes.append(Fork("fork", frame, joined.other.frame, tuple(nodes)))
        exists = any_row(state, Relation(frame, joined.other.columns))
        return both(*(call("same", part, TRUE) for part in conditions.own), exists)
    keys: dict[str, Expression] = {}
    on: list[tuple[Expression, str]] = []
    for mine, theirs in conditions.on:
        name = state.fresh("~key")
        keys[name] = replace_columns(theirs, joined.back)
        on.append((mine, name))
    frame, matched = state.fresh("~beside"), state.fresh("~found.exists")
    state.nodes.append(Fork("fork", frame, joined.other.frame, tuple(distinct_keys(nodes, keys))))
    state.nodes.append(Join("exists", frame, tuple(on), (), matched))
    return both(*(call("same", part, TRUE) for part in conditions.own), Column(matched, BOOLEAN))


def any_row(state: State, relation: Relation) -> Expression:
    """TRUE or FALSE: has the relation any row at all."""
    rows, all_rows = state.fresh("~rows"), state.fresh("~rows")
    frame, has_rows = state.fresh("~beside"), state.fresh("~found.all")
    counted = Rollup("count", TRUE, (), (Aggregate(rows, "count_all", None, BIGINT),))
    state.nodes.append(Fork("fork", frame, relation.frame, (counted,)))
    state.nodes.append(Join("exists", frame, (), ((rows, all_rows),), has_rows))
    return call("gt", Column(all_rows, BIGINT), Literal(0, BIGINT))
