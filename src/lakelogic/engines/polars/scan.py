"""Files, and what people hand in, as lazy frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from lakelogic.engines.arrow.input import adopt_arrow, landed_of
from lakelogic.engines.base import Pinned
from lakelogic.engines.polars.frame import Rows
from lakelogic.engines.polars.literals import dtype
from lakelogic.engines.readers.formats import reader_of
from lakelogic.engines.readers.parquet_files import footers, sort_out
from lakelogic.engines.readers.parts import constants, local_path
from lakelogic.engines.readers.text_reader import TextScan
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import Type

_INTERNAL: dict[str, Any] = {FILE: pl.String, NUMBER: pl.Int64, TEXT: pl.String, BROKEN: pl.String}


def scan(read: Read, pinned: Pinned) -> Rows:
    """The landed columns and the four about where a row came from."""
    if not reader_of(read.format).by_engine:
        stream = TextScan(read, pinned)
        return Rows(_streamed(stream), lambda: stream.scanned)
    files = sort_out(read, pinned.files)
    columns = {column.name: column.type for column in read.columns}
    frame, _ = parquet([file for group in files.plain.values() for file in group], columns, read)
    if files.odd:
        frame = pl.concat([frame, _streamed(TextScan(read, Pinned(tuple(files.odd))))], how="vertical")
    return Rows(frame, lambda: files.rows)


def _streamed(stream: TextScan) -> pl.LazyFrame:
    schema = {**{column.name: dtype(column.type) for column in stream.read.columns}, **_INTERNAL}

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        for batch in stream.batches():
            part = pl.from_arrow(batch)
            assert isinstance(part, pl.DataFrame)
            if predicate is not None:
                part = part.filter(predicate)
            if columns is not None:
                part = part.select(columns)
            if limit is not None:
                part = part.head(limit)
                limit -= part.height
            yield part
            if limit == 0:
                return

    return register_io_source(source, schema=schema, is_pure=True)


def parquet(files: Sequence[str], columns: dict[str, Type], landed: Read | None = None) -> tuple[pl.LazyFrame, int]:
    """Parquet files with the columns wanted, in order, and their rows; what a file lacks is NULL.

    With `landed`, the rows also tell where they came from, and columns that a file is known by are filled in.
    """
    with_place = landed is not None
    about = _INTERNAL if with_place else {}
    empty = pl.LazyFrame(schema={**{name: dtype(type_) for name, type_ in columns.items()}, **about})
    footer = footers(files)
    parts = [empty]
    for file, schema in zip(files, footer.schemas, strict=True):
        exact = set(schema.names)
        folded = {name.lower(): name for name in reversed(schema.names)}
        fixed = {} if landed is None else constants(landed, file)
        index = NUMBER if NUMBER not in exact else f"{NUMBER}~own"  # staged bad rows have a number already
        opened = pl.scan_parquet(
            local_path(file),
            hive_partitioning=False,
            glob=False,
            row_index_name=index if with_place else None,
            row_index_offset=1 if with_place else 0,
        )
        items = []
        for name, type_ in columns.items():
            if name in fixed:
                items.append(pl.lit(fixed[name], dtype=dtype(type_)).alias(name))
                continue
            held = name if name in exact else folded.get(name.lower())
            value = pl.lit(None) if held is None else pl.col(held)
            items.append(value.cast(dtype(type_), strict=False).alias(name))
        if with_place:
            none = pl.lit(None, dtype=pl.String)
            number = pl.col(index).cast(pl.Int64).alias(NUMBER)
            items += [pl.lit(file).alias(FILE), number, none.alias(TEXT), none.alias(BROKEN)]
        parts.append(opened.with_columns(items).select([*columns, *about]))
    return (pl.concat(parts, how="vertical") if files else empty), footer.rows


def adopt(data: Any, read: Read | None) -> tuple[Rows, tuple[Landed, ...]]:
    """A frame that somebody hands in."""
    table = adopt_arrow(data, read is not None)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    rows = table.num_rows
    return Rows(frame.lazy(), lambda: rows), landed_of(table.schema)
