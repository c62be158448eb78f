"""Conversions between nested types and text as Spark SQL: element by element; one that fails fails the whole value.

Spark's JSON reader takes every number with a fraction for a double, and gives texts and parts of documents alike. So
texts and numbers carry marks when it sees them: numbers come out as they were written, and texts are told apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.engines.spark.literals import identifier, text, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.sql.coerce import always_converts
from lakelogic.sql.json_text import texts_of
from lakelogic.sql.types import STRING, Type

Convert: TypeAlias = Callable[[str, Type, Type], str]

STRICT_JSON = "map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false')"
_NUMBER, _TEXT = "\ue000\ue001", "\ue000\ue002"
_CORRUPT = "_corrupt_record"
_SIMPLE = re.compile(r"[A-Za-z_0-9]+|`(?:[^`]|``)*`")
# From where the last match ended: whatever is not looked for, then a text that is a value and no key, or a number.
_TEXTS = text(r'\G((?:[^"]++|"(?:[^"\\]++|\\.)*+"\s*+:)*+)"((?:[^"\\]++|\\.)*+)"')
_NUMBERS = text(r'\G((?:[^"0-9-]++|"(?:[^"\\]++|\\.)*+")*+)(-?[0-9][0-9.eE+-]*+)')
_MARKED_TEXT, _MARKED_NUMBER = (text(f'$1"{mark}$2"').replace("\\u0024", "$") for mark in (_TEXT, _NUMBER))
_BARE = text(f'"{_NUMBER}([^"]*+)"')
_ESCAPE = text(r"\u")
_WHOLE_ESCAPES = text(r"\\(?:[^u]|u(?![dD][89a-fA-F])|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_PAIR = text(r"(\\uD[89AB][0-9A-F]{2}\\uD[C-F][0-9A-F]{2})")


def is_json(value: str) -> str:
    """Whether a text is one document. Half of a surrogate pair is no character, so it is none."""
    # The parser stops after the first value; inside an array with a known end, nothing can hide behind it.
    read = f"coalesce(size(from_json(concat('[', {value}, ',0]'), 'ARRAY<STRING>', {STRICT_JSON})) = 2, FALSE)"
    # A backslash that is left stands before half of a pair.
    half = f"contains(regexp_replace({value}, {_WHOLE_ESCAPES}, ''), {text(chr(92))})"
    return f"({read} AND NOT (contains({value}, {_ESCAPE}) AND {half}))"


def marked(value: str) -> str:
    """A document in which texts carry a mark, and numbers another one and quotes."""
    texts = f"regexp_replace({value}, {_TEXTS}, {_MARKED_TEXT})"
    return f"regexp_replace({texts}, {_NUMBERS}, {_MARKED_NUMBER})"


def unmarked(value: str) -> str:
    """What a text of such a document was: a text, a number as it was written, or compact JSON."""
    size = len(_NUMBER) + 1
    inside = f"replace(regexp_replace({value}, {_BARE}, '$1'), {text(_TEXT)}, '')"
    # Spark escapes characters beyond the first plane when it copies a part of a document.
    decoded = "replace(ll_o, ll_e, get(from_json(concat('[\"', ll_e, '\"]'), 'ARRAY<STRING>'), 0))"
    pairs = f"array_distinct(regexp_extract_all({value}, {_PAIR}))"
    return (
        f"CASE WHEN startswith({value}, {text(_TEXT)}) OR startswith({value}, {text(_NUMBER)}) "
        f"THEN substr({value}, {size}) WHEN startswith({value}, '{{') OR startswith({value}, '[') "
        f"THEN aggregate({pairs}, {inside}, (ll_o, ll_e) -> {decoded}) ELSE {value} END"
    )


def _of_marked(convert: Convert) -> Convert:
    """Conversions of texts that still carry their marks."""
    return lambda value, source, to: bound(unmarked(value), "ll_x", lambda once: convert(once, source, to))


def documents(value: str, texts: Type, *, strict: bool = True) -> str:
    """A text as a value of a type whose scalars are all text, numbers still marked."""
    schema = text(f"v {type_name(texts)}, {_CORRUPT} STRING")
    read = f"from_json(concat('{{\"v\":', {marked(value)}, '}}'), {schema}, {STRICT_JSON})"
    whole = f"CASE WHEN {is_json(value)} THEN {read} END"
    kept = f"CASE WHEN ll_d.{_CORRUPT} IS NULL THEN ll_d.v END" if strict else "ll_d.v"
    return f"get(transform(array({whole}), ll_d -> {kept}), 0)"


def from_json(value: str, to: Type, convert: Convert) -> str:
    """A document as a value, with NULL in place of a struct's field that does not fit."""
    return bound(value, "ll_u", lambda once: _read(once, to, convert, lenient=True))


