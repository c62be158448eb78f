"""Conditions over two sides that are no equality: the other side's rows are collected per key, and asked one by one."""

from __future__ import annotations

from lakelogic.plan.nodes import Aggregate, Assignment, Fork, Join, Node, Rollup
from lakelogic.plan.predicates import both
from lakelogic.plan.query.join_conditions import Conditions, JoinedTable
from lakelogic.plan.state import State
from lakelogic.sql.expressions import (
    FALSE,
    TRUE,
    Call,
    Column,
    Expression,
    call,
    columns_of,
    replace_columns,
)
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.nested import field, struct_of
from lakelogic.sql.types import BOOLEAN, array


def any_candidate(state: State, joined: JoinedTable, conditions: Conditions, nodes: list[Node]) -> Expression:
    """Is there a row of equal keys for which the condition is TRUE: TRUE or FALSE, and no row is repeated."""
    condition = both(*conditions.mixed)
    reads = sorted(columns_of(condition) & set(joined.back))
    parts = {name: f"c{index}" for index, name in enumerate(reads)}
    candidate = struct_of([(parts[name], joined.back[name]) for name in reads])
    keys = {state.fresh("~key"): replace_columns(theirs, joined.back) for _, theirs in conditions.on}
    collected, taken = state.fresh("~candidates"), state.fresh("~candidates")
    together = Aggregate(collected, "collect_list", candidate, array(candidate.type))
    rolled = Rollup("rollup", TRUE, tuple(Assignment(name, value) for name, value in keys.items()), (together,))
    frame, matched = state.fresh("~beside"), state.fresh("~found.exists")
    state.nodes.append(Fork("fork", frame, joined.other.frame, (*nodes, rolled)))
    on = tuple((mine, name) for (mine, _), name in zip(conditions.on, keys, strict=True))
    state.nodes.append(Join("exists", frame, on, ((collected, taken),), matched))
    holds = lambda_of(
        (candidate.type,),
        lambda row: call(
            "same", replace_columns(condition, {name: field(row, part) for name, part in parts.items()}), TRUE
        ),
    )
    exists = Call("exists", (Column(taken, array(candidate.type)), holds), BOOLEAN)
    own = (call("same", part, TRUE) for part in conditions.own)
    return both(*own, Call("coalesce", (exists, FALSE), BOOLEAN))
