"""The staging pass of the engines that run in this process: Arrow batches in, masked Parquet files by side out.

One pass, bounded memory. Every batch is counted by fate, split by side, masked, brought to the exact
Arrow types and appended to the open file of its side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic.engines.arrow.input import conform
from lakelogic.engines.arrow.order import arranged
from lakelogic.engines.arrow.totals import Totals
from lakelogic.engines.base import AS_IT_COMES, DataFile, Order, Staged
from lakelogic.errors import EngineError
from lakelogic.names import BAD_SIDE, COPY, FATE, GOOD_SIDE, SIDE
from lakelogic.plan.nodes import Mask, Published
from lakelogic.privacy.keys import Keys
from lakelogic.sql.types import to_arrow
from lakelogic.storage import fresh
from lakelogic.storage.parquet import repeating

MOST_ROWS = 1_000_000
MOST_BYTES = 128 << 20
FEW_ROWS = 1_000
MOST_OPEN = 64  # files of different partitions at the same time


class _File:
    """An open file."""

    def __init__(self, path: Path, first: pa.RecordBatch) -> None:
        self.path, self.rows = path, 0
        self._writer = fresh.parquet_writer(
            path,
            first.schema,
            compression="zstd",
            use_dictionary=repeating(first),
            coerce_timestamps="us",
            allow_truncated_timestamps=False,
            write_statistics=True,
        )

    def write(self, batch: pa.RecordBatch) -> bool:
        """Append rows; whether the file is full now."""
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        return self.rows >= MOST_ROWS or self.path.stat().st_size >= MOST_BYTES

    def close(self, partition: Mapping[str, Any]) -> DataFile:
        """Finish the file."""
        self._writer.close()
        return DataFile(str(self.path), self.rows, self.path.stat().st_size, partition)


class _Side:
    """The files of one side: opened when the first row of a partition comes, rolled over when they are full."""

    def __init__(
        self, folder: Path, columns: Sequence[Published], order: Order = AS_IT_COMES, *, adds_up: bool = False
    ) -> None:
        self._folder = folder
        self._adds_up = adds_up
        self._columns = tuple(columns)
        self._schema = pa.schema([pa.field(column.name, to_arrow(column.type)) for column in columns])
        self._order = order
        self._open: dict[tuple[Any, ...], _File] = {}
        self._number = 0
        self.files: list[DataFile] = []
        self.totals = Totals(self._columns)

    @property
    def names(self) -> list[str]:
        """The columns of this side."""
        return [column.name for column in self._columns]

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the batch has at least the columns of this side, masked."""
        arrays = [conform(batch.column(column.name), column.type) for column in self._columns]
        rows = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if self._adds_up:
            self.totals.add(rows)
        for partition, part in arranged(rows, self._order):
            if partition not in self._open:
                self._begin(partition, part)
            if self._open[partition].write(part):
                self._finish(partition)

    def close(self) -> None:
        """Finish the open files."""
        for partition in list(self._open):
            self._finish(partition)

    def _begin(self, partition: tuple[Any, ...], first: pa.RecordBatch) -> None:
        if len(self._open) >= MOST_OPEN:
            self._finish(next(iter(self._open)))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._open[partition] = _File(self._folder / f"part-{self._number:05d}.parquet", first)
        self._number += 1

    def _finish(self, partition: tuple[Any, ...]) -> None:
        values = dict(zip(self._order.partition_by, partition, strict=True))
        self.files.append(self._open.pop(partition).close(values))


def stage(
    batches: Iterable[pa.RecordBatch],
    columns: Sequence[Published],
    masks: Sequence[Mask],
    keys: Keys,
    place: str,
    order: Order = AS_IT_COMES,
) -> Staged:
    """Write both sides under `place`, a folder that is not there yet. `scanned` is left open."""
    root = Path(place).absolute()
    fresh.folder(root)
    good = _Side(root / GOOD_SIDE, [column for column in columns if column.on_good], order, adds_up=True)
    bad = _Side(root / BAD_SIDE, [column for column in columns if column.on_bad])
    held = {
        side: list(dict.fromkeys([*rows.names, *(mask.column for mask in masks)]))
        for side, rows in ((GOOD_SIDE, good), (BAD_SIDE, bad))
    }
    fates: Counter[int] = Counter()
    copies: Counter[int] = Counter()
    for batch in batches:
        copies.update(_copies(batch))
        for side, rows in _by_side(batch, fates, held).items():
            target = {GOOD_SIDE: good, BAD_SIDE: bad}.get(side)
            if target is None:
                raise EngineError(f"A row went to the side `{side}`, which does not exist: this is a defect.")
            target.write(_masked(rows, masks, keys))
    good.close()
    bad.close()
    return Staged(
        good=tuple(good.files),
        bad=tuple(bad.files),
        scanned=None,
        fates=dict(sorted(fates.items())),
        copies=dict(sorted(copies.items())),
        totals=good.totals.by_column,
    )


def _copies(batch: pa.RecordBatch) -> Counter[int]:
    """Rows, lost or not, by the step that made them as one more copy."""
    numbers = batch.column(COPY)
    if batch.num_rows <= FEW_ROWS:
        return Counter(int(number) for number in numbers.to_pylist() if number)
    from pyarrow import compute

    counts = compute.value_counts(numbers).to_pylist()
    return Counter({int(item["values"]): item["counts"] for item in counts if item["values"]})


def _by_side(batch: pa.RecordBatch, fates: Counter[int], held: Mapping[str, list[str]]) -> dict[str, pa.RecordBatch]:
    """The rows of each side with the columns it holds; rows without a side are counted by their fate."""
    if batch.num_rows <= FEW_ROWS:
        return _few_by_side(batch, fates)
    from pyarrow import compute

    sides = batch.column(SIDE)
    if sides.null_count:
        lost = compute.filter(batch.column(FATE), compute.is_null(sides))
        for item in compute.value_counts(lost).to_pylist():
            fates[int(item["values"] or 0)] += item["counts"]
    present = [value for value in compute.unique(sides).to_pylist() if value is not None]
    if not sides.null_count and len(present) == 1:
        return {present[0]: batch}
    return {side: batch.select(held.get(side, [])).filter(compute.equal(sides, side)) for side in sorted(present)}


def _few_by_side(batch: pa.RecordBatch, fates: Counter[int]) -> dict[str, pa.RecordBatch]:
    """The same by slices: Arrow's functions cost more to load than a small run has to spend."""
    parts: dict[str, list[pa.RecordBatch]] = {}
    start = 0
    for side, run in groupby(batch.column(SIDE).to_pylist()):
        size = len(list(run))
        rows = batch.slice(start, size)
        start += size
        if side is None:
            fates.update(int(number or 0) for number in rows.column(FATE).to_pylist())
        else:
            parts.setdefault(side, []).append(rows)
    return {side: pa.concat_batches(parts[side]) for side in sorted(parts)}


def _masked(batch: pa.RecordBatch, masks: Sequence[Mask], keys: Keys) -> pa.RecordBatch:
    if not masks:
        return batch
    from lakelogic.privacy.masks import apply_masks

    return apply_masks(batch, masks, keys)
