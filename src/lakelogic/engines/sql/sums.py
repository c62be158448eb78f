"""Sums of doubles that no order of the rows can change, as engines that speak SQL write them.

Every double below 2^63 whose last bit is not below 2^-96 is taken apart into five whole numbers of 32 bits; these
are added exactly, whatever comes first. All other values (huge, tiny, NaN, infinite) are held, sorted, and added
one after another. Only the last step, the same on every engine, rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.engines.sql.dialect import SqlDialect

_BITS = 32
_BASE = 1 << _BITS
# What a value is multiplied by so that its digit stands right before the point, the highest digit first.
SHIFTS = tuple(2.0 ** (_BITS * power) for power in (-1, 0, 1, 2, 3))


def real(value: float) -> str:
    """A double, from its digits."""
    return f"CAST('{value!r}' AS DOUBLE)"


def is_ordinary(value: str, whole_part: str) -> str:
    """Whether a value can be taken apart; `whole_part` is the function that drops what follows the point."""
    last = f"{value} * {real(SHIFTS[-1])}"
    return f"(abs({value}) < {real(2.0**63)} AND {whole_part}({last}) = {last})"


def digits_of(shifted: Sequence[str]) -> list[str]:
    """The digits of a value, the highest first, from what lies before the point after each shift."""
    return [shifted[0], *(f"{shifted[i]} - {shifted[i - 1]} * {real(_BASE)}" for i in range(1, len(shifted)))]


def put_together(dialect: SqlDialect, digits: Sequence[str], shift_right: Callable[[str, int], str]) -> str:
    """The value of digits: carried first, so that each is at most half of the next one's unit, then added upwards."""
    carry = ""
    sums = []
    for digit in reversed(digits[1:]):
        whole = f"({digit}{carry})"
        carried = shift_right(f"{whole} + {dialect.whole(_BASE // 2)}", _BITS)
        carry = f" + {carried}"
        sums.append(f"({whole} - {carried} * {dialect.whole(_BASE)})")
    sums.append(f"({digits[0]}{carry})")
    shifts = [real(1 / shift) for shift in reversed(SHIFTS)]
    total = f"{dialect.cast(sums[0], 'DOUBLE')} * {shifts[0]}"
    for digit, shift in zip(sums[1:], shifts[1:], strict=True):
        total = f"({total} + {dialect.cast(digit, 'DOUBLE')} * {shift})"
    return total
