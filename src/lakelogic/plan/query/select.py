"""SELECT: its clauses in the order in which they happen to rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from sqlglot import exp

from lakelogic.plan.codes import NO_ORDER
from lakelogic.plan.nodes import Order
from lakelogic.plan.query import from_clause as tables
from lakelogic.plan.query.groups import Groups, group
from lakelogic.plan.query.projection import Item, grouping_sets, items_of
from lakelogic.plan.query.set_operations import set_operation
from lakelogic.plan.query.statement import Queries, Statement, named_queries
from lakelogic.plan.query.windows import computed, keep_once, ranked
from lakelogic.plan.state import State, fails
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder, BoundAggregate, BoundWindow, Scope, condition
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, call
from lakelogic.sql.forms.windows import order_keys
from lakelogic.sql.parse import clauses
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, NOT_YET, Problem, SqlProblems
from lakelogic.sql.types import BIGINT

_KNOWN = {
    "expressions", "from", "where", "kind", "hint", "joins", "laterals", "group", "having", "qualify", "distinct",
    "order", "limit", "offset", "with",
}  # fmt: skip
_REFUSED = {
    "windows": ("WINDOW", "write the window out after OVER"),
    "cluster": ("CLUSTER BY", "leave it out: how rows are spread is the engine's business"),
    "distribute": ("DISTRIBUTE BY", "leave it out: how rows are spread is the engine's business"),
    "sort": ("SORT BY", "leave it out: a table has no order"),
    "pivots": ("PIVOT", "use a pivot step"),
    "match": ("MATCH_RECOGNIZE", None),
    "connect": ("CONNECT BY", "prepare the hierarchy as a link"),
    "sample": ("TABLESAMPLE", "a re-run could not give the same tables"),
}

# Columns that queries inside expressions make.
_OF_QUERIES = ("~value.", "~found.", "~rows", "~candidates")

OrderKeys = tuple[tuple[Expression, bool, bool], ...]


@dataclass(slots=True)
class Bound:
    """Everything that a SELECT computes, bound over its rows before they are grouped."""

    items: list[Item] = field(default_factory=list)
    having: Expression | None = None
    qualify: Expression | None = None
    order: OrderKeys = ()
    aggregates: list[BoundAggregate] = field(default_factory=list)
    windows: list[BoundWindow] = field(default_factory=list)


def query(statement: Statement, state: State, tree: exp.Expression, queries: Queries, *, named: bool = True) -> None:
    """Compile a query over the state's rows; afterwards its scope is what the query yields."""
    statement.asked.another()
    known = {**queries, **named_queries(tree)}
    _check_unread(statement, state, tree, queries)
    if isinstance(tree, exp.Subquery):
        query(statement, state, tree.this, known, named=named)
        _cut(statement, state, tree)
    elif isinstance(tree, exp.SetOperation):
        set_operation(statement, state, tree, known, named=named)
        _cut(statement, state, tree)
    elif isinstance(tree, exp.Select):
        _select(statement, state, tree, known, named=named)
    else:
        raise refuse(NOT_YET, f"`{tree.sql(dialect='spark')[:60]}` cannot stand here.", "write SELECT … FROM …")


def _check_unread(statement: Statement, state: State, tree: exp.Expression, queries: Queries) -> None:
    """A query of WITH that nothing reads makes no rows, but what is wrong in it is told."""
    read = {table.name.lower() for table in tree.find_all(exp.Table)}
    before = dict(queries)
    for name, inner in named_queries(tree).items():
        if name not in read:
            probe = State(state.dataset, state.now, state.trouble, state.dialect)
            probe.scope, probe.used, probe.links = dict(statement.rows), set(state.used), dict(state.links)
            probe.known_links, probe.unread_links, probe.beside = state.known_links, state.unread_links, True
            query(Statement(probe, statement.step, asked=statement.asked), probe, inner, before)
        before[name] = inner


