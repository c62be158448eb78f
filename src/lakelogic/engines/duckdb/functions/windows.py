"""Windows → DuckDB SQL: values first, then the functions over the window, then what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lakelogic.engines.duckdb.expressions import expression_sql
from lakelogic.engines.duckdb.frame import Query, fresh, indented, listed, select
from lakelogic.engines.duckdb.functions.aggregates import plain, summary
from lakelogic.engines.duckdb.literals import quoted, try_cast
from lakelogic.engines.sql.windows import PEERS, between, direction
from lakelogic.plan.nodes import Window, WindowFunction


def window(frame: Query, node: Window, _links: Mapping[str, Query]) -> Query:
    """New columns that look at other rows."""
    identifiers = fresh((function.name for function in node.functions), frame.columns)
    computed = {f"~part{i}": expression_sql(value, frame.columns) for i, value in enumerate(node.partition)}
    partition = [quoted(name) for name in computed]
    order = []
    for index, key in enumerate(node.order):
        computed[f"~order{index}"] = expression_sql(key.value, frame.columns)
        order.append(quoted(f"~order{index}") + direction(key))
    inner: dict[str, str] = {}
    outer: dict[str, str] = {}
    for index, function in enumerate(node.functions):
        own = {f"~value{index}.{i}": expression_sql(value, frame.columns) for i, value in enumerate(function.args)}
        computed |= own
        found, made = _function(function, f"~made{index}", [quoted(name) for name in own], partition, order)
        inner |= found
        outer[identifiers[function.name]] = try_cast(made, function.type)
    values = select(computed, quoted(frame.name))
    functions = select(inner, f"(\n{indented(values)}\n)")
    items = [
        *(quoted(identifier) for identifier in frame.columns.values()),
        *(f"{sql} AS {quoted(identifier)}" for identifier, sql in outer.items()),
    ]
    sql = listed(items, f"(\n{indented(functions)}\n)")
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def _function(
    function: WindowFunction, name: str, values: Sequence[str], partition: Sequence[str], order: Sequence[str]
) -> tuple[dict[str, str], str]:
    """The calls over the window by name, and what is made of them."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    parts += [f"ORDER BY {', '.join(order)}"] if order else []
    build = _OWN.get(function.function)
    if build is not None:
        bounded = [*parts, between(function.bounds or PEERS)] if function.function in _BOUNDED else parts
        return {name: f"{build(values)} OVER ({' '.join(bounded)})"}, quoted(name)
    over = f" OVER ({' '.join([*parts, between(function.bounds or PEERS)])})"
    args = function.args
    if values:
        values = [plain(value, arg.type) for value, arg in zip(values, args, strict=True)]
    found = summary(function.function, name, values, args, function.type, distinct=function.distinct)
    return {part: sql + over for part, sql in found.inner.items()}, found.outer


def _plain(name: str, nulls: str = "") -> Callable[[Sequence[str]], str]:
    return lambda values: f"{name}({', '.join(values)}{nulls})"


_PRESENT = " IGNORE NULLS"
_OWN: dict[str, Callable[[Sequence[str]], str]] = {
    "row_number": _plain("row_number"),
    "rank": _plain("rank"),
    "dense_rank": _plain("dense_rank"),
    "percent_rank": _plain("percent_rank"),
    "cume_dist": _plain("cume_dist"),
    "ntile": _plain("ntile"),
    "lag": _plain("lag"),
    "lead": _plain("lead"),
    "lag_present": _plain("lag", _PRESENT),
    "lead_present": _plain("lead", _PRESENT),
    "first_value": _plain("first_value"),
    "last_value": _plain("last_value"),
    "nth_value": _plain("nth_value"),
    "first_value_present": _plain("first_value", _PRESENT),
    "last_value_present": _plain("last_value", _PRESENT),
    "nth_value_present": _plain("nth_value", _PRESENT),
}
_BOUNDED = frozenset(name for name in _OWN if "_value" in name)

NAMES = frozenset(_OWN)
