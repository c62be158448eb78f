"""Sums of doubles that no order of the rows can change, in Spark SQL: `engines/sql/sums.py` says how."""

from __future__ import annotations

from typing import NamedTuple

from lakelogic.engines.spark import literals
from lakelogic.engines.spark.literals import identifier
from lakelogic.engines.sql.sums import SHIFTS, digits_of, is_ordinary, put_together, real


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
    ordinary = is_ordinary(value, "rint")
    cuts = {f"{name}~cut{i}": f"rint({value} * {real(shift)})" for i, shift in enumerate(SHIFTS)}
    odd = f"{name}~odd"
    digits = digits_of([identifier(column) for column in cuts])
    cuts[odd] = f"CASE WHEN NOT {ordinary} THEN {value} END"
    parts = {
        f"{name}~{i}": f"CASE WHEN {identifier(odd)} IS NULL THEN CAST({digit} AS BIGINT) END"
        for i, digit in enumerate(digits)
    }
    inner = {part: f"sum({identifier(part)})" for part in parts}
    inner[odd] = f"collect_list({identifier(odd)})"
    inner[f"{name}~count"] = f"count({value})"
    sums = [f"coalesce({identifier(part)}, 0L)" for part in parts]
    ordinary_total = put_together(literals, sums, lambda sum_, bits: f"shiftright({sum_}, {bits})")
    total = f"{added(f'sort_array({identifier(odd)})')} + {ordinary_total}"
    return Exact(cuts, parts, inner, f"CASE WHEN {identifier(f'{name}~count')} > 0 THEN {total} END")
