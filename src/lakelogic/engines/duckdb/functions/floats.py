"""Exponentials, logarithms, powers and angles on DuckDB, in the steps of `engines/exact/floats.py`."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.exact.floats import FUNCTIONS
from lakelogic.engines.sql.floats import Piece, SqlCalculator, number_text
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call


class _DuckDB(SqlCalculator):
    def constant(self, value: float) -> Piece:
        """A number that is written down."""
        return Piece(f"CAST({number_text(value)} AS DOUBLE)")

    def bound(self, name: str, value: str, body: str) -> str:
        """A list of one value, and what becomes of it."""
        return f"list_transform([{value}], lambda {name}: {body})[1]"

    def ten_to(self, value: Piece) -> Piece:
        """The double next to a power of 10."""
        return Piece(f"CAST('1e' || CAST(CAST({value.sql} AS INTEGER) AS VARCHAR) AS DOUBLE)")

    def repeated(self, value: Piece, times: Piece) -> Piece:
        """A whole power, by squaring: the bits of the count, one after the other."""
        start = f"{{'f': CAST(1 AS DOUBLE), 'p': {value.sql}, 'b': 0}}"
        bits = ", ".join(f"{{'f': CAST(0 AS DOUBLE), 'p': CAST(0 AS DOUBLE), 'b': {1 << bit}}}" for bit in range(11))
        odd = f"(CAST({times.sql} AS INTEGER) & ll_e.b) <> 0"
        step = f"{{'f': CASE WHEN {odd} THEN ll_s.f * ll_s.p ELSE ll_s.f END, 'p': ll_s.p * ll_s.p, 'b': 0}}"
        return Piece(f"(list_reduce([{start}, {bits}], lambda ll_s, ll_e: {step})).f")


def _build(call: Call, args: Sequence[str]) -> str:
    return _DuckDB().written(call.function, *args)


BUILDERS: dict[str, Builder] = dict.fromkeys(FUNCTIONS, _build)
