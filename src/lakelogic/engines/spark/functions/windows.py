"""Windows as Spark SQL: values first, then the functions over the window, then what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lakelogic.engines.base import Frame
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.functions.aggregates import Summary, plain, summary, with_layers
from lakelogic.engines.spark.literals import name, type_name
from lakelogic.engines.sql.windows import PEERS, between, direction
from lakelogic.plan.nodes import Window, WindowFunction


def window(frame: Frame, node: Window, _links: Mapping[str, Frame]) -> Frame:
    """New columns that look at other rows."""
    computed = {f"~part{i}": plain(sql(value), value.type) for i, value in enumerate(node.partition)}
    partition = [name(column) for column in computed]
    order = []
    for i, key in enumerate(node.order):
        computed[f"~order{i}"] = plain(sql(key.value), key.value.type)
        order.append(name(f"~order{i}") + direction(key))
    found: list[Summary] = []
    outer: dict[str, str] = {}
    for i, function in enumerate(node.functions):
        own = {f"~value{i}.{place}": sql(value) for place, value in enumerate(function.args)}
        computed |= own
        one = _function(function, f"~made{i}", [name(column) for column in own], partition, order)
        found.append(one)
        outer[function.name] = f"CAST({one.outer} AS {type_name(function.type)})"
    ready = frame.selectExpr("*", *(f"{text} AS {name(column)}" for column, text in computed.items()))
    inner = [f"{text} AS {name(column)}" for one in found for column, text in one.inner.items()]
    # Only what is read further is kept: a layer's column and what is made of it can have the same name.
    kept = [name(column) for column in frame.columns]
    windowed = with_layers(ready, found).selectExpr(*kept, *inner)
    return windowed.selectExpr(
        *(name(column) for column in frame.columns),
        *(f"{text} AS {name(column)}" for column, text in outer.items()),
    )


def _function(
    function: WindowFunction, made: str, values: Sequence[str], partition: Sequence[str], order: Sequence[str]
) -> Summary:
    """The calls over the window by name, and what is made of them."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    # Spark wants an order for ranks and neighbours; a constant one makes all rows peers, as none does.
    parts.append(f"ORDER BY {', '.join(order) or 'NULL'}")
    build = _OWN.get(function.function)
    if build is not None:
        bounded = [*parts, between(function.bounds or PEERS)] if function.function in _BOUNDED else parts
        written = [*values[:1], *(sql(value) for value in function.args[1:])] if values else []
        if function.function == "ntile":
            written = [sql(function.args[0])]
        return Summary({made: f"{build(written)} OVER ({' '.join(bounded)})"}, name(made))
    over = f" OVER ({' '.join([*parts, between(function.bounds or PEERS)])})"
    found = summary(
        function.function, made, values, function.args, function.type, distinct=function.distinct, is_window=True
    )
    return Summary({column: text + over for column, text in found.inner.items()}, found.outer, found.before)


def _plain(function: str, nulls: str = "") -> Callable[[Sequence[str]], str]:
    return lambda values: f"{function}({', '.join(values)}){nulls}"


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
_BOUNDED = frozenset(function for function in _OWN if "_value" in function)

NAMES = frozenset(_OWN)
