"""Run lazy frames: staged files, measures, duplicates, and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, count, pairwise
from typing import Any

import polars as pl
import pyarrow as pa

from lakelogic.engines.arrow import stage as arrow_stage
from lakelogic.engines.arrow.input import conform
from lakelogic.engines.base import AS_IT_COMES, Order, Staged
from lakelogic.engines.exact.parts import Pieces
from lakelogic.engines.polars.expressions import LONG, expression, size
from lakelogic.engines.polars.frame import Rows
from lakelogic.engines.polars.functions.aggregates import summary
from lakelogic.engines.polars.scan import parquet
from lakelogic.errors import EngineError
from lakelogic.names import SIDE
from lakelogic.plan.nodes import Mask, Measure, Published
from lakelogic.privacy.keys import Keys
from lakelogic.sql.bind import aggregate_type
from lakelogic.sql.types import from_arrow

BATCH = 100_000
FEW_ROWS = 1_000  # that are not worth parting
MOST_BYTES = 32 << 20  # of rows that are handed on at once


def failure(error: Exception) -> EngineError:
    """A native error in our words."""
    return EngineError(f"Polars could not do its work: {str(error).strip().splitlines()[0]}")


def stream(rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows, batch by batch."""
    for part in rows.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        for piece in (side for whole in whole_pieces(part) for side in _by_side(whole)):
            # Rows are copied several times on their way into a file: wide ones go in smaller pieces.
            size = max(piece.height // (1 + int(piece.estimated_size()) // MOST_BYTES), 1)
            for start in range(0, piece.height, size):
                yield from piece.slice(start, size).to_arrow().to_batches()


def _by_side(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of each side: Polars parts them without copying texts, which Arrow would copy once more."""
    sides = frame.get_column(SIDE).unique(maintain_order=True).to_list() if frame.height > FEW_ROWS else []
    if len(sides) < 2:
        yield frame
        return
    for side in sides:
        yield frame.filter(pl.col(SIDE).eq_missing(side))


def whole_pieces(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in pieces of one chunk each, where Polars could not put chunks together.

    It fails on lists of dates, times and decimals when one of the chunks holds only empty lists.
    """
    if not frame.height or not any(_lists_times(kind) for kind in frame.schema.values()):
        yield frame
        return
    ends = {0, frame.height}
    for column in frame.get_columns():
        ends |= set(accumulate(column.chunk_lengths()))
    for start, end in pairwise(sorted(ends)):
        yield frame.slice(start, end - start)


def _lists_times(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Struct):
        return any(_lists_times(field.dtype) for field in kind.fields)  # type: ignore[arg-type]
    if isinstance(kind, pl.List):
        inside = [kind.inner]
    elif isinstance(kind, pl.Map):
        inside = [kind.key, kind.value]
    else:
        return False
    return any(type_.is_temporal() or type_.is_decimal() or type_.is_nested() for type_ in inside)


def stage(
    rows: Rows, columns: Sequence[Published], masks: Sequence[Mask], keys: Keys, place: str, order: Order = AS_IT_COMES
) -> Staged:
    """One pass over the lowered rows into staged files."""
    try:
        staged = arrow_stage.stage(stream(rows), columns, masks, keys, place, order)
    except (pl.exceptions.PolarsError, pa.ArrowException) as error:
        raise failure(error) from error
    return replace(staged, scanned=rows.scanned())


def measure(files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]) -> dict[str, Any]:
    """All measures in one query over staged files."""
    if not measures:
        return {}
    frame, _ = parquet(files, {column.name: column.type for column in columns if column.on_good})
    before: list[pl.Expr] = []
    inner: list[pl.Expr] = []
    outer: list[pl.Expr] = []
    short = Pieces(size, LONG, count()).bound
    for index, wanted in enumerate(measures):
        values = [] if wanted.value is None else [expression(short(wanted.value))]
        where = None if wanted.where is None else expression(short(wanted.where))
        args, type_ = ([] if wanted.value is None else [wanted.value]), aggregate_type(wanted.function, wanted.value)
        calls = summary(wanted.function, f"m{index}", values, args, type_, where=where)
        before += [part.alias(name) for name, part in calls.before.items()]
        inner += [part.alias(name) for name, part in calls.inner.items()]
        outer.append(calls.outer.alias(f"m{index}"))
    try:
        row = frame.with_columns(before).select(inner).select(outer).collect().row(0, named=True)
    except pl.exceptions.PolarsError as error:
        raise failure(error) from error
    return {wanted.name: row[f"m{index}"] for index, wanted in enumerate(measures)}


def duplicates(rows: Rows, keys: Sequence[str]) -> int:
    """How many different keys occur more than once."""
    present = rows.frame.select(keys).filter(pl.any_horizontal(pl.col(key).is_not_null() for key in keys))
    counted = present.group_by(list(keys)).agg(pl.len().alias("~rows"))
    return int(counted.filter(pl.col("~rows") > 1).select(pl.len()).collect().item())


def collect(rows: Rows, limit: int | None) -> pa.Table:
    """The rows as an Arrow table of contract types."""
    frame = rows.frame if limit is None else rows.frame.head(limit)
    try:
        table = pa.concat_tables(
            [piece.to_arrow() for piece in whole_pieces(frame.collect(engine="streaming"))],
            promote_options="permissive",
        )
    except pl.exceptions.PolarsError as error:
        raise failure(error) from error
    columns = [conform(column, from_arrow(column.type)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.schema.names)
