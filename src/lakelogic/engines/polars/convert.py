"""`convert` on Polars: a value as another type, NULL where that cannot be done exactly."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from lakelogic.engines.polars.convert_nested import nested_to_type
from lakelogic.engines.polars.functions import by_time, by_value
from lakelogic.engines.polars.literals import dtype
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import Type

_BLANKS = " \t\r\n"
_DOUBLE = r"\A[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z"
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


def to_type(value: pl.Expr, source: Type, to: Type) -> pl.Expr:
    """The expression for a value of one type as another."""
    if source == to or {source.kind, to.kind} == {"string", "null"}:
        return value
    if source.kind == "null":
        return pl.lit(None, dtype=dtype(to))
    if source.is_nested or to.is_nested:
        return nested_to_type(value, source, to, to_type)
    kind = "text" if source.is_text else "integer" if source.is_integer else source.kind
    convert = _FROM.get("real" if kind in ("float", "double") else kind)
    converted = convert(value, source, to) if convert else None
    if converted is None:
        raise UnsupportedError(f"Polars cannot convert {source} to {to}.", hint="cast to string first")
    return converted


def by_batch(value: pl.Expr, function: Callable[[pl.Series], pl.Series], to: object) -> pl.Expr:
    """A function of whole columns as an expression, batch by batch."""
    return value.map_batches(function, return_dtype=to, is_elementwise=True)  # type: ignore[arg-type]


def _only(condition: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(value)


def _from_text(value: pl.Expr, source: Type, to: Type) -> pl.Expr | None:
    plain = value.str.strip_chars(_BLANKS)
    if to.is_integer:
        return plain.cast(dtype(to), strict=False)  # takes a sign and digits, nothing else
    if to.kind in ("float", "double"):
        number = plain.cast(dtype(to), strict=False)
        low = plain.str.to_lowercase()
        named = low.is_in(["nan", "infinity", "+infinity", "-infinity"])
        # A number beyond the type would become infinite: it cannot be converted.
        return pl.when(plain.str.contains(_DOUBLE) & number.is_finite()).then(number).when(named).then(number)
    if to.kind == "decimal":
        leading = rf"|\.[0-9]{{1,{to.scale}}}" if to.scale else ""
        shape = rf"\A[+-]?(?:[0-9]+(?:\.[0-9]{{0,{to.scale}}})?{leading})\z"
        return _only(plain.str.contains(shape), plain).cast(dtype(to), strict=False)
    if to.kind == "boolean":
        low = plain.str.to_lowercase()
        true, false = low.is_in(["true", "t", "yes", "y", "1"]), low.is_in(["false", "f", "no", "n", "0"])
        return pl.when(true).then(pl.lit(True)).when(false).then(pl.lit(False))
    if to.kind == "date":
        return by_batch(plain, by_time.days, pl.Int32).cast(pl.Date)
    if to.kind in ("timestamp", "timestamp_ntz"):
        return by_batch(plain, by_time.moments(to.kind == "timestamp"), pl.Int64).cast(dtype(to))
    if to.kind == "binary":
        return value.cast(pl.Binary)
    if to.kind == "json" and source.kind == "string":
        return by_batch(value, by_value.valid_json, pl.String)
    return value if to.is_text else None


def _from_boolean(value: pl.Expr, _source: Type, to: Type) -> pl.Expr | None:
    if to.is_text:
        return pl.when(value).then(pl.lit("true")).when(~value).then(pl.lit("false"))
    return value.cast(pl.Int8).cast(dtype(to), strict=False) if to.is_number else None


def _from_integer(value: pl.Expr, _source: Type, to: Type) -> pl.Expr | None:
    if to.kind == "boolean":
        return value != 0
    return value.cast(dtype(to), strict=False) if to.is_text or to.is_number else None


def _from_real(value: pl.Expr, _source: Type, to: Type) -> pl.Expr | None:
    if to.is_text:
        return by_batch(value, by_value.real_text, pl.String)
    if to.is_integer:
        return _only(value.floor() == value, value.cast(dtype(to), strict=False))
    if to.kind == "boolean":
        return value != 0
    if to.kind == "decimal":
        return by_batch(value, by_value.real_decimal(to.precision, to.scale), dtype(to))
    if to.kind == "float":
        narrow = value.cast(pl.Float32)
        return _only(narrow.is_finite() | ~value.is_finite(), narrow)
    return value.cast(pl.Float64) if to.kind == "double" else None


def _from_decimal(value: pl.Expr, source: Type, to: Type) -> pl.Expr | None:
    if to.is_text:
        return value.cast(pl.String)
    if to.kind == "boolean":
        return value.to_physical() != 0
    if to.kind in ("float", "double"):
        return value.cast(pl.String).cast(dtype(to))  # the direct cast is off in the last digit
    if to.is_integer:
        return _whole(value, 10**source.scale).cast(dtype(to), strict=False)
    if to.kind == "decimal":
        converted = value.cast(dtype(to), strict=False)
        return (
            converted
            if to.scale >= source.scale
            else _only(_divides(value, 10 ** (source.scale - to.scale)), converted)
        )
    return None


def _divides(value: pl.Expr, unit: int) -> pl.Expr:
    return value.to_physical() % pl.lit(unit, dtype=pl.Int128) == 0


def _whole(value: pl.Expr, unit: int) -> pl.Expr:
    """The whole number that a decimal is, as a 128-bit integer; NULL when it is not one."""
    return _only(_divides(value, unit), value.to_physical() // pl.lit(unit, dtype=pl.Int128))


def _from_date(value: pl.Expr, _source: Type, to: Type) -> pl.Expr | None:
    if to.is_text:
        return value.dt.strftime("%Y-%m-%d")
    if to.kind in ("timestamp", "timestamp_ntz"):
        return (value.cast(pl.Int32).cast(pl.Int64) * _DAY).cast(dtype(to))
    return None


def _from_timestamp(value: pl.Expr, source: Type, to: Type) -> pl.Expr | None:
    moment = value.cast(pl.Int64)
    if to.is_text:
        zone = "Z" if source.kind == "timestamp" else ""
        short, long = (value.dt.strftime(f"%Y-%m-%dT%H:%M:%S{part}{zone}") for part in ("", "%.6f"))
        return pl.when(moment % _SECOND == 0).then(short).otherwise(long)
    if to.kind == "date":
        return (moment // _DAY).cast(pl.Int32).cast(pl.Date)
    return moment.cast(dtype(to)) if to.kind in ("timestamp", "timestamp_ntz") else None


def _from_binary(value: pl.Expr, _source: Type, to: Type) -> pl.Expr | None:
    return by_batch(value, by_value.decoded, pl.String) if to.is_text else None


_FROM: dict[str, Callable[[pl.Expr, Type, Type], pl.Expr | None]] = {
    "text": _from_text,
    "boolean": _from_boolean,
    "integer": _from_integer,
    "real": _from_real,
    "decimal": _from_decimal,
    "date": _from_date,
    "timestamp": _from_timestamp,
    "timestamp_ntz": _from_timestamp,
    "binary": _from_binary,
}
