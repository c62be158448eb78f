"""Whole-number keys that lie close together are shown to be unique by marking each value that comes.

To find a repeated key, an engine groups all of them, and Spark moves them between tasks first. Ids are mostly dense:
the footers of the staged files tell the least and the most, and a byte for each value between them fits into memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.storage import parquet

MOST = 1 << 25  # values between the least and the most, and so bytes
SPARSE = 16  # so many values for each row are too many to be worth it


def all_differ(files: Sequence[str], key: str) -> bool:
    """Whether the values of a column are whole numbers that certainly all differ; NULLs do not count.

    False says only that this way does not show it: the values are no whole numbers, too far apart, or one repeats.
    """
    bounds = _bounds(files, key)
    if bounds is None:
        return False
    try:
        import numpy as np
    except ImportError:  # every engine brings it along, the core does not
        return False
    low, high = bounds
    seen = np.zeros(high - low + 1, dtype=bool)
    values = 0
    for batch in parquet.batches(files, [key]):
        column = batch.column(key)
        present = column.drop_null() if column.null_count else column
        width = np.dtype(f"i{present.type.bit_width // 8}")
        numbers = np.frombuffer(present.buffers()[1], width, len(present), present.offset * width.itemsize)
        seen[numbers.astype(np.int64) - low] = True
        values += len(present)
    return int(np.count_nonzero(seen)) == values


def _bounds(files: Sequence[str], key: str) -> tuple[int, int] | None:
    """The least and the most value as the footers tell them; None where they do not, or lie too far apart."""
    lows: list[int] = []
    highs: list[int] = []
    rows = 0
    for path in files:
        with pq.ParquetFile(path) as file:
            place = file.schema_arrow.get_field_index(key)
            # Leaves of nested columns have paths, too, and one may be spelled like a column with a dot in its name.
            leaves = [at for at in range(len(file.schema)) if file.schema.column(at).path == key]
            if place < 0 or not pa.types.is_signed_integer(file.schema_arrow.field(place).type) or len(leaves) != 1:
                return None
            (leaf,) = leaves
            for at in range(file.metadata.num_row_groups):
                told = file.metadata.row_group(at).column(leaf).statistics
                if told is None or not told.has_null_count:
                    return None
                if told.num_values:
                    if not told.has_min_max:
                        return None
                    lows.append(int(told.min))
                    highs.append(int(told.max))
                    rows += told.num_values
    if not rows or max(highs) - min(lows) >= min(MOST, SPARSE * rows):
        return None
    return min(lows), max(highs)
