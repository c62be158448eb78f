"""Casts of values that were computed, where rounding decides."""

from __future__ import annotations

from lakelogic.sql.arguments import cast
from lakelogic.sql.catalogue import numbers
from lakelogic.sql.expressions import Call, Column, Expression, Literal, replace_columns
from lakelogic.sql.types import INT, Type

_round = numbers.SIGNATURES["round"][2]


def cast_computed(value: Expression, to: Type) -> Expression:
    """CAST of something that was computed: a number that becomes a decimal is rounded half up, never lost."""
    source = value.type
    fraction = source.kind in ("float", "double") or (source.kind == "decimal" and source.scale > to.scale)
    if to.kind != "decimal" or not fraction or isinstance(value, Literal):
        return cast(value, to)
    rounded = _round([Column("n", source), Literal(to.scale, INT)])
    converted = cast(replace_columns(rounded, {"n": value}), to)
    # A float that is exactly a decimal by its shortest text (764.16) is that decimal; rounding would go by its bits.
    return Call("coalesce", (cast(value, to), converted), to) if source.kind == "float" else converted
