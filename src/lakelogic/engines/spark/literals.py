"""Names, constants and types as Spark SQL text: the only place where anything is quoted or escaped."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

from lakelogic.engines.sql.dialect import TypeNames
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type

# `$` would start a variable substitution, `\` an escape sequence, even inside a quoted text.
_ESCAPED = {"\\": "\\\\", "'": "\\'", "$": "\\u0024", "\x7f": "\\u007f"} | {
    chr(code): f"\\u{code:04x}" for code in range(32)
}
_ESCAPES = str.maketrans(_ESCAPED)

_TYPE_NAMES = {
    "null": "STRING",
    "string": "STRING",
    "json": "STRING",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    # `TIMESTAMP` alone means whatever the session says it means.
    "timestamp": "TIMESTAMP_LTZ",
    "timestamp_ntz": "TIMESTAMP_NTZ",
    "binary": "BINARY",
}


def identifier(column: str) -> str:
    """A column name, quoted."""
    return "`" + column.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text constant."""
    return "'" + value.translate(_ESCAPES) + "'"


_TYPES = TypeNames(
    _TYPE_NAMES,
    array=lambda element: f"ARRAY<{element}>",
    map=lambda key, element: f"MAP<{key},{element}>",
    struct=lambda fields: "STRUCT<" + ",".join(f"{identifier(name)}:{kind}" for name, kind in fields) + ">",
)


def type_name(type_: Type) -> str:
    """A type as Spark SQL writes it."""
    return _TYPES.of(type_)


def whole(value: int) -> str:
    """A whole number of 64 bits."""
    return f"{value}L"


def cast(sql: str, type_: Type | str) -> str:
    """A cast that must succeed."""
    return f"CAST({sql} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def try_cast(sql: str, type_: Type | str) -> str:
    """A cast that gives NULL where it fails."""
    return f"try_cast({sql} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def literal(constant: Literal) -> str:
    """A constant, with exactly its type."""
    value, type_ = constant.value, constant.type
    if value is None:
        return f"CAST(NULL AS {type_name(type_)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        return _instant(value, type_)
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    return _number(value, type_)


def _instant(value: datetime, type_: Type) -> str:
    if type_.kind == "timestamp_ntz":
        return f"TIMESTAMP_NTZ'{value.replace(tzinfo=None).isoformat(sep=' ')}'"
    aware = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return f"TIMESTAMP_LTZ'{aware.replace(tzinfo=None).isoformat(sep=' ')}Z'"


def _number(value: float | Decimal, type_: Type) -> str:
    if type_.kind in ("double", "float"):
        number = float(value)
        if math.isnan(number):
            written = "'NaN'"
        elif math.isinf(number):
            written = "'Infinity'" if number > 0 else "'-Infinity'"
        else:
            written = f"'{number!r}'"
        return f"CAST({written} AS {type_name(type_)})"
    if type_.kind == "decimal":
        # As text: a bare `1.50` would be read with a precision of its own.
        return f"CAST('{Decimal(value):f}' AS {type_name(type_)})"
    if isinstance(value, int):
        if value == -(2**63):
            return "CAST('-9223372036854775808' AS BIGINT)"
        suffix = {"bigint": "L", "smallint": "S", "tinyint": "Y"}.get(type_.kind, "")
        return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"
    raise UnsupportedError(f"The constant {value!r} of type {type_} cannot be written for Spark.")
