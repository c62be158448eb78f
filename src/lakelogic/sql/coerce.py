"""Which type two values share, and what arithmetic on them yields: decided here, never by an engine."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.sql.expressions import Expression, convert
from lakelogic.sql.problems import BAD_TYPES, Problem, SqlProblems
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INTEGER_BITS, INTEGERS, STRING, TIMESTAMP, Type, decimal

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# Text compared with a whole number or a decimal is read as this: exact for every bigint.
TEXT_AS_NUMBER = decimal(38, 18)


def common(left: Type, right: Type) -> Type | None:
    """The type in which both sides are compared or chosen between; None when there is none."""
    if left == right:
        return left
    if left.kind == "null":
        return right
    if right.kind == "null":
        return left
    kinds = {left.kind, right.kind}
    if kinds == {"string", "json"}:
        return STRING
    if left.is_number and right.is_number:
        return _common_number(left, right)
    if left.is_text or right.is_text:
        other = right if left.is_text else left
        if other.kind in INTEGERS or other.kind == "decimal":
            return TEXT_AS_NUMBER
        if other.kind in ("float", "double"):
            return DOUBLE
        if other.kind in ("boolean", "date", "timestamp", "timestamp_ntz"):
            return other
    if kinds == {"date", "timestamp"}:
        return TIMESTAMP
    if kinds == {"date", "timestamp_ntz"}:
        return Type("timestamp_ntz")
    return None


def _common_number(left: Type, right: Type) -> Type:
    if "float" in (left.kind, right.kind) or "double" in (left.kind, right.kind):
        return DOUBLE
    if left.is_integer and right.is_integer:
        return left if INTEGER_BITS[left.kind] >= INTEGER_BITS[right.kind] else right
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    digits = max(one.precision - one.scale, two.precision - two.scale)
    return decimal(min(38, digits + scale), scale)


def as_decimal(type_: Type) -> Type:
    """The decimal type that holds every value of a whole-number or decimal type."""
    return type_ if type_.kind == "decimal" else decimal(_INTEGER_DIGITS[type_.kind], 0)


def unify(values: Sequence[Expression], what: str) -> tuple[tuple[Expression, ...], Type]:
    """The values in the one type they share."""
    type_ = values[0].type
    for value in values[1:]:
        shared = common(type_, value.type)
        if shared is None:
            raise SqlProblems(
                [
                    Problem(
                        BAD_TYPES,
                        f"{what} {type_} and {value.type} cannot be used together.",
                        "cast one of them: CAST(x AS …)",
                    )
                ]
            )
        type_ = shared
    return tuple(convert(value, type_) for value in values), type_


def number(value: Expression, what: str) -> Expression:
    """A value as a number: text is read as a decimal, NULL as bigint."""
    if value.type.is_number:
        return value
    if value.type.kind == "null":
        return convert(value, BIGINT)
    if value.type.is_text:
        return convert(value, TEXT_AS_NUMBER)
    raise SqlProblems([Problem(BAD_TYPES, f"{what} needs numbers, not {value.type}.", "cast it: CAST(x AS DOUBLE)")])


def text(value: Expression) -> Expression:
    """A value as text."""
    return value if value.type.is_text else convert(value, STRING)


def day(value: Expression, what: str) -> Expression:
    """A value as a date; text is read as one."""
    if value.type.kind in ("date", "timestamp", "timestamp_ntz", "null") or value.type.is_text:
        return convert(value, DATE)
    raise SqlProblems([Problem(BAD_TYPES, f"{what} needs a date, not {value.type}.")])


def arithmetic_type(function: str, left: Type, right: Type) -> Type:
    """What `add`, `subtract` and `multiply` yield for two number types."""
    if left.is_integer and right.is_integer:
        return BIGINT
    if "float" in (left.kind, right.kind) or "double" in (left.kind, right.kind):
        return DOUBLE
    one, two = as_decimal(left), as_decimal(right)
    if function == "multiply":
        scale = one.scale + two.scale
        if scale > 37:
            raise SqlProblems(
                [
                    Problem(
                        BAD_TYPES,
                        f"The product of {left} and {right} has {scale} decimals; 37 is the most.",
                        "cast the factors to fewer decimals, for example CAST(x AS DECIMAL(18,4))",
                    )
                ]
            )
        return decimal(min(38, one.precision + two.precision), scale)
    scale = max(one.scale, two.scale)
    digits = max(one.precision - one.scale, two.precision - two.scale) + 1
    return decimal(min(38, digits + scale), scale)
