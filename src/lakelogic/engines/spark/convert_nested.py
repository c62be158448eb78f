"""Conversions between nested types and text as Spark SQL: element by element; one that fails fails the whole value.

Spark's JSON reader takes every number with a fraction for a double. So numbers are put into quotes, behind a mark,
before it sees them, and come out as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.engines.spark.text import name, quoted, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.coerce import always_converts
from lakelogic.sql.json_text import texts_of
from lakelogic.sql.types import STRING, Type

Convert: TypeAlias = Callable[[str, Type, Type], str]

STRICT_JSON = "map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false')"
_MARK = "\ue000\ue001"
_CORRUPT = "_corrupt_record"
# From where the last match ended: whole strings and whatever is no number, then a number.
_NUMBERS = quoted(r'\G((?:[^"0-9-]++|"(?:[^"\\]++|\\.)*+")*+)(-?[0-9][0-9.eE+-]*+)')
_MARKED = quoted('$1"' + _MARK + '$2"').replace("\\u0024", "$")
_TEXT_MARK = "\ue000\ue002"
# The same for texts that are values, not keys.
_STRINGS = quoted(r'\G((?:[^"]++|"(?:[^"\\]++|\\.)*+"\s*+:)*+)"((?:[^"\\]++|\\.)*+)"')
_MARKED_TEXT = quoted('$1"' + _TEXT_MARK + '$2"').replace("\\u0024", "$")
_BARE = quoted('"' + _MARK + '([^"]*+)"')


def is_json(value: str) -> str:
    """Whether a text is one document."""
    # The parser stops after the first value; inside an array with a known end, nothing can hide behind it.
    return f"coalesce(size(from_json(concat('[', {value}, ',0]'), 'ARRAY<STRING>', {STRICT_JSON})) = 2, FALSE)"


def marked_numbers(value: str) -> str:
    """A document with its numbers in quotes and marked."""
    return f"regexp_replace({value}, {_NUMBERS}, {_MARKED})"


def unmarked(value: str) -> str:
    """A text of such a document as it was: a number alone, or the numbers inside an object or array."""
    inside = f"regexp_replace({value}, {_BARE}, '$1')"
    return (
        f"CASE WHEN contains({value}, {quoted(_MARK)}) THEN "
        f"CASE WHEN startswith({value}, {quoted(_MARK)}) THEN substr({value}, {len(_MARK) + 1}) ELSE {inside} END "
        f"ELSE {value} END"
    )


def documents(value: str, texts: Type, *, strict: bool = True) -> str:
    """A text as a value of a type whose scalars are all text, numbers still marked."""
    schema = quoted(f"v {type_name(texts)}, {_CORRUPT} STRING")
    read = f"from_json(concat('{{\"v\":', {marked_numbers(value)}, '}}'), {schema}, {STRICT_JSON})"
    whole = f"CASE WHEN {is_json(value)} THEN {read} END"
    kept = f"CASE WHEN ll_d.{_CORRUPT} IS NULL THEN ll_d.v END" if strict else "ll_d.v"
    return f"get(transform(array({whole}), ll_d -> {kept}), 0)"


def from_json(value: str, to: Type, convert: Convert) -> str:
    """A document as a value, with NULL in place of a struct's field that does not fit."""
    texts = texts_of(to)
    made = element_wise("ll_v", texts, to, lambda v, s, t: convert(unmarked(v), s, t), lenient=True)
    return f"get(transform(array({documents(value, texts, strict=False)}), ll_v -> {made}), 0)"


def at_path(value: str, path: Sequence[str | int]) -> str:
    """The text of the value at a path into a document."""
    # Texts are marked too, so that one which looks like a document is never walked into.
    marked = f"regexp_replace({marked_numbers(value)}, {_STRINGS}, {_MARKED_TEXT})"
    found = f"get(from_json(concat('[', {marked}, ']'), 'ARRAY<STRING>', {STRICT_JSON}), 0)"
    for step in path:
        if isinstance(step, int):
            found = f"get(from_json({found}, 'ARRAY<STRING>', {STRICT_JSON}), {step})"
        else:
            found = f"try_element_at(from_json({found}, 'MAP<STRING,STRING>', {STRICT_JSON}), {quoted(step)})"
    bare = f"replace(CASE WHEN {is_json(value)} THEN {found} END, {quoted(_TEXT_MARK)}, '')"
    return f"get(transform(array({bare}), ll_p -> {unmarked('ll_p')}), 0)"


def nested_to_type(value: str, source: Type, to: Type, convert: Convert) -> str:
    """The SQL for a value as another type, where one of the two is nested; `convert` is for what is inside."""
    if source.is_text:
        texts = texts_of(to)
        read = documents(value, texts)
        made = element_wise("ll_v", texts, to, lambda v, s, t: convert(unmarked(v), s, t))
        return f"get(transform(array({read}), ll_v -> {made}), 0)"
    if to.is_text:
        return json_sql(value, source, convert)
    return element_wise(value, source, to, convert)


