"""Queries inside expressions: IN, EXISTS and single values, made beside the rows and joined to them."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.nodes import Aggregate, Assignment, Fork, Join, Keep, Node, Rollup, RowWise
from lakelogic.plan.predicates import both
from lakelogic.plan.query.exists import any_row, has_match
from lakelogic.plan.query.join_conditions import (
    Conditions,
    JoinedTable,
    conditions,
    conjuncts,
    distinct_keys,
    meet,
    share,
)
from lakelogic.plan.query.statement import Queries, Relation, Statement, named_queries
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder, condition
from lakelogic.sql.catalogue.aggregates import AGGREGATES
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    call,
    columns_of,
    replace_columns,
)
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, NOT_YET, SqlProblems
from lakelogic.sql.scope import BoundAggregate, PartBinder, Scope
from lakelogic.sql.types import BIGINT, BOOLEAN

_NOT_FROM_ROWS = ("~aggregate", "~window")


def bind_query(
    statement: Statement, state: State, tree: exp.Expression, binder: PartBinder, queries: Queries
) -> Expression:
    """The value of a query inside an expression."""
    if isinstance(tree, exp.In):
        return _one_of(state, statement, tree, binder, queries)
    inner = _bare(tree.this)
    if isinstance(tree, exp.Exists):
        return _exists(state, statement, inner, binder, queries)
    return _single(state, statement, inner, binder, queries)


def _bare(tree: exp.Expression) -> exp.Expression:
    while isinstance(tree, exp.Subquery) and not any(tree.args.get(part) for part in ("order", "limit", "offset")):
        tree = tree.this
    return tree


def _refuse_unmade(value: Expression) -> None:
    if any(name.startswith(_NOT_FROM_ROWS) for name in columns_of(value)):
        raise refuse(
            NOT_YET, "A query cannot be asked about an aggregate or a window here.", "compute that in a step before"
        )


def _one_of(state: State, statement: Statement, tree: exp.In, binder: PartBinder, queries: Queries) -> Expression:
    """x IN (SELECT …): TRUE when found; NULL when x is NULL or the query holds one; FALSE over nothing."""
    if isinstance(tree.this, exp.Tuple):
        hint = "write EXISTS (SELECT 1 FROM t WHERE t.a = … AND t.b = …)"
        raise refuse(NOT_YET, "IN (SELECT …) with several columns is not portable.", hint)
    value = binder.part(tree.this)
    _refuse_unmade(value)
    relation = _alone(statement, _bare(tree.args["query"]), binder.scope, queries)
    if len(relation.columns) != 1:
        raise refuse(BAD_ARGUMENTS, f"IN (SELECT …) takes one column, not {len(relation.columns)}.")
    (own,) = relation.columns.values()
    (mine, theirs), _ = unify((value, own), "IN:")
    state.share([call("eq", mine, theirs)])
    key, matched = state.fresh("~key"), state.fresh("~found.in")
    keyed = RowWise("key", (Assignment(key, theirs),))
    column = Column(key, theirs.type)
    keys = state.fresh("~beside")
    state.nodes.append(Fork("fork", keys, relation.frame, tuple(distinct_keys([keyed], {key: column}))))
    state.nodes.append(Join("in", keys, ((mine, key),), (), matched))
    state.inherit(matched, mine, copied=False)
    rows, present = state.fresh("~rows"), state.fresh("~present")
    counts = (Aggregate(rows, "count_all", None, BIGINT), Aggregate(present, "count", column, BIGINT))
    totals = state.fresh("~beside")
    state.nodes.append(Fork("fork", totals, relation.frame, (keyed, Rollup("count", TRUE, (), counts))))
    all_rows, all_present = state.fresh("~rows"), state.fresh("~present")
    has_rows = state.fresh("~found.all")
    state.nodes.append(Join("in", totals, (), ((rows, all_rows), (present, all_present)), has_rows))
    n, m = Column(all_rows, BIGINT), Column(all_present, BIGINT)
    unknown = call("or", call("is_null", mine), call("lt", m, n))
    return Call(
        "case",
        (
            Column(matched, BOOLEAN), Literal(True, BOOLEAN),
            call("eq", n, Literal(0, BIGINT)), Literal(False, BOOLEAN),
            unknown, Literal(None, BOOLEAN),
            Literal(False, BOOLEAN),
        ),
        BOOLEAN,
    )  # fmt: skip


def _uncorrelated(statement: Statement, tree: exp.Expression, queries: Queries) -> Relation:
    child = statement.beside()
    statement.query(child, tree, queries, named=False)
    return statement.fork(child)


def _exists(
    state: State, statement: Statement, tree: exp.Expression, binder: PartBinder, queries: Queries
) -> Expression:
    """EXISTS: does the query find a row for this one."""
    if not isinstance(tree, exp.Select) or not _is_plain(tree):
        return any_row(state, _alone(statement, tree, binder.scope, queries))
    joined, conditions = _correlated(state, statement, tree, binder, {**queries, **named_queries(tree)})
    # An aggregate without GROUP BY has one row, even over nothing.
    return TRUE if is_aggregated(tree) else has_match(state, joined, conditions)


def _is_plain(tree: exp.Select) -> bool:
    """Rows of one relation and a condition: what else there is has no effect on whether a row exists."""
    blocking = ("joins", "group", "having", "qualify", "offset", "laterals")
    if any(tree.args.get(clause) for clause in blocking):
        return False
    distinct, limit = tree.args.get("distinct"), tree.args.get("limit")
    if distinct is not None and distinct.args.get("on"):
        return False
    return limit is None or (isinstance(limit.expression, exp.Literal) and limit.expression.name != "0")


def is_aggregated(tree: exp.Select) -> bool:
    """Whether an item of a SELECT is made of aggregates."""
    calls = (call_ for item in tree.expressions for call_ in item.find_all(exp.Anonymous, exp.Any))
    return any(
        (isinstance(call, exp.Any) or str(call.this).lower() in AGGREGATES)
        and call.find_ancestor(exp.Select, exp.Window) is tree
        for call in calls
    )


def _alone(statement: Statement, tree: exp.Expression, outer: Scope, queries: Queries) -> Relation:
    """A query that is made by itself; it cannot read the row around it, and that is told as such."""
    inside = {table.alias_or_name.lower() for table in tree.find_all(exp.Table, exp.Subquery)}
    around = {*outer.tables, *outer.relations} - inside
    columns = list(tree.find_all(exp.Column))
    named = [column for column in columns if column.text("table").lower() in around]
    try:
        if not named:
            return _uncorrelated(statement, tree, queries)
    except SqlProblems as trouble:
        missing = {problem.message for problem in trouble.problems if problem.code == NO_COLUMN}
        outside = [column for column in columns if column.name.lower() in outer.folded and not column.text("table")]
        named = [column for column in outside if f"There is no column `{column.name}`." in missing]
        if not named:
            raise
    shown = named[0].sql(dialect="spark")
    hint = "write EXISTS (SELECT 1 FROM t WHERE t.x = … AND …), over one table or query"
    raise refuse(NOT_YET, f"The query reads `{shown}` of the row around it, which is not portable here.", hint)


def _correlated(
    state: State, statement: Statement, tree: exp.Select, binder: PartBinder, queries: Queries
) -> tuple[JoinedTable, Conditions]:
    source = tree.args.get("from_")
    if source is None:
        raise refuse(BAD_ARGUMENTS, "The query has no FROM.", "write FROM and the name of a link")
    relation = statement.relation(source.this, queries)
    alias = source.this.alias_or_name.lower()
    joined = meet(state, relation, alias or "query")
    where = tree.args.get("where")
    if where is None:
        return joined, Conditions()
    predicate = Binder(_inner_scope(binder.scope, joined, alias)).bind(where.this)
    parts_by_side = conditions(joined, conjuncts(condition(predicate, "WHERE")))
    for part in (*(mine for mine, _ in parts_by_side.on), *parts_by_side.own, *parts_by_side.mixed):
        _refuse_unmade(part)
    share(state, joined, parts_by_side)
    return joined, parts_by_side


def _inner_scope(outer: Scope, joined: JoinedTable, alias: str) -> Scope:
    """Names of the query's own rows first, then those of the rows around it."""
    own = {name.lower() for name in joined.taken}
    columns = {name: value for name, value in outer.columns.items() if name.lower() not in own}
    around = {table: dict(outer.columns) for table in outer.tables}
    relations = {**around, **outer.relations, alias: dict(joined.taken)}
    return Scope({**joined.taken, **columns}, frozenset(), outer.now, relations, outer.ambiguous - own)


