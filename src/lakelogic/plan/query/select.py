"""SELECT: its clauses in the order in which they happen to rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lakelogic.plan.binding import bind_tree
from lakelogic.plan.predicates import fails
from lakelogic.plan.query.from_clause import exploded_items, from_clause, with_conditions_of_joins
from lakelogic.plan.query.grouping import GROUPING, grouping_functions, grouping_sets
from lakelogic.plan.query.groups import Groups, group
from lakelogic.plan.query.limit import OrderKeys, by_position, limited
from lakelogic.plan.query.projection import Item, items_of
from lakelogic.plan.query.statement import Queries, Statement
from lakelogic.plan.query.tables import Tables
from lakelogic.plan.query.windows import computed, keep_once
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder, condition
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal
from lakelogic.sql.forms.windows import order_keys
from lakelogic.sql.parse import clauses
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, NOT_YET, Problem, SqlProblems
from lakelogic.sql.scope import BoundAggregate, BoundWindow, Scope
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


@dataclass(slots=True)
class Bound:
    """Everything that a SELECT computes, bound over its rows before they are grouped."""

    items: list[Item] = field(default_factory=list)
    having: Expression | None = None
    qualify: Expression | None = None
    order: OrderKeys = ()
    aggregates: list[BoundAggregate] = field(default_factory=list)
    windows: list[BoundWindow] = field(default_factory=list)


def select(statement: Statement, state: State, tree: exp.Select, queries: Queries, *, named: bool) -> None:
    """Compile a SELECT over the state's rows; `queries` are those that it knows by name."""
    _refuse_others(tree)
    tree = with_conditions_of_joins(tree)
    tables = from_clause(statement, state, tree, queries)
    where = tree.args.get("where")
    if where is not None:
        kept = condition(bind_tree(state, where.this, tables.scope()), "WHERE")
        state.lose("filtered", statement.step, fails(kept), (f"keep {where.this.sql(dialect='spark')}",))
    tables = exploded_items(tree, tables)
    bound = _bound(tree, tables, named=named)
    if tree.args.get("group") is not None or bound.aggregates or bound.having is not None:
        bound = _grouped(statement, state, tree, tables, bound)
    _windows(state, bound)
    if bound.qualify is not None:
        state.lose("filtered", statement.step, fails(bound.qualify), ("qualify",))
    _project(state, bound, " ".join(tree.sql(dialect="spark").split()))
    if tree.args.get("distinct"):
        _distinct(statement, state, tree)
    limited(statement, state, tree, bound.order)


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


def _bound(tree: exp.Select, tables: Tables, *, named: bool) -> Bound:
    """Bind items, HAVING, QUALIFY and ORDER BY over the rows as they are before grouping."""
    bound = Bound()
    scope = tables.scope(grouping_functions(tables) if tree.args.get("group") is not None else {})
    binder = Binder(scope, bound.aggregates, bound.windows)
    bound.items = items_of(tree, tables, binder, named=named)
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
        bound.order = order_keys(later, by_position(tree.args["order"], bound.items))
    if later.problems:
        raise SqlProblems(later.problems)
    return bound


def _missing(aliases: Mapping[str, Expression], scope: Scope) -> dict[str, Expression]:
    return {name: value for name, value in aliases.items() if name.lower() not in scope.folded}


def _grouped(statement: Statement, state: State, tree: exp.Select, tables: Tables, bound: Bound) -> Bound:
    keys, sets = grouping_sets(tree, tables, bound.items)
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
        self.columns[GROUPING] = groups.grouping or Literal(0, BIGINT)
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
    computed = {name: value for name, value in values.items() if not isinstance(value, Column)}
    before = dict(state.scope)
    state.derive("select", computed, (text,))
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