def _select(statement: Statement, state: State, tree: exp.Select, queries: Queries, *, named: bool) -> None:
    _refuse_others(tree)
    tree = tables.with_conditions_of_joins(tree)
    known = tables.from_clause(statement, state, tree, queries)
    where = tree.args.get("where")
    if where is not None:
        kept = condition(state.bound(where.this, known.scope()), "WHERE")
        state.lose("filtered", statement.step, fails(kept), (f"keep {where.this.sql(dialect='spark')}",))
    known = tables.exploded_items(tree, known)
    bound = _bound(tree, known, named=named)
    if tree.args.get("group") is not None or bound.aggregates or bound.having is not None:
        bound = _grouped(statement, state, tree, known, bound)
    _windows(state, bound)
    if bound.qualify is not None:
        state.lose("filtered", statement.step, fails(bound.qualify), ("qualify",))
    _project(state, bound, " ".join(tree.sql(dialect="spark").split()))
    if tree.args.get("distinct"):
        _distinct(statement, state, tree)
    _limited(statement, state, tree, bound.order)


def _refuse_others(tree: exp.Select) -> None:
    problems = []
    for clause in sorted(clauses(tree) - _KNOWN):
        name, hint = _REFUSED.get(clause, (clause.upper(), None))
        problems.append(Problem(NOT_YET, f"{name} in a SELECT is not portable.", hint))
    source = tree.args.get("from_")
    if source is not None and source.this.args.get("sample"):
        name, hint = _REFUSED["sample"]
        problems.append(Problem(NOT_YET, f"{name} in a SELECT is not portable.", hint))
    if problems:
        raise SqlProblems(problems)


def _bound(tree: exp.Select, known: tables.Tables, *, named: bool) -> Bound:
    """Bind items, HAVING, QUALIFY and ORDER BY over the rows as they are before grouping."""
    bound = Bound()
    scope = known.scope(grouping=tree.args.get("group") is not None)
    binder = Binder(scope, bound.aggregates, bound.windows)
    bound.items = items_of(tree, known, binder, named=named)
    aliases = {item.name: item.value for item in bound.items}
    later = binder
    later.scope = replace(scope, columns={**scope.columns, **_missing(aliases, scope)})
    having, qualify = tree.args.get("having"), tree.args.get("qualify")
    if having is not None:
        bound.having = condition(later.bind(having.this), "HAVING")
    if qualify is not None:
        bound.qualify = condition(later.bind(qualify.this), "QUALIFY")
    if tree.args.get("order") is not None:
        # An alias comes before a column of the same name: what is sorted is the result.
        later.scope = replace(
            scope,
            columns={**scope.columns, **aliases},
            ambiguous=scope.ambiguous - {name.lower() for name in aliases},
        )
        bound.order = order_keys(later, _by_position(tree.args["order"], bound.items))
    if later.problems:
        raise SqlProblems(later.problems)
    return bound


def _missing(aliases: Mapping[str, Expression], scope: Scope) -> dict[str, Expression]:
    return {name: value for name, value in aliases.items() if name.lower() not in scope.folded}


def _by_position(order: exp.Expression, items: list[Item]) -> exp.Expression:
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


def _grouped(statement: Statement, state: State, tree: exp.Select, known: tables.Tables, bound: Bound) -> Bound:
    keys, sets = grouping_sets(tree, known, bound.items)
    detail = (f"by {', '.join(name for name, _ in keys) or 'nothing'}",)
    groups = group(state, statement.step, keys, bound.aggregates, detail, sets)
    over = _Regroup(groups, [value for _, value in keys])
    state.scope = {f"~group{index}": column for index, column in enumerate(groups.keys)}
    grouped = Bound(
        [Item(item.name, over(item.value)) for item in bound.items],
        None,
        None if bound.qualify is None else over(bound.qualify),
        tuple((over(value), down, first) for value, down, first in bound.order),
        [],
        [_window_over(window, over) for window in bound.windows],
    )
    if over.problems:
        raise SqlProblems(list(dict.fromkeys(over.problems)))
    if bound.having is not None:
        kept = over(bound.having)
        if over.problems:
            raise SqlProblems(list(dict.fromkeys(over.problems)))
        state.lose("filtered", statement.step, fails(kept), ("having",))
    return grouped


def _window_over(window: BoundWindow, over: _Regroup) -> BoundWindow:
    return replace(
        window,
        args=tuple(over(part) for part in window.args),
        partition=tuple(over(part) for part in window.partition),
        order=tuple((over(value), down, first) for value, down, first in window.order),
    )


