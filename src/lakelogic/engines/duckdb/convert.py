"""`convert` on DuckDB: a value as another type, NULL where that cannot be done exactly."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.duckdb.convert_nested import nested_to_type
from lakelogic.engines.duckdb.literals import cast, try_cast, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import Type

# DuckDB's own casts from text step over the same blanks, so nothing is trimmed before them.
_BLANKS = r"[ \t\r\n]*"
_INTEGER = "[+-]?[0-9]+"
_DOUBLE = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
# In the first and the last year an offset can lead out of the calendar: only these are looked at twice.
_MIDDLE_YEAR = "(?:[1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8]|0[1-9][0-9]{2}|00[1-9][0-9]|000[2-9])"
_DAY = "-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
# Rarer forms, which are brought into the usual one first: more than six decimals, and no signs between the parts.
_FINE_CLOCK = r"[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{7,9}"
_COMPACT_CLOCK = r"T[0-9]{4}(?:[0-9]{2}(?:\.[0-9]{1,9})?)?"
_OFFSET = "(?:Z|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|18(?::?00)?))?"
_NOT_JSON = r"'(?i)nan|inf|,\s*[}\]]'"
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


def to_type(sql: str, source: Type, to: Type) -> str:
    """The SQL for a value of one type as another."""
    if source == to or {source.kind, to.kind} == {"string", "null"}:
        return sql
    if source.kind == "null":
        return cast("NULL", to)
    if source.is_nested or to.is_nested:
        return nested_to_type(sql, source, to, to_type)
    kind = "text" if source.is_text else "integer" if source.is_integer else source.kind
    convert = _FROM.get("real" if kind in ("float", "double") else kind)
    converted = convert(sql, source, to) if convert else None
    if converted is None:
        raise UnsupportedError(f"DuckDB cannot convert {source} to {to}.", hint="cast to string first")
    return converted


def _matches(sql: str, pattern: str) -> str:
    """Is the whole text, but for blanks around it, of this form?"""
    return f"regexp_full_match({sql}, '{_BLANKS}{pattern}{_BLANKS}')"


def _from_text(sql: str, source: Type, to: Type) -> str | None:
    if to.is_integer:
        return f"CASE WHEN {_matches(sql, _INTEGER)} THEN {try_cast(sql, to)} END"
    if to.kind in ("float", "double"):
        name = type_name(to)
        # A number beyond the type would become infinite: it cannot be converted.
        finite = f"NULLIF(NULLIF({try_cast(sql, to)}, CAST('inf' AS {name})), CAST('-inf' AS {name}))"
        return (
            f"CASE WHEN {_matches(sql, _DOUBLE)} THEN {finite} "
            f"WHEN {_matches(sql, '(?i:nan|[+-]?infinity)')} THEN {try_cast(sql, to)} END"
        )
    if to.kind == "decimal":
        leading = f"|\\.[0-9]{{1,{to.scale}}}" if to.scale else ""
        shape = f"[+-]?(?:[0-9]+(?:\\.[0-9]{{0,{to.scale}}})?{leading})"
        return f"CASE WHEN {_matches(sql, shape)} THEN {try_cast(sql, to)} END"
    if to.kind == "boolean":
        return (
            f"CASE WHEN {_matches(sql, '(?i:true|t|yes|y|1)')} THEN TRUE "
            f"WHEN {_matches(sql, '(?i:false|f|no|n|0)')} THEN FALSE END"
        )
    if to.kind == "date":
        return f"CASE WHEN {_matches(sql, _YEAR + _DAY)} THEN {try_cast(sql, to)} {_compact(sql, to)} END"
    if to.kind in ("timestamp", "timestamp_ntz"):
        return _moment(sql, to)
    if to.kind == "binary":
        return f"encode({sql})"
    if to.kind == "json" and source.kind == "string":
        # The validator lets NaN, Infinity and a last comma pass, which are not JSON outside of quoted text.
        bare = rf"""regexp_replace({sql}, '"(?:[^"\\]|\\.)*"', '0', 'g')"""
        return f"CASE WHEN json_valid({sql}) AND NOT regexp_matches({bare}, {_NOT_JSON}) THEN {sql} END"
    return sql if to.is_text else None


def _moment(sql: str, to: Type, *, is_usual: bool = False) -> str:
    """Text as a time; `is_usual` when its rarer forms were brought into the usual one."""
    offset = _OFFSET if to.kind == "timestamp" else ""
    zone = "+00" if to.kind == "timestamp" else ""
    rest = f"{_DAY}(?:{_CLOCK}{offset})?"
    # DuckDB itself lets blanks stand around a day, but not around a time.
    value = try_cast(f"trim({sql}, ' ' || chr(9) || chr(10) || chr(13))", to)
    bounds = " AND ".join(cast(f"'{bound}{zone}'", to) for bound in (_FIRST, _LAST))
    read = (
        f"WHEN {_matches(sql, _MIDDLE_YEAR + rest)} THEN {value} "
        f"WHEN {_matches(sql, _YEAR + rest)} THEN CASE WHEN {value} BETWEEN {bounds} THEN {value} END"
    )
    if is_usual:
        return f"CASE {read} END"
    dashed = (
        f"regexp_replace({sql}, '([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})T([0-9]{{2}})([0-9]{{2}})', '\\1-\\2-\\3T\\4:\\5')"
    )
    timed = f"regexp_replace({dashed}, '(T[0-9]{{2}}:[0-9]{{2}})([0-9]{{2}})', '\\1:\\2')"
    usual = f"regexp_replace({timed}, '(\\.[0-9]{{6}})[0-9]+', '\\1')"
    rare = f"(?:[0-9]{{8}}{_COMPACT_CLOCK}|[0-9]{{4}}{_DAY}{_FINE_CLOCK}){offset}"
    return f"CASE {read} {_compact(sql, to)} WHEN {_matches(sql, rare)} THEN {_moment(usual, to, is_usual=True)} END"


def _compact(sql: str, to: Type) -> str:
    """The branch for a day that is written without dashes."""
    parts = f"{_BLANKS}([0-9]{{4}})([0-9]{{2}})([0-9]{{2}}){_BLANKS}"
    dashed = f"regexp_replace({sql}, '{parts}', '\\1-\\2-\\3')"
    return f"WHEN {_matches(sql, _YEAR + '[0-9]{4}')} THEN {try_cast(dashed, to)}"


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
            f"WHEN isinf({sql}) THEN '-Infinity' ELSE {_digits(sql, source)} END"
        )
    if to.is_integer:
        return f"CASE WHEN {sql} = trunc({sql}) THEN {try_cast(sql, to)} END"
    if to.kind == "boolean":
        return f"({sql} <> 0)"
    if to.kind == "decimal":
        # By its shortest text, and only if nothing is lost; a direct cast would round.
        exact = try_cast(_digits(sql, source), to)
        return f"CASE WHEN {cast(cast(exact, 'VARCHAR'), source)} = {sql} THEN {exact} END"
    if to.kind == "float":
        return try_cast(sql, to)
    return cast(sql, to) if to.kind == "double" else None


def _digits(sql: str, source: Type) -> str:
    """A finite number by its shortest digits. For a float the native text has too many of them."""
    if source.kind == "double":
        return cast(sql, "VARCHAR")
    tries = [cast(f"printf('%.{digits}g', {cast(sql, 'DOUBLE')})", "DOUBLE") for digits in range(1, 10)]
    branches = " ".join(f"WHEN TRY_CAST({short} AS FLOAT) = {sql} THEN {short}" for short in tries)
    return cast(f"CASE {branches} END", "VARCHAR")


def _from_decimal(sql: str, source: Type, to: Type) -> str | None:
    if to.is_text:
        return cast(sql, "VARCHAR")
    if to.is_integer:
        whole = try_cast(f"TRY(floor({sql}))", source)
        return f"CASE WHEN {whole} = {sql} THEN {try_cast(sql, to)} END"
    if to.kind == "boolean":
        return f"({sql} <> 0)"
    if to.kind in ("float", "double"):
        return cast(sql, to)
    if to.kind == "decimal":
        converted = try_cast(sql, to)
        return (
            converted
            if to.scale >= source.scale
            else f"CASE WHEN {try_cast(converted, source)} = {sql} THEN {converted} END"
        )
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
