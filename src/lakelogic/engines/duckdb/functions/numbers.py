"""Canonical expressions → DuckDB SQL text: functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.duckdb.exact import as_text, exact
from lakelogic.engines.duckdb.functions import floats as reals
from lakelogic.engines.duckdb.literals import cast, try_cast
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call
from lakelogic.sql.types import decimal


def _round(call: Call, args: Sequence[str]) -> str:
    value, digits = args[0], call.constant(1) if len(args) > 1 else 0
    assert isinstance(digits, int)
    if call.type.kind == "decimal":
        if call.function == "round" and digits >= 0:
            return try_cast(f"TRY(round({value}, {min(digits, call.type.scale)}))", call.type)
        return try_cast(exact("rounded", as_text(value), f"'{digits}'", f"'{call.function}'"), call.type)
    if call.function != "round" or not 0 <= digits <= 17:
        return cast(exact("rounded_real", as_text(value), f"'{digits}'", f"'{call.function}'"), call.type)
    if digits == 0:
        return f"(round({value}) + 0.0)"  # a zero without its sign
    # A double is rounded as it is written: 1.005 to two digits is 1.01, although its binary value is below.
    rounded = cast(cast(cast(value, "VARCHAR"), decimal(38, digits)), call.type)
    return f"CASE WHEN abs({value}) < 1e15 THEN {rounded} ELSE {value} END"


def _sign(_call: Call, args: Sequence[str]) -> str:
    (value,) = args
    signs = f"WHEN {value} > 0 THEN 1.0 WHEN {value} < 0 THEN -1.0 WHEN {value} = 0 THEN 0.0"
    return cast(f"CASE WHEN isnan({value}) THEN CAST('nan' AS DOUBLE) {signs} END", "DOUBLE")


def _sqrt(_call: Call, args: Sequence[str]) -> str:
    return f"CASE WHEN {args[0]} < 0 THEN CAST('nan' AS DOUBLE) ELSE sqrt({args[0]}) END"


def _shift(call: Call, args: Sequence[str]) -> str:
    return cast(exact(call.function, as_text(args[0]), as_text(args[1])), call.type)


BUILDERS: dict[str, Builder] = {
    **reals.BUILDERS,
    "int_divide": lambda _call, args: f"TRY({args[0]} // NULLIF({args[1]}, CAST(0 AS BIGINT)))",
    "sign": _sign,
    "round": _round,
    "bround": _round,
    "truncate": _round,
    "sqrt": _sqrt,
    "is_nan": lambda _call, args: f"coalesce(isnan({args[0]}), FALSE)",
    "factorial": lambda _call, args: cast(
        f"CASE WHEN {args[0]} BETWEEN 0 AND 20 THEN factorial(CAST({args[0]} AS INTEGER)) END", "BIGINT"
    ),
    "bit_and": lambda _call, args: f"({args[0]} & {args[1]})",
    "bit_or": lambda _call, args: f"({args[0]} | {args[1]})",
    "bit_xor": lambda _call, args: f"xor({args[0]}, {args[1]})",
    "bit_not": lambda _call, args: f"(~ {args[0]})",
    "bit_count": lambda call, args: cast(f"bit_count({args[0]})", call.type),
    "shift_left": _shift,
    "shift_right": _shift,
    "shift_right_unsigned": _shift,
}
