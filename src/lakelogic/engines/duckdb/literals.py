"""Contract types, identifiers and constants as DuckDB SQL text; the only place that quotes anything."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

from lakelogic.engines.sql.dialect import TypeNames
from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type

_NAMES = {
    "null": "VARCHAR", "string": "VARCHAR", "json": "VARCHAR", "boolean": "BOOLEAN",
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "date": "DATE", "binary": "BLOB",
    "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip


def identifier(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


_TYPES = TypeNames(
    _NAMES,
    array=lambda element: f"{element}[]",
    map=lambda key, element: f"MAP({key}, {element})",
    struct=lambda fields: "STRUCT(" + ", ".join(f"{identifier(name)} {kind}" for name, kind in fields) + ")",
)


def type_name(type_: Type) -> str:
    """The DuckDB type that holds the values of a contract type."""
    return _TYPES.of(type_)


def whole(value: int) -> str:
    """A whole number of 64 bits; DuckDB takes a plain one for as wide as it must be."""
    return str(value)


def text(value: str) -> str:
    """A text constant, on one line: statements are laid out for people, which must not change a constant.

    DuckDB's parser ends at a NUL, so that character is put in by a function.
    """
    pieces = [_piece(piece) for piece in value.split("\0")]
    return pieces[0] if len(pieces) == 1 else "(" + " || chr(0) || ".join(pieces) + ")"


def _piece(value: str) -> str:
    doubled = value.replace("'", "''")
    if "\n" not in value and "\r" not in value:
        return f"'{doubled}'"
    escaped = doubled.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"E'{escaped}'"


def cast(sql: str, type_: Type | str) -> str:
    """A cast that must succeed."""
    return f"CAST({sql} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def try_cast(sql: str, type_: Type | str) -> str:
    """A cast that gives NULL where it fails."""
    return f"TRY_CAST({sql} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def literal(constant: Literal) -> str:
    """A constant of its type."""
    value, type_ = constant.value, constant.type
    if value is None:
        return cast("NULL", type_)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value) if type_.kind == "int" and value >= 0 else cast(str(value), type_)
    if isinstance(value, float):
        return cast(text("nan" if math.isnan(value) else repr(value)), type_)
    if isinstance(value, Decimal):
        return cast(text(format(value, "f")), type_)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    if isinstance(value, datetime):
        if type_.kind == "timestamp":
            utc = value.astimezone(UTC).replace(tzinfo=None)
            return cast(text(utc.isoformat(" ", "microseconds") + "+00"), "TIMESTAMPTZ")
        return cast(text(value.isoformat(" ", "microseconds")), "TIMESTAMP")
    assert isinstance(value, date)
    return cast(text(value.isoformat()), "DATE")
