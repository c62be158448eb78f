"""The rows of a table at one version, without an engine: what the log knows of a file fills its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from lakelogic.storage import fresh, parquet
from lakelogic.tables.base import StagedFile, TableState


def batches(state: TableState, schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """All rows, file by file, with the table's columns (or those of `schema`, in its types)."""
    wanted = schema or state.schema
    for path in state.files:
        values = {name: value for name, value in state.parts.get(path, {}).items() if name in wanted.names}
        for batch in parquet.reader([path], wanted):
            yield _filled(batch, values) if values else batch


def _filled(batch: pa.RecordBatch, values: dict[str, object]) -> pa.RecordBatch:
    arrays = [
        pa.array([values[field.name]] * batch.num_rows, field.type) if field.name in values else batch.column(at)
        for at, field in enumerate(batch.schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def rewritten(state: TableState, schema: pa.Schema) -> list[StagedFile]:
    """Every file of the table written again in the types of `schema`, under the table's root."""
    folder = fresh.folder(Path(state.location) / f"rewrite-{fresh.name()}")
    staged = []
    for at, path in enumerate(state.files):
        target, number = folder / f"part-{at:05d}.parquet", 0
        with fresh.parquet_writer(target, schema, compression="zstd", coerce_timestamps="us") as writer:
            for batch in batches(replace(state, files=(path,)), schema):
                writer.write_batch(batch)
                number += batch.num_rows
        staged.append(StagedFile(str(target), number, target.stat().st_size, state.parts.get(path, {})))
    return staged


def preview(state: TableState, limit: int) -> pa.Table:
    """Some rows."""
    collected: list[pa.RecordBatch] = []
    if limit > 0:
        for batch in batches(state):
            collected.append(batch)
            if sum(each.num_rows for each in collected) >= limit:
                break
    return pa.Table.from_batches(collected, state.schema).slice(0, max(limit, 0))
