"""The compiler of SQL queries: it ties SELECT, set operations and queries inside expressions to one another.

Most contracts hold no query: the parts are imported when the first one is compiled.
"""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.query.statement import Queries, Statement, named_queries
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import NOT_YET
from lakelogic.sql.scope import PartBinder


def subquery(state: State, tree: exp.Expression, binder: PartBinder) -> Expression:
    """The value of a query inside an expression that stands outside of any statement."""
    from lakelogic.plan.query.subqueries import bind_query

    return bind_query(Statement(state, "query", compile_query), state, tree, binder, {})


def compile_statement(state: State, step: str, path: str, tree: exp.Expression, *, named: bool = True) -> None:
    """Compile a whole statement over the rows of a state; `step` is what its losses are counted by."""
    compile_query(Statement(state, step, compile_query, path), state, tree, {}, named=named)


def compile_query(
    statement: Statement, state: State, tree: exp.Expression, queries: Queries, *, named: bool = True
) -> None:
    """Compile a query over the state's rows; afterwards its scope is what the query yields."""
    from lakelogic.plan.query.limit import limit_result
    from lakelogic.plan.query.select import select
    from lakelogic.plan.query.set_operations import set_operation

    statement.asked.another()
    named_trees = {**queries, **named_queries(tree)}
    _check_unread(statement, state, tree, queries)
    if isinstance(tree, exp.Subquery):
        compile_query(statement, state, tree.this, named_trees, named=named)
        limit_result(statement, state, tree)
    elif isinstance(tree, exp.SetOperation):
        set_operation(statement, state, tree, named_trees, named=named)
        limit_result(statement, state, tree)
    elif isinstance(tree, exp.Select):
        select(statement, state, tree, named_trees, named=named)
    else:
        raise refuse(NOT_YET, f"`{tree.sql(dialect='spark')[:60]}` cannot stand here.", "write SELECT … FROM …")


def _check_unread(statement: Statement, state: State, tree: exp.Expression, queries: Queries) -> None:
    """A query of WITH that nothing reads makes no rows, but what is wrong in it is told."""
    read = {table.name.lower() for table in tree.find_all(exp.Table)}
    before = dict(queries)
    for name, inner in named_queries(tree).items():
        if name not in read:
            probe = State(state.dataset, state.now, state.trouble, state.subquery, state.dialect, state.strategy)
            probe.scope, probe.used, probe.links = dict(statement.rows), set(state.used), dict(state.links)
            probe.known_links, probe.unread_links, probe.beside = state.known_links, state.unread_links, True
            compile_query(Statement(probe, statement.step, compile_query, asked=statement.asked), probe, inner, before)
        before[name] = inner
