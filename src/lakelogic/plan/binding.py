"""SQL that a contract holds, over the columns of a state: bound to expressions, or diagnostics."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.query.windows import computed
from lakelogic.plan.state import State
from lakelogic.sql.bind import Binder, condition
from lakelogic.sql.expressions import Expression
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.scope import BoundAggregate, BoundWindow, Scope


def bind_tree(state: State, tree: exp.Expression, scope: Scope | None = None) -> Expression:
    """A tree as an expression; functions over windows are computed in nodes of their own first."""
    windows: list[BoundWindow] = []
    value = Binder(scope or state.sql_scope(), windows=windows).bind(tree)
    return computed(state, windows, [value])[0]


def bind_text(state: State, text: str, path: str, *, dialect: str | None = None) -> Expression | None:
    """An expression from SQL text, or diagnostics."""
    try:
        return bind_tree(state, parse_expression(text, dialect or state.dialect))
    except SqlProblems as error:
        state.trouble.sql(error.problems, path)
        return None


def bind_predicate(state: State, text: str, path: str, *, dialect: str | None = None) -> Expression | None:
    """A condition from SQL text, or diagnostics."""
    value = bind_text(state, text, path, dialect=dialect)
    if value is None:
        return None
    try:
        return condition(value, "This")
    except SqlProblems as error:
        state.trouble.sql(error.problems, path)
        return None


def bind_aggregates(state: State, text: str, path: str) -> tuple[Expression, list[BoundAggregate]] | None:
    """An expression over aggregates from SQL text, or diagnostics."""
    aggregates: list[BoundAggregate] = []
    try:
        return Binder(state.sql_scope(), aggregates).bind(parse_expression(text, state.dialect)), aggregates
    except SqlProblems as error:
        state.trouble.sql(error.problems, path)
        return None