class _Regroup:
    """Expressions over rows → expressions over their groups; what is neither key nor aggregate is a problem."""

    def __init__(self, groups: Groups, keys: list[Expression]) -> None:
        self.keys: dict[Expression, Expression] = dict(zip(keys, groups.keys, strict=True))
        self.columns = dict(groups.aggregates)
        self.columns[tables.GROUPING] = groups.grouping or Literal(0, BIGINT)
        self.problems: list[Problem] = []

    def __call__(self, value: Expression, own: frozenset[str] = frozenset()) -> Expression:
        if value in self.keys:
            return self.keys[value]
        if isinstance(value, Column):
            if value.name in self.columns:
                return self.columns[value.name]
            if value.name.startswith(_OF_QUERIES):
                hint = "ask it in a step of its own, before or after the groups are made"
                self.problems.append(Problem(NOT_YET, "A query inside a grouped SELECT is not portable.", hint))
            elif value.name not in own and not value.name.startswith("~window"):
                name = value.name.split("~")[0] or value.name.lstrip("~")
                self.problems.append(
                    Problem(
                        NO_COLUMN,
                        f"`{name}` is neither grouped nor aggregated.",
                        f"add it to GROUP BY, or write min({name})",
                    )
                )
            return value
        if isinstance(value, Call):
            return Call(value.function, tuple(self(argument, own) for argument in value.args), value.type)
        if isinstance(value, Lambda):
            return Lambda(value.parameters, self(value.body, own | {p.name for p in value.parameters}))
        return value


def _windows(state: State, bound: Bound) -> None:
    if not bound.windows:
        return
    values = [
        *(item.value for item in bound.items),
        *(value for value, _, _ in bound.order),
        *([bound.qualify] if bound.qualify is not None else []),
    ]
    done = computed(state, bound.windows, values)
    count = len(bound.items)
    bound.items = [Item(item.name, value) for item, value in zip(bound.items, done, strict=False)]
    keys = zip(bound.order, done[count:], strict=False)
    bound.order = tuple((value, down, first) for (_, down, first), value in keys)
    if bound.qualify is not None:
        bound.qualify = done[-1]


def _project(state: State, bound: Bound, text: str) -> None:
    hidden = {name: value for name, value in state.scope.items() if name.startswith("~")}
    order = {f"~order{index}": value for index, (value, _, _) in enumerate(bound.order)}
    state.scope = {name: value for name, value in hidden.items() if not name.startswith("~group")}
    # Sort keys may read columns that are not chosen: they are kept beside the items.
    values = {item.name: item.value for item in bound.items} | order
    made = {name: value for name, value in values.items() if not isinstance(value, Column)}
    before = dict(state.scope)
    state.derive("select", made, (text,))
    # A column that is only chosen stands under its new name without being made again; the order is the query's.
    state.scope = before | {name: state.scope.get(name, value) for name, value in values.items()}
    bound.order = tuple(
        (state.scope.pop(f"~order{index}"), down, first) for index, (_, down, first) in enumerate(bound.order)
    )


def _distinct(statement: Statement, state: State, tree: exp.Select) -> None:
    if tree.args["distinct"].args.get("on"):
        raise refuse(NOT_YET, "DISTINCT ON is not portable.", "use QUALIFY row_number() OVER (…) = 1")
    if unfit := [name for name, value in state.visible.items() if value.type.kind == "map"]:
        raise refuse(
            BAD_ARGUMENTS, f"DISTINCT cannot compare the map `{unfit[0]}`.", "leave it out, or cast it to JSON"
        )
    keep_once(state, statement.step)


def _cut(statement: Statement, state: State, tree: exp.Expression) -> None:
    """ORDER BY and LIMIT of a set operation: they read its result."""
    keys: OrderKeys = ()
    if tree.args.get("order") is not None:
        items = [Item(name, value) for name, value in state.visible.items()]
        binder = Binder(state.sql_scope())
        keys = order_keys(binder, _by_position(tree.args["order"], items))
        if binder.problems:
            raise SqlProblems(binder.problems)
    _limited(statement, state, tree, keys)


def _limited(statement: Statement, state: State, tree: exp.Expression, keys: OrderKeys) -> None:
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
