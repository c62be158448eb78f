"""Constants that a contract writes beside a rule, and comparisons with them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

from lakelogic.sql.bind import bind
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import Expression, Literal, call, text
from lakelogic.sql.problems import BAD_TYPES, Problem, SqlProblems
from lakelogic.sql.types import BOOLEAN, NULL, Type

_OPERATORS = {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def compare(operator: str, left: Expression, right: Expression) -> Expression:
    """A comparison with both sides in one type."""
    refuse_impossible(left.type, right)
    (one, two), _ = unify((left, right), "Comparison:")
    return call(_OPERATORS[operator], one, two)


def refuse_impossible(type_: Type, constant_: Expression) -> None:
    """A text constant that can never be of the column's type would make every row bad."""
    if not (isinstance(constant_, Literal) and isinstance(constant_.value, str)):
        return
    written_, kind = constant_.value.strip(), type_.kind
    try:
        if type_.is_number:
            Decimal(written_)
        elif kind in ("date", "timestamp", "timestamp_ntz"):
            datetime.fromisoformat(written_)
        elif kind == "boolean" and written_.lower() not in _BOOLEANS:
            raise ValueError
    except (ValueError, InvalidOperation):
        message = f"`{constant_.value}` can never be compared with {type_}."
        raise SqlProblems([Problem(BAD_TYPES, message, "write a value of that type")]) from None


_BOOLEANS = frozenset({"true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"})


def constant(value: Any) -> Expression:
    """A value from YAML as a literal: numbers as written, anything else as text."""
    if value is None:
        return Literal(None, NULL)
    if isinstance(value, bool):
        return Literal(value, BOOLEAN)
    if isinstance(value, int):
        return _numeral(str(value))
    if isinstance(value, float):
        return _numeral(format(Decimal(repr(value)), "f") if abs(value) < 1e15 else repr(value))
    return text(str(value))


@cache
def _numeral(written_: str) -> Expression:
    return bind(written_, {})
