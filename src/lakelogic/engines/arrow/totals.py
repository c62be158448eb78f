"""How many values the columns of written batches hold, and what they total, added up while they pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from lakelogic.plan.nodes import Published
from lakelogic.plan.totals import DAY, is_weighed, weigher
from lakelogic.sql.types import Type

FEW_ROWS = 1_000  # for which Arrow's functions cost more to load than they save
_EXACT = Context(prec=80)
_LOW = 0xFFFF_FFFF


class Totals:
    """Adds up batches of the same columns."""

    def __init__(self, columns: Sequence[Published]) -> None:
        self._columns = tuple(columns)
        self._counts = {column.name: 0 for column in columns}
        self._totals = {column.name: Decimal(0) for column in columns if is_weighed(column.type)}

    def add(self, batch: pa.RecordBatch) -> None:
        """One more batch, which has the columns in order and with their exact types."""
        for column, values in zip(self._columns, batch.columns, strict=True):
            self._counts[column.name] += len(values) - values.null_count
            if column.name in self._totals and values.null_count < len(values):
                added = _few(values, column.type) if len(values) <= FEW_ROWS else _many(values, column.type)
                self._totals[column.name] = _EXACT.add(self._totals[column.name], Decimal(added))

    @property
    def by_column(self) -> Mapping[str, tuple[int, Decimal | None]]:
        """Per column the values and their total; None where they are only counted."""
        return {name: (count, self._totals.get(name)) for name, count in self._counts.items()}


def _few(values: pa.Array, kind: Type) -> int | Decimal:
    if kind.kind in ("timestamp", "timestamp_ntz"):
        # As numbers: Arrow imports pandas, where it is installed, to make moments.
        return sum(int(value) for value in values.view(pa.int64()).to_pylist() if value is not None)
    weigh = weigher(kind)
    assert weigh is not None
    total = Decimal(0)
    for value in values.to_pylist():
        if value is not None:
            total = _EXACT.add(total, Decimal(weigh(value)))
    return total


def _many(values: pa.Array, kind: Type) -> int | Decimal:
    from pyarrow import compute

    if kind.kind == "date":
        return int(compute.sum(values.view(pa.int32())).as_py()) * DAY
    if kind.kind in ("timestamp", "timestamp_ntz"):
        return _long(values.view(pa.int64()))
    if kind.kind in ("string", "json", "binary"):
        return int(compute.sum(compute.binary_length(values)).as_py())
    if kind.kind == "bigint":
        return _long(values)
    total: Any = compute.sum(values).as_py()
    return total if isinstance(total, Decimal) else int(total)


def _long(values: pa.Array) -> int:
    """The exact sum of numbers of 64 bits, in two halves: Arrow's own wraps around."""
    from pyarrow import compute

    high = compute.sum(compute.shift_right(values, pa.scalar(32, pa.int64()))).as_py()
    low = compute.sum(compute.bit_wise_and(values, pa.scalar(_LOW, pa.int64()))).as_py()
    return (int(high) << 32) + int(low)
