"""Canonical expressions as Spark SQL text: functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.spark.convert import double_text
from lakelogic.engines.spark.functions import floats as reals
from lakelogic.engines.spark.literals import type_name
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call


def _round(call: Call, args: Sequence[str]) -> str:
    value, digits = args[0], call.constant(1) if len(args) > 1 else 0
    assert isinstance(digits, int)
    if call.type.kind == "decimal":
        return f"try_cast({call.function}({value}, {digits}) AS {type_name(call.type)})"
    if digits <= 0:
        return f"({call.function}({value}, {digits}) + 0D)"  # a zero without its sign
    # A double is rounded as it is written: 1.005 to two digits is 1.01, although its binary value is below.
    return f"CASE WHEN abs({value}) < 1e15D THEN {call.function}({value}, {digits}) ELSE {value} END"


def _truncate(call: Call, args: Sequence[str]) -> str:
    value, digits = args[0], call.constant(1) if len(args) > 1 else 0
    cut = "CASE WHEN {0} < 0 THEN ceil({0}, {1}) ELSE floor({0}, {1}) END"
    if call.type.kind == "decimal":
        return f"try_cast({cut.format(value, digits)} AS {type_name(call.type)})"
    written = double_text(value, call.args[0].type)
    small, large = (f"CAST(try_cast({written} AS DECIMAL(38,{scale})) AS DECIMAL(38,{scale}))" for scale in (22, 1))
    bound = "element_at(transform(array({}), ll_t -> CAST(" + cut.format("ll_t", digits) + " AS DOUBLE)), 1)"
    return (
        f"CASE WHEN abs({value}) < 1e15D THEN {bound.format(small)} "
        f"WHEN abs({value}) < 1e36D THEN {bound.format(large)} ELSE {value} END"
    )


def _int_divide(_call: Call, args: Sequence[str]) -> str:
    left, right = args
    least = "CAST('-9223372036854775808' AS BIGINT)"
    return f"CASE WHEN {right} = 0L OR ({right} = -1L AND {left} = {least}) THEN NULL ELSE {left} div {right} END"


def _shift(spark_name: str) -> Builder:
    def build(_call: Call, args: Sequence[str]) -> str:
        value, by = args
        return f"CASE WHEN {by} BETWEEN 0 AND 63 THEN {spark_name}({value}, {by}) END"

    return build


BUILDERS: dict[str, Builder] = {
    **reals.BUILDERS,
    "int_divide": _int_divide,
    "sign": lambda _call, args: f"(signum({args[0]}) + 0D)",
    "round": _round,
    "bround": _round,
    "truncate": _truncate,
    "sqrt": lambda _call, args: f"sqrt({args[0]})",
    "is_nan": lambda _call, args: f"isnan({args[0]})",
    "factorial": lambda _call, args: (
        f"CASE WHEN {args[0]} BETWEEN 0L AND 20L THEN factorial(CAST({args[0]} AS INT)) END"
    ),
    "bit_and": lambda _call, args: f"({args[0]} & {args[1]})",
    "bit_or": lambda _call, args: f"({args[0]} | {args[1]})",
    "bit_xor": lambda _call, args: f"({args[0]} ^ {args[1]})",
    "bit_not": lambda _call, args: f"(~ {args[0]})",
    "bit_count": lambda _call, args: f"bit_count({args[0]})",
    "shift_left": _shift("shiftleft"),
    "shift_right": _shift("shiftright"),
    "shift_right_unsigned": _shift("shiftrightunsigned"),
}
