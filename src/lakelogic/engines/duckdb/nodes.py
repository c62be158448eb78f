"""The nodes of a plan → one SQL statement, with a CTE per node that reads like the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic.engines.duckdb.aggregates import summary
from lakelogic.engines.duckdb.expressions import expression_sql
from lakelogic.engines.duckdb.literals import quoted, try_cast
from lakelogic.errors import UnsupportedError
from lakelogic.names import COPY, FATE, SIDE
from lakelogic.plan.nodes import Account, Join, Node, Opening, Publish, Rank, Rollup, RowWise

_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Cte:
    """One named part of the statement."""

    name: str
    sql: str
    is_read_twice: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """Lazy rows: CTEs over inputs, the last of which is `name`. DuckDB's identifiers have no case, columns do,
    so `columns` maps each exact column name to the identifier it has in SQL.

    `inputs` are Arrow streams that the statement reads by name; `scanned` tells how many rows the scan saw.
    """

    name: str
    columns: Mapping[str, str]
    ctes: tuple[Cte, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    scanned: Callable[[], int | None] = lambda: None
    prefix: str = ""  # before the names of CTEs, so that those of a link are not taken for those of the source

    def then(self, label: str, sql: str, columns: Mapping[str, str], *more: Query) -> Query:
        """The query with one more CTE; `more` are other queries that its text reads."""
        ctes = merged(self.ctes, *(query.ctes for query in more))
        inputs = dict(self.inputs)
        for query in more:
            inputs |= query.inputs
        name = f"{self.prefix}{len(ctes) + 1:02d}_{_WORD.sub('_', label.lower()).strip('_') or 'node'}"
        return replace(self, name=name, columns=columns, ctes=(*ctes, Cte(name, sql)), inputs=inputs)

    def read_twice(self) -> Query:
        """The same, with the last CTE computed once and kept."""
        last = self.ctes[-1]
        return replace(self, ctes=(*self.ctes[:-1], replace(last, is_read_twice=True)))

    @property
    def sql(self) -> str:
        """The whole statement; its columns have their exact names, in order."""
        listed = ",\n       ".join(
            quoted(identifier) if identifier == name else f"{quoted(identifier)} AS {quoted(name)}"
            for name, identifier in self.columns.items()
        )
        final = f"SELECT {listed}\nFROM {quoted(self.name)}"
        if not self.ctes:
            return final
        parts = ",\n".join(
            f"{quoted(cte.name)} AS {'MATERIALIZED ' if cte.is_read_twice else ''}(\n{_indented(cte.sql)}\n)"
            for cte in self.ctes
        )
        return f"WITH {parts}\n{final}"


def merged(*lists: Sequence[Cte]) -> tuple[Cte, ...]:
    """CTEs of several queries, each once, in an order in which each stands after what it reads."""
    found: dict[str, Cte] = {}
    for ctes in lists:
        for cte in ctes:
            found[cte.name] = cte if cte.is_read_twice or cte.name not in found else found[cte.name]
    return tuple(found.values())


def _indented(sql: str) -> str:
    return "\n".join("  " + line for line in sql.split("\n"))


def fresh(names: Iterable[str], taken: Mapping[str, str]) -> dict[str, str]:
    """Identifiers for new columns: the name itself on one line, unless another column has it in any case."""
    used = {identifier.casefold() for identifier in taken.values()}
    found: dict[str, str] = {}
    for name in names:
        plain = " ".join(name.split("\n"))  # statements are indented, which must not change a name
        identifier, number = plain, 2
        while identifier.casefold() in used:
            identifier, number = f"{plain}~{number}~", number + 1
        used.add(identifier.casefold())
        found[name] = identifier
    return found


def lower(frame: Query, accounts: Sequence[Account], links: Mapping[str, Query]) -> Query:
    """The union of what the accounts publish."""
    published: list[Query] = []
    current = frame
    for index, account in enumerate(accounts):
        if account.opening is not None:
            current = opened(current, account.opening)
        for node in account.nodes:
            current = LOWER[type(node)](current, node, links)
        if index + 1 < len(accounts):
            current = current.read_twice()
        published.append(publish(current, account.publish))
    if len(published) == 1:
        return published[0]
    parts = [f"SELECT * FROM {quoted(query.name)}" for query in published]
    # The CTEs of the last account hold those of all before it, but for what the earlier ones published.
    return published[-1].then("union", "\nUNION ALL\n".join(parts), published[0].columns, *published[:-1])


def _select(added: Mapping[str, str], source: str, hidden: Sequence[str] = ()) -> str:
    star = f"* EXCLUDE ({', '.join(quoted(name) for name in hidden)})" if hidden else "*"
    items = [star, *(f"{sql} AS {quoted(identifier)}" for identifier, sql in added.items())]
    return "SELECT " + ",\n       ".join(items) + f"\nFROM {source}"


def opened(frame: Query, opening: Opening) -> Query:
    """How a new account begins."""
    if isinstance(opening, Rollup):
        return rollup(frame, opening)
    raise UnsupportedError(f"DuckDB has no {type(opening).__name__} yet.")


def row_wise(frame: Query, node: RowWise, _links: Mapping[str, Query]) -> Query:
    """Columns computed from the same row."""
    identifiers = fresh((column.name for column in node.columns), frame.columns)
    added = {identifiers[column.name]: expression_sql(column.value, frame.columns) for column in node.columns}
    hidden = [frame.columns[name] for name in identifiers if name in frame.columns]
    sql = _select(added, quoted(frame.name), hidden)
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def rank(frame: Query, node: Rank, _links: Mapping[str, Query]) -> Query:
    """Row numbers within partitions."""
    identifiers = fresh([node.output], frame.columns)
    partition = ", ".join(expression_sql(value, frame.columns) for value in node.partition)
    order = ", ".join(
        f"{expression_sql(key.value, frame.columns)} {'DESC' if key.descending else 'ASC'} NULLS LAST"
        for key in node.order
    )
    over = " ".join(
        part
        for part in (f"PARTITION BY {partition}" if partition else "", f"ORDER BY {order}" if order else "")
        if part
    )
    sql = _select({identifiers[node.output]: f"row_number() OVER ({over})"}, quoted(frame.name))
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def join(frame: Query, node: Join, links: Mapping[str, Query]) -> Query:
    """Columns of a link by equality of keys; a NULL key matches nothing."""
    link = links[node.link]
    identifiers = fresh([*(name for _, name in node.take), node.found], frame.columns)
    taken = [f"{_aliased('right', link.columns[column])} AS {quoted(identifiers[name])}" for column, name in node.take]
    # The mark is made inside the link, so that it is NULL exactly where no row matched.
    right = f'(SELECT TRUE AS "~mark", * FROM {quoted(link.name)})'
    # Keys are computed inside the left side, where only its own columns can be meant.
    keys = {f"~key{index}": expression_sql(value, frame.columns) for index, (value, _) in enumerate(node.on)}
    left = "(" + _select(keys, quoted(frame.name)).replace("\n", " ") + ")"
    conditions = " AND ".join(
        f"{_aliased('left', key)} = {_aliased('right', link.columns[column])}"
        for key, (_, column) in zip(keys, node.on, strict=True)
    )
    own = f'"left".* EXCLUDE ({", ".join(quoted(key) for key in keys)})'
    items = [own, *taken, f'("right"."~mark" IS NOT NULL) AS {quoted(identifiers[node.found])}']
    listed = ",\n       ".join(items)
    sql = f'SELECT {listed}\nFROM {left} AS "left"\nLEFT JOIN {right} AS "right" ON {conditions}'
    return frame.then(node.label, sql, {**frame.columns, **identifiers}, link)


def _aliased(alias: str, identifier: str) -> str:
    return f"{quoted(alias)}.{quoted(identifier)}"


def rollup(frame: Query, node: Rollup) -> Query:
    """Groups; without keys exactly one row."""
    identifiers = fresh([*(key.name for key in node.keys), *(one.name for one in node.aggregates)], {})
    inner = [f"{expression_sql(key.value, frame.columns)} AS {quoted(identifiers[key.name])}" for key in node.keys]
    outer = [quoted(identifiers[key.name]) for key in node.keys]
    for one in node.aggregates:
        value = None if one.value is None else expression_sql(one.value, frame.columns)
        found = summary(one.function, identifiers[one.name], value, None if one.value is None else one.value.type)
        inner += [f"{sql} AS {quoted(name)}" for name, sql in found.inner.items()]
        outer.append(f"{try_cast(found.outer, one.type)} AS {quoted(identifiers[one.name])}")
    group = f"\nGROUP BY {', '.join(str(index + 1) for index in range(len(node.keys)))}" if node.keys else ""
    grouped = (
        "SELECT " + ",\n       ".join(inner) + f"\nFROM {quoted(frame.name)}"
        f"\nWHERE {expression_sql(node.where, frame.columns)}{group}"
    )
    sql = "SELECT " + ",\n       ".join(outer) + f"\nFROM (\n{_indented(grouped)}\n)"
    return frame.then(node.label, sql, identifiers)


def publish(frame: Query, node: Publish) -> Query:
    """Exactly the published columns, then the fate, the copy and the side."""
    names = [value.name for value in node.values]
    identifiers = fresh([*names, FATE, COPY, SIDE], {})
    values = [*(value.value for value in node.values), node.fate, node.copy, node.side]
    items = [
        f"{expression_sql(value, frame.columns)} AS {quoted(identifier)}"
        for value, identifier in zip(values, identifiers.values(), strict=True)
    ]
    sql = "SELECT " + ",\n       ".join(items) + f"\nFROM {quoted(frame.name)}"
    return frame.then("publish", sql, identifiers)


LOWER: dict[type[Node], Callable[[Query, Any, Mapping[str, Query]], Query]] = {
    RowWise: row_wise,
    Rank: rank,
    Join: join,
}
