"""Read Parquet files as a stream of Arrow batches; a column that a file lacks is NULL.

`pyarrow.dataset` could do this, but importing it costs as much as a small run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 16_384


def batches(paths: Sequence[str], columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the files in order, as they were written."""
    for path in paths:
        with pq.ParquetFile(path) as file:
            there = set(file.schema_arrow.names)
            wanted = None if columns is None else [name for name in columns if name in there]
            yield from file.iter_batches(BATCH, columns=wanted)


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly these columns, in their order and types."""
    there = set(batch.schema.names)
    arrays = [
        typed(batch.column(field.name), field.type) if field.name in there else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast only where needed: the first cast of a process loads all of Arrow's functions."""
    return values if values.type == kind else values.cast(kind)


def reader(paths: Sequence[str], schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows of the files with exactly these columns, read as they are asked for."""
    stream = (conformed(batch, schema) for batch in batches(paths, schema.names))
    return pa.RecordBatchReader.from_batches(schema, stream)
