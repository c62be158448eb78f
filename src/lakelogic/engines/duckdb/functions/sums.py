"""Sums of doubles that no order of the rows can change, in DuckDB SQL: `engines/sql/sums.py` says how."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.duckdb import literals
from lakelogic.engines.duckdb.literals import cast, identifier
from lakelogic.engines.sql.sums import SHIFTS, digits_of, is_ordinary, put_together, real


def exact_sum(name: str, value: str, kept: Callable[..., str]) -> tuple[dict[str, str], str]:
    """Aggregates by name, and the total made of them; `kept` writes FILTER with conditions added to it."""
    ordinary = is_ordinary(value, "trunc")
    highest, *others = digits_of([f"trunc({value} * {real(shift)})" for shift in SHIFTS])
    digits = [highest, *(f"({digit})" for digit in others)]
    inner = {
        f"{name}~{index}": f"sum(CASE WHEN {ordinary} THEN CAST({digit} AS BIGINT) END){kept()}"
        for index, digit in enumerate(digits)
    }
    inner[f"{name}~odd"] = f"list({value}){kept(f'NOT {ordinary}')}"
    inner[f"{name}~count"] = f"count({value}){kept()}"
    parts = [f"coalesce({cast(identifier(f'{name}~{index}'), 'BIGINT')}, 0)" for index in range(len(digits))]
    odd = f"list_reduce(list_sort({identifier(f'{name}~odd')}), lambda ll_a, ll_v: ll_a + ll_v)"
    ordinary_total = put_together(literals, parts, lambda sum_, bits: f"(({sum_}) >> {bits})")
    total = f"(coalesce({odd}, CAST(0 AS DOUBLE)) + {ordinary_total})"
    return inner, f"CASE WHEN {identifier(f'{name}~count')} > 0 THEN {total} END"
