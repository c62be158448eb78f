"""The nodes of a plan → lazy Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from lakelogic.engines.polars.aggregates import summary
from lakelogic.engines.polars.expressions import expression
from lakelogic.engines.polars.literals import dtype
from lakelogic.errors import UnsupportedError
from lakelogic.names import COPY, FATE, SIDE
from lakelogic.plan.nodes import Account, Join, Node, Opening, Order, Publish, Rank, Rollup, RowWise


@dataclass(frozen=True, slots=True)
class Rows:
    """A lazy frame, and a way to tell how many rows its scan saw."""

    frame: pl.LazyFrame
    scanned: Callable[[], int | None] = lambda: None

    def then(self, frame: pl.LazyFrame) -> Rows:
        """The next frame over the same scan."""
        return replace(self, frame=frame)


def lower(rows: Rows, accounts: Sequence[Account], links: Mapping[str, Rows]) -> Rows:
    """The union of what the accounts publish."""
    published: list[pl.LazyFrame] = []
    current = rows.frame
    for index, account in enumerate(accounts):
        if account.opening is not None:
            current = opened(current, account.opening)
        for node in account.nodes:
            current = LOWER[type(node)](current, node, links)
        if index + 1 < len(accounts):
            current = current.cache()  # read by this account and by the next one
        published.append(publish(current, account.publish))
    return rows.then(published[0] if len(published) == 1 else pl.concat(published, how="vertical"))


def opened(frame: pl.LazyFrame, opening: Opening) -> pl.LazyFrame:
    """How a new account begins."""
    if isinstance(opening, Rollup):
        return rollup(frame, opening)
    raise UnsupportedError(f"Polars has no {type(opening).__name__} yet.")


def row_wise(frame: pl.LazyFrame, node: RowWise, _links: Mapping[str, Rows]) -> pl.LazyFrame:
    """Columns computed from the same row."""
    return frame.with_columns(expression(column.value).alias(column.name) for column in node.columns)


def rank(frame: pl.LazyFrame, node: Rank, _links: Mapping[str, Rows]) -> pl.LazyFrame:
    """Row numbers within partitions."""
    numbers = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    partition = [expression(value) for value in node.partition]
    directions = {key.descending for key in node.order}
    if not node.order:
        return frame.with_columns((numbers.over(partition) if partition else numbers).alias(node.output))
    # One direction for all keys is all that a window takes: with two, keys are put in place of values.
    keys = [_key(key, len(directions) > 1) for key in node.order]
    descending = directions == {True}
    numbered = numbers.over(partition or None, order_by=keys, descending=descending, nulls_last=True)
    return frame.with_columns(numbered.alias(node.output))


def _key(key: Order, as_rank: bool) -> pl.Expr:
    value = expression(key.value)
    return value.rank("dense", descending=key.descending) if as_rank else value


def join(frame: pl.LazyFrame, node: Join, links: Mapping[str, Rows]) -> pl.LazyFrame:
    """Columns of a link by equality of keys; a NULL key matches nothing."""
    right_keys = [f"~key{index}" for index in range(len(node.on))]
    left_keys = [f"~left{index}" for index in range(len(node.on))]
    right = links[node.link].frame.select(
        *(pl.col(column).alias(name) for name, (_, column) in zip(right_keys, node.on, strict=True)),
        *(pl.col(column).alias(name) for column, name in node.take),
        pl.lit(True).alias(node.found),
    )
    left = frame.with_columns(
        expression(value).alias(name) for name, (value, _) in zip(left_keys, node.on, strict=True)
    )
    joined = left.join(right, left_on=left_keys, right_on=right_keys, how="left", maintain_order="left", coalesce=True)
    return joined.drop(left_keys).with_columns(pl.col(node.found).fill_null(False))


def rollup(frame: pl.LazyFrame, node: Rollup) -> pl.LazyFrame:
    """Groups; without keys exactly one row."""
    kept = frame.filter(expression(node.where))
    inner: list[pl.Expr] = []
    outer = [pl.col(key.name) for key in node.keys]
    for one in node.aggregates:
        value = None if one.value is None else expression(one.value)
        found = summary(one.function, one.name, value, None if one.value is None else one.value.type)
        inner += [part.alias(name) for name, part in found.inner.items()]
        outer.append(found.outer.cast(dtype(one.type), strict=False).alias(one.name))
    if not node.keys:
        return kept.select(inner).select(outer)
    keys = [f"~group{index}" for index in range(len(node.keys))]
    keyed = kept.with_columns(expression(key.value).alias(name) for name, key in zip(keys, node.keys, strict=True))
    grouped = keyed.group_by(keys).agg(inner)
    return grouped.rename(dict(zip(keys, (key.name for key in node.keys), strict=True))).select(outer)


def publish(frame: pl.LazyFrame, node: Publish) -> pl.LazyFrame:
    """Exactly the published columns, then the fate, the copy and the side."""
    values = {value.name: expression(value.value) for value in node.values}
    values |= {FATE: expression(node.fate).cast(pl.Int64), COPY: expression(node.copy).cast(pl.Int64)}
    values[SIDE] = expression(node.side)
    # First added, then chosen: a selection of constants alone would have one row.
    return frame.with_columns(value.alias(name) for name, value in values.items()).select(list(values))


LOWER: dict[type[Node], Callable[[pl.LazyFrame, Any, Mapping[str, Rows]], pl.LazyFrame]] = {
    RowWise: row_wise,
    Rank: rank,
    Join: join,
}
