"""Values as sources write them: numbers with a decimal comma or without their point, dates by a pattern."""

from __future__ import annotations

from decimal import Decimal

from lakelogic.contract.document import Contract
from lakelogic.contract.source import Options
from lakelogic.plan.codes import BAD_PATTERN
from lakelogic.plan.state import Trouble
from lakelogic.sql.arguments import cast
from lakelogic.sql.expressions import Call, Expression, Literal, text
from lakelogic.sql.problems import nearest
from lakelogic.sql.times.patterns import PatternError, read_pattern
from lakelogic.sql.types import BOOLEAN, STRING, Type, decimal

_PARSE = {"date": "parse_date", "timestamp": "parse_timestamp", "timestamp_ntz": "parse_timestamp_ntz"}


def value_of(value: Expression, field: str, type_: Type, options: Options) -> Expression:
    """The landed value of a field in a form that its type can be read from; NULL where it is not written so."""
    return moment(value, field, type_, options) if type_.kind in _PARSE else number(value, field, type_, options)


def moment(value: Expression, field: str, type_: Type, options: Options) -> Expression:
    """A date or time by its pattern in `date_formats`; then no other way of writing it is read."""
    pattern = {name.lower(): written for name, written in options.date_formats.items()}.get(field.lower())
    if pattern is None or not value.type.is_text:
        return value
    return Call(_PARSE[type_.kind], (value, text(pattern)), type_)


def check(contract: Contract, types: dict[str, Type], trouble: Trouble) -> None:
    """Every pattern of `date_formats` belongs to a date or time of the model and can be read on every engine."""
    spellings = {name.lower(): name for name in types}
    for field, written in contract.source.options.date_formats.items():
        path = f"source.options.date_formats.{field}"
        name = spellings.get(field.lower())
        if name is None:
            hint = nearest(field, list(types)) or "declare it under model.fields with a type of date or timestamp"
            trouble.add(BAD_PATTERN, f"The model has no field `{field}`.", path, hint)
            continue
        if types[name].kind not in _PARSE:
            hint = "patterns are for date, timestamp and timestamp_ntz"
            trouble.add(BAD_PATTERN, f"`{name}` is {types[name]}, which has no pattern.", path, hint)
            continue
        try:
            read_pattern(written, "parse", zoned=types[name].kind != "timestamp_ntz")
        except PatternError as error:
            trouble.add(BAD_PATTERN, str(error), path, error.hint)


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
