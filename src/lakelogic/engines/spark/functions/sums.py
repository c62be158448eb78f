"""Sums of doubles that no order of the rows can change, in Spark SQL.

Every double below 2^63 whose last bit is not below 2^-96 is taken apart into five whole numbers of 32 bits; these
are added exactly, whatever comes first. All other values (huge, tiny, NaN, infinite) are held, sorted, and added
one after another. Only the last step, the same on every engine, rounds.
"""

from __future__ import annotations

from typing import NamedTuple

from lakelogic.engines.spark.literals import name as quoted

_BITS = 32
_BASE = 1 << _BITS
# What a value is multiplied by so that its digit stands right before the point, the highest digit first.
SHIFTS = tuple(2.0 ** (_BITS * power) for power in (-1, 0, 1, 2, 3))


def _real(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def added(values: str) -> str:
    """The values of an array one after another."""
    return f"aggregate({values}, 0D, (a, v) -> a + v)"


class Exact(NamedTuple):
    """Two layers of columns of every row, aggregates over them by name, and the total made of these."""

    cuts: dict[str, str]
    digits: dict[str, str]
    inner: dict[str, str]
    outer: str


def exact_sum(name: str, value: str) -> Exact:
    """The sum of a double."""
    last = f"{value} * {_real(SHIFTS[-1])}"
    ordinary = f"(abs({value}) < {_real(2.0**63)} AND rint({last}) = {last})"
    places = range(len(SHIFTS))
    cuts = {f"{name}~cut{i}": f"rint({value} * {_real(shift)})" for i, shift in enumerate(SHIFTS)}
    odd, cut = f"{name}~odd", [quoted(column) for column in cuts]
    cuts[odd] = f"CASE WHEN NOT {ordinary} THEN {value} END"
    digits = [cut[0], *(f"{cut[i]} - {cut[i - 1]} * {_real(_BASE)}" for i in places[1:])]
    parts = {
        f"{name}~{i}": f"CASE WHEN {quoted(odd)} IS NULL THEN CAST({digit} AS BIGINT) END"
        for i, digit in enumerate(digits)
    }
    inner = {part: f"sum({quoted(part)})" for part in parts}
    inner[odd] = f"collect_list({quoted(odd)})"
    inner[f"{name}~count"] = f"count({value})"
    total = f"{added(f'sort_array({quoted(odd)})')} + {_together([f'coalesce({quoted(part)}, 0L)' for part in parts])}"
    return Exact(cuts, parts, inner, f"CASE WHEN {quoted(f'{name}~count')} > 0 THEN {total} END")


def _together(parts: list[str]) -> str:
    """The value of digits: carried first, so that each is at most half of the next one's unit, then added upwards."""
    carry = ""
    sums = []
    for part in reversed(parts[1:]):
        whole = f"({part}{carry})"
        carried = f"shiftright({whole} + {_BASE // 2}L, {_BITS})"
        carry = f" + {carried}"
        sums.append(f"({whole} - {carried} * {_BASE}L)")
    sums.append(f"({parts[0]}{carry})")
    shifts = [_real(1 / shift) for shift in reversed(SHIFTS)]
    found = f"CAST({sums[0]} AS DOUBLE) * {shifts[0]}"
    for digit, shift in zip(sums[1:], shifts[1:], strict=True):
        found = f"({found} + CAST({digit} AS DOUBLE) * {shift})"
    return found
