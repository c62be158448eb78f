"""Exponentials, logarithms, powers and angles on Spark, in the steps of `engines/exact/floats.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lakelogic.engines.exact.floats import FUNCTIONS
from lakelogic.engines.sql.floats import Piece, SqlCalculator, number_text
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call


class _Spark(SqlCalculator):
    def constant(self, value: float) -> Piece:
        """A number that is written down."""
        if not math.isfinite(value):
            return Piece(f"CAST({number_text(value)} AS DOUBLE)")
        # A number of its own, not a text to be converted: Spark looks at each of those many times.
        return Piece(f"{value!r}D" if value >= 0 else f"(-{-value!r}D)")

    def bound(self, name: str, value: str, body: str) -> str:
        """An array of one value, and what becomes of it."""
        return f"element_at(transform(array({value}), {name} -> {body}), 1)"

    def ten_to(self, value: Piece) -> Piece:
        """The double next to a power of 10."""
        return Piece(f"CAST(concat('1e', CAST(CAST({value.sql} AS INT) AS STRING)) AS DOUBLE)")

    def repeated(self, value: Piece, times: Piece) -> Piece:
        """A whole power, by squaring: the bits of the count, one after the other."""
        start = f"named_struct('f', CAST(1 AS DOUBLE), 'p', {value.sql})"
        odd = f"(shiftright(CAST({times.sql} AS INT), ll_bit) & 1) = 1"
        step = f"named_struct('f', CASE WHEN {odd} THEN ll_s.f * ll_s.p ELSE ll_s.f END, 'p', ll_s.p * ll_s.p)"
        return Piece(f"aggregate(sequence(0, 10), {start}, (ll_s, ll_bit) -> {step}, ll_s -> ll_s.f)")


def _build(call: Call, args: Sequence[str]) -> str:
    return _Spark().written(call.function, *args)


BUILDERS: dict[str, Builder] = dict.fromkeys(FUNCTIONS, _build)
