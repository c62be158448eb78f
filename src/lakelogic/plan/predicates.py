"""Predicates that are never NULL, and values in the form in which rows are compared by them."""

from __future__ import annotations

from lakelogic.sql.depth import balanced
from lakelogic.sql.expressions import TRUE, Expression, Literal, call, convert
from lakelogic.sql.types import STRING


def both(*parts: Expression) -> Expression:
    """AND over parts, without the ones that are plainly TRUE."""
    kept = [part for part in parts if part != TRUE]
    return balanced("and", kept) if kept else TRUE


def either(parts: list[Expression]) -> Expression:
    """OR over at least one part."""
    return balanced("or", parts)


def holds(predicate: Expression) -> Expression:
    """The predicate is TRUE; never NULL."""
    return call("same", predicate, TRUE)


def fails(predicate: Expression, nulls: str = "fail") -> Expression:
    """The predicate is not TRUE (or, with `nulls: pass`, is FALSE); never NULL."""
    if nulls == "pass":
        return call("same", predicate, Literal(False, predicate.type))
    return call("not", holds(predicate))


def present(value: Expression) -> Expression:
    """The value is not NULL."""
    return call("not", call("is_null", value))


def ordered(value: Expression) -> Expression:
    """A value that rows can be put in order by: arrays, maps and structs by their JSON text."""
    return convert(value, STRING) if value.type.is_nested else value


def grouped(value: Expression) -> Expression:
    """A value that rows can be grouped by: what cannot be compared, by its JSON text."""
    return value if value.type.is_comparable else convert(value, STRING)
