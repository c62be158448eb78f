"""Sums of doubles that no order of the rows can change, in DuckDB SQL.

Every double below 2^63 whose last bit is not below 2^-96 is taken apart into five whole numbers of 32 bits; these
are added exactly, whatever comes first. All other values (huge, tiny, NaN, infinite) are held, sorted, and added
one after another. Only the last step, the same on every engine, rounds.
"""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.duckdb.literals import cast, quoted

_BITS = 32
_BASE = 1 << _BITS
# What a value is multiplied by so that its digit stands right before the point, the highest digit first.
SHIFTS = tuple(2.0 ** (_BITS * power) for power in (-1, 0, 1, 2, 3))


def _real(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def exact_sum(name: str, value: str, kept: Callable[..., str]) -> tuple[dict[str, str], str]:
    """Aggregates by name, and the total made of them; `kept` writes FILTER with conditions added to it."""
    last = f"{value} * {_real(SHIFTS[-1])}"
    ordinary = f"(abs({value}) < {_real(2.0**63)} AND trunc({last}) = {last})"
    cut = [f"trunc({value} * {_real(shift)})" for shift in SHIFTS]
    digits = [cut[0], *(f"({cut[i]} - {cut[i - 1]} * {_real(_BASE)})" for i in range(1, len(cut)))]
    inner = {
        f"{name}~{index}": f"sum(CASE WHEN {ordinary} THEN CAST({digit} AS BIGINT) END){kept()}"
        for index, digit in enumerate(digits)
    }
    inner[f"{name}~odd"] = f"list({value}){kept(f'NOT {ordinary}')}"
    inner[f"{name}~count"] = f"count({value}){kept()}"
    parts = [f"coalesce({cast(quoted(f'{name}~{index}'), 'BIGINT')}, 0)" for index in range(len(digits))]
    odd = f"list_reduce(list_sort({quoted(f'{name}~odd')}), lambda ll_a, ll_v: ll_a + ll_v)"
    total = f"(coalesce({odd}, CAST(0 AS DOUBLE)) + {_together(parts)})"
    return inner, f"CASE WHEN {quoted(f'{name}~count')} > 0 THEN {total} END"


def _together(parts: list[str]) -> str:
    """The value of digits: carried first, so that each is at most half of the next one's unit, then added upwards."""
    carry = ""
    sums = []
    for part in reversed(parts[1:]):
        whole = f"({part}{carry})"
        carried = f"(({whole} + {_BASE // 2}) >> {_BITS})"
        carry = f" + {carried}"
        sums.append(f"({whole} - {carried} * {_BASE})")
    sums.append(f"({parts[0]}{carry})")
    shifts = [_real(1 / shift) for shift in reversed(SHIFTS)]
    found = f"{cast(sums[0], 'DOUBLE')} * {shifts[0]}"
    for digit, shift in zip(sums[1:], shifts[1:], strict=True):
        found = f"({found} + {cast(digit, 'DOUBLE')} * {shift})"
    return found
