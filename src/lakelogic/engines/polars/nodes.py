"""The nodes of a plan → lazy Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from lakelogic.engines.polars.expressions import LONG, expression, size
from lakelogic.engines.polars.frame import Links, Rows
from lakelogic.engines.polars.functions.aggregates import summary
from lakelogic.engines.polars.functions.windows import window
from lakelogic.engines.polars.literals import dtype
from lakelogic.engines.polars.relations import expand, join, pairs, stack
from lakelogic.names import COPY, FATE, SIDE
from lakelogic.plan.nodes import (
    Account,
    Expand,
    Fork,
    Join,
    Keep,
    Node,
    Order,
    Pairs,
    Publish,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
    WindowFunction,
)
from lakelogic.sql.types import BIGINT


def named_frames(links: Mapping[str, Rows]) -> Links:
    """The links that nodes begin with."""
    return Links(links, size, LONG)


def lower(rows: Rows, accounts: Sequence[Account], links: Mapping[str, Rows]) -> Rows:
    """The union of what the accounts publish."""
    published: list[pl.LazyFrame] = []
    frames = named_frames(links)
    current = rows.frame
    for index, account in enumerate(accounts):
        if account.opening is not None:
            current = apply(current, [account.opening], frames)
        current = apply(current, account.nodes, frames)
        if index + 1 < len(accounts):
            current = current.cache()  # read by this account and by the next one
        published.append(publish(current, account.publish))
    return rows.then(published[0] if len(published) == 1 else pl.concat(published, how="vertical"))


def apply(frame: pl.LazyFrame, nodes: Sequence[Node], links: Links) -> pl.LazyFrame:
    """The frame after the nodes, in order; forks are added to `links`."""
    for node in nodes:
        parts, short = links.pieces.of_node(node)
        for part in parts:
            frame = row_wise(frame, part, links)
        frame = LOWER[type(short)](frame, short, links)
        if parts:
            frame = frame.drop([column.name for part in parts for column in part.columns], strict=False)
    return frame


def row_wise(frame: pl.LazyFrame, node: RowWise, _links: Links) -> pl.LazyFrame:
    """Columns computed from the same row."""
    return frame.with_columns(expression(column.value).alias(column.name) for column in node.columns)


def keep(frame: pl.LazyFrame, node: Keep, _links: Links) -> pl.LazyFrame:
    """The rows where the condition is TRUE."""
    return frame.filter(expression(node.where))


def fork(frame: pl.LazyFrame, node: Fork, links: Links) -> pl.LazyFrame:
    """Another frame beside the rows."""
    if node.start is None:
        frame = frame.cache()
    start = frame if node.start is None else links[node.start].frame
    links[node.name] = Rows(apply(start, node.nodes, links))
    return frame


def rank(frame: pl.LazyFrame, node: Rank, links: Links) -> pl.LazyFrame:
    """Row numbers within partitions."""
    if any(key.nulls_first for key in node.order):
        number = WindowFunction(node.output, "row_number", (), BIGINT)
        return window(frame, Window(node.label, node.partition, node.order, (number,)), links)
    numbers = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    partition = [expression(value) for value in node.partition]
    directions = {key.descending for key in node.order}
    if not node.order:
        return frame.with_columns((numbers.over(partition) if partition else numbers).alias(node.output))
    # One direction for all keys is all that a window takes: with two, keys are put in place of values.
    keys = [part for key in node.order for part in _keys(key, len(directions) > 1)]
    descending = directions == {True}
    numbered = numbers.over(partition or None, order_by=keys, descending=descending, nulls_last=True)
    return frame.with_columns(numbered.alias(node.output))


def _keys(key: Order, as_rank: bool) -> list[pl.Expr]:
    """What stands for a sort key in a window of one direction, in which NULLs are last."""
    value = expression(key.value)
    rank = value.rank("dense", descending=key.descending) if as_rank else value
    if not key.nulls_first:
        return [rank]
    is_first_downward = key.descending and not as_rank
    return [value.is_null() if is_first_downward else value.is_not_null(), rank]


def rollup(frame: pl.LazyFrame, node: Rollup, _links: Links) -> pl.LazyFrame:
    """Groups; without keys exactly one row."""
    kept = frame.filter(expression(node.where))
    if node.sets is None:
        return _grouped(kept, node, range(len(node.keys)))
    kept = kept.cache()
    return pl.concat([_grouped(kept, node, chosen) for chosen in node.sets], how="vertical")


def _grouped(kept: pl.LazyFrame, node: Rollup, chosen: Sequence[int]) -> pl.LazyFrame:
    """Groups by some of the keys; the others are NULL."""
    before: list[pl.Expr] = []
    inner: list[pl.Expr] = []
    outer: list[pl.Expr] = []
    values: list[pl.Expr] = []
    for index, key in enumerate(node.keys):
        held = pl.col(f"~group{index}") if index in chosen else pl.lit(None, dtype=dtype(key.value.type))
        outer.append(held.alias(key.name))
    for index, aggregate in enumerate(node.aggregates):
        args = [] if aggregate.value is None else [aggregate.value, *aggregate.more]
        own = [f"~value{index}.{place}" for place in range(len(args))]
        values += [expression(value).alias(name) for value, name in zip(args, own, strict=True)]
        columns = [pl.col(name) for name in own]
        calls = summary(aggregate.function, aggregate.name, columns, args, aggregate.type, distinct=aggregate.distinct)
        before += [part.alias(name) for name, part in calls.before.items()]
        inner += [part.alias(name) for name, part in calls.inner.items()]
        outer.append(calls.outer.cast(dtype(aggregate.type), strict=False).alias(aggregate.name))
    if node.grouping is not None:
        width = len(node.keys)
        bits = sum(1 << (width - 1 - index) for index in range(width) if index not in chosen)
        outer.append(pl.lit(bits, dtype=pl.Int64).alias(node.grouping))
    names = [column.meta.output_name() for column in outer]
    keys = [expression(node.keys[index].value).alias(f"~group{index}") for index in chosen]
    # Keys and values are computed first, so that grouping reads plain columns.
    ready = kept.with_columns(*keys, *values).with_columns(before)
    if keys:
        grouped = ready.group_by([f"~group{index}" for index in chosen]).agg(inner)
    else:
        grouped = ready.select(inner or [pl.len().alias("~rows")])
    # First added, then chosen: a selection of constants alone would have one row.
    return grouped.with_columns(outer).select(names)


_MADE = "~made."


def publish(frame: pl.LazyFrame, node: Publish) -> pl.LazyFrame:
    """Exactly the published columns, then the fate, the copy and the side."""
    values = {value.name: expression(value.value) for value in node.values}
    values |= {FATE: expression(node.fate).cast(pl.Int64), COPY: expression(node.copy).cast(pl.Int64)}
    values[SIDE] = expression(node.side)
    # First added, then chosen: a selection of constants alone would have one row. Under names of their own: Polars
    # may take apart what is added at once, and then a column that takes the place of one that others read comes first.
    added = frame.with_columns(value.alias(f"{_MADE}{name}") for name, value in values.items())
    return added.select(pl.col(f"{_MADE}{name}").alias(name) for name in values)


LOWER: dict[type[Node], Callable[[pl.LazyFrame, Any, Links], pl.LazyFrame]] = {
    RowWise: row_wise,
    Rank: rank,
    Join: join,
    Expand: expand,
    Keep: keep,
    Fork: fork,
    Rollup: rollup,
    Pairs: pairs,
    Stack: stack,
    Window: window,
}
