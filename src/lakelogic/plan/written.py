"""Numbers as sources write them: with a decimal comma, or without their point."""

from __future__ import annotations

from decimal import Decimal

from lakelogic.contract.source import Options
from lakelogic.sql.arguments import cast
from lakelogic.sql.expressions import Call, Expression, Literal
from lakelogic.sql.types import BOOLEAN, STRING, Type, decimal


def number(value: Expression, field: str, type_: Type, options: Options) -> Expression:
    """The landed value of a field in a form that its type can be read from; NULL where it is not written so.

    With `decimal_comma`, `1,5` is one and a half, and a point is no part of a number. With `implied_decimals` of
    two, `12345` is 123.45.
    """
    if not type_.is_number:
        return value
    places = {name.lower(): count for name, count in options.implied_decimals.items()}.get(field.lower())
    if places is not None and (value.type.is_text or value.type.is_integer):
        whole = cast(value, decimal(38 - places, 0))
        factor = Literal(Decimal(1).scaleb(-places), decimal(max(places, 1), places))
        return Call("multiply", (whole, factor), decimal(38, places))
    if options.decimal_comma and value.type.is_text and not type_.is_integer:
        has_point = Call("contains", (value, Literal(".", STRING)), BOOLEAN)
        pointed = Call("replace", (value, Literal(",", STRING), Literal(".", STRING)), STRING)
        return Call("case", (has_point, Literal(None, STRING), pointed), STRING)
    return value
