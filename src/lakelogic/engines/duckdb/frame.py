"""Lazy rows on DuckDB: a statement that grows by one CTE per node, and reads like the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic.engines.duckdb.literals import identifier

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
            identifier(column) if column == name else f"{identifier(column)} AS {identifier(name)}"
            for name, column in self.columns.items()
        )
        final = f"SELECT {listed}\nFROM {identifier(self.name)}"
        if not self.ctes:
            return final
        parts = ",\n".join(
            f"{identifier(cte.name)} AS {'MATERIALIZED ' if cte.is_read_twice else ''}(\n{indented(cte.sql)}\n)"
            for cte in self.ctes
        )
        return f"WITH {parts}\n{final}"


def merged(*lists: Sequence[Cte]) -> tuple[Cte, ...]:
    """CTEs of several queries, each once, in an order in which each stands after what it reads."""
    merged_ctes: dict[str, Cte] = {}
    for ctes in lists:
        for cte in ctes:
            merged_ctes[cte.name] = cte if cte.is_read_twice or cte.name not in merged_ctes else merged_ctes[cte.name]
    return tuple(merged_ctes.values())


def indented(sql: str) -> str:
    """Each line a little to the right."""
    return "\n".join("  " + line for line in sql.split("\n"))


def fresh(names: Iterable[str], taken: Mapping[str, str]) -> dict[str, str]:
    """Identifiers for new columns: the name itself on one line, unless another column has it in any case."""
    used = {identifier.casefold() for identifier in taken.values()}
    fresh_names: dict[str, str] = {}
    for name in names:
        plain = " ".join(name.split("\n"))  # statements are indented, which must not change a name
        identifier, number = plain, 2
        while identifier.casefold() in used:
            identifier, number = f"{plain}~{number}~", number + 1
        used.add(identifier.casefold())
        fresh_names[name] = identifier
    return fresh_names


def select(added: Mapping[str, str], source: str, hidden: Sequence[str] = ()) -> str:
    """All columns of the source but the hidden ones, and more; each of `added` is an identifier and its SQL."""
    star = f"* EXCLUDE ({', '.join(identifier(name) for name in hidden)})" if hidden else "*"
    return listed([star, *(f"{sql} AS {identifier(column)}" for column, sql in added.items())], source)


def listed(items: Sequence[str], source: str) -> str:
    """A statement with one item per line."""
    return "SELECT " + ",\n       ".join(items) + f"\nFROM {source}"
