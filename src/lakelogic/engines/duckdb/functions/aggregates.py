"""Aggregates → DuckDB SQL text: what is computed while grouping, and what is made of it afterwards.

What is computed while grouping are plain aggregate calls, so the same text serves groups and, with OVER, windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from lakelogic.engines.duckdb import literals
from lakelogic.engines.duckdb.convert import to_type
from lakelogic.engines.duckdb.functions import statistics
from lakelogic.engines.duckdb.functions.sums import exact_sum
from lakelogic.engines.duckdb.literals import cast, identifier, literal, text, try_cast, type_name
from lakelogic.engines.sql.aggregates import AggregateCall, without_sign_of_zero
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Expression
from lakelogic.sql.types import DOUBLE, Type, decimal

# Sums are split here: DuckDB stops the query when a total leaves 128 bits, and TRY does not take aggregates.
_SPLIT = 10**19
_SAFE_DIGITS = 28


class Summary(NamedTuple):
    """`inner` aggregates by column name, and the `outer` expression over these columns."""

    inner: dict[str, str]
    outer: str


@dataclass(frozen=True, slots=True)
class Call(AggregateCall):
    """An aggregate over values, and the condition of rows that it takes."""

    where: str | None = None

    @property
    def value(self) -> str:
        """The first argument; −0 is 0."""
        return plain(self.values[0], self.source)

    def filter(self, *conditions: str) -> str:
        """FILTER by the conditions and that of the call itself."""
        kept = [*([self.where] if self.where else []), *conditions]
        return f" FILTER (WHERE {' AND '.join(kept)})" if kept else ""

    def single(self, sql: str) -> Summary:
        """A single aggregate call, as it is."""
        return Summary({self.name: sql}, identifier(self.name))

    def listed(self, value: str) -> str:
        """All values that are not NULL, as a list in no order; of several arguments only rows that have all."""
        return f"list({value}){self.filter(*(f'{argument} IS NOT NULL' for argument in self.values))}"


Builder: TypeAlias = Callable[[Call], Summary]


def plain(value: str, type_: Type) -> str:
    """A number in which −0 is 0: equal values must not differ in an answer."""
    return without_sign_of_zero(literals, value, type_)


def summary(
    function: str,
    name: str,
    values: Sequence[str],
    args: Sequence[Expression],
    type_: Type,
    *,
    distinct: bool = False,
    where: str | None = None,
) -> Summary:
    """An aggregate called `name` over values, of the rows where `where` is TRUE."""
    call = Call(name, tuple(values), tuple(args), type_, distinct, where)
    if function == "count_all":
        return call.single(f"count(*){call.filter()}")
    builder = _BUILDERS.get(function)
    if builder is None:
        raise UnsupportedError(f"DuckDB has no aggregate `{function}`.")
    return builder(call)


def _plain(template: str) -> Builder:
    return lambda call: call.single(template.format(call.value) + call.filter())


def _count_distinct(call: Call) -> Summary:
    if len(call.values) == 1:
        return call.single(f"count(DISTINCT {call.value}){call.filter()}")
    together = ", ".join(plain(value, argument.type) for value, argument in zip(call.values, call.args, strict=True))
    return call.single(f"count(DISTINCT row({together})){call.filter(*(f'{v} IS NOT NULL' for v in call.values))}")


def _sum(call: Call) -> Summary:
    name, value, source, once = call.name, call.values[0], call.source, "DISTINCT " if call.distinct else ""
    if source.is_integer:
        return Summary(
            {name: f"sum({once}{cast(value, 'BIGINT')}){call.filter()}"}, try_cast(identifier(name), "BIGINT")
        )
    if source.kind == "decimal":
        to = decimal(38, source.scale)
        if source.precision <= _SAFE_DIGITS:
            return Summary({name: f"sum({once}{value}){call.filter()}"}, cast(identifier(name), to))
        if call.distinct:
            pieces = _split("ll_v").values()
            distinct_values = f"list_distinct({identifier(name)})"
            sums = [f"list_sum(list_transform({distinct_values}, lambda ll_v: {piece}))" for piece in pieces]
            return Summary({name: call.listed(value)}, _joined_total(sums, to))
        parts = {f"{name}~{part}": f"sum({sql}){call.filter()}" for part, sql in _split(value).items()}
        return Summary(parts, _joined_total([identifier(part) for part in parts], to))
    if call.distinct:
        return _over_set(call)
    return Summary(*exact_sum(name, _double(call), call.filter))


def _split(value: str) -> dict[str, str]:
    """A long decimal in pieces whose sums have room."""
    whole = f"CAST(trunc({value}) AS HUGEINT)"
    return {"high": f"{whole} // {_SPLIT}", "low": f"{whole} % {_SPLIT}", "part": f"{value} - trunc({value})"}


def _joined_total(sums: Sequence[str], to: Type) -> str:
    """The total of the pieces; NULL beyond the digits."""
    high, low, part = sums
    whole = f"({high} * {_SPLIT} + {low} + CAST(trunc({part}) AS HUGEINT))"
    rest = f"({part} - trunc({part}))"

    def total(whole: str, rest: str) -> str:
        return f"{try_cast(whole, to)} + {cast(rest, to)}"

    # Both pieces get one sign: the whole alone must not leave the type where the total does not.
    branches = (
        f"WHEN {whole} < 0 AND {rest} > 0 THEN {total(f'{whole} + 1', f'{rest} - 1')} "
        f"WHEN {whole} > 0 AND {rest} < 0 THEN {total(f'{whole} - 1', f'{rest} + 1')} "
    )
    return f"TRY(CASE {branches}ELSE {total(whole, rest)} END)"


def _double(call: Call, index: int = 0) -> str:
    value, source = call.values[index], call.args[index].type
    return value if source.kind == "double" else cast(value, DOUBLE)


def _over_set(call: Call) -> Summary:
    """A total of different values: they are few, so they are held."""
    distinct_values = f"list_sort(list_distinct({identifier(call.name)}))"
    start = cast("0", call.type)
    total = f"list_reduce({distinct_values}, lambda ll_a, ll_v: TRY(ll_a + ll_v), {start})"
    values = {call.name: call.listed(cast(call.value, call.type))}
    return Summary(values, f"CASE WHEN {identifier(call.name)} IS NOT NULL THEN {total} END")


def _avg(call: Call) -> Summary:
    name, source = call.name, call.source
    wide = decimal(38, source.scale) if source.kind == "decimal" else DOUBLE
    total = _sum(Call(f"{name}~sum", call.values, call.args, wide, call.distinct, call.where))
    count, once = f"{name}~number", "DISTINCT " if call.distinct else ""
    numerator = total.outer
    if source.is_integer:  # before it is fitted into a bigint: an average exists where its total does not
        numerator = to_type(cast(identifier(f"{name}~sum"), decimal(38, 0)), decimal(38, 0), DOUBLE)
    elif source.kind == "decimal":
        numerator = to_type(total.outer, wide, DOUBLE)
    counted = f"count({once}{call.value}){call.filter()}"
    return Summary({**total.inner, count: counted}, f"({numerator} / NULLIF({cast(identifier(count), DOUBLE)}, 0))")


def _by(function: str) -> Builder:
    """`min_by` and `max_by`: of equal orders the smallest or largest value that is not NULL."""

    def build(call: Call) -> Summary:
        value, by = (plain(sql, argument.type) for sql, argument in zip(call.values, call.args, strict=True))
        absent = f"{value} IS {'NULL' if function == 'min' else 'NOT NULL'}"
        packed = f"{{'by': {by}, 'rest': {absent}, 'value': {value}}}"
        kept = call.filter(f"{call.values[1]} IS NOT NULL")
        return Summary({call.name: f"{function}({packed}){kept}"}, f'{identifier(call.name)}."value"')

    return build


def _collect(function: str) -> Builder:
    def build(call: Call) -> Summary:
        kept = identifier(call.name) if function == "collect_list" else f"list_distinct({identifier(call.name)})"
        collected = f"coalesce(list_sort({kept}), CAST([] AS {type_name(call.source)}[]))"
        return Summary({call.name: call.listed(call.value)}, collected)

    return build


def _joined(call: Call) -> Summary:
    values = f"list_distinct({identifier(call.name)})" if call.distinct else identifier(call.name)
    separator = text(str(call.constant(1).value))
    inner = f"list({call.value}){call.filter(f'{call.values[0]} IS NOT NULL')}"
    return Summary({call.name: inner}, f"array_to_string(list_sort({values}), {separator})")


def _over_list(build: Callable[[str, Call], str]) -> Builder:
    """Something made of the sorted list of all values."""

    def make(call: Call) -> Summary:
        inner = f"list({call.value}){call.filter(f'{call.values[0]} IS NOT NULL')}"
        return Summary({call.name: inner}, build(identifier(call.name), call))

    return make


def _over_doubles(build: Callable[[str], str]) -> Builder:
    """Something made of the doubles of a group, added in ascending order."""

    def make(call: Call) -> Summary:
        inner = call.listed(_double(call))
        kept = identifier(call.name) if not call.distinct else f"list_distinct({identifier(call.name)})"
        return Summary({call.name: inner}, build(kept))

    return make


def _over_pairs(build: Callable[[str], str]) -> Builder:
    def make(call: Call) -> Summary:
        left, right = (plain(_double(call, index), DOUBLE) for index in (0, 1))
        return Summary({call.name: call.listed(f"{{'x': {left}, 'y': {right}}}")}, build(identifier(call.name)))

    return make


def _percentile(build: Callable[[str, str], str]) -> Builder:
    def make(listed: str, call: Call) -> str:
        return build(listed, literal(call.constant(1)))

    return _over_list(make)


_BUILDERS: dict[str, Builder] = {
    "count": lambda call: call.single(f"count({call.values[0]}){call.filter()}"),
    "count_distinct": _count_distinct,
    "count_if": lambda call: call.single(f"count(*){call.filter(call.values[0])}"),
    "sum": _sum,
    "avg": _avg,
    "min": _plain("min({})"),
    "max": _plain("max({})"),
    "any_true": _plain("bool_or({})"),
    "every_true": _plain("bool_and({})"),
    "min_by": _by("min"),
    "max_by": _by("max"),
    "bits_and": _plain("bit_and({})"),
    "bits_or": _plain("bit_or({})"),
    "bits_xor": _plain("bit_xor({})"),
    "collect_list": _collect("collect_list"),
    "collect_set": _collect("collect_set"),
    "string_agg": _joined,
    "mode": lambda call: Summary(
        {call.name: f"histogram({call.value}){call.filter()}"}, statistics.mode(identifier(call.name))
    ),
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
