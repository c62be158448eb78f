"""Windows → DuckDB SQL: values first, then the functions over the window, then what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.engines.duckdb.expressions import expression_sql
from lakelogic.engines.duckdb.frame import Query, fresh, indented, listed, select
from lakelogic.engines.duckdb.functions.aggregates import plain, summary
from lakelogic.engines.duckdb.literals import identifier, try_cast
from lakelogic.engines.sql.windows import FUNCTIONS, direction, over, window_call
from lakelogic.plan.nodes import Window, WindowFunction


def window(frame: Query, node: Window, _links: Mapping[str, Query]) -> Query:
    """New columns that look at other rows."""
    identifiers = fresh((function.name for function in node.functions), frame.columns)
    computed = {f"~part{i}": expression_sql(value, frame.columns) for i, value in enumerate(node.partition)}
    partition = [identifier(name) for name in computed]
    order = []
    for index, key in enumerate(node.order):
        computed[f"~order{index}"] = expression_sql(key.value, frame.columns)
        order.append(identifier(f"~order{index}") + direction(key))
    inner: dict[str, str] = {}
    outer: dict[str, str] = {}
    for index, function in enumerate(node.functions):
        own = {f"~value{index}.{i}": expression_sql(value, frame.columns) for i, value in enumerate(function.args)}
        computed |= own
        calls, result = _function(function, f"~made{index}", [identifier(name) for name in own], partition, order)
        inner |= calls
        outer[identifiers[function.name]] = try_cast(result, function.type)
    values = select(computed, identifier(frame.name))
    functions = select(inner, f"(\n{indented(values)}\n)")
    items = [
        *(identifier(column) for column in frame.columns.values()),
        *(f"{sql} AS {identifier(column)}" for column, sql in outer.items()),
    ]
    sql = listed(items, f"(\n{indented(functions)}\n)")
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def _function(
    function: WindowFunction, name: str, values: Sequence[str], partition: Sequence[str], order: Sequence[str]
) -> tuple[dict[str, str], str]:
    """The calls over the window by name, and what is made of them."""
    window_sql = over(function, partition, order)
    if function.function in FUNCTIONS:
        return {name: window_call(function.function, values, nulls_inside=True) + window_sql}, identifier(name)
    args = function.args
    if values:
        values = [plain(value, arg.type) for value, arg in zip(values, args, strict=True)]
    call_parts = summary(function.function, name, values, args, function.type, distinct=function.distinct)
    return {part: sql + window_sql for part, sql in call_parts.inner.items()}, call_parts.outer


NAMES = FUNCTIONS
