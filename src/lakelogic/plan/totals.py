"""What a value adds to the total of its column: exact, and the same on every engine.

Numbers add themselves, days and instants their distance from 1970 in microseconds, text its bytes, truth its TRUEs.
Values of other kinds, and decimals so long that a total could leave 38 digits, are only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lakelogic.sql.expressions import Call, Column, Expression, Literal, convert
from lakelogic.sql.types import BIGINT, INT, TIMESTAMP, Type, decimal

DAY = 86_400_000_000
_TOTAL = decimal(38, 0)
_FIRST, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# The total of a decimal column fits into 38 digits for as many rows as a table can have.
_LONGEST_SUMMED = 28


def weight(value: Column) -> Expression | None:
    """What a value adds, as an expression; None where values are only counted."""
    kind = value.type
    if kind.is_integer:
        return convert(value, _TOTAL)
    if kind.kind == "decimal":
        return value if kind.precision <= _LONGEST_SUMMED else None
    if kind.kind in ("date", "timestamp", "timestamp_ntz"):
        return convert(Call("unix_micros", (convert(value, TIMESTAMP),), BIGINT), _TOTAL)
    if kind.kind in ("string", "json", "binary"):
        return convert(Call("octet_length", (value,), INT), BIGINT)
    if kind.kind == "boolean":
        return Call("case", (value, Literal(1, BIGINT), Literal(0, BIGINT)), BIGINT)
    return None


def is_weighed(kind: Type) -> bool:
    """Whether values of this type have a total."""
    return weight(Column("x", kind)) is not None


def weigher(kind: Type) -> Callable[[Any], int | Decimal] | None:
    """The same, for a value in hand."""
    if not is_weighed(kind):
        return None
    if kind.kind == "date":
        return lambda day: (day - _FIRST.date()).days * DAY
    if kind.kind == "timestamp":
        return lambda at: (at - _FIRST) // _MICROSECOND
    if kind.kind == "timestamp_ntz":
        return lambda at: (at - _FIRST.replace(tzinfo=None)) // _MICROSECOND
    if kind.kind in ("string", "json"):
        return lambda text: len(text.encode())
    return len if kind.kind == "binary" else lambda number: number
