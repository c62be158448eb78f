"""One SQL statement in a plan: the queries it knows by name, and the frames it makes beside the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from lakelogic.plan.codes import NO_LINK
from lakelogic.plan.nodes import Assignment, Fork, Keep, Link, Node, Read, RowWise
from lakelogic.plan.source.links import KnownLink
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import TRUE, Column, Expression
from lakelogic.sql.problems import FORBIDDEN, NO_COLUMN, NOT_YET, SqlProblems, nearest
from lakelogic.sql.signatures import FORBIDDEN_FUNCTIONS

Queries = Mapping[str, exp.Expression]
MOST_QUERIES = 500


@dataclass(slots=True)
class Asked:
    """How many queries a statement has come to: one of WITH counts as often as it is read."""

    count: int = 0

    def another(self) -> None:
        """One more; so many that nobody wrote them are a problem, before they are planned."""
        self.count += 1
        if self.count > MOST_QUERIES:
            raise refuse(
                NOT_YET,
                f"The statement comes to more than {MOST_QUERIES} queries: each of WITH counts as often as it is read.",
                "compute a part of it in a step before",
            )


@dataclass(frozen=True, slots=True)
class Relation:
    """A frame beside the rows, by its name in the plan, and its columns by their logical names."""

    frame: str
    columns: Mapping[str, Expression]


class QueryCompiler(Protocol):
    """Compiles whole queries. The parts of SQL hold one another: a statement knows this compiler, and each part that
    can hold a query hands it on to it."""

    def __call__(
        self, statement: Statement, state: State, tree: exp.Expression, queries: Queries, *, named: bool = True
    ) -> None:
        """Compile a query over the rows of the state; afterwards its scope is what the query yields."""


@dataclass(slots=True)
class Statement:
    """Where a statement stands. Its forks begin at the rows as they were when it began, whatever happens later."""

    state: State
    step: str
    compiler: QueryCompiler
    path: str = ""
    asked: Asked = field(default_factory=Asked)
    rows: dict[str, Expression] = field(init=False)
    alive: Expression = field(init=False)
    _home: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.rows, self.alive = dict(self.state.visible), self.state.alive
        self._home = (len(self.state.closed), len(self.state.nodes))

    def query(self, state: State, tree: exp.Expression, queries: Queries, *, named: bool = True) -> None:
        """Compile a query over the rows of the state; its scope is what the query yields."""
        self.compiler(self, state, tree, queries, named=named)

    def leads_to_rows(self, item: exp.Expression, queries: Queries) -> bool:
        """Whether what stands after FROM is made of the current rows."""
        if isinstance(item, exp.Subquery):
            return self.leads_to_rows(item.this, queries)
        if isinstance(item, exp.SetOperation):
            return self.leads_to_rows(item.this, {**queries, **named_queries(item)})
        if isinstance(item, exp.Select):
            source = item.args.get("from_")
            return source is not None and self.leads_to_rows(source.this, {**queries, **named_queries(item)})
        if isinstance(item, exp.Table) and not item.args.get("db"):
            name = item.name.lower()
            if name in queries:
                return self.leads_to_rows(queries[name], _others(queries, name))
            return self.means_rows(name)
        return False

    def means_rows(self, name: str) -> bool:
        """Whether a name stands for the current rows."""
        return name.lower() in ("source", self.state.dataset.lower())

    def relation(self, item: exp.Expression, queries: Queries) -> Relation:
        """What stands after JOIN, or inside IN and EXISTS, as a frame of its own."""
        if isinstance(item, exp.Table) and item.name.lower() not in queries and not self.means_rows(item.name):
            return self.link(item)
        child = self.beside()
        self.begin(child, item, queries)
        return self.fork(child)

    def begin(self, child: State, item: exp.Expression, queries: Queries) -> None:
        """Give a fork its first rows: those of the source, of a link, or of a query."""
        if isinstance(item, exp.Subquery):
            self.query(child, item.this, queries)
            return
        if not isinstance(item, exp.Table):
            self.query(child, item, queries)
            return
        name = item.name.lower()
        if name in queries:
            self.query(child, queries[name], _others(queries, name))
        elif self.means_rows(name) and not item.args.get("db"):
            child.start = None
            if self.alive != TRUE:
                child.nodes.append(Keep("keep", self.alive))
            child.scope = dict(self.rows)
        else:
            relation = self.link(item)
            child.start, child.scope = relation.frame, dict(relation.columns)
            if child.masked:
                self._own_columns(child)

    def _own_columns(self, child: State) -> None:
        """Names that no other frame has, so that a mask that comes to a link's column stays with this query."""
        copies = {name: Column(child.fresh(f"~{name}"), value.type) for name, value in child.scope.items()}
        for name, copy in copies.items():
            child.inherit(copy.name, child.scope[name])
        assigned = tuple(Assignment(copy.name, child.scope[name]) for name, copy in copies.items())
        child.nodes.append(RowWise("copy", assigned))
        child.scope = dict(copies)

    def beside(self) -> State:
        """A state for rows beside the main ones: it shares names, links and masks, and counts nothing."""
        state = self.state
        child = State(state.dataset, state.now, state.trouble, state.subquery, state.dialect, state.strategy)
        child.beside, child.used, child.taints, child.links = True, state.used, state.taints, state.links
        child.ties, child.met, child.masked = state.ties, state.met, state.masked
        child.known_links, child.unread_links, child.undeclared = (
            state.known_links, state.unread_links, state.undeclared,
        )  # fmt: skip
        return child

    def fork(self, child: State) -> Relation:
        """The frame of a state beside the rows; it is made where the statement begins."""
        name = self.state.fresh("~beside")
        self._place(Fork("fork", name, child.start, tuple(child.nodes)))
        return Relation(name, dict(child.visible))

    def _place(self, node: Node) -> None:
        account, position = self._home
        if account == len(self.state.closed):
            self.state.nodes.insert(position, node)
        else:
            closed = self.state.closed[account]
            nodes = (*closed.nodes[:position], node, *closed.nodes[position:])
            self.state.closed[account] = replace(closed, nodes=nodes)
        self._home = (account, position + 1)

    def link(self, table: exp.Table) -> Relation:
        """All rows of a link that count, with the columns that the contract takes from it."""
        links_by_name: dict[str, KnownLink] = self.state.known_links
        _refuse_function(table)
        link = next((link for name, link in links_by_name.items() if name.lower() == table.name.lower()), None)
        if link is None or table.args.get("db"):
            if table.name.lower() in {name.lower() for name in self.state.unread_links}:
                self.state.trouble.landed_is_known = False  # its columns could not be looked at; the run will
                raise SqlProblems([])
            written = ".".join(part for part in (table.text("catalog"), table.text("db"), table.name) if part)
            links = sorted({*links_by_name, *self.state.unread_links})
            near = nearest(table.name, links)
            if near is None:
                declared = ", ".join(f"`{name}`" for name in links)
                near = (
                    f"declare it under links: ({f'there are {declared}' if links else 'there are none'}); the current "
                )
                near += f"rows are called `source` or `{self.state.dataset}`"
            raise refuse(NO_LINK, f"There is no link `{written}`.", near)
        return link_relation(self.state, link.name)


