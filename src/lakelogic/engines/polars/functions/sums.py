"""Sums of doubles that no order of the rows can change, in Polars.

Every double below 2^63 whose last bit is not below 2^-96 is taken apart into five whole numbers of 32 bits; these
are added exactly, whatever comes first. All other values (huge, tiny, NaN, infinite) are held, sorted, and added
one after another. Only the last step, the same on every engine, rounds.
"""

from __future__ import annotations

import polars as pl

_BITS = 32
_BASE = 1 << _BITS
# What a value is multiplied by so that its digit stands right before the point, the highest digit first.
SHIFTS = tuple(2.0 ** (_BITS * power) for power in (-1, 0, 1, 2, 3))


def added(values: pl.Expr) -> pl.Expr:
    """Values one after another, from the first to the last; NULL of none."""
    return values.cum_sum().last()


def digits(name: str, value: pl.Expr) -> dict[str, pl.Expr]:
    """New columns: the digits of a double, and the value itself where it cannot be taken apart."""
    last = value * SHIFTS[-1]
    ordinary = (value.abs() < 2.0**63) & (last.truncate() == last)
    kept = pl.when(ordinary).then(value)
    cut = [(kept * shift).truncate() for shift in SHIFTS]
    digits = [cut[0], *(cut[i] - cut[i - 1] * float(_BASE) for i in range(1, len(cut)))]
    return {
        **{f"{name}~{index}": digit.cast(pl.Int64) for index, digit in enumerate(digits)},
        f"{name}~odd": pl.when(~ordinary).then(value),
    }


def together(name: str) -> pl.Expr:
    """The value of the sums of digits, and of what could not be taken apart."""
    sums = [pl.col(f"{name}~{index}").fill_null(0) for index in range(len(SHIFTS))]
    carry = pl.lit(0, dtype=pl.Int64)
    # Carried first, so that each digit is at most half of the next one's unit; then added upwards.
    carried: list[pl.Expr] = []
    for part in reversed(sums[1:]):
        whole = part + carry
        carry = (whole + _BASE // 2) // _BASE
        carried.append(whole - carry * _BASE)
    carried.append(sums[0] + carry)
    total = carried[0].cast(pl.Float64) * (1 / SHIFTS[-1])
    for digit, shift in zip(carried[1:], reversed(SHIFTS[:-1]), strict=True):
        total = total + digit.cast(pl.Float64) * (1 / shift)
    return pl.col(f"{name}~odd").fill_null(0.0) + total
