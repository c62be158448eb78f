"""Conversions between types as Spark SQL text: what cannot be converted is NULL, whatever the session says."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.spark.convert_nested import is_json, nested_to_type
from lakelogic.engines.spark.literals import text, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.types import STRING, Type

_BLANKS = text(" \t\r\n")
_FIRST, _LAST = "DATE'0001-01-01'", "DATE'9999-12-31'"
_FIRST_INSTANT = "TIMESTAMP_LTZ'0001-01-01 00:00:00Z'"
_LAST_INSTANT = "TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"  # Spark cuts off what is finer than microseconds
# Grammars of text, as constants of SQL.
_IS_DAY = text(rf"^{_DAY}\z")
_IS_COMPACT_DAY = text(r"^[0-9]{8}\z")
_IS_COMPACT_MOMENT = text(rf"^[0-9]{{8}}T[0-9]{{4}}(?:[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?{_ZONE}?\z")
_IS_INSTANT = text(rf"^{_DAY}[T ]{_CLOCK}{_ZONE}?\z")
_IS_WALL_CLOCK = text(rf"^{_DAY}(?:[T ]{_CLOCK})?\z")
_ENDS_IN_ZONE = text(rf"{_ZONE}\z")


def conversion(value: str, source: Type, to: Type) -> str:
    """SQL for `value`, of type `source`, as `to`."""
    if source == to:
        return value
    if source.kind == "null":
        return f"CAST(NULL AS {type_name(to)})"
    if source.is_nested or to.is_nested:
        return nested_to_type(value, source, to, conversion)
    if source.is_text:
        return _from_text(value, to)
    if to.is_text:
        return _to_text(value, source)
    if source.is_number and to.is_number:
        return _number(value, source, to)
    if (source.kind, to.kind) in _OTHERS:
        return _OTHERS[source.kind, to.kind](value)
    if source.is_number and to.kind == "boolean":
        return f"({value} <> 0)"
    if source.kind == "boolean" and to.is_number:
        return f"CAST(CASE {value} WHEN TRUE THEN 1 WHEN FALSE THEN 0 END AS {type_name(to)})"
    raise UnsupportedError(f"A conversion from {source} to {to} is not available on Spark yet.")


# text


def _from_text(value: str, to: Type) -> str:
    trimmed = f"btrim({value}, {_BLANKS})"
    if to.is_integer:
        # Spark's own cast also takes control characters for blanks; the rest of the grammar is the same.
        return (
            f"CASE WHEN {trimmed} >= '+' AND {trimmed} < ':' AND right({trimmed}, 1) BETWEEN '0' AND '9' "
            f"THEN try_cast({trimmed} AS {type_name(to)}) END"
        )
    match to.kind:
        case "string":
            return value
        case "json":
            return f"CASE WHEN {is_json(value)} THEN {value} END"
        case "float" | "double":
            return _text_to_float(trimmed, to)
        case "decimal":
            fraction = rf"(?:\.[0-9]{{0,{to.scale}}})?" if to.scale else r"\.?"
            bare = rf"|\.[0-9]{{1,{to.scale}}}" if to.scale else ""
            grammar = rf"^[+-]?(?:[0-9]+{fraction}{bare})\z"
            return f"CASE WHEN {trimmed} RLIKE {text(grammar)} THEN try_cast({trimmed} AS {type_name(to)}) END"
        case "boolean":
            return (
                f"CASE WHEN lower({trimmed}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
                f"WHEN lower({trimmed}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
            )
        case "date":
            return _text_to_date(trimmed)
        case "timestamp":
            return _text_to_instant(trimmed)
        case "timestamp_ntz":
            return _text_to_wall_clock(trimmed)
        case "binary":
            return f"CAST({value} AS BINARY)"
    raise UnsupportedError(f"A conversion from text to {to} is not available on Spark yet.")


def _text_to_float(trimmed: str, to: Type) -> str:
    kind = type_name(to)
    grammar = text(r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z")
    parsed = f"try_cast({trimmed} AS {kind})"
    return (
        f"CASE WHEN {trimmed} RLIKE {grammar} "
        f"THEN CASE WHEN abs({parsed}) < CAST('Infinity' AS {kind}) THEN {parsed} END "
        f"WHEN lower({trimmed}) = 'nan' THEN CAST('NaN' AS {kind}) "
        f"WHEN lower({trimmed}) IN ('infinity', '+infinity') THEN CAST('Infinity' AS {kind}) "
        f"WHEN lower({trimmed}) = '-infinity' THEN CAST('-Infinity' AS {kind}) END"
    )


def _dashed(trimmed: str) -> str:
    return f"concat(substr({trimmed}, 1, 4), '-', substr({trimmed}, 5, 2), '-', substr({trimmed}, 7, 2))"


def _text_to_date(trimmed: str) -> str:
    return (
        f"CASE WHEN {trimmed} < '0001' THEN NULL "
        f"WHEN {trimmed} RLIKE {_IS_DAY} THEN try_cast({trimmed} AS DATE) "
        f"WHEN {trimmed} RLIKE {_IS_COMPACT_DAY} THEN try_cast({_dashed(trimmed)} AS DATE) END"
    )


def _with_signs(trimmed: str, read: Callable[[str], str]) -> str:
    """The branch for `20240105T100000Z`, which is read as `2024-01-05T10:00:00Z`."""
    seconds = f"CASE WHEN substr({trimmed}, 14, 1) RLIKE '[0-9]' THEN ':' ELSE '' END"
    clock = f"substr({trimmed}, 10, 2), ':', substr({trimmed}, 12, 2), {seconds}, substr({trimmed}, 14)"
    written = f"concat({_dashed(trimmed)}, 'T', {clock})"
    return (
        f"WHEN {trimmed} RLIKE {_IS_COMPACT_MOMENT} "
        f"THEN get(transform(array({written}), ll_t -> CASE {read('ll_t')} END), 0)"
    )


def _text_to_instant(trimmed: str) -> str:
    return (
        f"CASE WHEN {trimmed} < '0001' THEN NULL {_instant(trimmed)} "
        f"WHEN {trimmed} RLIKE {_IS_DAY} "
        f"THEN try_cast(concat({trimmed}, ' 00:00:00Z') AS TIMESTAMP_LTZ) "
        f"WHEN {trimmed} RLIKE {_IS_COMPACT_DAY} "
        f"THEN try_cast(concat({_dashed(trimmed)}, ' 00:00:00Z') AS TIMESTAMP_LTZ) "
        f"{_with_signs(trimmed, _instant)} END"
    )


def _instant(trimmed: str) -> str:
    # Spark wants seconds before it reads a zone, and reads text without a zone in the session's own.
    full = (
        f"concat(substr({trimmed}, 1, 16), CASE WHEN substr({trimmed}, 17, 1) = ':' THEN '' ELSE ':00' END, "
        f"substr({trimmed}, 17), CASE WHEN substr({trimmed}, 17) RLIKE {_ENDS_IN_ZONE} THEN '' ELSE 'Z' END)"
    )
    read = f"try_cast({full} AS TIMESTAMP_LTZ)"
    return (
        f"WHEN {trimmed} RLIKE {_IS_INSTANT} "
        f"THEN CASE WHEN {read} BETWEEN {_FIRST_INSTANT} AND {_LAST_INSTANT} THEN {read} END"
    )


def _text_to_wall_clock(trimmed: str) -> str:
    return (
        f"CASE WHEN {trimmed} < '0001' THEN NULL {_wall_clock(trimmed)} "
        f"WHEN {trimmed} RLIKE {_IS_COMPACT_DAY} THEN try_cast({_dashed(trimmed)} AS TIMESTAMP_NTZ) "
        f"{_with_signs(trimmed, _wall_clock)} END"
    )


def _wall_clock(trimmed: str) -> str:
    return f"WHEN {trimmed} RLIKE {_IS_WALL_CLOCK} THEN try_cast({trimmed} AS TIMESTAMP_NTZ)"


def _to_text(value: str, source: Type) -> str:
    match source.kind:
        case "float" | "double":
            return double_text(value, source)
        case "timestamp":
            return _instant_text(value, "Z")
        case "timestamp_ntz":
            return _instant_text(value, "")
        case "binary":
            return f"try_validate_utf8(CAST({value} AS STRING))"
    return f"CAST({value} AS STRING)"


def _instant_text(value: str, zone: str) -> str:
    whole = text("yyyy-MM-dd'T'HH:mm:ss" + (f"'{zone}'" if zone else ""))
    exact = text("yyyy-MM-dd'T'HH:mm:ss.SSSSSS" + (f"'{zone}'" if zone else ""))
    return (
        f"CASE WHEN date_trunc('SECOND', {value}) = {value} THEN date_format({value}, {whole}) "
        f"ELSE date_format({value}, {exact}) END"
    )


def double_text(value: str, source: Type) -> str:
    """The shortest text that reads back as the same number, laid out as Python's `repr` does.

    Java before 19 is not always shortest by itself, so 15, 16 and 17 digits (6 to 9 for a float) are tried.
    """
    kind = type_name(source)
    tries = (14, 15, 16) if source.kind == "double" else (5, 6, 7, 8)
    wide = value if source.kind == "double" else f"CAST({value} AS DOUBLE)"
    written = [f"format_string('%.{digits}e', {wide})" for digits in tries]
    shown = written if source.kind == "double" else [_to_even(value, wide, digits) for digits in tries]
    branches = " ".join(
        f"WHEN CAST({text} AS {kind}) = {value} THEN {shown_text}"
        for text, shown_text in zip(written[:-1], shown[:-1], strict=True)
    )
    # Among the smallest numbers a single digit may be enough.
    tried = f"transform(sequence(0, 16), ll_n -> format_string(concat('%.', ll_n, 'e'), {wide}))"
    smallest = f"element_at(filter({tried}, ll_t -> CAST(ll_t AS {kind}) = {value}), 1)"
    least = "2.3e-308D" if source.kind == "double" else "CAST('1.2e-38' AS FLOAT)"
    scientific = f"CASE WHEN {value} <> 0 AND abs({value}) < {least} THEN {smallest} {branches} ELSE {written[-1]} END"
    # digits without the point, and the exponent, of the text as it stands
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN isnan({value}) THEN 'NaN' "
        f"WHEN {value} = CAST('Infinity' AS {kind}) THEN 'Infinity' "
        f"WHEN {value} = CAST('-Infinity' AS {kind}) THEN '-Infinity' "
        f"ELSE element_at(transform(array({scientific}), ll_s -> {_laid_out('ll_s')}), 1) END"
    )


def _to_even(value: str, wide: str, digits: int) -> str:
    """A float in so many decimals. Where two texts are equally near, Java takes the upper one; the even one is ours."""
    text, longer = (f"format_string('%.{number}e', {wide})" for number in (digits, digits + 1))
    lower = f"regexp_replace({longer}, '5e', 'e')"
    is_tie = f"CAST({longer} AS DOUBLE) = {wide} AND {longer} LIKE '%5e%' AND {text} RLIKE '[13579]e'"
    return f"CASE WHEN {is_tie} AND CAST({lower} AS FLOAT) = {value} THEN {lower} ELSE {text} END"


def _laid_out(scientific: str) -> str:
    sign = f"CASE WHEN startswith({scientific}, '-') THEN '-' ELSE '' END"
    mantissa = f"ltrim('-', substring_index({scientific}, 'e', 1))"
    digits = f"rtrim('0', replace({mantissa}, '.', ''))"
    digits = f"CASE WHEN {digits} = '' THEN '0' ELSE {digits} END"
    exponent = f"CAST(substring_index({scientific}, 'e', -1) AS INT)"
    body = (
        "CASE WHEN ll_e < -4 OR ll_e >= 16 THEN concat(left(ll_d, 1), "
        "CASE WHEN length(ll_d) > 1 THEN concat('.', substr(ll_d, 2)) ELSE '' END, 'e', "
        "CASE WHEN ll_e < 0 THEN '-' ELSE '+' END, "
        "CASE WHEN abs(ll_e) < 10 THEN '0' ELSE '' END, CAST(abs(ll_e) AS STRING)) "
        "WHEN ll_e < 0 THEN concat('0.', repeat('0', -ll_e - 1), ll_d) "
        "WHEN length(ll_d) <= ll_e + 1 THEN concat(rpad(ll_d, ll_e + 1, '0'), '.0') "
        "ELSE concat(substr(ll_d, 1, ll_e + 1), '.', substr(ll_d, ll_e + 2)) END"
    )
    inner = f"element_at(zip_with(array({digits}), array({exponent}), (ll_d, ll_e) -> {body}), 1)"
    return f"concat({sign}, {inner})"


# numbers


def _number(value: str, source: Type, to: Type) -> str:
    kind = type_name(to)
    if to.is_integer:
        if source.kind in ("float", "double"):
            wide = value if source.kind == "double" else f"CAST({value} AS DOUBLE)"
            # The upper bound of bigint is not a double; Spark's own check lets 2^63 pass and cuts it.
            return (
                f"CASE WHEN {wide} = rint({wide}) AND {wide} >= -9223372036854775808D "
                f"AND {wide} < 9223372036854775808D THEN try_cast({wide} AS {kind}) END"
            )
        if source.kind == "decimal" and source.scale:
            return f"CASE WHEN {value} % 1 = 0 THEN try_cast({value} AS {kind}) END"
        return f"try_cast({value} AS {kind})"
    if to.kind == "decimal":
        # A float is read by its own shortest text; widened to a double it would show digits it does not have.
        written = double_text(value, source) if source.kind == "float" else value
        cut = f"try_cast({written} AS {kind})"
        if source.kind in ("float", "double"):
            return f"CASE WHEN CAST({cut} AS {type_name(source)}) = {value} THEN {cut} END"
        if source.kind == "decimal" and source.scale > to.scale:
            return f"CASE WHEN {cut} = {value} THEN {cut} END"
        return cut
    if to.kind == "float" and source.kind != "float":
        narrow = f"CAST({value} AS FLOAT)"
        if source.kind == "double":
            infinite = f"abs({value}) < CAST('Infinity' AS DOUBLE) AND abs({narrow}) = CAST('Infinity' AS FLOAT)"
            return f"CASE WHEN {infinite} THEN NULL ELSE {narrow} END"
        return narrow
    return f"CAST({value} AS {kind})"


_OTHERS: dict[tuple[str, str], Callable[[str], str]] = {
    ("date", "timestamp"): lambda v: f"CAST({v} AS TIMESTAMP_LTZ)",
    ("date", "timestamp_ntz"): lambda v: f"CAST({v} AS TIMESTAMP_NTZ)",
    ("timestamp", "date"): lambda v: f"CAST({v} AS DATE)",
    ("timestamp", "timestamp_ntz"): lambda v: f"CAST({v} AS TIMESTAMP_NTZ)",
    ("timestamp_ntz", "date"): lambda v: f"CAST({v} AS DATE)",
    ("timestamp_ntz", "timestamp"): lambda v: f"CAST({v} AS TIMESTAMP_LTZ)",
}


def canonical_text(value: str, source: Type) -> str:
    """The text of a value, as masks and reasons show it."""
    return conversion(value, source, STRING)
