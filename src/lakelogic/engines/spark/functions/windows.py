"""Windows as Spark SQL: values first, then the functions over the window, then what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.engines.base import Frame
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.functions.aggregates import Summary, plain, summary, with_layers
from lakelogic.engines.spark.literals import identifier, type_name
from lakelogic.engines.sql.windows import FUNCTIONS, direction, over, window_call
from lakelogic.plan.nodes import Window, WindowFunction


def window(frame: Frame, node: Window, _links: Mapping[str, Frame]) -> Frame:
    """New columns that look at other rows."""
    computed = {f"~part{i}": plain(sql(value), value.type) for i, value in enumerate(node.partition)}
    partition = [identifier(column) for column in computed]
    order = []
    for i, key in enumerate(node.order):
        computed[f"~order{i}"] = plain(sql(key.value), key.value.type)
        order.append(identifier(f"~order{i}") + direction(key))
    summaries: list[Summary] = []
    outer: dict[str, str] = {}
    for i, function in enumerate(node.functions):
        own = {f"~value{i}.{place}": sql(value) for place, value in enumerate(function.args)}
        computed |= own
        calls = _function(function, f"~made{i}", [identifier(column) for column in own], partition, order)
        summaries.append(calls)
        outer[function.name] = f"CAST({calls.outer} AS {type_name(function.type)})"
    ready = frame.selectExpr("*", *(f"{text} AS {identifier(column)}" for column, text in computed.items()))
    inner = [f"{text} AS {identifier(column)}" for item in summaries for column, text in item.inner.items()]
    # Only what is read further is kept: a layer's column and what is made of it can have the same name.
    kept = [identifier(column) for column in frame.columns]
    windowed = with_layers(ready, summaries).selectExpr(*kept, *inner)
    return windowed.selectExpr(
        *(identifier(column) for column in frame.columns),
        *(f"{text} AS {identifier(column)}" for column, text in outer.items()),
    )


def _function(
    function: WindowFunction, output: str, values: Sequence[str], partition: Sequence[str], order: Sequence[str]
) -> Summary:
    """The calls over the window by name, and what is made of them."""
    # Spark wants an order for ranks and neighbours; a constant one makes all rows peers, as none does.
    window_sql = over(function, partition, order or ["NULL"])
    if function.function in FUNCTIONS:
        written = [*values[:1], *(sql(value) for value in function.args[1:])] if values else []
        if function.function == "ntile":
            written = [sql(function.args[0])]
        call = window_call(function.function, written, nulls_inside=False)
        return Summary({output: call + window_sql}, identifier(output))
    calls = summary(
        function.function, output, values, function.args, function.type, distinct=function.distinct, is_window=True
    )
    return Summary({column: text + window_sql for column, text in calls.inner.items()}, calls.outer, calls.before)


NAMES = FUNCTIONS
