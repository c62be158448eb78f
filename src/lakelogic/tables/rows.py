"""The rows of a table at one version, without an engine: what the log knows of a file fills its columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lakelogic.storage import parquet
from lakelogic.tables.base import TableState


def batches(state: TableState, schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """All rows, file by file, with the table's columns (or those of `schema`, in its types)."""
    wanted = schema or state.schema
    for path in state.files:
        known = {name: value for name, value in state.parts.get(path, {}).items() if name in wanted.names}
        for batch in parquet.reader([path], wanted):
            yield _filled(batch, known) if known else batch


def _filled(batch: pa.RecordBatch, known: dict[str, object]) -> pa.RecordBatch:
    arrays = [
        pa.array([known[field.name]] * batch.num_rows, field.type) if field.name in known else batch.column(at)
        for at, field in enumerate(batch.schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def preview(state: TableState, limit: int) -> pa.Table:
    """Some rows."""
    found: list[pa.RecordBatch] = []
    if limit > 0:
        for batch in batches(state):
            found.append(batch)
            if sum(one.num_rows for one in found) >= limit:
                break
    return pa.Table.from_batches(found, state.schema).slice(0, max(limit, 0))
