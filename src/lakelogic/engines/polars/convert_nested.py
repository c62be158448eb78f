"""`convert` between nested types and text on Polars: element by element; one that fails fails the whole value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.polars.functions.by_element import flat, regrouped
from lakelogic.engines.polars.literals import dtype
from lakelogic.errors import UnsupportedError
from lakelogic.sql.coerce import always_converts
from lakelogic.sql.json_text import quoted, read, texts_of
from lakelogic.sql.types import STRING, Type, array, struct

Convert: TypeAlias = Callable[[pl.Expr, Type, Type], pl.Expr]


def nested_to_type(value: pl.Expr, source: Type, to: Type, convert: Convert) -> pl.Expr:
    """The expression for a value as another type, where one of the two is nested; `convert` is for what is inside."""

    def apply(values: pl.Series) -> pl.Series:
        if source.is_text:
            texts = _read(values, to, lenient=False)
            return element_wise(texts, texts_of(to), to, convert, in_order=True)
        if to.is_text:
            return _written(element_wise(values, source, texts_of(source), convert), source)
        return element_wise(values, source, to, convert)

    return value.map_batches(apply, return_dtype=dtype(to), is_elementwise=True)


def from_json(value: pl.Expr, to: Type, convert: Convert) -> pl.Expr:
    """A document as a value, with NULL in place of whatever in it does not fit."""

    def apply(values: pl.Series) -> pl.Series:
        return element_wise(_read(values, to, lenient=True), texts_of(to), to, convert, lenient=True, in_order=True)

    return value.map_batches(apply, return_dtype=dtype(to), is_elementwise=True)


def _read(values: pl.Series, to: Type, *, lenient: bool) -> pl.Series:
    documents = [None if text is None else read(text, to, lenient=lenient) for text in values.to_list()]
    return _column(documents, texts_of(to)).alias(values.name)


def _column(values: list[Any], type_: Type) -> pl.Series:
    """Python values as a series: level by level, because Polars is slow to take nested objects apart."""
    if not type_.is_nested:
        return pl.Series("x", values, dtype=pl.String)
    missing = pl.Series("x", [value is None for value in values], dtype=pl.Boolean)
    if type_.kind == "struct":
        parts = [
            _column([None if value is None else value[name] for value in values], field).alias(name)
            for name, field in type_.fields
        ]
        return _unless(missing, pl.DataFrame(parts).to_struct("x"))
    assert type_.element is not None
    sizes = pl.Series("x", [0 if value is None else len(value) for value in values], dtype=pl.Int64)
    if type_.kind == "array":
        items = _column([item for value in values if value is not None for item in value], type_.element)
        return regrouped(items, sizes, missing, dtype(type_))
    present = [value for value in values if value is not None]
    keys = _column([key for value in present for key in value], STRING)
    items = _column([item for value in present for item in value.values()], type_.element)
    entries = pl.DataFrame([keys.alias("key"), items.alias("value")]).to_struct("x")
    return regrouped(entries, sizes, missing).cast(dtype(type_))


def _written(texts: pl.Series, source: Type) -> pl.Series:
    """Values whose scalars are text already as JSON; NULL stays NULL."""
    if source.kind == "array":
        assert source.element is not None
        inner = _written(flat(texts), source.element).fill_null("null")
        joined = regrouped(inner, texts.list.len(), texts.is_null(), pl.List(pl.String)).list.join(",")
        return "[" + joined + "]"
    if source.kind == "struct":
        parts = [
            quoted(name) + ":" + _written(texts.struct.field(name), field).fill_null("null")
            for name, field in source.fields
        ]
        whole = pl.select(pl.concat_str(parts, separator=",")).to_series()
        return _unless(texts.is_null(), "{" + whole + "}")
    if source.kind == "map":
        assert source.key is not None
        element = texts_of(source).element or STRING
        entries = texts.cast(dtype(array(struct(("key", STRING), ("value", element)))))
        # Keys that are no text were put in their own order before they became one.
        entries = entries.list.sort() if source.key.is_text else entries
        both = flat(entries).struct.unnest()
        keys, items = _quoted(both.get_column("key")), _written(both.get_column("value"), source.element or STRING)
        pairs = keys + ":" + items.fill_null("null")
        joined = regrouped(pairs, entries.list.len(), entries.is_null(), pl.List(pl.String)).list.join(",")
        return "{" + joined + "}"
    if source.kind == "boolean" or (source.is_number and source.kind not in ("float", "double")):
        return texts
    if source.is_number:
        odd = texts.is_in(["NaN", "Infinity", "-Infinity"])
        return pl.select(pl.when(odd).then(_quoted(texts)).otherwise(texts)).to_series()
    return _quoted(texts)


def _quoted(texts: pl.Series) -> pl.Series:
    """JSON strings; only texts that hold something to escape are looked at one by one."""
    plain = '"' + texts + '"'
    positions = texts.str.contains(r'["\\\x00-\x1f]').fill_null(False).arg_true()
    if not len(positions):
        return plain
    return plain.scatter(positions, [quoted(texts[index]) for index in positions.to_list()])


def element_wise(
    values: pl.Series, source: Type, to: Type, convert: Convert, *, lenient: bool = False, in_order: bool = False
) -> pl.Series:
    """Arrays and maps by their elements, structs by field name; when lenient, a struct keeps what fits.

    Keys of a map that become equal are settled in the order of the entries (`in_order`), or of the keys.
    """
    if source == to:
        return values
    if source.kind == "null":
        return pl.Series(values.name, [None], dtype=dtype(to)).new_from_index(0, len(values))
    if not source.is_nested and not to.is_nested:
        frame = pl.DataFrame({"x": values})
        return frame.with_columns(convert(pl.col("x"), source, to).alias("y")).get_column("y").cast(dtype(to))
    if source.kind != to.kind:
        raise UnsupportedError(f"Polars cannot convert {source} to {to}.")
    if to.kind == "array":
        return _array(values, source, to, convert, lenient, in_order)
    if to.kind == "struct":
        return _struct(values, source, to, convert, lenient, in_order)
    return _map(values, source, to, convert, lenient, in_order)


def _array(
    values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool, in_order: bool, *, entries: bool = False
) -> pl.Series:
    assert source.element is not None
    assert to.element is not None
    old = flat(values)
    new = (
        _struct(old, source.element, to.element, convert, lenient, in_order, entry=True)
        if entries
        else element_wise(old, source.element, to.element, convert, lenient=lenient, in_order=in_order)
    )
    sizes, missing = values.list.len(), values.is_null()
    converted = regrouped(new, sizes, missing, dtype(to))
    if always_converts(source.element, to.element):
        return converted
    lost = regrouped(old.is_not_null() & new.is_null(), sizes, missing).list.any().fill_null(False)
    return _unless(lost, converted)


def _struct(
    values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool, in_order: bool, *, entry: bool = False
) -> pl.Series:
    lost = values.is_null()
    parts = []
    for name, type_ in to.fields:
        match = source.field(name)
        if match is None:
            parts.append(pl.Series(name, [None], dtype=dtype(type_)).new_from_index(0, len(values)))
            continue
        old = values.struct.field(match[0])
        new = element_wise(old, match[1], type_, convert, lenient=lenient, in_order=in_order)
        parts.append(new.alias(name))
        if entry or not lenient:
            lost |= old.is_not_null() & new.is_null()
    return _unless(lost, pl.DataFrame(parts).to_struct(values.name))


def _map(values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool, in_order: bool) -> pl.Series:
    old, new = (
        Type("array", element=Type("struct", fields=(("key", kind.key or STRING), ("value", kind.element or STRING))))
        for kind in (source, to)
    )
    entries = values.cast(dtype(old))
    entries = entries if in_order else entries.list.sort()
    # A key or a value that does not fit fails the map, lenient or not.
    converted = _array(entries, old, new, convert, lenient, in_order, entries=True)
    return converted.cast(dtype(to))


def _unless(lost: pl.Series, values: pl.Series) -> pl.Series:
    if not lost.any():
        return values
    return pl.select(pl.when(~lost).then(values)).to_series().alias(values.name)
