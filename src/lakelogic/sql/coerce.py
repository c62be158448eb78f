"""Which type two values share, and what arithmetic on them yields: decided here, never by an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.sql.expressions import Expression, convert
from lakelogic.sql.problems import BAD_TYPES, Problem, SqlProblems
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INTEGER_BITS, INTEGERS, STRING, TIMESTAMP, Type, decimal

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# Text compared with a whole number or a decimal is read as this: exact for every bigint.
TEXT_AS_NUMBER = decimal(38, 18)


def common(left: Type, right: Type) -> Type | None:
    """The type in which both sides are compared; None when there is none. Text is read as what it is compared with."""
    return _shared(left, right, compared=True)


def column_type(left: Type, right: Type) -> Type | None:
    """The type of a column that holds both; None when there is none. Beside text everything is text: a value that
    is put beside others must not be lost, and only text can hold them all."""
    return _shared(left, right, compared=False)


def _shared(left: Type, right: Type, *, compared: bool) -> Type | None:
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
        if not compared:
            return None if other.is_nested or other.kind == "binary" else STRING
        if other.kind in INTEGERS or other.kind == "decimal":
            return TEXT_AS_NUMBER
        if other.kind in ("float", "double"):
            return DOUBLE
        if other.kind in ("boolean", "date", "timestamp", "timestamp_ntz"):
            return other
    if left.is_nested or right.is_nested:
        return _common_nested(left, right, compared=compared)
    if kinds in ({"date", "timestamp"}, {"timestamp", "timestamp_ntz"}):
        return TIMESTAMP  # a wall clock beside an instant is UTC's
    if kinds == {"date", "timestamp_ntz"}:
        return Type("timestamp_ntz")
    return None


def _common_nested(left: Type, right: Type, *, compared: bool) -> Type | None:
    """Arrays by their elements, maps by keys and values, structs field by field under the same names in order."""
    if left.kind != right.kind:
        return None
    if left.kind == "struct":
        if [name.lower() for name, _ in left.fields] != [name.lower() for name, _ in right.fields]:
            return None
        pairs = zip(left.fields, right.fields, strict=True)
        inner = [_shared(first, second, compared=compared) for (_, first), (_, second) in pairs]
        fields = tuple((name, type_) for (name, _), type_ in zip(left.fields, inner, strict=True) if type_ is not None)
        return Type("struct", fields=fields) if len(fields) == len(left.fields) else None
    assert left.element is not None
    assert right.element is not None
    element = _shared(left.element, right.element, compared=compared)
    key = None if left.key is None or right.key is None else _shared(left.key, right.key, compared=compared)
    if element is None or (left.kind == "map" and key is None):
        return None
    return Type(left.kind, key=key, element=element)


def _common_number(left: Type, right: Type) -> Type:
    if "float" in (left.kind, right.kind) or "double" in (left.kind, right.kind):
        return DOUBLE
    if left.is_integer and right.is_integer:
        return left if INTEGER_BITS[left.kind] >= INTEGER_BITS[right.kind] else right
    first, second = as_decimal(left), as_decimal(right)
    scale = max(first.scale, second.scale)
    digits = max(first.precision - first.scale, second.precision - second.scale)
    return decimal(min(38, digits + scale), scale)


def as_decimal(type_: Type) -> Type:
    """The decimal type that holds every value of a whole-number or decimal type."""
    return type_ if type_.kind == "decimal" else decimal(_INTEGER_DIGITS[type_.kind], 0)


def unify(values: Sequence[Expression], what: str) -> tuple[tuple[Expression, ...], Type]:
    """Values that are compared with one another, in one type."""
    return _unified(values, what, common)


def in_one_column(values: Sequence[Expression], what: str) -> tuple[tuple[Expression, ...], Type]:
    """Values that stand in one column (one of them is chosen, or all are collected), in one type."""
    # With text among them the order does not matter: a number beside a date is refused, both beside text are text.
    first = sorted(values, key=lambda value: not value.type.is_text)
    type_ = _unified(first, what, column_type)[1]
    return tuple(convert(value, type_) for value in values), type_


def _unified(
    values: Sequence[Expression], what: str, share: Callable[[Type, Type], Type | None]
) -> tuple[tuple[Expression, ...], Type]:
    type_ = values[0].type
    for value in values[1:]:
        shared = share(type_, value.type)
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
    first, second = as_decimal(left), as_decimal(right)
    if function == "multiply":
        scale = first.scale + second.scale
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
        return decimal(min(38, first.precision + second.precision), scale)
    scale = max(first.scale, second.scale)
    digits = max(first.precision - first.scale, second.precision - second.scale) + 1
    return decimal(min(38, digits + scale), scale)


def always_converts(source: Type, to: Type) -> bool:
    """Whether every value of one type can become one of the other, so that nobody has to look for failures."""
    if source == to or source.kind == "null" or (to.is_text and source.kind != "binary" and not source.is_nested):
        return to.kind != "json" or source.kind in ("json", "null")
    if source.is_nested and to.is_nested:
        if source.kind == "struct":
            types = {name.lower(): type_ for name, type_ in source.fields}
            return all(always_converts(types.get(name.lower(), type_), type_) for name, type_ in to.fields)
        pairs = ((source.key, to.key), (source.element, to.element))
        return all(first is None or second is None or always_converts(first, second) for first, second in pairs)
    if source.is_integer and to.is_integer:
        return INTEGER_BITS[source.kind] <= INTEGER_BITS[to.kind]
    if source.is_number and to.kind == "decimal" and source.kind not in ("float", "double"):
        source_decimal = as_decimal(source)
        return (
            source_decimal.scale <= to.scale
            and source_decimal.precision - source_decimal.scale <= to.precision - to.scale
        )
    if source.is_number and to.kind == "double":
        return True
    return source.kind == "date" and to.kind in ("timestamp", "timestamp_ntz")