def _read(value: str, to: Type, convert: Convert, *, lenient: bool) -> str:
    """A text as a value. Spark's reader finds fields by their exact names; other spellings take a slower way."""
    texts = texts_of(to)
    converted = element_wise("ll_v", texts, to, _of_marked(convert), lenient=lenient, in_order=True)
    quick = f"get(transform(array({documents(value, texts, strict=not lenient)}), ll_v -> {converted}), 0)"
    fields = _fields(to)
    if not fields:
        return quick
    slow = bound(marked(value), "ll_k", lambda once: _part_by_part(once, to, convert, lenient=lenient))
    if len({field.lower() for field in fields}) < len(fields):
        return f"CASE WHEN {is_json(value)} THEN {slow} END"
    either = "|".join(re.escape(field) for field in sorted(fields))
    other = text(f'"(?!(?:{either})")(?iu:{either})"\\s*:')
    odd = f"(rlike({value}, {other}) OR contains({value}, {_ESCAPE}))"
    return f"CASE WHEN {odd} THEN CASE WHEN {is_json(value)} THEN {slow} END ELSE {quick} END"


def _fields(type_: Type) -> set[str]:
    """The names of the fields of all structs in a type."""
    inner = [type_.element, *(field for _, field in type_.fields)]
    return {field for field, _ in type_.fields}.union(*(_fields(part) for part in inner if part is not None))


def _part_by_part(value: str, to: Type, convert: Convert, *, lenient: bool) -> str:
    """A marked text as a value, one level after the other: fields are found without case, and the last one wins."""

    def inner(part: str, source: Type, wanted: Type) -> str:
        if wanted.is_nested:
            return _part_by_part(part, wanted, convert, lenient=lenient)
        return _of_marked(convert)(part, source, wanted)

    if to.kind == "array":
        source = Type("array", element=STRING)
        parts = f"from_json({value}, 'ARRAY<STRING>', {STRICT_JSON})"
    else:
        source = Type("map", key=STRING, element=STRING)
        parts = f"from_json({value}, 'MAP<STRING,STRING>', {STRICT_JSON})"
    if to.kind == "struct":
        source = Type("struct", fields=tuple((field, STRING) for field, _ in to.fields))
        fields = ", ".join(
            f"{text(field)}, try_element_at(filter(ll_m, ll_y -> lower(ll_y.key) = {text(field.lower())}), -1).value"
            for field, _ in to.fields
        )
        named = f"CASE WHEN ll_m IS NOT NULL THEN named_struct({fields}) END"
        parts = f"get(transform(array(map_entries({parts})), ll_m -> {named}), 0)"
    converted = element_wise("ll_i", source, to, inner, lenient=lenient, in_order=True)
    return f"get(transform(array({parts}), ll_i -> {converted}), 0)"


def at_path(value: str, path: Sequence[str | int]) -> str:
    """The text of the value at a path into a document."""
    return bound(value, "ll_u", lambda once: _at_path(once, path))


def _at_path(value: str, path: Sequence[str | int]) -> str:
    # A text that looks like a document is never walked into: its mark is no JSON.
    value_sql = f"get(from_json(concat('[', {marked(value)}, ']'), 'ARRAY<STRING>', {STRICT_JSON}), 0)"
    for step in path:
        if isinstance(step, int):
            value_sql = f"get(from_json({value_sql}, 'ARRAY<STRING>', {STRICT_JSON}), {step})"
        else:
            value_sql = f"try_element_at(from_json({value_sql}, 'MAP<STRING,STRING>', {STRICT_JSON}), {text(step)})"
    return bound(f"CASE WHEN {is_json(value)} THEN {value_sql} END", "ll_p", unmarked)


def nested_to_type(value: str, source: Type, to: Type, convert: Convert) -> str:
    """The SQL for a value as another type, where one of the two is nested; `convert` is for what is inside."""
    if source.is_text:
        return bound(value, "ll_u", lambda once: _read(once, to, convert, lenient=False))
    if to.is_text:
        return bound(value, "ll_w", lambda once: json_sql(once, source, convert))
    return bound(value, "ll_w", lambda once: element_wise(once, source, to, convert))


