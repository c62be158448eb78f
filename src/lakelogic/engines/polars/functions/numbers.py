"""Canonical expressions → Polars expressions: functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.exact import text as exact_text
from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.functions import by_value
from lakelogic.engines.polars.functions import floats as reals
from lakelogic.engines.polars.functions.by_value import each, each_of
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]

_NONE = pl.lit(0, dtype=pl.Int128)
_FACTORIALS = [math.factorial(n) for n in range(21)]


def _round(call: Call, args: Args) -> pl.Expr:
    digits, function, to = call.constant(1) if len(args) > 1 else 0, call.function, call.type
    assert isinstance(digits, int)
    if to.kind == "decimal":
        # Polars stops when a number of 38 digits is rounded up.
        if function == "round" and digits >= 0 and to.precision < 38:
            wide = args[0].cast(pl.Decimal(38, to.scale))
            settled = wide.round(min(digits, to.scale), mode="half_away_from_zero")
            return settled.cast(dtype(to), strict=False)

        def decimal(value: Any) -> Any:
            return by_value.fitting(exact_text.rounded(value, digits, function), to.precision, to.scale)

        return by_batch(args[0], each(decimal, dtype(to)), dtype(to))
    if function != "round" or not 0 <= digits <= 17:
        rounded_column = each(lambda value: exact_text.rounded_real(value, digits, function), pl.Float64)
        return by_batch(args[0], rounded_column, pl.Float64)
    if digits == 0:
        rounded = args[0].round(0, mode="half_away_from_zero")
        return pl.when(rounded == 0).then(pl.lit(0.0)).otherwise(rounded)  # a zero without its sign
    return by_batch(args[0], by_value.rounded_real(digits), dtype(to))


def _int_divide(_call: Call, args: Args) -> pl.Expr:
    left, right = (value.cast(pl.Int128) for value in args)
    divisor = pl.when(right != 0).then(right.abs())
    quotient = left.abs() // divisor
    negative = (left < 0) != (right < 0)
    return pl.when(negative).then(_NONE - quotient).otherwise(quotient).cast(pl.Int64, strict=False)


def _sign(_call: Call, args: Args) -> pl.Expr:
    value = args[0]
    chosen = pl.when(value.is_nan()).then(value).when(value > 0).then(pl.lit(1.0)).when(value < 0).then(pl.lit(-1.0))
    return chosen.when(value == 0).then(pl.lit(0.0))


def _shift(call: Call, args: Args) -> pl.Expr:
    return each_of(args, getattr(exact_text, call.function), pl.Int64)


def _factorial(_call: Call, args: Args) -> pl.Expr:
    return args[0].replace_strict(list(range(21)), _FACTORIALS, default=None, return_dtype=pl.Int64)


BUILDERS: dict[str, Builder] = {
    **reals.BUILDERS,
    "int_divide": _int_divide,
    "sign": _sign,
    "round": _round,
    "bround": _round,
    "truncate": _round,
    "sqrt": lambda _call, args: args[0].sqrt(),
    "is_nan": lambda _call, args: args[0].is_nan().fill_null(False),
    "factorial": _factorial,
    "bit_and": lambda _call, args: args[0] & args[1],
    "bit_or": lambda _call, args: args[0] | args[1],
    "bit_xor": lambda _call, args: args[0] ^ args[1],
    "bit_not": lambda _call, args: ~args[0],
    "bit_count": lambda call, args: args[0].bitwise_count_ones().cast(dtype(call.type)),
    "shift_left": _shift,
    "shift_right": _shift,
    "shift_right_unsigned": _shift,
}
