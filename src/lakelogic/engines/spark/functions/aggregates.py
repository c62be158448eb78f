"""Aggregates as Spark SQL text: what is computed while grouping, and what is made of it afterwards.

What is computed while grouping are plain aggregate calls, so the same text serves groups and, with OVER, windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from lakelogic.engines.base import Frame
from lakelogic.engines.spark import literals
from lakelogic.engines.spark.functions import statistics
from lakelogic.engines.spark.functions.sums import added, exact_sum
from lakelogic.engines.spark.literals import identifier, literal, text, type_name
from lakelogic.engines.sql.aggregates import AggregateCall, without_sign_of_zero
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Call as ValueCall
from lakelogic.sql.expressions import Expression
from lakelogic.sql.types import DOUBLE, STRING, Type, decimal


class Summary(NamedTuple):
    """`inner` aggregates by column name, and the `outer` expression over these columns.

    `before` are layers of columns of every row, which the aggregates read.
    """

    inner: dict[str, str]
    outer: str
    before: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Call(AggregateCall):
    """An aggregate over values.

    Over a window (`is_window`) Spark knows no DISTINCT, so different values are collected there.
    """

    is_window: bool = False

    @property
    def value(self) -> str:
        """The first argument; −0 is 0."""
        return plain(self.values[0], self.source)

    def single(self, text: str) -> Summary:
        """A single aggregate call, as it is."""
        return Summary({self.name: text}, identifier(self.name))

    def listed(self, text: str, build: Callable[[str], str]) -> Summary:
        """Something made of all values that are not NULL, or of each once."""
        if not self.distinct:
            return Summary({self.name: f"collect_list({text})"}, build(identifier(self.name)))
        inner, collected = different(self.name, text, self.source)
        return Summary({self.name: inner}, build(collected))


Builder: TypeAlias = Callable[[Call], Summary]


def plain(value: str, type_: Type) -> str:
    """A number in which −0 is 0: equal values must not differ in an answer."""
    return without_sign_of_zero(literals, value, type_)


def different(column: str, text: str, type_: Type) -> tuple[str, str]:
    """An aggregate for the column, and the array of different values made of it."""
    if type_.kind in ("float", "double"):  # a set that is collected holds NaN several times
        return f"collect_list({text})", f"array_distinct({identifier(column)})"
    return f"collect_set({text})", identifier(column)


def summary(
    function: str,
    name_: str,
    values: Sequence[str],
    args: Sequence[Expression],
    type_: Type,
    *,
    distinct: bool = False,
    is_window: bool = False,
) -> Summary:
    """An aggregate called `name_` over values."""
    call = Call(name_, tuple(values), tuple(args), type_, distinct, is_window)
    if function == "count_all":
        return call.single("count(1)")
    builder = _BUILDERS.get(function)
    if builder is None:
        raise UnsupportedError(f"The aggregate `{function}` is not available on Spark.")
    return builder(call)


def _plain(function: str) -> Builder:
    return lambda call: call.single(f"{function}({call.value})")


def _together(call: Call) -> str:
    """Several values as one, NULL where one of them is."""
    fields = ", ".join(
        f"'f{i}', {plain(v, a.type)}" for i, (v, a) in enumerate(zip(call.values, call.args, strict=True))
    )
    there = " AND ".join(f"{value} IS NOT NULL" for value in call.values)
    return f"CASE WHEN {there} THEN named_struct({fields}) END"


def _count_distinct(call: Call) -> Summary:
    value = call.value if len(call.values) == 1 else _together(call)
    if call.is_window:
        inner, distinct_values = different(call.name, value, call.source if len(call.values) == 1 else STRING)
        return Summary({call.name: inner}, f"CAST(size({distinct_values}) AS BIGINT)")
    return call.single(f"count(DISTINCT {value})")


def _sum(call: Call) -> Summary:
    source = call.source
    if source.kind in ("float", "double"):
        if call.distinct:
            total = lambda array_sql: f"CASE WHEN size({array_sql}) > 0 THEN {added(f'sort_array({array_sql})')} END"  # noqa: E731
            return call.listed(_double(call), total)
        cuts, digits, inner, outer = exact_sum(call.name, _double(call, exact=True))
        return Summary(inner, outer, (cuts, digits))
    to = "BIGINT" if source.is_integer else type_name(decimal(38, source.scale))
    if call.distinct and call.is_window:
        return _over_set(call, to)
    return call.single(f"try_sum({'DISTINCT ' if call.distinct else ''}CAST({call.values[0]} AS {to}))")


def whole_numbers(function: str, value: Expression | None) -> Expression | None:
    """What a total in 38 digits adds up, where that are whole numbers of 64 bits."""
    if function != "sum" or not isinstance(value, ValueCall) or value.function != "convert":
        return None
    inside = value.args[0]
    return inside if value.type == decimal(38, 0) and inside.type.is_integer else None


def sum_of_whole_numbers(name_: str, value: str) -> Summary:
    """A total of whole numbers by their upper and lower 32 bits: Spark adds long decimals object by object.

    Both halves hold the totals of two billion rows; beyond, the total is NULL.
    """
    upper, lower = f"{name_}~upper", f"{name_}~lower"
    number = f"CAST({value} AS BIGINT)"
    inner = {upper: f"try_sum(shiftright({number}, 32))", lower: f"try_sum({number} & 4294967295L)"}
    whole = f"CAST({identifier(upper)} AS DECIMAL(19, 0)) * 4294967296BD + {identifier(lower)}"
    return Summary(inner, f"CAST({whole} AS DECIMAL(38, 0))")


def _over_set(call: Call, to: str) -> Summary:
    def total(array_sql: str) -> str:
        step = f"(a, v) -> try_cast(try_add(a, v) AS {to})"
        return f"CASE WHEN size({array_sql}) > 0 THEN aggregate(sort_array({array_sql}), CAST(0 AS {to}), {step}) END"

    return call.listed(f"CAST({call.values[0]} AS {to})", total)


def _double(call: Call, index: int = 0, *, exact: bool = False) -> str:
    value, source = call.values[index], call.args[index].type
    wide = value if source.kind == "double" else f"CAST({value} AS DOUBLE)"
    return wide if exact else plain(wide, DOUBLE)


def _avg(call: Call) -> Summary:
    source, number = call.source, f"{call.name}~number"
    inner = Call(f"{call.name}~sum", call.values, call.args, call.type, call.distinct, call.is_window)
    if source.kind in ("float", "double", "decimal"):
        total = _sum(inner)
    else:  # an average exists where its total does not
        to = type_name(decimal(38, 0))
        once = "DISTINCT " if call.distinct else ""
        total = (
            _over_set(inner, to)
            if call.distinct and call.is_window
            else inner.single(f"try_sum({once}CAST({call.values[0]} AS {to}))")
        )
    counted = _count_distinct(Call(number, call.values[:1], call.args[:1], call.type, True, call.is_window))
    if not call.distinct:
        counted = Summary({number: f"count({call.values[0]})"}, identifier(number))
    quotient = f"try_divide(CAST({total.outer} AS DOUBLE), CAST({counted.outer} AS DOUBLE))"
    return Summary({**total.inner, **counted.inner}, quotient, total.before)


def _by(function: str) -> Builder:
    """`min_by` and `max_by`: of equal orders the smallest or largest value that is not NULL."""

    def build(call: Call) -> Summary:
        value, by = (plain(text, arg.type) for text, arg in zip(call.values, call.args, strict=True))
        absent = f"{value} IS {'NULL' if function == 'min' else 'NOT NULL'}"
        packed = f"named_struct('by', {by}, 'rest', {absent}, 'value', {value})"
        pair = f"{function}(CASE WHEN {call.values[1]} IS NOT NULL THEN {packed} END)"
        return Summary({call.name: pair}, f"{identifier(call.name)}.value")

    return build


def _collect(distinct: bool) -> Builder:
    def build(call: Call) -> Summary:
        inner, collected = f"collect_list({call.value})", identifier(call.name)
        if distinct:
            inner, collected = different(call.name, call.value, call.source)
        return Summary({call.name: inner}, ascending(collected, call.source))

    return build


def ascending(array: str, element: Type) -> str:
    """An array in ascending order; inside structs NULL comes last, as everywhere."""
    if element.kind != "struct":
        return f"sort_array({array})"
    return f"array_sort({array}, (a, b) -> {_compared('a', 'b', element)})"


def _compared(left: str, right: str, type_: Type, otherwise: str = "0") -> str:
    if type_.kind == "struct":
        comparison = otherwise
        for field, kind in reversed(type_.fields):
            comparison = _compared(f"{left}.{identifier(field)}", f"{right}.{identifier(field)}", kind, comparison)
        return comparison
    return (
        f"CASE WHEN {left} < {right} THEN -1 WHEN {left} > {right} THEN 1 "
        f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN 1 WHEN {left} IS NOT NULL AND {right} IS NULL THEN -1 "
        f"ELSE {otherwise} END"
    )


def _joined(call: Call) -> Summary:
    separator = text(str(call.constant(1).value))
    return call.listed(
        call.value,
        lambda array_sql: f"CASE WHEN size({array_sql}) > 0 THEN array_join(sort_array({array_sql}), {separator}) END",
    )


def _mode(call: Call) -> Summary:
    if not call.is_window:
        return call.single(f"mode({call.value}, TRUE)")
    counts = "transform(array_distinct(s), v -> named_struct('n', -size(filter(s, w -> w <=> v)), 'v', v))"
    return call.listed(
        call.value, lambda array_sql: f"get(array_sort(get(transform(array({array_sql}), s -> {counts}), 0)), 0).v"
    )


def _over_doubles(build: Callable[[str], str]) -> Builder:
    return lambda call: call.listed(_double(call), build)


def _over_pairs(build: Callable[[str], str]) -> Builder:
    def make(call: Call) -> Summary:
        left, right = _double(call, 0), _double(call, 1)
        there = " AND ".join(f"{value} IS NOT NULL" for value in call.values)
        packed = f"CASE WHEN {there} THEN named_struct('x', {left}, 'y', {right}) END"
        return Summary({call.name: f"collect_list({packed})"}, build(identifier(call.name)))

    return make


def _percentile(build: Callable[[str, str], str]) -> Builder:
    return lambda call: call.listed(call.value, lambda array_sql: build(array_sql, literal(call.constant(1))))


_BUILDERS: dict[str, Builder] = {
    "count": lambda call: call.single(f"count({call.values[0]})"),
    "count_distinct": _count_distinct,
    "count_if": lambda call: call.single(f"count_if({call.values[0]})"),
    "sum": _sum,
    "avg": _avg,
    "min": _plain("min"),
    "max": _plain("max"),
    "any_true": _plain("bool_or"),
    "every_true": _plain("bool_and"),
    "min_by": _by("min"),
    "max_by": _by("max"),
    "bits_and": _plain("bit_and"),
    "bits_or": _plain("bit_or"),
    "bits_xor": _plain("bit_xor"),
    "collect_list": _collect(False),
    "collect_set": _collect(True),
    "string_agg": _joined,
    "mode": _mode,
    "percentile": _percentile(statistics.percentile),
    "percentile_disc": _percentile(statistics.percentile_disc),
    "var_samp": _over_doubles(lambda values: statistics.variance(values, 1)),
    "var_pop": _over_doubles(lambda values: statistics.variance(values, 0)),
    "stddev_samp": _over_doubles(lambda values: f"sqrt({statistics.variance(values, 1)})"),
    "stddev_pop": _over_doubles(lambda values: f"sqrt({statistics.variance(values, 0)})"),
    "skewness": _over_doubles(statistics.skewness),
    "kurtosis": _over_doubles(statistics.kurtosis),
    "covar_samp": _over_pairs(lambda pairs: statistics.covariance(pairs, 1)),
    "covar_pop": _over_pairs(lambda pairs: statistics.covariance(pairs, 0)),
    "corr": _over_pairs(statistics.correlation),
}

NAMES = frozenset({"count_all", *_BUILDERS})


def with_layers(frame: Frame, summaries: Sequence[Summary]) -> Frame:
    """The frame with the columns that aggregates read beside the values."""
    for depth in range(max((len(item.before) for item in summaries), default=0)):
        added_ = {
            k: v for item in summaries for k, v in (item.before[depth] if len(item.before) > depth else {}).items()
        }
        frame = frame.selectExpr("*", *(f"{text} AS {identifier(column)}" for column, text in added_.items()))
    return frame
