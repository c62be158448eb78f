"""Lay out a batch of Arrow rows: sorted so that rows alike lie together, and parted by the values of columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lakelogic.engines.base import Order

_SORTED = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def arranged(batch: pa.RecordBatch, order: Order) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """The rows of each partition, with its values; one part without values where nothing is asked."""
    rows = _clustered(batch, order)
    if not order.partition_by or not rows.num_rows:
        yield (), rows
        return
    from pyarrow import compute

    code = pa.array([0] * rows.num_rows, pa.int64())
    for name in order.partition_by:
        encoded = compute.dictionary_encode(rows.column(name), null_encoding="encode")
        several = pa.scalar(max(len(encoded.dictionary), 1), pa.int64())
        code = compute.add(compute.multiply(code, several), encoded.indices.cast(pa.int64()))
    # Sorting by number keeps the order of rows within a partition.
    taken = compute.sort_indices(code)
    rows, code = rows.take(taken), code.take(taken)
    start = 0
    for end in compute.run_end_encode(code).run_ends.to_pylist():
        part = rows.slice(start, end - start)
        yield tuple(part.column(name)[0].as_py() for name in order.partition_by), part
        start = end


def _clustered(batch: pa.RecordBatch, order: Order) -> pa.RecordBatch:
    keys = [(name, "ascending") for name in order.cluster_by if _can_sort(batch.schema.field(name).type)]
    if not keys or batch.num_rows < 2:
        return batch
    from pyarrow import compute

    return batch.take(compute.sort_indices(batch, sort_keys=keys))


def _can_sort(kind: pa.DataType) -> bool:
    return any(fits(kind) for fits in _SORTED)
