"""Aggregates → Polars expressions: prepared for each row, computed while grouping, and put together afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import polars as pl

from lakelogic.engines.polars.convert import by_batch, to_type
from lakelogic.engines.polars.functions import by_value, statistics, sums
from lakelogic.engines.polars.literals import dtype
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Expression, Literal
from lakelogic.sql.types import DOUBLE, Type, decimal

# Sums of long decimals are split here: Polars stops when a total leaves 38 digits.
_SPLIT = 10**19
SAFE_DIGITS = 28


class Summary(NamedTuple):
    """`before` columns of every row, `inner` aggregates over them, and the `outer` expression over these."""

    inner: dict[str, pl.Expr]
    outer: pl.Expr
    before: dict[str, pl.Expr]


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate called `name` over values that are plain columns."""

    name: str
    values: tuple[pl.Expr, ...]
    args: tuple[Expression, ...]
    type: Type
    distinct: bool = False

    @property
    def value(self) -> pl.Expr:
        """The first argument; −0 is 0."""
        return plain(self.values[0], self.source)

    @property
    def source(self) -> Type:
        """The type of the first argument."""
        return self.args[0].type

    def constant(self, index: int) -> Literal:
        """An argument that is a constant."""
        argument = self.args[index]
        assert isinstance(argument, Literal)
        return argument


Builder: TypeAlias = Callable[[Call], Summary]


def plain(value: pl.Expr, type_: Type) -> pl.Expr:
    """A number in which −0 is 0: equal values must not differ in an answer."""
    if type_.kind not in ("float", "double"):
        return value
    return pl.when(value == 0).then(pl.lit(0, dtype=dtype(type_))).otherwise(value)


def summary(
    function: str,
    name: str,
    values: Sequence[pl.Expr],
    args: Sequence[Expression],
    type_: Type,
    *,
    distinct: bool = False,
    where: pl.Expr | None = None,
) -> Summary:
    """An aggregate called `name` over values, of the rows where `where` is TRUE."""
    if function == "count_all":
        counted = pl.len() if where is None else where.fill_null(False).sum()
        return _one(name, counted.cast(pl.Int64))
    builder = _BUILDERS.get(function)
    if builder is None:
        raise UnsupportedError(f"Polars has no aggregate `{function}`.")
    kept = tuple(values) if where is None else (pl.when(where).then(values[0]), *values[1:])
    return builder(Call(name, kept, tuple(args), type_, distinct))


def _one(name: str, value: pl.Expr) -> Summary:
    return Summary({name: value}, pl.col(name), {})


def _plain(act: Callable[[pl.Expr], pl.Expr]) -> Builder:
    return lambda call: _one(call.name, act(call.value))


def _present(value: pl.Expr, result: pl.Expr) -> pl.Expr:
    """NULL over nothing."""
    return pl.when(value.count() > 0).then(result)


def _once(call: Call) -> pl.Expr:
    """The values, each once if they are to be distinct."""
    return call.value.drop_nulls().unique() if call.distinct else call.values[0]


