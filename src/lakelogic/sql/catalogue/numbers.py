"""Arithmetic, rounding and other functions of numbers."""

from __future__ import annotations

from decimal import Decimal

from lakelogic.sql.arguments import Args, Builder, Signatures, chosen, whole
from lakelogic.sql.catalogue.row import scalar
from lakelogic.sql.coerce import number
from lakelogic.sql.expressions import Call, Expression, Literal, convert
from lakelogic.sql.types import BIGINT, INT

FUNCTIONS = (
    # numbers
    scalar("add", "numbers", "a + b", "Whole numbers as bigint; beyond it NULL.",
       ("1 + 2", 3), ("9223372036854775807 + 1", None), ("1.5 + 1.25", Decimal("2.75")), ("NULL + 1", None)),
    scalar("subtract", "numbers", "a - b", "As addition.", ("1 - 2", -1), ("-9223372036854775807 - 2", None)),
    scalar("multiply", "numbers", "a * b", "As addition; decimals in 38 digits, beyond them NULL.",
       ("3 * 4", 12), ("9223372036854775807 * 2", None), ("1.5 * 2", Decimal("3.0"))),
    scalar("divide", "numbers", "a / b", "Always double; a zero divisor gives NULL.", ("7 / 2", 3.5), ("1 / 0", None), ("1.0 / 4", 0.25)),
    scalar("modulo", "numbers", "a % b; mod(a, b)", "Remainder with the sign of a; a zero divisor gives NULL.",
       ("7 % 3", 1), ("-7 % 3", -1), ("7 % 0", None)),
    scalar("negate", "numbers", "-a", "The opposite.", ("-(3)", -3)),
    scalar("abs", "numbers", "abs(a)", "Without the sign.", ("abs(-2.5)", Decimal("2.5")), ("abs(-3)", 3)),
    scalar("round", "numbers", "round(a); round(a, digits)",
       "Half away from zero. Doubles stay double, decimals keep their type; digits is a constant from 0 up.",
       ("round(2.5)", Decimal("3")), ("round(-2.5)", Decimal("-3")), ("round(CAST(1.255 AS DOUBLE), 1)", 1.3), ("round(7)", 7)),
    scalar("floor", "numbers", "floor(a)", "The bigint below or at a.", ("floor(-1.5)", -2), ("floor(CAST(2.7 AS DOUBLE))", 2)),
    scalar("ceil", "numbers", "ceil(a); ceiling(a)", "The bigint above or at a.", ("ceil(1.2)", 2), ("ceil(-1.5)", -1)),
    scalar("greatest", "numbers", "greatest(a, b, …)", "The largest value; NULLs are passed over.",
       ("greatest(1, NULL, 3)", 3), ("greatest('a', 'b')", "b")),
    scalar("least", "numbers", "least(a, b, …)", "The smallest value; NULLs are passed over.", ("least(2, NULL, 1)", 1)),
)  # fmt: skip


def _round(a: Args) -> Expression:
    value = number(a[0], "round")
    digits = whole(a[1], "round's digits", 0) if len(a) > 1 else Literal(0, INT)
    return value if value.type.is_integer else Call("round", (value, digits), value.type)


def _whole_number(name: str) -> Builder:
    def build(a: Args) -> Expression:
        value = number(a[0], name)
        return convert(value, BIGINT) if value.type.is_integer else Call(name, (value,), BIGINT)

    return build


def _abs(a: Args) -> Expression:
    value = number(a[0], "abs")
    return Call("abs", (value,), value.type)


SIGNATURES: Signatures = {
    "abs": (1, 1, _abs),
    "round": (1, 2, _round),
    "floor": (1, 1, _whole_number("floor")),
    "ceil": (1, 1, _whole_number("ceil")),
    "ceiling": (1, 1, _whole_number("ceil")),
    "greatest": (2, None, chosen("greatest")),
    "least": (2, None, chosen("least")),
}
