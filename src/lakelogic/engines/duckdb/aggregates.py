"""Aggregates → DuckDB SQL text: what is computed while grouping, and what is made of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from lakelogic.engines.duckdb.convert import to_type
from lakelogic.engines.duckdb.literals import cast, quoted, try_cast, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import Type, decimal

# Sums are split here: DuckDB stops the query when a total leaves 128 bits, and TRY does not take aggregates.
_SPLIT = 10**19
_SAFE_DIGITS = 28


class Summary(NamedTuple):
    """`inner` aggregates by column name, and the `outer` expression over these columns."""

    inner: dict[str, str]
    outer: str


Builder: TypeAlias = Callable[[str, str, Type, str], Summary]


def summary(function: str, name: str, value: str | None, source: Type | None, where: str | None = None) -> Summary:
    """An aggregate called `name` over a value of type `source`, of the rows where `where` is TRUE."""
    condition = f" FILTER (WHERE {where})" if where else ""
    if function == "count_all":
        return _single(name, f"count(*){condition}")
    builder = _BUILDERS.get(function)
    if builder is None or value is None or source is None:
        raise UnsupportedError(f"DuckDB has no aggregate `{function}`.")
    return builder(name, value, source, condition)


def _single(name: str, sql: str) -> Summary:
    return Summary({name: sql}, quoted(name))


def _plain(template: str) -> Builder:
    return lambda name, value, _source, condition: _single(name, template.format(value) + condition)


def _sum(name: str, value: str, source: Type, condition: str) -> Summary:
    if source.is_integer:
        return Summary({name: f"sum({cast(value, 'BIGINT')}){condition}"}, try_cast(quoted(name), "BIGINT"))
    if source.kind == "decimal":
        to = decimal(38, source.scale)
        if source.precision <= _SAFE_DIGITS:
            return Summary({name: f"sum({value}){condition}"}, cast(quoted(name), to))
        whole = f"CAST(floor({value}) AS HUGEINT)"
        parts = {
            f"{name}~high": f"sum({whole} // {_SPLIT}){condition}",
            f"{name}~low": f"sum({whole} % {_SPLIT}){condition}",
            f"{name}~part": f"sum({value} - floor({value})){condition}",
        }
        high, low, part = (quoted(part) for part in parts)
        return Summary(parts, try_cast(f"TRY({cast(f'{high} * {_SPLIT} + {low}', to)} + {cast(part, to)})", to))
    return _single(name, f"sum({cast(value, 'DOUBLE')}){condition}")


def _avg(name: str, value: str, source: Type, condition: str) -> Summary:
    if source.is_integer:
        total, count = f"{name}~sum", f"{name}~count"
        return Summary(
            {total: f"sum({cast(value, 'BIGINT')}){condition}", count: f"count({value}){condition}"},
            f"({cast(quoted(total), 'DOUBLE')} / NULLIF({quoted(count)}, 0))",
        )
    return _single(name, f"avg({cast(value, 'DOUBLE')}){condition}")


def _collect(distinct: str) -> Builder:
    def build(name: str, value: str, source: Type, condition: str) -> Summary:
        present = f"{value} IS NOT NULL"
        condition = condition.removesuffix(")") + f" AND {present})" if condition else f" FILTER (WHERE {present})"
        gathered = f"list({distinct}{value} ORDER BY {value} ASC){condition}"
        return Summary({name: gathered}, f"coalesce({quoted(name)}, CAST([] AS {type_name(source)}[]))")

    return build


_BUILDERS: dict[str, Builder] = {
    "count": _plain("count({})"),
    "count_distinct": _plain("count(DISTINCT {})"),
    "sum": _sum,
    "avg": _avg,
    "min": _plain("min({})"),
    "max": _plain("max({})"),
    "any_true": _plain("bool_or({})"),
    "every_true": _plain("bool_and({})"),
    "collect_list": _collect(""),
    "collect_set": _collect("DISTINCT "),
}

NAMES = frozenset({"count_all", *_BUILDERS})


def as_declared(sql: str, source: Type, to: Type) -> str:
    """An aggregate in the type that the plan gives it."""
    return sql if source == to else to_type(sql, source, to)
