"""Exponentials, logarithms, powers and angles on Polars, in the steps of `engines/exact/floats.py`, column by column.

Both sides of every choice are computed for all rows, and the one that counts is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from lakelogic.engines.exact.floats import FUNCTIONS
from lakelogic.engines.polars.convert import by_batch
from lakelogic.sql.expressions import Call

Builder: TypeAlias = Callable[[Call, Sequence[pl.Expr]], pl.Expr]
Lazy: TypeAlias = Callable[[], pl.Series]


class _Columns:
    def __init__(self, size: int) -> None:
        self.size = size
        self.none = pl.Series([None], dtype=pl.Float64).new_from_index(0, size)

    def constant(self, value: float) -> pl.Series:
        """A column of one number."""
        return pl.Series([value], dtype=pl.Float64).new_from_index(0, self.size)

    def named(self, value: pl.Series, body: Callable[[pl.Series], pl.Series]) -> pl.Series:
        """The body of the column."""
        return body(value)

    def choose(self, condition: pl.Series, yes: Lazy, no: Lazy) -> pl.Series:
        """One of two, row by row; what no row takes is not computed."""
        if not condition.any():
            return no()
        return yes() if condition.all() else yes().zip_with(condition, no())

    def less(self, left: pl.Series, right: pl.Series) -> pl.Series:
        """Is the left one less?"""
        return (left < right).fill_null(False)

    def same(self, left: pl.Series, right: pl.Series) -> pl.Series:
        """Are they equal?"""
        return (left == right).fill_null(False)

    def is_nan(self, value: pl.Series) -> pl.Series:
        """Is it NaN?"""
        return value.is_nan().fill_null(False)

    def floor(self, value: pl.Series) -> pl.Series:
        """The whole number below."""
        return value.floor()

    def sqrt(self, value: pl.Series) -> pl.Series:
        """The square root."""
        return value.sqrt()

    def two_to(self, value: pl.Series) -> pl.Series:
        """A power of 2; those are exact in every library."""
        return self.constant(2.0).pow(value)

    def ten_to(self, value: pl.Series) -> pl.Series:
        """The double next to a power of 10."""
        whole = value.cast(pl.Int64, strict=False).cast(pl.String)
        return (pl.Series(["1e"], dtype=pl.String).new_from_index(0, self.size) + whole).cast(pl.Float64, strict=False)

    def exponent(self, value: pl.Series) -> pl.Series:
        """The power of 2 in a number: nearly right by its logarithm, then corrected."""
        unit, double = self.constant(1.0), self.constant(2.0)
        guess = (value.log() * self.constant(1.4426950408889634)).floor()
        rest = value * self.two_to(-guess)
        return self.choose(
            self.less(rest, unit),
            lambda: guess - unit,
            lambda: self.choose(self.less(rest, double), lambda: guess, lambda: guess + unit),
        )

    def repeated(self, value: pl.Series, times: pl.Series) -> pl.Series:
        """A whole power, by squaring."""
        power, counts = self.constant(1.0), times.cast(pl.Int64, strict=False)
        for bit in range(11):
            odd = ((counts & (1 << bit)) != 0).fill_null(False)
            power = (power * value).zip_with(odd, power)
            value = value * value
        return power


def _build(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    function = FUNCTIONS[call.function]

    def apply(rows: pl.Series) -> pl.Series:
        columns = rows.struct.unnest().get_columns()
        results: pl.Series = function(_Columns(len(rows)), *columns)
        absent = pl.select(pl.any_horizontal(column.is_null() for column in columns)).to_series()
        # Polars leaves out the addition of 0.0, which would take the sign from a zero.
        unsigned = pl.when(results == 0).then(pl.lit(0.0)).otherwise(results)
        return pl.select(pl.when(~absent).then(unsigned)).to_series().alias(rows.name)

    return by_batch(pl.struct(value.alias(f"a{index}") for index, value in enumerate(args)), apply, pl.Float64)


BUILDERS: dict[str, Builder] = dict.fromkeys(FUNCTIONS, _build)