def _sum(call: Call) -> Summary:
    name, value, source = call.name, _once(call), call.source
    if source.is_integer:
        total = _present(value, value.cast(pl.Int128).sum())
        return Summary({name: total}, pl.col(name).cast(pl.Int64, strict=False), {})
    if source.kind == "decimal" and source.precision <= SAFE_DIGITS:
        return _one(name, _present(value, value.cast(pl.Decimal(38, source.scale)).sum()))
    if source.kind == "decimal":
        split = pl.lit(_SPLIT, dtype=pl.Int128)
        physical = value.to_physical()
        high, low = f"{name}~high", f"{name}~low"
        parts = {
            high: _present(value, (physical // split).sum()),
            low: _present(value, (physical % split).sum()),
        }
        together = by_value.decimal_total(source.scale, _SPLIT)
        return Summary(parts, by_batch(pl.struct(high, low), together, pl.Decimal(38, source.scale)), {})
    if call.distinct:
        return _one(name, sums.added(value.cast(pl.Float64).sort()))
    return _exact(name, value.cast(pl.Float64))


def _exact(name: str, value: pl.Expr) -> Summary:
    before = sums.digits(name, value)
    inner = {part: pl.col(part).sum() for part in before if not part.endswith("~odd")}
    odd = f"{name}~odd"
    inner[odd] = sums.added(pl.col(odd).drop_nulls().sort())
    inner[f"{name}~count"] = value.count()
    return Summary(inner, pl.when(pl.col(f"{name}~count") > 0).then(sums.together(name)), before)


def _avg(call: Call) -> Summary:
    name, source = call.name, call.source
    total = _sum(Call(f"{name}~sum", call.values, call.args, call.type, call.distinct))
    numerator = total.outer
    if source.is_integer:  # before it is fitted into a bigint: an average exists where its total does not
        numerator = pl.col(f"{name}~sum").cast(pl.Float64)
    elif source.kind == "decimal":
        numerator = to_type(total.outer, decimal(38, source.scale), DOUBLE)
    number = f"{name}~number"
    counted = _once(call).count().cast(pl.Float64)
    average = pl.when(pl.col(number) > 0).then(numerator / pl.col(number))
    return Summary({**total.inner, number: counted}, average, total.before)


def _highest(value: pl.Expr, source: Type) -> pl.Expr:
    return value.nan_max() if source.kind in ("float", "double") else value.max()


def _count_distinct(call: Call) -> Summary:
    if len(call.values) == 1:
        return _one(call.name, call.value.drop_nulls().n_unique().cast(pl.Int64))
    all_there = pl.all_horizontal(value.is_not_null() for value in call.values)
    fields = [plain(v, a.type).alias(f"f{i}") for i, (v, a) in enumerate(zip(call.values, call.args, strict=True))]
    together = pl.when(all_there).then(pl.struct(fields))
    held = f"{call.name}~row"
    return Summary(
        {call.name: pl.col(held).drop_nulls().n_unique().cast(pl.Int64)}, pl.col(call.name), {held: together}
    )


def _by(call: Call, function: str) -> Summary:
    """`min_by` and `max_by`: of equal orders the smallest or largest value that is not NULL."""
    value, by = (plain(argument, arg.type) for argument, arg in zip(call.values, call.args, strict=True))
    order = call.args[1].type
    best = by.min() if function == "min_by" else _highest(by, order)
    chosen = value.filter(by == best)
    return _one(call.name, chosen.min() if function == "min_by" else _highest(chosen, call.source))


def _bits(act: Callable[[pl.Expr], pl.Expr]) -> Builder:
    return lambda call: _one(call.name, _present(call.value, act(call.value)))


def _collected(value: pl.Expr, distinct: bool, source: Type) -> pl.Expr:
    kept = value.drop_nulls()
    kept = kept.unique() if distinct else kept
    return kept.sort() if source.kind != "struct" else kept.sort_by(_leaves(kept, source), nulls_last=True)


def _leaves(value: pl.Expr, type_: Type) -> list[pl.Expr]:
    """The plain values inside a struct, in order."""
    if type_.kind != "struct":
        return [value]
    return [leaf for name, field in type_.fields for leaf in _leaves(value.struct.field(name), field)]


def _joined(call: Call) -> Summary:
    separator = str(call.constant(1).value)
    return _one(call.name, _present(call.value, _collected(call.value, call.distinct, call.source).str.join(separator)))


def _mode(call: Call) -> Summary:
    return _one(call.name, call.value.drop_nulls().mode().min())


def _percentile(call: Call) -> Summary:
    value, name = call.value.drop_nulls().sort().cast(pl.Float64), call.name
    share = float(str(call.constant(1).value))
    place = (value.len().cast(pl.Float64) - 1.0) * share
    low = place.floor()
    lower, upper = (value.get(low.cast(pl.Int64) + step, null_on_oob=True) for step in (0, 1))
    inner = {
        f"{name}~low": _present(call.value, lower),
        f"{name}~high": _present(call.value, upper),
        f"{name}~part": _present(call.value, place - low),
    }
    lower, upper, part = (pl.col(column) for column in inner)
    return Summary(inner, pl.when(part == 0).then(lower).otherwise(lower + (upper - lower) * part), {})


def _percentile_disc(call: Call) -> Summary:
    value = call.value.drop_nulls().sort()
    share = float(str(call.constant(1).value))
    place = (value.len().cast(pl.Float64) * share).ceil().cast(pl.Int64).clip(lower_bound=1) - 1
    return _one(call.name, _present(call.value, value.get(place, null_on_oob=True)))


def _doubles(call: Call, index: int = 0) -> pl.Expr:
    value = plain(call.values[index].cast(pl.Float64), DOUBLE)
    return value.drop_nulls().unique() if call.distinct else value


def _variance(less: int, root: bool = False) -> Builder:
    def build(call: Call) -> Summary:
        value, name = _doubles(call), call.name
        inner = {name: statistics.moment(value, 2), f"{name}~n": value.count().cast(pl.Float64)}
        variance = pl.when(pl.col(f"{name}~n") > less).then(pl.col(name) / (pl.col(f"{name}~n") - less))
        return Summary(inner, variance.sqrt() if root else variance, {})

    return build


def _shape(power: int) -> Builder:
    """Skewness by the third moment, kurtosis by the fourth."""

    def build(call: Call) -> Summary:
        value, name = _doubles(call), call.name
        inner = {
            f"{name}~2": statistics.moment(value, 2),
            f"{name}~{power}": statistics.moment(value, power),
            f"{name}~n": value.count().cast(pl.Float64),
        }
        second, high, number = (pl.col(column) for column in inner)
        if power == 3:
            figure = number.sqrt() * high / (second * second.sqrt())
        else:
            figure = number * high / (second * second) - 3.0
        return Summary(inner, pl.when(second != 0).then(figure), {})

    return build


def _pairs(build: Callable[[pl.Expr, pl.Expr, pl.Expr, pl.Expr], pl.Expr]) -> Builder:
    def make(call: Call) -> Summary:
        left, right, name = _doubles(call, 0), _doubles(call, 1), call.name
        both = (left.is_not_null() & right.is_not_null()).sum().cast(pl.Float64)
        figures = (*statistics.products(left, right), both)
        inner = {f"{name}~{part}": value for part, value in zip(("xy", "xx", "yy", "n"), figures, strict=True)}
        return Summary(inner, build(*(pl.col(column) for column in inner)), {})

    return make


def _covariance(less: int) -> Builder:
    return _pairs(lambda xy, _xx, _yy, n: pl.when(n > less).then(xy / (n - less)))


_BUILDERS: dict[str, Builder] = {
    "count": lambda call: _one(call.name, call.values[0].count().cast(pl.Int64)),
    "count_distinct": _count_distinct,
    "count_if": lambda call: _one(call.name, call.values[0].fill_null(False).sum().cast(pl.Int64)),
    "sum": _sum,
    "avg": _avg,
    "min": _plain(lambda value: value.min()),
    "max": lambda call: _one(call.name, _highest(call.value, call.source)),
    "any_true": _plain(lambda value: _present(value, value.any(ignore_nulls=True))),
    "every_true": _plain(lambda value: _present(value, value.all(ignore_nulls=True))),
    "min_by": lambda call: _by(call, "min_by"),
    "max_by": lambda call: _by(call, "max_by"),
    "bits_and": _bits(lambda value: value.bitwise_and()),
    "bits_or": _bits(lambda value: value.bitwise_or()),
    "bits_xor": _bits(lambda value: value.bitwise_xor()),
    "collect_list": lambda call: _one(call.name, _collected(call.value, False, call.source).implode()),
    "collect_set": lambda call: _one(call.name, _collected(call.value, True, call.source).implode()),
    "string_agg": _joined,
    "mode": _mode,
    "percentile": _percentile,
    "percentile_disc": _percentile_disc,
    "var_samp": _variance(1),
    "var_pop": _variance(0),
    "stddev_samp": _variance(1, root=True),
    "stddev_pop": _variance(0, root=True),
    "skewness": _shape(3),
    "kurtosis": _shape(4),
    "covar_samp": _covariance(1),
    "covar_pop": _covariance(0),
    "corr": _pairs(lambda xy, xx, yy, _n: pl.when((xx != 0) & (yy != 0)).then(xy / (xx * yy).sqrt())),
}

NAMES = frozenset({"count_all", *_BUILDERS})