def _single(
    state: State, statement: Statement, tree: exp.Expression, binder: PartBinder, queries: Queries
) -> Expression:
    """(SELECT aggregate …): one value, for all rows or for the rows of equal keys."""
    if not isinstance(tree, exp.Select) or not _is_plain(tree) or len(tree.expressions) != 1:
        raise refuse(
            NOT_YET,
            "A query as a value must be one aggregate over one table.",
            "join the table, or compute the value in a step before",
        )
    named_before = {**queries, **named_queries(tree)}
    joined, parts_by_side = _correlated(state, statement, tree, binder, named_before)
    if parts_by_side.mixed or parts_by_side.own:
        raise refuse(NOT_YET, "A query as a value can only be tied to its row by equality.", "join the table instead")
    alias = tree.args["from_"].this.alias_or_name.lower()
    aggregates: list[BoundAggregate] = []
    inner = Scope(dict(joined.taken), frozenset({alias}), binder.scope.now)
    item = tree.expressions[0]
    value = Binder(inner, aggregates).bind(item.this if isinstance(item, exp.Alias) else item)
    if not aggregates or columns_of(value) - {aggregate.name for aggregate in aggregates}:
        raise refuse(NOT_YET, "A query as a value must be an aggregate.", "write max(x), min(x), count(*), …")
    nodes: list[Node] = []
    if parts_by_side.other:
        nodes.append(Keep("keep", both(*(replace_columns(part, joined.back) for part in parts_by_side.other))))
    keys = {state.fresh("~key"): replace_columns(theirs, joined.back) for _, theirs in parts_by_side.on}
    named = {aggregate.name: state.fresh(f"~value.{aggregate.function}") for aggregate in aggregates}
    rolled_up = tuple(
        Aggregate(
            named[a.name],
            a.function,
            None if a.value is None else replace_columns(a.value, joined.back),
            a.type,
            tuple(replace_columns(part, joined.back) for part in a.more),
            a.distinct,
        )
        for a in aggregates
    )
    frame, matched = state.fresh("~beside"), state.fresh("~found.value")
    rolled = Rollup("rollup", TRUE, tuple(Assignment(n, v) for n, v in keys.items()), rolled_up)
    state.nodes.append(Fork("fork", frame, joined.other.frame, (*nodes, rolled)))
    on = tuple((mine, name) for (mine, _), name in zip(parts_by_side.on, keys, strict=True))
    taken = {name: state.fresh(name) for name in named.values()}
    state.nodes.append(Join("value", frame, on, tuple(taken.items()), matched))
    columns: dict[str, Expression] = {}
    for aggregate in aggregates:
        column: Expression = Column(taken[named[aggregate.name]], aggregate.type)
        state.inherit(taken[named[aggregate.name]], aggregate.value or TRUE, copied=False)
        if aggregate.function.startswith("count"):
            column = Call("coalesce", (column, Literal(0, BIGINT)), BIGINT)
        columns[aggregate.name] = column
    return replace_columns(value, columns)
