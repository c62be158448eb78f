"""`unique` as a row rule: the members of a duplicate group are bad, all of them or all but the first."""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic.contract.rules import RowUnique, Severity
from lakelogic.plan.nodes import Bounds, Order, Rank, Window, WindowFunction
from lakelogic.plan.predicates import both, grouped, ordered
from lakelogic.plan.state import Flag, State
from lakelogic.sql.expressions import TRUE, Column, Expression, Literal, call
from lakelogic.sql.types import BIGINT

_ALL = Bounds(rows=False, start=None, end=None)


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """What one such rule asks, wherever it was written."""

    fields: tuple[str, ...]
    path: str  # of the rule in the contract
    name: str
    keep_first: bool = False
    order_by: tuple[str, ...] = ()
    severity: Severity = "error"
    category: str = "uniqueness"
    label: str | None = None

    @classmethod
    def of(cls, rule: RowUnique, path: str, category: str = "uniqueness") -> Uniqueness:
        """A row rule; `category` is that of its kind."""
        name = rule.name or f"{'_'.join(rule.fields)}_unique"
        return cls(
            rule.fields, f"{path}.unique", name, rule.keep == "first", rule.order_by, rule.severity,
            rule.category or category, rule.label,
        )  # fmt: skip


def judge_rule(state: State, rule: RowUnique, path: str, category: str) -> None:
    """Judge by a row rule of that kind."""
    judge_unique(state, Uniqueness.of(rule, path, category))


def judge_unique(state: State, asked: Uniqueness) -> None:
    """Judge the rows that are alive, and only them: a row that is bad for another reason is nobody's duplicate."""
    keys: list[Expression] = []
    for name in asked.fields:
        value = state.column(name, asked.path)
        if value is None:
            return
        keys.append(value)
    order = _order(state, asked)
    if order is None:
        return
    blank = both(*(call("is_null", key) for key in keys))
    partition = [*(grouped(key) for key in keys), *([] if state.alive == TRUE else [state.alive])]
    listed = ", ".join(asked.fields)
    if asked.keep_first:
        rank = state.fresh("~rank")
        ties = [Order(ordered(value)) for value in state.scope.values()]
        state.nodes.append(Rank("unique", tuple(partition), (*order, *ties), rank, (f"first of {listed}",)))
        loser = call("gt", Column(rank, BIGINT), Literal(1, BIGINT))
        shown = f"another row of the same {listed} is kept"
    else:
        counted = state.fresh("~members")
        function = WindowFunction(counted, "count_all", (), BIGINT, _ALL)
        state.nodes.append(Window("unique", tuple(partition), (), (function,), (f"rows of the same {listed}",)))
        loser = call("gt", Column(counted, BIGINT), Literal(1, BIGINT))
        shown = f"{listed} is unique"
    text = f"Rule failed: {asked.name} ({shown})"
    failed = both(loser, call("not", blank))
    state.judge([Flag(failed, text, asked.category, asked.name, asked.severity, asked.label)])


def _order(state: State, asked: Uniqueness) -> list[Order] | None:
    """`updated_at desc` → a sort key; NULLs are last either way."""
    order: list[Order] = []
    for written in asked.order_by:
        name, _, direction = written.strip().rpartition(" ")
        if direction.lower() not in ("asc", "desc") or not name:
            name, direction = written.strip(), "asc"
        value = state.column(name.strip(), f"{asked.path}.order_by")
        if value is None or not state.may_decide([value], f"{asked.path}.order_by", "`order_by`"):
            return None
        order.append(Order(ordered(value), descending=direction.lower() == "desc"))
    return order
