"""`convert` on DuckDB: a value as another type, NULL where that cannot be done exactly."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.duckdb.literals import cast, try_cast, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import Type

_BLANKS = r"E' \t\r\n'"
_INTEGER = "[+-]?[0-9]+"
_DOUBLE = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_COMPACT = "[0-9]{8}"
_CLOCK = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
_OFFSET = "(?:Z|[+-](?:0[0-9]|1[0-8])(?::?[0-5][0-9])?)?"
_FIRST_YEAR, _LAST_YEAR = "0001-01-01", "9999-12-31"


def to_type(sql: str, source: Type, to: Type) -> str:
    """The SQL for a value of one type as another."""
    if source == to or {source.kind, to.kind} == {"string", "null"}:
        return sql
    if source.kind == "null":
        return cast("NULL", to)
    if source.is_nested and to.is_text:
        return cast(f"to_json({sql})", "VARCHAR")
    kind = "text" if source.is_text else "integer" if source.is_integer else source.kind
    convert = _FROM.get("real" if kind in ("float", "double") else kind)
    found = convert(sql, source, to) if convert else None
    if found is None:
        raise UnsupportedError(f"DuckDB cannot convert {source} to {to}.", hint="cast to string first")
    return found


def _matches(sql: str, pattern: str) -> str:
    return f"regexp_full_match({sql}, '{pattern}')"


def _from_text(sql: str, source: Type, to: Type) -> str | None:
    value = f"trim({sql}, {_BLANKS})"
    if to.is_integer:
        return f"CASE WHEN {_matches(value, _INTEGER)} THEN {try_cast(value, to)} END"
    if to.kind in ("float", "double"):
        name, low = type_name(to), f"lower({value})"
        # A number beyond the type would become infinite: it cannot be converted.
        finite = f"NULLIF(NULLIF({try_cast(value, to)}, CAST('inf' AS {name})), CAST('-inf' AS {name}))"
        return (
            f"CASE WHEN {_matches(value, _DOUBLE)} THEN {finite} "
            f"WHEN {low} IN ('nan', 'infinity', '+infinity', '-infinity') THEN {try_cast(low, to)} END"
        )
    if to.kind == "decimal":
        fraction = f"\\.[0-9]{{0,{to.scale}}}"
        leading = f"|\\.[0-9]{{1,{to.scale}}}" if to.scale else ""
        return f"CASE WHEN {_matches(value, f'[+-]?(?:[0-9]+(?:{fraction})?{leading})')} THEN {try_cast(value, to)} END"
    if to.kind == "boolean":
        low = f"lower({value})"
        return (
            f"CASE WHEN {low} IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
            f"WHEN {low} IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
        )
    dashed = f"left({value}, 4) || '-' || substring({value}, 5, 2) || '-' || right({value}, 2)"
    if to.kind == "date":
        plain = f"CASE WHEN {_matches(value, _DATE)} THEN {value} WHEN {_matches(value, _COMPACT)} THEN {dashed} END"
        return _in_range(try_cast(plain, to), "DATE")
    if to.kind in ("timestamp", "timestamp_ntz"):
        shape = f"{_DATE}(?:{_CLOCK}{_OFFSET if to.kind == 'timestamp' else ''})?"
        plain = f"CASE WHEN {_matches(value, shape)} THEN {value} WHEN {_matches(value, _COMPACT)} THEN {dashed} END"
        return _in_range(try_cast(plain, to), type_name(to))
    if to.kind == "binary":
        return f"encode({sql})"
    if to.kind == "json" and source.kind == "string":
        # The validator lets NaN and Infinity pass, which are not JSON; outside of quoted text they are refused.
        bare = rf"""regexp_replace({sql}, '"(?:[^"\\]|\\.)*"', '', 'g')"""
        return f"CASE WHEN json_valid({sql}) AND NOT regexp_matches({bare}, '(?i)nan|inf') THEN {sql} END"
    return sql if to.is_text else None


def _in_range(sql: str, name: str) -> str:
    """Only years 1 to 9999."""
    last = _LAST_YEAR if name == "DATE" else f"{_LAST_YEAR} 23:59:59.999999"
    zone = "+00" if name == "TIMESTAMPTZ" else ""
    first = _FIRST_YEAR if name == "DATE" else f"{_FIRST_YEAR} 00:00:00"
    low, high = (cast(f"'{bound}{zone}'", name) for bound in (first, last))
    bounds = f"{low} AND {high}"
    return f"CASE WHEN {sql} BETWEEN {bounds} THEN {sql} END"


def _from_boolean(sql: str, _source: Type, to: Type) -> str | None:
    if to.is_text:
        return f"CASE WHEN {sql} THEN 'true' WHEN NOT {sql} THEN 'false' END"
    return try_cast(cast(sql, "INTEGER"), to) if to.is_number else None


def _from_integer(sql: str, _source: Type, to: Type) -> str | None:
    if to.kind == "boolean":
        return f"({sql} <> 0)"
    return cast(sql, "VARCHAR") if to.is_text else try_cast(sql, to) if to.is_number else None


def _from_real(sql: str, source: Type, to: Type) -> str | None:
    if to.is_text:
        return (
            f"CASE WHEN isnan({sql}) THEN 'NaN' WHEN isinf({sql}) AND {sql} > 0 THEN 'Infinity' "
            f"WHEN isinf({sql}) THEN '-Infinity' ELSE CAST({sql} AS VARCHAR) END"
        )
    if to.is_integer:
        return f"CASE WHEN {sql} = trunc({sql}) THEN {try_cast(sql, to)} END"
    if to.kind == "boolean":
        return f"({sql} <> 0)"
    if to.kind == "decimal":
        # By its shortest text, and only if nothing is lost; a direct cast would round.
        exact = try_cast(cast(sql, "VARCHAR"), to)
        return f"CASE WHEN {cast(cast(exact, 'VARCHAR'), source)} = {sql} THEN {exact} END"
    if to.kind == "float":
        return try_cast(sql, to)
    return cast(sql, to) if to.kind == "double" else None


def _from_decimal(sql: str, source: Type, to: Type) -> str | None:
    if to.is_text:
        return cast(sql, "VARCHAR")
    if to.is_integer:
        return f"CASE WHEN floor({sql}) = {sql} THEN {try_cast(sql, to)} END"
    if to.kind == "boolean":
        return f"({sql} <> 0)"
    if to.kind in ("float", "double"):
        return cast(sql, to)
    if to.kind == "decimal":
        found = try_cast(sql, to)
        return found if to.scale >= source.scale else f"CASE WHEN {try_cast(found, source)} = {sql} THEN {found} END"
    return None


def _from_date(sql: str, _source: Type, to: Type) -> str | None:
    if to.is_text:
        return cast(sql, "VARCHAR")
    if to.kind == "timestamp":
        return f"({cast(sql, 'TIMESTAMP')} AT TIME ZONE 'UTC')"
    return cast(sql, "TIMESTAMP") if to.kind == "timestamp_ntz" else None


def _from_timestamp(sql: str, source: Type, to: Type) -> str | None:
    plain = wall_clock(sql, source)
    if to.is_text:
        zone = "Z" if source.kind == "timestamp" else ""
        return (
            f"CASE WHEN epoch_us({sql}) % 1000000 = 0 THEN strftime({plain}, '%Y-%m-%dT%H:%M:%S{zone}') "
            f"ELSE strftime({plain}, '%Y-%m-%dT%H:%M:%S.%f{zone}') END"
        )
    if to.kind == "date":
        return cast(plain, "DATE")
    if to.kind == "timestamp_ntz":
        return plain
    return f"({sql} AT TIME ZONE 'UTC')" if to.kind == "timestamp" else None


def wall_clock(sql: str, source: Type) -> str:
    """An instant as the wall clock of UTC; no session time zone is consulted."""
    return f"({sql} AT TIME ZONE 'UTC')" if source.kind == "timestamp" else sql


def _from_binary(sql: str, _source: Type, to: Type) -> str | None:
    return f"TRY(decode({sql}))" if to.is_text else None


_FROM: dict[str, Callable[[str, Type, Type], str | None]] = {
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
