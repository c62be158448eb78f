"""Aggregates → Polars expressions: what is computed while grouping, and what is made of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import polars as pl

from lakelogic.engines.polars import by_value
from lakelogic.engines.polars.convert import by_batch
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import Type

# Sums of long decimals are split here: Polars stops when a total leaves 38 digits.
_SPLIT = 10**19
_SAFE_DIGITS = 28


class Summary(NamedTuple):
    """`inner` aggregates by column name, and the `outer` expression over these columns."""

    inner: dict[str, pl.Expr]
    outer: pl.Expr


Builder: TypeAlias = Callable[[str, pl.Expr, Type], Summary]


def summary(
    function: str, name: str, value: pl.Expr | None, source: Type | None, where: pl.Expr | None = None
) -> Summary:
    """An aggregate called `name` over a value of type `source`, of the rows where `where` is TRUE."""
    if function == "count_all":
        counted = pl.len() if where is None else where.fill_null(False).sum()
        return _single(name, counted.cast(pl.Int64))
    builder = _BUILDERS.get(function)
    if builder is None or value is None or source is None:
        raise UnsupportedError(f"Polars has no aggregate `{function}`.")
    return builder(name, value if where is None else pl.when(where).then(value), source)


def _single(name: str, value: pl.Expr) -> Summary:
    return Summary({name: value}, pl.col(name))


def _plain(act: Callable[[pl.Expr], pl.Expr]) -> Builder:
    return lambda name, value, _source: _single(name, act(value))


def _present(value: pl.Expr, found: pl.Expr) -> pl.Expr:
    """NULL over nothing."""
    return pl.when(value.count() > 0).then(found)


def _sum(name: str, value: pl.Expr, source: Type) -> Summary:
    if source.is_integer:
        total = _present(value, value.cast(pl.Int128).sum())
        return Summary({name: total}, pl.col(name).cast(pl.Int64, strict=False))
    if source.kind == "decimal" and source.precision <= _SAFE_DIGITS:
        return _single(name, _present(value, value.cast(pl.Decimal(38, source.scale)).sum()))
    if source.kind == "decimal":
        split = pl.lit(_SPLIT, dtype=pl.Int128)
        digits = value.to_physical()
        high, low = f"{name}~high", f"{name}~low"
        parts = {
            high: _present(value, (digits // split).sum()),
            low: _present(value, (digits % split).sum()),
        }
        together = by_value.decimal_total(source.scale, _SPLIT)
        return Summary(parts, by_batch(pl.struct(high, low), together, pl.Decimal(38, source.scale)))
    return _single(name, _present(value, value.cast(pl.Float64).sum()))


def _avg(name: str, value: pl.Expr, source: Type) -> Summary:
    if source.is_integer:
        total = value.cast(pl.Int128).sum().cast(pl.Float64) / value.count()
        return _single(name, _present(value, total))
    if source.kind == "decimal":
        value = value.cast(pl.String).cast(pl.Float64)
    return _single(name, value.cast(pl.Float64).mean())


def _max(name: str, value: pl.Expr, source: Type) -> Summary:
    return _single(name, value.nan_max() if source.kind in ("float", "double") else value.max())


def _distinct(value: pl.Expr) -> pl.Expr:
    return value.drop_nulls().n_unique().cast(pl.Int64)


_BUILDERS: dict[str, Builder] = {
    "count": _plain(lambda value: value.count().cast(pl.Int64)),
    "count_distinct": _plain(_distinct),
    "sum": _sum,
    "avg": _avg,
    "min": _plain(lambda value: value.min()),
    "max": _max,
    "any_true": _plain(lambda value: _present(value, value.any(ignore_nulls=True))),
    "every_true": _plain(lambda value: _present(value, value.all(ignore_nulls=True))),
    "collect_list": _plain(lambda value: value.drop_nulls().sort().implode()),
    "collect_set": _plain(lambda value: value.drop_nulls().unique().sort().implode()),
}

NAMES = frozenset({"count_all", *_BUILDERS})
