"""ORDER BY, LIMIT and OFFSET: which rows of a result stay, by their place in its order."""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from lakelogic.plan.codes import NO_ORDER
from lakelogic.plan.nodes import Order
from lakelogic.plan.query.projection import Item
from lakelogic.plan.query.statement import Statement
from lakelogic.plan.query.windows import ranked
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Expression, Literal, call
from lakelogic.sql.forms.windows import order_keys
from lakelogic.sql.problems import BAD_ARGUMENTS, SqlProblems
from lakelogic.sql.types import BIGINT

OrderKeys = tuple[tuple[Expression, bool, bool], ...]


def by_position(order: exp.Expression, items: list[Item]) -> exp.Expression:
    """ORDER BY 2 means the second item."""
    order = order.copy()
    for ordered in order.expressions:
        inner = ordered.this if isinstance(ordered, exp.Ordered) else ordered
        if isinstance(inner, exp.Literal) and not inner.is_string and str(inner.this).isdigit():
            place = int(str(inner.this))
            if not 1 <= place <= len(items):
                raise refuse(BAD_ARGUMENTS, f"ORDER BY {place}: there are {len(items)} items.")
            inner.replace(exp.column(exp.to_identifier(items[place - 1].name, quoted=True)))
    return order


def limit_result(statement: Statement, state: State, tree: exp.Expression) -> None:
    """ORDER BY and LIMIT of a set operation: they read its result."""
    keys: OrderKeys = ()
    if tree.args.get("order") is not None:
        items = [Item(name, value) for name, value in state.visible.items()]
        binder = Binder(state.sql_scope())
        keys = order_keys(binder, by_position(tree.args["order"], items))
        if binder.problems:
            raise SqlProblems(binder.problems)
    limited(statement, state, tree, keys)


def limited(statement: Statement, state: State, tree: exp.Expression, keys: OrderKeys) -> None:
    """LIMIT and OFFSET of a query over its rows in the order of these keys."""
    limit, offset = _count(tree.args.get("limit"), "LIMIT"), _count(tree.args.get("offset"), "OFFSET")
    if limit is None and offset is None:
        if keys and not state.beside:
            state.trouble.add(
                NO_ORDER,
                "ORDER BY without LIMIT has no effect: a table has no order.",
                statement.path,
                "leave it out, or add LIMIT",
                warning=True,
            )
        return
    order = tuple(Order(value, down, first) for value, down, first in keys)
    rank = ranked(state, "limit", (), order)
    first = Literal(offset or 0, BIGINT)
    beyond = call("le", rank, first)
    if limit is not None:
        beyond = call("or", beyond, call("gt", rank, Literal((offset or 0) + limit, BIGINT)))
    state.lose("filtered", statement.step, beyond, (f"limit {limit}",))


def _count(clause: exp.Expression | None, name: str) -> int | None:
    if clause is None:
        return None
    value = clause.args.get("count") or exp.Literal.number(1) if isinstance(clause, exp.Fetch) else clause.expression
    if value is not None and value.sql().upper() == "ALL":
        return None
    if not (isinstance(value, exp.Literal) and not value.is_string and str(value.this).isdigit()):
        raise refuse(BAD_ARGUMENTS, f"{name} takes a whole number.", f"write {name} 10")
    return int(cast(str, value.this))
