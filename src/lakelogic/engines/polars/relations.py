"""Nodes that make rows, or bring in others: join, expand, pairs and stacks, on lazy frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.expressions import expression
from lakelogic.engines.polars.frame import Links
from lakelogic.engines.polars.literals import dtype
from lakelogic.plan.nodes import Expand, Join, Pairs, Stack
from lakelogic.sql.expressions import Expression
from lakelogic.sql.types import Type


def _quarter_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (ValueError, OSError, AttributeError):
        return 2 << 30


MOST_REPEATED = _quarter_of_memory()  # such rows take about twice as much while they are written
_LEFT, _RIGHT, _HELD = "~left", "~right", "~held"


def join(frame: pl.LazyFrame, node: Join, links: Links) -> pl.LazyFrame:
    """Columns of a link by equality of keys; a NULL key matches nothing."""
    own, theirs = _keys(node.on)
    right = links[node.link].frame.with_columns(theirs)
    right = right.select(
        *(key.meta.output_name() for key in theirs),
        *(pl.col(column).alias(name) for column, name in node.take),
        pl.lit(True).alias(node.found),
    )
    left_keys, right_keys = ([key.meta.output_name() for key in keys] for keys in (own, theirs))
    joined = frame.with_columns(own).join(
        right, left_on=left_keys, right_on=right_keys, how="left", maintain_order="left", coalesce=True
    )
    return joined.drop(left_keys).with_columns(pl.col(node.found).fill_null(False))


def _keys(on: Sequence[tuple[Expression, str]]) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """The keys of both sides; without any, a constant that all rows share."""
    if not on:
        return [pl.lit(0).alias("~own0")], [pl.lit(0).alias("~key0")]
    own = [expression(value).alias(f"~own{index}") for index, (value, _) in enumerate(on)]
    return own, [pl.col(column).alias(f"~key{index}") for index, (_, column) in enumerate(on)]


def expand(frame: pl.LazyFrame, node: Expand, _links: Links) -> pl.LazyFrame:
    """A row per element, or per entry by key; a row without any stays once."""
    items = expression(node.value)
    if node.key is not None:
        items = _entries(items, node.value.type)
    # A NULL is kept as one row, an empty list is not.
    items = pl.when(expression(node.where) & (items.list.len() > 0)).then(items)
    positions = pl.int_ranges(0, pl.col(node.item).list.len(), dtype=pl.Int32)
    listed = frame.with_columns(items.alias(node.item)).with_columns(positions.alias(node.position))
    if node.repeated:
        listed = listed.with_columns(_bounded(node).alias(node.position))
    if node.apart:
        listed = _beside_elements(listed, node)
    exploded = listed.explode([node.item, node.position, *(name for name, _ in node.apart)])
    exploded = exploded.with_columns(pl.col(name).struct.field(_HELD).alias(name) for name, _ in node.apart)
    if node.key is None:
        return exploded
    entry = pl.col(node.item).struct
    return exploded.with_columns(entry.field("key").alias(node.key), entry.field("value").alias(node.item))


def _beside_elements(listed: pl.LazyFrame, node: Expand) -> pl.LazyFrame:
    """The columns that hold nothing where there are elements as lists, to be exploded in step with these.

    When Polars repeats a list it makes room for as many values as if every row held the longest one.
    """
    is_empty = pl.col(node.item).is_null()
    columns: list[pl.Expr] = []
    for name, kind in ((node.item, _element(node.value.type)), (node.position, pl.Int32())):
        null_element = pl.lit(pl.Series([[None]], dtype=pl.List(kind))).first()
        columns.append(pl.when(is_empty).then(null_element).otherwise(pl.col(name)).alias(name))
    for name, type_ in node.apart:
        nothing = pl.lit(None, dtype=pl.Struct({_HELD: dtype(type_)})).repeat_by(pl.col(node.item).list.len())
        held = pl.concat_list(pl.struct(pl.col(name).alias(_HELD)))
        columns.append(pl.when(is_empty).then(held).otherwise(nothing).alias(name))
    return listed.with_columns(columns)


def _bounded(node: Expand) -> pl.Expr:
    """The positions, unless what is repeated beside them takes too much memory: all rows of one are made at once."""

    def check(rows: pl.Series) -> pl.Series:
        frame = rows.struct.unnest()
        counts = frame.get_column(node.position).list.len().fill_null(1)
        size = 0.0
        for name in node.repeated:
            column = frame.get_column(name)
            if isinstance(column.dtype, pl.List):
                lengths = column.list.len().fill_null(0)
                share = float((lengths * counts).sum() or 0) / max(int(lengths.sum() or 0), 1)
                size += share * int(column.estimated_size())
        if size > MOST_REPEATED:
            raise pl.exceptions.ComputeError(
                f"`{node.detail[0] if node.detail else node.label}` makes rows of {size / 2**30:.1f} GB: each of its "
                f"elements has all of `{_shown(node.repeated)}` beside it, and Polars makes them all at once. Leave "
                "the array out of what is published (a drop step, a SELECT without it), or use DuckDB."
            )
        return frame.get_column(node.position)

    fields = [pl.col(node.position), *(pl.col(name) for name in node.repeated)]
    return by_batch(pl.struct(fields), check, pl.List(pl.Int32))


def _shown(names: Sequence[str]) -> str:
    return "`, `".join(name.partition("~")[0] or name for name in names)


def _element(type_: Type) -> Any:
    assert type_.element is not None
    if type_.key is None:
        return dtype(type_.element)
    return pl.Struct({"key": dtype(type_.key), "value": dtype(type_.element)})


def _entries(value: pl.Expr, type_: Type) -> pl.Expr:
    element = pl.element()
    return value.cast(pl.List(_element(type_))).list.eval(element.sort_by(element.struct.field("key")))


def pairs(frame: pl.LazyFrame, node: Pairs, links: Links) -> pl.LazyFrame:
    """Rows beside the rows that match them."""
    own, theirs = _keys(node.on)
    left_keys, right_keys = ([key.meta.output_name() for key in keys] for keys in (own, theirs))
    taken = [name for _, name in node.take]
    left = frame.filter(expression(node.where)).with_columns(*own, pl.lit(True).alias(node.has_left))
    right = links[node.link].frame.with_columns(theirs)
    right = right.select(
        *right_keys, *(pl.col(column).alias(name) for column, name in node.take), pl.lit(True).alias(node.has_right)
    )
    if node.condition is None:
        joined = left.join(right, left_on=left_keys, right_on=right_keys, how=node.kind, coalesce=False)
    else:
        joined = _matched(left, right, left_keys, right_keys, node)
    marks = [pl.col(node.has_left).fill_null(False), pl.col(node.has_right).fill_null(False)]
    kept = joined.with_columns(marks).drop(*left_keys, *right_keys, strict=False)
    return kept.select(pl.exclude(*taken, node.has_left, node.has_right), *taken, node.has_left, node.has_right)


def _matched(
    left: pl.LazyFrame, right: pl.LazyFrame, left_keys: list[str], right_keys: list[str], node: Pairs
) -> pl.LazyFrame:
    """Pairs by a condition: those of all equal keys that fulfil it, and then the rows that are left over."""
    assert node.condition is not None
    left = left.with_row_index(_LEFT).cache()
    right = right.with_row_index(_RIGHT).cache()
    all_pairs = left.join(right, left_on=left_keys, right_on=right_keys, how="inner", coalesce=False)
    matches = all_pairs.filter(expression(node.condition)).cache()
    parts = [matches]
    if node.kind in ("left", "full"):
        parts.append(left.join(matches.select(_LEFT).unique(), on=_LEFT, how="anti"))
    if node.kind in ("right", "full"):
        parts.append(right.join(matches.select(_RIGHT).unique(), on=_RIGHT, how="anti"))
    return pl.concat(parts, how="diagonal").drop(_LEFT, _RIGHT)


def stack(frame: pl.LazyFrame, node: Stack, links: Links) -> pl.LazyFrame:
    """Rows one below the other."""
    parts = [_part(frame.filter(expression(node.where)), node.own, node.columns)]
    parts += [_part(links[name].frame, values, node.columns) for name, values in node.below]
    return pl.concat(parts, how="vertical")


def _part(frame: pl.LazyFrame, values: Sequence[Expression], columns: Sequence[str]) -> pl.LazyFrame:
    typed = [expression(value).cast(dtype(value.type)) for value in values]
    added = frame.with_columns(value.alias(name) for value, name in zip(typed, columns, strict=True))
    return added.select(columns)
