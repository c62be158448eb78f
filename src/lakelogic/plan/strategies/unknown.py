"""The unknown member: one row of a dimension that facts without a known key can point to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from lakelogic.plan.predicates import both
from lakelogic.plan.strategies.scd2 import instant
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.plan.strategies.surrogate import UNKNOWN
from lakelogic.sql.expressions import Column, Expression, Literal, call
from lakelogic.sql.types import Type

_TEXT, _NUMBER, _DAY = "unknown", -1, date(1900, 1, 1)


def member(
    strategy: Strategy, keys: Sequence[str], columns: Mapping[str, Type], created: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of the unknown member: as written, keys by their type, and what a history needs."""
    written = {name.lower(): value for name, value in (strategy.unknown or {}).items()}
    row: dict[str, Any] = {name: created.get(name) for name in columns}
    if strategy.surrogate is not None:
        row[strategy.surrogate.column] = UNKNOWN
    for key in keys:
        row[key] = _key(columns[key])
    if strategy.history is not None:
        history = strategy.history
        row[history.effective_from_field] = instant(history.effective_from_default)
        row[history.effective_to_field] = instant(history.effective_to_default)
        row[history.current_flag_field] = True
        row[history.version_column] = 1
    elif strategy.may_delete and (mark := strategy.deletes.column) and isinstance(strategy.deletes.value, bool):
        row[mark] = not strategy.deletes.value
    for name, type_ in columns.items():
        if name.lower() in written:
            row[name] = as_type(written[name.lower()], type_)
    return row


def _key(type_: Type) -> Any:
    if type_.is_text:
        return _TEXT
    if type_.kind == "decimal":
        return Decimal(_NUMBER)
    if type_.kind == "date":
        return _DAY
    return _NUMBER if type_.is_number else None


def as_type(value: Any, type_: Type) -> Any:
    """A value as a contract writes it, in the type of its column; raises ValueError where it is none."""
    if value is None or type_.is_text:
        return None if value is None else str(value)
    if type_.kind == "boolean" and isinstance(value, bool):
        return value
    try:
        if type_.is_integer:
            return int(str(value))
        if type_.kind in ("float", "double"):
            return float(value)
        if type_.kind == "decimal":
            return Decimal(str(value))
        if type_.kind == "date":
            return value if type(value) is date else date.fromisoformat(str(value))
        if type_.kind == "timestamp":
            moment = instant(value.isoformat() if isinstance(value, date | datetime) else str(value))
            if moment is not None:
                return moment
    except (ValueError, InvalidOperation) as error:
        raise ValueError(f"{value!r} is no {type_}") from error
    raise ValueError(f"{value!r} is no {type_}")


def is_there(
    strategy: Strategy, keys: Sequence[str], row: Mapping[str, Any], columns: Mapping[str, Type]
) -> Expression:
    """TRUE for the unknown member in a table."""
    if strategy.surrogate is not None:
        keys = [strategy.surrogate.column]
    return both(*(call("same", Column(key, columns[key]), Literal(row[key], columns[key])) for key in keys))
