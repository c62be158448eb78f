"""Evaluate a plan once: mask, count on the way, write both sides; nothing is visible in any table yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.engines.base import AS_IT_COMES, DataFile, Frame, Order, Staged
from lakelogic.engines.readers.text_reader import source_error
from lakelogic.engines.spark import counting
from lakelogic.engines.spark.frame import located
from lakelogic.engines.spark.literals import identifier
from lakelogic.engines.spark.masks import masked
from lakelogic.engines.spark.session import functions_of, observation_for
from lakelogic.errors import EngineError, UnsupportedError
from lakelogic.plan.nodes import Mask, Published
from lakelogic.privacy.keys import Keys
from lakelogic.storage import fresh

_SIDE, _FATE, _COPY = identifier(names.SIDE), identifier(names.FATE), identifier(names.COPY)
_OTHER = "other"
_PART = "~part"


def stage(
    frame: Frame,
    columns: Sequence[Published],
    masks: Sequence[Mask],
    keys: Keys,
    place: str,
    order: Order = AS_IT_COMES,
) -> Staged:
    """Write both sides under `place`, and tell what was written and counted."""
    root = _made(place)
    notes = counting.notes_of(frame)
    observed, counter = _observed(frame, notes)
    kept = _as_staged(masked(observed, columns, masks, keys).where(f"{_SIDE} IS NOT NULL"), columns)
    kept, folders = _arranged(kept, order)
    try:
        (
            kept.write.mode("append")
            .partitionBy(*folders)
            .option("compression", "snappy")
            .option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
            .parquet(located(str(root)))
        )
    except Exception as error:
        raise source_error(error) or EngineError(
            f"Spark could not evaluate the plan: {_first_line(error)}",
            hint=f"Nothing was published; staged under {place}.",
        ) from error
    _tidy(root)
    _name_plainly(root)
    good, bad = _written(root, names.GOOD_SIDE, order.partition_by), _written(root, names.BAD_SIDE)
    scanned = counting.scanned(notes.scan)
    return Staged(good, bad, scanned, *_marks(frame, notes, counter))


def _as_staged(frame: Frame, columns: Sequence[Published]) -> Frame:
    """The columns of staged files: both sides are written at once, and what only bad rows have is NULL in good ones."""
    only_bad = {column.name for column in columns if not column.on_good}
    bad = f"{_SIDE} = '{names.BAD_SIDE}'"
    shown = [column for column in frame.columns if column not in (names.FATE, names.COPY)]
    return frame.selectExpr(
        *(
            f"CASE WHEN {bad} THEN {identifier(c)} END AS {identifier(c)}" if c in only_bad else identifier(c)
            for c in shown
        )
    )


def _arranged(kept: Frame, order: Order) -> tuple[Frame, tuple[str, ...]]:
    """The rows as they are to lie in files, and the columns that become folders.

    Partitions have folders named by a digest: values may be of any length, and the columns stay in the files.
    """
    folders: tuple[str, ...] = (names.SIDE,)
    good = f"{_SIDE} = '{names.GOOD_SIDE}'"
    if order.partition_by:
        values = ", ".join(
            f"CAST({identifier(column)} AS STRING) AS p{at}" for at, column in enumerate(order.partition_by)
        )
        digest = f"CASE WHEN {good} THEN sha2(to_json(struct({values})), 256) ELSE '0' END"
        kept = kept.withColumn(_PART, functions_of(kept).expr(digest))
        folders = (names.SIDE, _PART)
    if order.cluster_by:
        kept = kept.sortWithinPartitions(*(identifier(column) for column in (*folders, *order.cluster_by)))
    return kept, folders


def _observed(frame: Frame, notes: counting.Notes) -> tuple[Frame, Any]:
    """The frame with a counter of what steps lose and make; without one where no step can, as files tell the rest."""
    if not notes.fates and not notes.copies:
        return frame, None
    counter = observation_for(frame)
    wanted = (functions_of(frame).expr(text) for text in _counts(notes.fates, notes.copies))
    return frame.observe(counter, *wanted), counter


def _counts(fates: Sequence[int], copies: Sequence[int]) -> list[str]:
    lost = f"{_SIDE} IS NULL"
    listed = ", ".join(str(number) for number in fates)
    other = f"{lost} AND ({_FATE} IS NULL OR {_FATE} NOT IN ({listed}))" if listed else lost
    unknown = f"{_COPY} NOT IN ({', '.join(str(number) for number in (0, *copies))})"
    return [
        *(f"count_if({lost} AND {_FATE} = {number}) AS fate{number}" for number in fates),
        *(f"count_if({_COPY} = {number}) AS copy{number}" for number in copies),
        f"count_if(({other}) OR {unknown}) AS {_OTHER}",
    ]


def _marks(frame: Frame, notes: counting.Notes, counter: Any) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Lost rows by fate, and all rows by copy: as observed, or counted again where the observation cannot tell."""
    if counter is None or notes.empty or notes.scan == 0:
        return {}, {}
    seen = counting.read(counter)
    # An answer that lacks a count is none: a server under load has been seen to send an empty one.
    if seen is not None and seen.get(_OTHER) == 0:
        counts = {key: int(value or 0) for key, value in seen.items() if value}
        return (
            {number: counts[f"fate{number}"] for number in notes.fates if f"fate{number}" in counts},
            {number: counts[f"copy{number}"] for number in notes.copies if f"copy{number}" in counts},
        )
    lost = frame.where(f"{_SIDE} IS NULL").groupBy(_FATE).count().collect()
    copy_counts = frame.where(f"{_COPY} <> 0").groupBy(_COPY).count().collect()
    fates, copies = ({int(row[0]): int(row[1]) for row in rows if row[0] is not None} for rows in (lost, copy_counts))
    return fates, copies


