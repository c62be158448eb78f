"""`convert` between nested types and text on DuckDB: element by element; one that fails fails the whole value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from lakelogic.engines.duckdb.literals import cast, identifier, text
from lakelogic.errors import UnsupportedError
from lakelogic.sql.coerce import always_converts
from lakelogic.sql.json_text import texts_of
from lakelogic.sql.types import STRING, Type

Convert: TypeAlias = Callable[[str, Type, Type], str]

RESHAPE_FUNCTION = "ll_json_reshaped"
READ_FUNCTION = "ll_json_read"
_SIMPLE = re.compile(r'"(?:[^"]|"")*"')


def nested_to_type(sql: str, source: Type, to: Type, convert: Convert) -> str:
    """The SQL for a value as another type, where one of the two is nested; `convert` is for what is inside."""
    if source.is_text:
        texts = texts_of(to)
        read = _documents(sql, to, texts, RESHAPE_FUNCTION)
        return bound(read, "~v", lambda once: element_wise(once, texts, to, convert, in_order=True))
    if to.is_text:
        return bound(sql, "~w", lambda once: json_sql(once, source, convert))
    return bound(sql, "~w", lambda once: element_wise(once, source, to, convert))


def bound(sql: str, name: str, make: Callable[[str], str]) -> str:
    """What `make` writes over a value, which is computed once however often it is used."""
    if _SIMPLE.fullmatch(sql):
        return make(sql)
    return f"list_extract(list_transform([{sql}], lambda {identifier(name)}: {make(identifier(name))}), 1)"


def from_json(sql: str, to: Type, convert: Convert) -> str:
    """A document as a value, with NULL in place of whatever in it does not fit."""
    texts = texts_of(to)
    read = _documents(sql, to, texts, READ_FUNCTION)
    return bound(read, "~v", lambda once: element_wise(once, texts, to, convert, lenient=True, in_order=True))


def _documents(sql: str, to: Type, texts: Type, function: str) -> str:
    """DuckDB reads numbers as doubles, so Python puts each into quotes as it was written."""
    return cast(cast(f"{function}({sql}, {text(str(to))})", "JSON"), texts)


def element_wise(
    sql: str, source: Type, to: Type, convert: Convert, *, lenient: bool = False, in_order: bool = False, depth: int = 0
) -> str:
    """Arrays and maps by their elements, structs by field name; when lenient, a struct keeps what fits.

    Keys of a map that become equal are settled in the order of the entries (`in_order`), or of the keys.
    """
    if source == to:
        return sql
    if source.kind == "null":
        return cast("NULL", to)
    if not source.is_nested and not to.is_nested:
        return convert(sql, source, to)
    if source.kind != to.kind:
        raise UnsupportedError(f"DuckDB cannot convert {source} to {to}.")
    if to.kind == "array":
        return _array(sql, source, to, convert, lenient, in_order, depth)
    if to.kind == "struct":
        return _struct(sql, source, to, convert, lenient, in_order, depth)
    return _map(sql, source, to, convert, lenient, in_order, depth)


def _array(
    sql: str,
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
    name = identifier(f"~c{depth}")
    inner = (
        _struct(name, source.element, to.element, convert, lenient, in_order, depth + 1, entry=True)
        if entries
        else element_wise(
            name, source.element, to.element, convert, lenient=lenient, in_order=in_order, depth=depth + 1
        )
    )
    converted = f"list_transform({sql}, lambda {name}: {inner})"
    if always_converts(source.element, to.element):
        return converted
    # Equally many values before and after: none was lost. An empty array counts nothing.
    return f"CASE WHEN list_count({converted}) IS NOT DISTINCT FROM list_count({sql}) THEN {converted} END"


def _struct(
    sql: str,
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
    for name, type_ in to.fields:
        match = source.field(name)
        if match is None:
            parts.append(f"{identifier(name)} := {cast('NULL', type_)}")
            continue
        old = f"struct_extract({sql}, {text(match[0])})"
        new = element_wise(old, match[1], type_, convert, lenient=lenient, in_order=in_order, depth=depth)
        parts.append(f"{identifier(name)} := {new}")
        if (entry or not lenient) and not always_converts(match[1], type_):
            lost.append(f"({old} IS NOT NULL AND {new} IS NULL)")
    failed = f" OR {' OR '.join(lost)}" if lost else ""
    return f"CASE WHEN {sql} IS NULL{failed} THEN NULL ELSE struct_pack({', '.join(parts)}) END"


def _map(sql: str, source: Type, to: Type, convert: Convert, lenient: bool, in_order: bool, depth: int) -> str:
    from lakelogic.engines.duckdb.functions.nested import unique_entries

    old, new = (
        Type("array", element=Type("struct", fields=(("key", kind.key or STRING), ("value", kind.element or STRING))))
        for kind in (source, to)
    )
    entries = f"map_entries({sql})" if in_order else f"list_sort(map_entries({sql}), 'ASC', 'NULLS LAST')"
    # A key or a value that does not fit fails the map, lenient or not.
    converted = _array(entries, old, new, convert, lenient, in_order, depth, entries=True)
    return unique_entries(converted, f"m{depth}")


# text


def json_sql(sql: str, source: Type, convert: Convert, depth: int = 0) -> str:
    """A value as compact JSON: numbers and booleans bare, everything else quoted, maps in order of their keys."""
    if source.kind == "array":
        assert source.element is not None
        name = identifier(f"~j{depth}")
        inner = json_sql(name, source.element, convert, depth + 1)
        items = f"list_transform({sql}, lambda {name}: coalesce({inner}, 'null'))"
        return f"CASE WHEN {sql} IS NOT NULL THEN '[' || coalesce(array_to_string({items}, ','), '') || ']' END"
    if source.kind == "struct":
        parts = []
        for name, type_ in source.fields:
            inner = json_sql(f"struct_extract({sql}, {text(name)})", type_, convert, depth)
            parts.append(f"{cast(f'to_json({text(name)})', 'VARCHAR')} || ':' || coalesce({inner}, 'null')")
        joined = " || ',' || ".join(parts)
        return f"CASE WHEN {sql} IS NOT NULL THEN '{{' || {joined} || '}}' END"
    if source.kind == "map":
        assert source.key is not None
        assert source.element is not None
        name = identifier(f"~j{depth}")
        key = convert(f"struct_extract({name}, 'key')", source.key, STRING)
        value = json_sql(f"struct_extract({name}, 'value')", source.element, convert, depth + 1)
        entry = f"{cast(f'to_json({key})', 'VARCHAR')} || ':' || coalesce({value}, 'null')"
        entries = f"list_sort(map_entries({sql}), 'ASC', 'NULLS LAST')"
        items = f"list_transform({entries}, lambda {name}: {entry})"
        return f"CASE WHEN {sql} IS NOT NULL THEN '{{' || coalesce(array_to_string({items}, ','), '') || '}}' END"
    written = convert(sql, source, STRING) if source.kind != "string" else sql
    if source.kind in ("float", "double"):
        return f"CASE WHEN isfinite({sql}) THEN {written} ELSE '\"' || {written} || '\"' END"
    if source.is_number or source.kind in ("boolean", "json"):
        return written
    return cast(f"to_json({written})", "VARCHAR")
