"""Questions: SQL over the rows of a whole batch, or of a link, that has one value for an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from sqlglot import exp

from lakelogic import names
from lakelogic.plan.needs import expressions
from lakelogic.plan.nodes import Account, Assignment, Landed, Link, Publish
from lakelogic.plan.query.compiler import compile_statement, subquery
from lakelogic.plan.query.groups import group
from lakelogic.plan.query.statement import Queries, named_queries
from lakelogic.plan.state import OpenAccount, State, Trouble
from lakelogic.plan.strategies.settings import APPEND
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, columns_of, replace_columns, text
from lakelogic.sql.parse import is_select, parse_expression, parse_select
from lakelogic.sql.problems import BAD_ARGUMENTS, SqlProblems
from lakelogic.sql.scope import BoundAggregate
from lakelogic.sql.types import INT, STRING, Type

VALUE = "value"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which rows: the good ones, or those of the link `start`.

    The accounts end in one row with the column `value`; links are read as those of a plan are.
    """

    name: str
    type: Type
    columns: tuple[Landed, ...]  # of the rows that are asked
    accounts: tuple[Account, ...]
    links: Mapping[str, Link] = field(default_factory=dict)
    start: Link | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The columns of the rows that the answer depends on."""
        return frozenset().union(*(columns_of(part) for part in expressions(self)))


@dataclass(frozen=True, slots=True)
class Asker:
    """Where questions are bound: the clock and dialect of the contract, its links, and where trouble goes."""

    dataset: str
    now: datetime
    trouble: Trouble
    dialect: str
    known_links: Mapping[str, object]
    unread_links: frozenset[str]
    undeclared: frozenset[str] = frozenset()  # columns of text that nobody declared

    def ask(
        self,
        name: str,
        written: str,
        path: str,
        columns: Sequence[Landed],
        *,
        dialect: str | None = None,
        start: Link | None = None,
    ) -> Question | None:
        """A question over rows with these columns, or diagnostics."""
        dataset = start.reference if start else self.dataset
        state = State(dataset, self.now, self.trouble, subquery, dialect or self.dialect, APPEND)
        state.known_links, state.unread_links = dict(self.known_links), self.unread_links
        state.scope = {column.name: Column(column.name, column.type) for column in columns}
        state.used |= {column.name.lower() for column in columns}
        state.undeclared = set() if start else set(self.undeclared)
        try:
            value = _answer(state, written, name)
        except SqlProblems as trouble:
            self.trouble.sql(trouble.problems, path)
            return None
        return Question(name, value.type, tuple(columns), _accounts(state, value), state.links, start)


def _answer(state: State, written: str, name: str) -> Expression:
    """The one value of a query, or of an expression over aggregates."""
    if is_select(written):
        tree = cast(exp.Expression, parse_select(written, state.dialect))
        compile_statement(state, name, "", tree, named=False)
        if not _is_one_row(tree, named_queries(tree)):
            hint = "use an aggregate such as every(x > 0), max(x), count(*), without GROUP BY"
            raise refuse(BAD_ARGUMENTS, "The query can yield many rows; one value is needed.", hint)
        if len(state.visible) != 1:
            hint = "name one, such as SELECT count(*) = 0 FROM source"
            raise refuse(BAD_ARGUMENTS, f"The query yields {len(state.visible)} columns; one value is needed.", hint)
        return next(iter(state.visible.values()))
    aggregates: list[BoundAggregate] = []
    value = Binder(state.sql_scope(), aggregates).bind(parse_expression(written, state.dialect))
    if not aggregates:
        hint = "use an aggregate: count(*), sum(x), max(x), …; a rule about single rows belongs under row_rules"
        raise refuse(BAD_ARGUMENTS, "A dataset rule asks about all rows at once.", hint)
    groups = group(state, name, [], aggregates, ())
    return replace_columns(value, groups.aggregates)


def _is_one_row(tree: exp.Expression | None, queries: Queries) -> bool:
    """Whether a query has at most one row whatever the data: an aggregate over all rows, or LIMIT 1."""
    from lakelogic.plan.query.subqueries import is_aggregated  # seldom asked, and much to import

    if tree is None:
        return False
    named = {**queries, **named_queries(tree)}
    if limit := tree.args.get("limit"):
        count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
        if count is None or count.name in ("0", "1"):
            return True
    if isinstance(tree, exp.Subquery):
        return _is_one_row(tree.this, named)
    if isinstance(tree, exp.Table):
        name = tree.name.lower()
        return _is_one_row(named.get(name), {other: query_ for other, query_ in named.items() if other != name})
    if isinstance(tree, exp.Intersect | exp.Except):
        return _is_one_row(tree.this, named)
    if not isinstance(tree, exp.Select) or tree.args.get("group") or tree.args.get("laterals"):
        return False
    if is_aggregated(tree) or tree.args.get("having"):
        return True
    tables = [tree.args["from_"].this, *(join.this for join in tree.args.get("joins") or ())]
    return all(_is_one_row(table, named) for table in tables)


def _accounts(state: State, value: Expression) -> tuple[Account, ...]:
    accounts: list[Account] = []
    for account in state.closed:
        publish = Publish((Assignment(VALUE, Literal(None, value.type)),), account.fate, Literal(None, STRING))
        accounts.append(Account(account.opening, account.nodes, publish))
    last: OpenAccount = state.account(state.fate)
    alive = call("eq", last.fate, Literal(0, INT))
    side = Call("case", (alive, text(names.GOOD_SIDE), Literal(None, STRING)), STRING)
    publish = Publish((Assignment(VALUE, value),), last.fate, side)
    return (*accounts, Account(last.opening, last.nodes, publish))
