"""Figures about the values of a group, in Polars: sorted first, then added one after another, so no order matters."""

from __future__ import annotations

import polars as pl

from lakelogic.engines.polars.functions.sums import added


def _over(total: pl.Expr, number: pl.Expr) -> pl.Expr:
    return total / number.cast(pl.Float64)


def centred(values: pl.Expr) -> pl.Expr:
    """The sorted values less their mean.

    The smallest is taken away first: equal values then differ from their mean by nothing at all.
    """
    ordered = values.drop_nulls().sort()
    shifted = ordered - ordered.first()
    return shifted - _over(added(shifted), shifted.len())


def moment(values: pl.Expr, power: int) -> pl.Expr:
    """The sum of a power of the differences from the mean."""
    differences = centred(values)
    product = differences
    for _ in range(power - 1):
        product = product * differences
    return added(product)


def products(left: pl.Expr, right: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Of pairs: the sums of x·y, x·x and y·y, all less their means."""
    both = left.is_not_null() & right.is_not_null()
    first, second = left.filter(both), right.filter(both)
    order = [first, second]
    x, y = first.sort_by(order), second.sort_by(order)
    x, y = x - x.first(), y - y.first()
    x, y = x - _over(added(x), x.len()), y - _over(added(y), y.len())
    return added(x * y), added(x * x), added(y * y)
