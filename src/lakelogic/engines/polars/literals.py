"""Contract types and constants in Polars."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type

_DTYPES: dict[str, Any] = {
    "null": pl.String, "string": pl.String, "json": pl.String, "boolean": pl.Boolean,
    "tinyint": pl.Int8, "smallint": pl.Int16, "int": pl.Int32, "bigint": pl.Int64,
    "float": pl.Float32, "double": pl.Float64, "date": pl.Date, "binary": pl.Binary,
    "timestamp": pl.Datetime("us", "UTC"), "timestamp_ntz": pl.Datetime("us"),
}  # fmt: skip


def dtype(type_: Type) -> Any:
    """The Polars type that holds the values of a contract type."""
    match type_.kind:
        case "decimal":
            return pl.Decimal(type_.precision, type_.scale)
        case "array":
            assert type_.element is not None
            return pl.List(dtype(type_.element))
        case "map":
            assert type_.key is not None
            assert type_.element is not None
            return pl.Map(dtype(type_.key), dtype(type_.element))
        case "struct":
            return pl.Struct([pl.Field(name, dtype(field)) for name, field in type_.fields])
    return _DTYPES[type_.kind]


def literal(constant: Literal) -> pl.Expr:
    """A constant of its type."""
    value, type_ = constant.value, constant.type
    if isinstance(value, datetime) and type_.kind == "timestamp":
        return pl.lit(value.astimezone(UTC), dtype=dtype(type_))
    if isinstance(value, Decimal):
        return pl.lit(format(value, "f")).cast(dtype(type_))
    return pl.lit(value, dtype=dtype(type_))