def element_wise(value: str, source: Type, to: Type, convert: Convert, *, lenient: bool = False, depth: int = 0) -> str:
    """Arrays and maps by their elements, structs by field name; when lenient, a struct keeps
    what fits."""
    if not source.is_nested and not to.is_nested:
        return convert(value, source, to)
    if source == to and not lenient and not _has_text(source):
        return value
    if source.kind == "null":
        return f"CAST(NULL AS {type_name(to)})"
    if source.kind != to.kind:
        raise UnsupportedError(f"A conversion from {source} to {to} is not available on Spark.")
    if to.kind == "array":
        return _array(value, source, to, convert, lenient, depth)
    if to.kind == "struct":
        return _struct(value, source, to, convert, lenient, depth)
    return _map(value, source, to, convert, lenient, depth)


def _has_text(type_: Type) -> bool:
    """Whether there is text inside, which may still be marked."""
    parts = [type_.key, type_.element, *(field for _, field in type_.fields)]
    return type_.is_text or any(part is not None and _has_text(part) for part in parts)


def _array(value: str, source: Type, to: Type, convert: Convert, lenient: bool, depth: int) -> str:
    assert source.element is not None
    assert to.element is not None
    item = f"ll_c{depth}"
    inner = element_wise(item, source.element, to.element, convert, lenient=lenient, depth=depth + 1)
    made = f"transform({value}, {item} -> {inner})"
    if always_converts(source.element, to.element):
        return made
    # Equally many NULLs before and after: no value was lost.
    nulls = [f"size(filter({values}, {item} -> {item} IS NULL))" for values in (f"ll_a{depth}", value)]
    kept = f"CASE WHEN {nulls[0]} = {nulls[1]} THEN ll_a{depth} END"
    return f"get(transform(array({made}), ll_a{depth} -> {kept}), 0)"


def _struct(value: str, source: Type, to: Type, convert: Convert, lenient: bool, depth: int) -> str:
    parts, lost = [], []
    for field, kind in to.fields:
        found = source.field(field)
        if found is None:
            parts.append(f"{quoted(field)}, CAST(NULL AS {type_name(kind)})")
            continue
        old = f"({value}).{name(found[0])}"
        new = element_wise(old, found[1], kind, convert, lenient=lenient, depth=depth)
        parts.append(f"{quoted(field)}, {new}")
        if not lenient and not always_converts(found[1], kind):
            lost.append(f"({old} IS NOT NULL AND ll_s{depth}.{name(field)} IS NULL)")
    made = f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    if not lost:
        return made
    return (
        f"get(transform(array({made}), ll_s{depth} -> CASE WHEN {' OR '.join(lost)} THEN NULL ELSE ll_s{depth} END), 0)"
    )


def _map(value: str, source: Type, to: Type, convert: Convert, lenient: bool, depth: int) -> str:
    old, new = (
        Type("array", element=Type("struct", fields=(("key", kind.key or STRING), ("value", kind.element or STRING))))
        for kind in (source, to)
    )
    made = element_wise(sorted_entries(value), old, new, convert, lenient=lenient, depth=depth)
    return f"map_from_entries({made})"


def sorted_entries(value: str) -> str:
    """The entries of a map in order of their keys."""
    order = "CASE WHEN ll_l.key < ll_r.key THEN -1 WHEN ll_l.key > ll_r.key THEN 1 ELSE 0 END"
    return f"array_sort(map_entries({value}), (ll_l, ll_r) -> {order})"


# text


def json_sql(value: str, source: Type, convert: Convert, depth: int = 0) -> str:
    """A value as compact JSON: numbers and booleans bare, everything else quoted, maps in order of their keys."""
    item = f"ll_j{depth}"
    if source.kind == "array":
        assert source.element is not None
        inner = f"coalesce({json_sql(item, source.element, convert, depth + 1)}, 'null')"
        return f"concat('[', array_join(transform({value}, {item} -> {inner}), ','), ']')"
    if source.kind == "struct":
        parts = []
        for field, kind in source.fields:
            inner = json_sql(f"({value}).{name(field)}", kind, convert, depth)
            parts.append(f"{json_quoted(quoted(field))}, ':', coalesce({inner}, 'null')")
        joined = ", ',', ".join(parts)
        return f"CASE WHEN {value} IS NOT NULL THEN concat('{{', {joined}, '}}') END"
    if source.kind == "map":
        assert source.key is not None
        assert source.element is not None
        key = json_quoted(convert(f"{item}.key", source.key, STRING))
        inner = f"coalesce({json_sql(f'{item}.value', source.element, convert, depth + 1)}, 'null')"
        entries = f"transform({sorted_entries(value)}, {item} -> concat({key}, ':', {inner}))"
        return f"concat('{{', array_join({entries}, ','), '}}')"
    written = value if source.is_text else convert(value, source, STRING)
    if source.kind in ("float", "double"):
        infinite = f"abs({value}) = CAST('Infinity' AS {type_name(source)})"
        return f"CASE WHEN isnan({value}) OR {infinite} THEN concat('\"', {written}, '\"') ELSE {written} END"
    if source.is_number or source.kind in ("boolean", "json"):
        return written
    return json_quoted(written)


def json_quoted(value: str) -> str:
    """A text as a JSON string; Spark quotes inside documents only."""
    return (
        f"get(transform(array({value}), ll_q -> substr(to_json(array(ll_q)), 2, length(to_json(array(ll_q))) - 2)), 0)"
    )
