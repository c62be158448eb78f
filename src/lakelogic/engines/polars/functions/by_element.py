"""Work on the elements of arrays: a frame with a row per element, an expression over it, and back to arrays.

Each function takes and gives a series, batch by batch. Where the array is one of several inputs, they come as the
fields of a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

ITEMS, START = "~items", "~start"
_VALUE, _ROW = "~value", "~row"
_MOST = 1_000_000


def flat(items: pl.Series) -> pl.Series:
    """All elements one after the other."""
    return items.explode(empty_as_null=False, keep_nulls=False)


def regrouped(values: pl.Series, sizes: pl.Series, missing: pl.Series, to: Any = None) -> pl.Series:
    """Elements as arrays again, so many for each row; NULL where the array is missing."""
    counted = sizes.fill_null(0).cast(pl.Int64)
    offsets = pl.concat([pl.Series([0], dtype=pl.Int64), counted.cum_sum()])
    lists = pa.LargeListArray.from_arrays(offsets.to_arrow(), values.to_arrow(), mask=missing.to_arrow())
    regrouped_lists = pl.Series(sizes.name, lists)
    return regrouped_lists if to is None or regrouped_lists.dtype == to else regrouped_lists.cast(to)


def _like(values: pl.Series, items: pl.Series) -> pl.Series:
    """One value per element, grouped as the arrays are."""
    return regrouped(values, items.list.len(), items.is_null(), pl.List(values.dtype))


def _rows(items: pl.Series) -> pl.Series:
    """For every element, the number of its row."""
    sizes = items.list.len().fill_null(0)
    numbers = pl.int_range(0, len(items), dtype=pl.Int64, eager=True)
    return flat(pl.select(numbers.repeat_by(sizes)).to_series()) if len(items) else numbers


def _evaluated(series: pl.Series, names: Sequence[str], body: pl.Expr) -> tuple[pl.Series, pl.Series]:
    """The arrays, and the body over a frame with a row per element."""
    frame = series.struct.unnest()
    items = frame.get_column(ITEMS)
    columns = {names[0]: flat(items)}
    if len(names) > 1:
        sizes = items.list.len().fill_null(0)
        positions = pl.select(pl.int_ranges(0, sizes, dtype=pl.Int32)).to_series() if len(items) else sizes
        columns[names[1]] = flat(positions) if len(items) else pl.Series([], dtype=pl.Int32)
    wide = pl.DataFrame([column.alias(name) for name, column in columns.items()])
    if frame.width > 1:
        wide = frame.drop(ITEMS)[_rows(items)].with_columns(wide.get_columns())
    return items, wide.with_columns(body.alias(_VALUE)).get_column(_VALUE)


def transform(names: Sequence[str], body: pl.Expr) -> Callable[[pl.Series], pl.Series]:
    """Every element through the body."""

    def apply(series: pl.Series) -> pl.Series:
        items, results = _evaluated(series, names, body)
        return _like(results, items)

    return apply


def keep(names: Sequence[str], body: pl.Expr) -> Callable[[pl.Series], pl.Series]:
    """The elements for which the body is TRUE."""

    def apply(series: pl.Series) -> pl.Series:
        items, results = _evaluated(series, names, body)
        chosen = results.fill_null(False)
        sizes = _like(chosen, items).list.sum()
        return regrouped(flat(items).filter(chosen), sizes, items.is_null(), items.dtype)

    return apply


def quantified(names: Sequence[str], body: pl.Expr, *, decisive: bool) -> Callable[[pl.Series], pl.Series]:
    """`exists` and `forall`: one decisive element decides; otherwise a NULL leaves it open."""

    def apply(series: pl.Series) -> pl.Series:
        items, results = _evaluated(series, names, body)
        return _decided(results, items, decisive)

    return apply


def _decided(results: pl.Series, items: pl.Series, decisive: bool) -> pl.Series:
    decided = _like((results == decisive).fill_null(False), items).list.any()
    is_open = _like(results.is_null(), items).list.any()
    frame = pl.DataFrame({"d": decided, "o": is_open})
    nothing = pl.lit(None, dtype=pl.Boolean)
    chosen = pl.when(pl.col("d")).then(pl.lit(decisive)).when(pl.col("o") | pl.col("d").is_null()).then(nothing)
    return frame.select(chosen.otherwise(pl.lit(not decisive))).to_series()


def contains(series: pl.Series) -> pl.Series:
    """Whether the second field equals an element of the first."""
    frame = series.struct.unnest()
    items, wanted = frame.to_series(0), frame.to_series(1)
    pairs = pl.DataFrame({"x": flat(items), "y": wanted.gather(_rows(items))})
    equal = pairs.select(pl.col("x") == pl.col("y")).to_series()
    decided = _decided(equal, items, decisive=True)
    return pl.select(pl.when(wanted.is_not_null()).then(decided)).to_series()


def aggregate(names: Sequence[str], body: pl.Expr) -> Callable[[pl.Series], pl.Series]:
    """The elements taken together: position by position, all rows at once."""

    def apply(series: pl.Series) -> pl.Series:
        frame = series.struct.unnest()
        items, total = frame.get_column(ITEMS), frame.get_column(START)
        outer = frame.drop(ITEMS, START)
        sizes = items.list.len().fill_null(0)
        longest = sizes.max() if len(sizes) else 0
        for position in range(int(str(longest or 0))):
            element = items.list.get(position, null_on_oob=True)
            wide = pl.DataFrame([total.alias(names[0]), element.alias(names[1]), *outer.get_columns()])
            merged = wide.with_columns(body.alias(_VALUE)).get_column(_VALUE)
            total = pl.select(pl.when(sizes > position).then(merged).otherwise(total)).to_series()
        return pl.select(pl.when(items.is_not_null()).then(total)).to_series()

    return apply


def distinct(items: pl.Series) -> pl.Series:
    """Each value of an array once, where it stood first."""
    frame = pl.DataFrame({_ROW: _rows(items), _VALUE: flat(items)}).unique(maintain_order=True, keep="first")
    return _from_rows(frame, items)


def _from_rows(frame: pl.DataFrame, items: pl.Series) -> pl.Series:
    """Arrays of the elements that are left, which still know their rows."""
    counts = frame.group_by(_ROW).len("n")
    numbers = pl.DataFrame({_ROW: pl.int_range(0, len(items), dtype=pl.Int64, eager=True)})
    sizes = numbers.join(counts, on=_ROW, how="left", maintain_order="left").get_column("n")
    return regrouped(frame.get_column(_VALUE), sizes, items.is_null(), items.dtype)


def flatten(items: pl.Series) -> pl.Series:
    """Arrays of arrays as arrays; NULL where one of the inner ones is."""
    inner = flat(items)
    sizes = _like(inner.list.len().fill_null(0), items).list.sum()
    missing = items.is_null() | _like(inner.is_null(), items).list.any().fill_null(False)
    kept = _like(~missing.gather(_rows(items)), items)
    chosen = flat(kept)
    sizes = pl.select(pl.when(missing).then(0).otherwise(sizes)).to_series()
    return regrouped(flat(inner.filter(chosen)), sizes, missing, inner.dtype)


def sequence(to: Any) -> Callable[[pl.Series], pl.Series]:
    """Whole numbers from the first field to the second in steps of the third."""

    def sequence_of(row: dict[str, int | None]) -> list[int] | None:
        start, stop, step = row.values()
        if start is None or stop is None or step is None:
            return None
        if start == stop:
            return [start]
        if not step or (step > 0) != (stop > start) or abs(stop - start) >= _MOST * abs(step):
            return None
        return list(range(start, stop + (1 if step > 0 else -1), step))

    return lambda rows: pl.Series(rows.name, [sequence_of(row) for row in rows.to_list()], dtype=to)


def zipped(to: Any) -> Callable[[pl.Series], pl.Series]:
    """The elements of several arrays at the same positions as structs."""

    def apply(series: pl.Series) -> pl.Series:
        arrays = series.struct.unnest().get_columns()
        widths = pl.DataFrame({str(index): array.list.len() for index, array in enumerate(arrays)})
        missing = widths.select(pl.any_horizontal(pl.all().is_null())).to_series()
        sizes = widths.select(pl.when(~pl.any_horizontal(pl.all().is_null())).then(pl.max_horizontal(pl.all())))
        longest = sizes.to_series().fill_null(0)
        fields = []
        for array, field in zip(arrays, to.inner.fields, strict=True):
            lacking = (longest.cast(pl.Int64) - array.list.len().fill_null(0).cast(pl.Int64)).clip(lower_bound=0)
            filler = pl.Series("", [None], dtype=field.dtype).new_from_index(0, len(array))
            padding = pl.select(filler.repeat_by(lacking)).to_series() if len(array) else array
            full = pl.select(pl.concat_list(pl.lit(array), pl.lit(padding))).to_series() if len(array) else array
            kept = pl.select(pl.when(~missing).then(full)).to_series()
            fields.append(flat(kept).alias(field.name))
        return regrouped(pl.DataFrame(fields).to_struct(), longest, missing, to)

    return apply


def as_map(to: Any) -> Callable[[pl.Series], pl.Series]:
    """Arrays of keys and values as maps: the last of equal keys wins; NULL where a key is."""

    def apply(entries: pl.Series) -> pl.Series:
        elements = flat(entries)
        keyless = _like(elements.is_null() | elements.struct.field("key").is_null(), entries).list.any()
        kept = pl.select(pl.when(~keyless).then(entries)).to_series()
        return kept.cast(to)

    return apply