def bound(value: str, name_: str, make: Callable[[str], str]) -> str:
    """What `make` writes over a value, which is computed once however often it is used."""
    if _SIMPLE.fullmatch(value):
        return make(value)
    return f"get(transform(array({value}), {name_} -> {make(name_)}), 0)"


def element_wise(
    value: str,
    source: Type,
    to: Type,
    convert: Convert,
    *,
    lenient: bool = False,
    in_order: bool = False,
    depth: int = 0,
) -> str:
    """Arrays and maps by their elements, structs by field name; when lenient, a struct keeps what fits.

    Keys of a map that become equal are settled in the order of the entries (`in_order`), or of the keys.
    """
    if not source.is_nested and (source.is_text or not to.is_nested):
        return convert(value, source, to)
    if source == to and not lenient and not _has_text(source):
        return value
    if source.kind == "null":
        return f"CAST(NULL AS {type_name(to)})"
    if source.kind != to.kind:
        raise UnsupportedError(f"A conversion from {source} to {to} is not available on Spark.")
    if to.kind == "array":
        return _array(value, source, to, convert, lenient, in_order, depth)
    if to.kind == "struct":
        return _struct(value, source, to, convert, lenient, in_order, depth)
    return _map(value, source, to, convert, lenient, in_order, depth)


def _has_text(type_: Type) -> bool:
    """Whether there is text inside, which may still be marked."""
    parts = [type_.key, type_.element, *(field for _, field in type_.fields)]
    return type_.is_text or any(part is not None and _has_text(part) for part in parts)


def _array(
    value: str,
    source: Type,
    to: Type,
    convert: Convert,
    lenient: bool,
    in_order: bool,
    depth: int,
    *,
    entries: bool = False,
) -> str:
    assert source.element is not None
    assert to.element is not None
    item = f"ll_c{depth}"
    inner = (
        _struct(item, source.element, to.element, convert, lenient, in_order, depth + 1, entry=True)
        if entries
        else element_wise(
            item, source.element, to.element, convert, lenient=lenient, in_order=in_order, depth=depth + 1
        )
    )
    converted = f"transform({value}, {item} -> {inner})"
    if always_converts(source.element, to.element):
        return converted
    # Equally many NULLs before and after: no value was lost.
    nulls = [f"size(filter({values}, {item} -> {item} IS NULL))" for values in (f"ll_a{depth}", value)]
    kept = f"CASE WHEN {nulls[0]} = {nulls[1]} THEN ll_a{depth} END"
    return f"get(transform(array({converted}), ll_a{depth} -> {kept}), 0)"


def _struct(
    value: str,
    source: Type,
    to: Type,
    convert: Convert,
    lenient: bool,
    in_order: bool,
    depth: int,
    *,
    entry: bool = False,
) -> str:
    parts, lost = [], []
    for field, kind in to.fields:
        match = source.field(field)
        if match is None:
            parts.append(f"{text(field)}, CAST(NULL AS {type_name(kind)})")
            continue
        old = f"({value}).{identifier(match[0])}"
        new = element_wise(old, match[1], kind, convert, lenient=lenient, in_order=in_order, depth=depth)
        parts.append(f"{text(field)}, {new}")
        if (entry or not lenient) and not always_converts(match[1], kind):
            lost.append(f"({old} IS NOT NULL AND ll_s{depth}.{identifier(field)} IS NULL)")
    struct_sql = f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    if not lost:
        return struct_sql
    kept = f"CASE WHEN {' OR '.join(lost)} THEN NULL ELSE ll_s{depth} END"
    return f"get(transform(array({struct_sql}), ll_s{depth} -> {kept}), 0)"


def _map(value: str, source: Type, to: Type, convert: Convert, lenient: bool, in_order: bool, depth: int) -> str:
    old, new = (
        Type("array", element=Type("struct", fields=(("key", kind.key or STRING), ("value", kind.element or STRING))))
        for kind in (source, to)
    )
    entries = f"map_entries({value})" if in_order else sorted_entries(value)
    # A key or a value that does not fit fails the map, lenient or not.
    converted = _array(entries, old, new, convert, lenient, in_order, depth, entries=True)
    return f"map_from_entries({converted})"


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
            inner = json_sql(f"({value}).{identifier(field)}", kind, convert, depth)
            parts.append(f"{json_quoted(text(field))}, ':', coalesce({inner}, 'null')")
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