def _made(place: str) -> Path:
    """The folder, which is not there yet: Spark would put its files beside others."""
    path = place.removeprefix("file://")
    if "://" in path:
        raise UnsupportedError(f"Staging under {place} is not available yet; a local or mounted folder is.")
    return fresh.folder(Path(path).absolute())


def _tidy(root: Path) -> None:
    """Remove what Hadoop leaves beside data: checksums and markers."""
    for leftover in [*root.rglob("*.crc"), *root.rglob("_SUCCESS")]:
        leftover.unlink(missing_ok=True)


def _name_plainly(root: Path) -> None:
    """Folders `column=value` by their value alone: other readers of the table would take them for its partitions."""
    for side in root.glob(f"{names.SIDE}=*"):
        for part in side.glob("*=*"):
            part.rename(side / part.name.rpartition("=")[2])
        side.rename(root / side.name.rpartition("=")[2])


def _written(root: Path, side: str, partition_by: Sequence[str] = ()) -> tuple[DataFile, ...]:
    files = []
    for path in sorted((root / side).rglob("*.parquet")):
        footer = pq.read_metadata(path)
        # Only years 1678 to 2262 survive INT96 in other readers, so such a file must never reach a table.
        if any(footer.schema.column(i).physical_type == "INT96" for i in range(len(footer.schema))):
            raise EngineError(
                f"Spark wrote timestamps as INT96 in {path.name}.",
                hint='Set spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").',
            )
        if footer.num_rows == 0:
            path.unlink()
            continue
        files.append(DataFile(str(path), footer.num_rows, path.stat().st_size, _values(path, partition_by)))
    return tuple(files)


def _values(path: Path, partition_by: Sequence[str]) -> dict[str, Any]:
    """The one value of each column that a file was parted by, as its first row has it."""
    if not partition_by:
        return {}
    with pq.ParquetFile(path) as file:
        first = next(file.iter_batches(1, columns=list(partition_by)))
    return {column: first.column(column)[0].as_py() for column in partition_by}


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