def link_relation(state: State, name: str) -> Relation:
    """The rows of a link that is known."""
    link: KnownLink = state.known_links[name]
    frame = f"{link.name}~{len(state.links)}"
    state.links[frame] = Link(
        Read(frame, link.format, link.columns, link.options),
        (),
        link.filter,
        link.name,
        (),
        is_checked=False,
    )
    return Relation(frame, {column.name: Column(column.name, column.type) for column in link.visible})


def _refuse_function(table: exp.Table) -> None:
    """`FROM f(…)`: files are declared as links, rows are made by LATERAL VIEW."""
    if not isinstance(table.this, exp.Func):
        return
    name = str(table.this.this).lower() if isinstance(table.this, exp.Anonymous) else table.this.key
    if name in FORBIDDEN_FUNCTIONS:
        hint = "declare the file under links: and name the link"
        raise refuse(FORBIDDEN, f"The function `{name}` is not allowed in a contract.", hint)
    hint = "write FROM source LATERAL VIEW explode(x) t AS item"
    raise refuse(NOT_YET, f"The function `{name}` cannot stand where a table is named.", hint)


def named_queries(tree: exp.Expression) -> dict[str, exp.Expression]:
    """The queries of a WITH clause by name, in lower case."""
    clause = tree.args.get("with_")
    if clause is None:
        return {}
    if clause.args.get("recursive"):
        raise refuse(NO_COLUMN, "WITH RECURSIVE is not portable.", "prepare the hierarchy as a link")
    if any(item.args["alias"].args.get("columns") for item in clause.expressions):
        raise refuse(NO_COLUMN, "Names of columns after a query's name are not portable.", "name them in its SELECT")
    return {item.alias.lower(): item.this for item in clause.expressions}


def _others(queries: Queries, name: str) -> dict[str, exp.Expression]:
    """The queries that a named one can read: those before it."""
    before: dict[str, exp.Expression] = {}
    for earlier, tree in queries.items():
        if earlier == name:
            break
        before[earlier] = tree
    return before
