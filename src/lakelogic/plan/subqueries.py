"""Queries inside expressions: IN, EXISTS and single values, made beside the rows and joined to them."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import NOT_YET


def bind_query(_state: State, _tree: exp.Expression, _binder: Binder) -> Expression:
    """The value of a query inside an expression."""
    raise refuse(NOT_YET, "A query inside an expression is not available yet.")
