"""The tables of a SELECT: what they are called, and what names mean among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from lakelogic import names
from lakelogic.plan.query.statement import Queries, Statement
from lakelogic.plan.query.subqueries import bind_query
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import NO_COLUMN
from lakelogic.sql.scope import PartBinder, Scope

SpecialFunction = Callable[[list[exp.Expression], PartBinder], Expression]


@dataclass(slots=True)
class Tables:
    """The tables of a SELECT by alias in lower case, in order; columns by logical name.

    `merged` are columns that two tables share by USING, or by an equality of keys of one name.
    """

    statement: Statement
    state: State
    queries: Queries
    by_alias: dict[str, Mapping[str, Expression]] = field(default_factory=dict)
    merged: dict[str, Expression] = field(default_factory=dict)
    also: dict[str, str] = field(default_factory=dict)  # another name of a table

    @property
    def relations(self) -> dict[str, Mapping[str, Expression]]:
        """The tables by all the names they answer to."""
        others = {name: self.by_alias[alias] for name, alias in self.also.items() if name not in self.by_alias}
        return {**self.by_alias, **others}

    def scope(self, special: Mapping[str, SpecialFunction] | None = None) -> Scope:
        """What SQL may read among these tables; `special` are functions that have a meaning here alone."""
        columns: dict[str, Expression] = {}
        seen: dict[str, int] = {}
        for table in self.by_alias.values():
            for name, value in table.items():
                seen[name.lower()] = seen.get(name.lower(), 0) + 1
                if not any(column.lower() == name.lower() for column in columns):
                    columns[name] = value
        for name, value in self.merged.items():
            spelled = next((column for column in columns if column.lower() == name.lower()), name)
            columns[spelled] = value
        shared = {name.lower() for name in self.merged}
        ambiguous = frozenset(name for name, count in seen.items() if count > 1 and name not in shared)
        unread = frozenset(self.state.undeclared)
        return Scope(
            columns, frozenset(), self.state.now, self.relations, ambiguous, self._subquery, special or {}, unread
        )

    def _subquery(self, tree: exp.Expression, binder: PartBinder) -> Expression:
        return bind_query(self.statement, self.state, tree, binder, self.queries)

    def star(self, table: str) -> dict[str, Expression]:
        """The columns that `*` or `table.*` means."""
        if table:
            relation = self.relations.get(table.lower())
            if relation is None:
                raise refuse(NO_COLUMN, f"There is no table `{table}` here.", f"there are {listed(self.by_alias)}")
            return _without_stamps(relation)
        columns: dict[str, Expression] = {}
        shared = {name.lower(): value for name, value in self.merged.items()}
        for alias, own in self.by_alias.items():
            for name, value in _without_stamps(own).items():
                same = next((other for other in columns if other.lower() == name.lower()), None)
                if same is None:
                    columns[name] = shared.get(name.lower(), value)
                elif name.lower() not in shared:
                    raise refuse(
                        NO_COLUMN,
                        f"`*` finds a column `{name}` in more than one table.",
                        "give the query a name, (SELECT …) AS q, and say which columns of it are meant"
                        if alias.startswith(names.INTERNAL)
                        else f"name the columns of `{alias}`, or write `{alias}.* EXCEPT ({name})`",
                    )
        return columns

    def spelled(self, name: str, table: str) -> str:
        """A column's name as it is spelled where it stands."""
        tables = [self.relations.get(table.lower(), {})] if table else self.by_alias.values()
        return next((column for own in tables for column in own if column.lower() == name.lower()), name)


def listed(tables: Mapping[str, object]) -> str:
    """The names of tables for a hint, without those that nobody wrote."""
    return ", ".join(f"`{alias}`" for alias in tables if not alias.startswith(names.INTERNAL))


def _without_stamps(columns: Mapping[str, Expression]) -> dict[str, Expression]:
    """A link may be a table of ours: the stamps of the run that wrote it are no columns of these rows."""
    return {name: value for name, value in columns.items() if name.lower() not in names.RESERVED | names.STAMPS}
