"""`convert` between nested types and text on Polars: element by element; one that fails fails the whole value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import polars as pl

from lakelogic.engines.polars.by_element import flat, regrouped
from lakelogic.engines.polars.literals import dtype
from lakelogic.errors import UnsupportedError
from lakelogic.sql.coerce import always_converts
from lakelogic.sql.json_text import read, texts_of, write
from lakelogic.sql.types import STRING, Type

Convert: TypeAlias = Callable[[pl.Expr, Type, Type], pl.Expr]


def nested_to_type(value: pl.Expr, source: Type, to: Type, convert: Convert) -> pl.Expr:
    """The expression for a value as another type, where one of the two is nested; `convert` is for what is inside."""

    def apply(values: pl.Series) -> pl.Series:
        if source.is_text:
            texts = _read(values, to, lenient=False)
            return element_wise(texts, texts_of(to), to, convert)
        if to.is_text:
            return _written(element_wise(values, source, texts_of(source), convert), source)
        return element_wise(values, source, to, convert)

    return value.map_batches(apply, return_dtype=dtype(to), is_elementwise=True)


def from_json(value: pl.Expr, to: Type, convert: Convert) -> pl.Expr:
    """A document as a value, with NULL in place of whatever in it does not fit."""

    def apply(values: pl.Series) -> pl.Series:
        return element_wise(_read(values, to, lenient=True), texts_of(to), to, convert, lenient=True)

    return value.map_batches(apply, return_dtype=dtype(to), is_elementwise=True)


def _read(values: pl.Series, to: Type, *, lenient: bool) -> pl.Series:
    found = [None if text is None else read(text, to, lenient=lenient) for text in values.to_list()]
    return pl.Series(values.name, found, dtype=dtype(texts_of(to)))


def _written(texts: pl.Series, source: Type) -> pl.Series:
    found = [None if value is None else write(value, source) for value in texts.to_list()]
    return pl.Series(texts.name, found, dtype=pl.String)


def element_wise(values: pl.Series, source: Type, to: Type, convert: Convert, *, lenient: bool = False) -> pl.Series:
    """Arrays and maps by their elements, structs by field name; when lenient, a struct keeps
    what fits."""
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
        return _array(values, source, to, convert, lenient)
    if to.kind == "struct":
        return _struct(values, source, to, convert, lenient)
    return _map(values, source, to, convert, lenient)


def _array(
    values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool, *, entries: bool = False
) -> pl.Series:
    assert source.element is not None
    assert to.element is not None
    old = flat(values)
    new = (
        _struct(old, source.element, to.element, convert, lenient, entry=True)
        if entries
        else element_wise(old, source.element, to.element, convert, lenient=lenient)
    )
    sizes, missing = values.list.len(), values.is_null()
    made = regrouped(new, sizes, missing, dtype(to))
    if always_converts(source.element, to.element):
        return made
    lost = regrouped(old.is_not_null() & new.is_null(), sizes, missing).list.any().fill_null(False)
    return _unless(lost, made)


def _struct(
    values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool, *, entry: bool = False
) -> pl.Series:
    lost = values.is_null()
    parts = []
    for name, type_ in to.fields:
        found = source.field(name)
        if found is None:
            parts.append(pl.Series(name, [None], dtype=dtype(type_)).new_from_index(0, len(values)))
            continue
        old = values.struct.field(found[0])
        new = element_wise(old, found[1], type_, convert, lenient=lenient)
        parts.append(new.alias(name))
        if entry or not lenient:
            lost |= old.is_not_null() & new.is_null()
    return _unless(lost, pl.DataFrame(parts).to_struct(values.name))


def _map(values: pl.Series, source: Type, to: Type, convert: Convert, lenient: bool) -> pl.Series:
    old, new = (
        Type("array", element=Type("struct", fields=(("key", kind.key or STRING), ("value", kind.element or STRING))))
        for kind in (source, to)
    )
    entries = values.cast(dtype(old)).list.sort()
    # A key or a value that does not fit fails the map, lenient or not.
    made = _array(entries, old, new, convert, lenient, entries=True)
    return made.cast(dtype(to))


def _unless(lost: pl.Series, made: pl.Series) -> pl.Series:
    if not lost.any():
        return made
    return pl.select(pl.when(~lost).then(made)).to_series().alias(made.name)
