"""What the footers of staged Parquet files say: fitness for a Delta table, and statistics for its log."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.errors import TableError
from lakelogic.sql.types import from_arrow
from lakelogic.tables.base import StagedFile

# Delta collects statistics for the first 32 columns; readers expect no more.
INDEXED_COLUMNS = 32
TEXT_PREFIX = 32
# Longer text is cut; the highest code point after the cut keeps the bound above everything it stands for.
HIGHEST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """One file as the log will name it: path relative to the table's root, with its Delta statistics."""

    path: str
    rows: int
    size: int
    modified_ms: int
    stats: str
    nulls: dict[str, int | None]  # per declared column of a simple type; None where the footer does not tell


def read_footers(root: str, files: Sequence[StagedFile], schema: pa.Schema) -> list[DeltaFile]:
    """Check every staged file against the schema it is committed with, and collect what the log records.

    Refuses files outside the root, files in folders that a vacuum never enters, INT96, types other than the
    declared ones, and row counts that differ from what the stage reported.
    """
    return [_read_footer(root, file, schema) for file in files]


def _read_footer(root: str, file: StagedFile, schema: pa.Schema) -> DeltaFile:
    relative = _relative(root, file.path)
    try:
        with pq.ParquetFile(file.path) as parquet:
            footer, landed = parquet.metadata, parquet.schema_arrow
        status = Path(file.path).stat()
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"The staged file {file.path} cannot be read: {error}", where=root) from error
    if footer.num_rows != file.rows:
        raise TableError(
            f"The staged file {file.path} holds {footer.num_rows} rows, {file.rows} were reported.",
            where=root,
            hint="Something wrote to the file after it was staged; run again.",
        )
    _refuse_int96(root, file.path, footer)
    _refuse_other_types(root, file.path, landed, schema)
    stats, nulls = _statistics(footer, schema)
    return DeltaFile(relative, footer.num_rows, status.st_size, status.st_mtime_ns // 1_000_000, stats, nulls)


def _relative(root: str, path: str) -> str:
    relative = os.path.relpath(os.path.abspath(path), os.path.abspath(root))  # noqa: PTH100 (links stay as they are)
    parts = Path(relative).parts
    if ".." in parts or Path(relative).is_absolute():
        raise TableError(
            f"The staged file {path} does not lie under the table.",
            where=root,
            hint="A Delta table refers only to files below its own folder; stage or copy the file there.",
        )
    hidden = next((part for part in parts if part.startswith(("_", "."))), None)
    if hidden is not None:
        raise TableError(
            f"The staged file {path} lies in `{hidden}`, where a vacuum never removes anything.",
            where=root,
            hint="No folder of a data file may begin with an underscore or a dot.",
        )
    return "/".join(parts)


def _refuse_int96(root: str, path: str, footer: Any) -> None:
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        if column.physical_type == "INT96":
            raise TableError(
                f"Column `{column.path}` of {path} is stored as INT96; readers misread it outside the years 1678-2262.",
                where=root,
                hint="Set spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS on the session that writes.",
            )


def _refuse_other_types(root: str, path: str, landed: pa.Schema, schema: pa.Schema) -> None:
    for field in schema:
        index = landed.get_field_index(field.name)
        if index < 0:
            raise TableError(f"The staged file {path} has no column `{field.name}`.", where=root)
        found = landed.field(index).type
        if from_arrow(found) != from_arrow(field.type):
            raise TableError(
                f"Column `{field.name}` of {path} is {from_arrow(found)}, the table gets {from_arrow(field.type)}.",
                where=root,
            )
        if pa.types.is_timestamp(found) and found.unit != "us":
            raise TableError(
                f"Column `{field.name}` of {path} is a timestamp in {found.unit}; a Delta table keeps microseconds.",
                where=root,
            )


def _statistics(footer: Any, schema: pa.Schema) -> tuple[str, dict[str, int | None]]:
    """Delta's statistics as JSON text, and the number of NULLs per declared column."""
    places = {}
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        # Only columns of a simple type at the top: the name of a nested leaf is not its path.
        if column.name == column.path and column.max_repetition_level == 0:
            places[column.name] = index
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int | None] = {}
    for field in schema:
        if field.name not in places:
            continue
        groups = [
            footer.row_group(group).column(places[field.name]).statistics for group in range(footer.num_row_groups)
        ]
        nulls[field.name] = _nulls(groups)
        bounds = _bounds(groups, field.type)
        if bounds is not None and len(low) < INDEXED_COLUMNS:
            low[field.name], high[field.name] = bounds
    known = [(name, count) for name, count in nulls.items() if count is not None][:INDEXED_COLUMNS]
    stats = {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": dict(known)}
    return json.dumps(stats, allow_nan=False), nulls


def _nulls(groups: Sequence[Any]) -> int | None:
    if any(group is None or not group.has_null_count for group in groups):
        return None
    return sum(int(group.null_count) for group in groups)


def _bounds(groups: Sequence[Any], kind: pa.DataType) -> tuple[Any, Any] | None:
    """Lowest and highest value in Delta's JSON form; None for kinds and files that give no sure bound.

    Floats have none: a footer leaves NaN out, and readers that order NaN above all numbers would skip it.
    Decimals have none: JSON numbers lose digits on the way through some readers.
    """
    form = next((form for fits, form in _FORMS if fits(kind)), None)
    if form is None:
        return None
    values: list[tuple[Any, Any]] = []
    for group in groups:
        if group is None:
            return None
        if group.has_min_max:
            try:
                values.append(_extremes(group, kind))
            except (ValueError, OverflowError):  # outside Python's calendar
                return None
        elif not (group.has_null_count and group.num_values == 0):
            return None
    if not values:
        return None
    return form(min(low for low, _ in values), max(high for _, high in values))


def _extremes(group: Any, kind: pa.DataType) -> tuple[Any, Any]:
    """Lowest and highest value of a row group. Instants are taken raw: Arrow loads pandas to make datetimes of them."""
    if not pa.types.is_timestamp(kind):
        return group.min, group.max
    start = datetime(1970, 1, 1, tzinfo=UTC if kind.tz else None)
    return start + timedelta(microseconds=group.min_raw), start + timedelta(microseconds=group.max_raw)


def _whole(low: Any, high: Any) -> tuple[Any, Any] | None:
    return low, high


def _day(low: date, high: date) -> tuple[Any, Any] | None:
    return low.isoformat(), high.isoformat()


def _instant(low: datetime, high: datetime) -> tuple[Any, Any] | None:
    """Milliseconds, as Delta writes them, rounded outward so that the bounds stay true."""
    low = low.replace(microsecond=low.microsecond // 1000 * 1000)
    rest = -high.microsecond % 1000
    try:
        high += timedelta(microseconds=rest)
    except OverflowError:
        return None
    suffix = "Z" if low.tzinfo is not None else ""
    texts = (moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + suffix for moment in (low, high))
    return next(texts), next(texts)


def _text(low: Any, high: Any) -> tuple[Any, Any] | None:
    if not isinstance(low, str) or not isinstance(high, str):
        return None
    if len(high) > TEXT_PREFIX:
        if high[TEXT_PREFIX] == HIGHEST:
            return None
        high = high[:TEXT_PREFIX] + HIGHEST
    return low[:TEXT_PREFIX], high


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


_FORMS = (
    (pa.types.is_integer, _whole),
    (pa.types.is_date, _day),
    (pa.types.is_timestamp, _instant),
    (_is_text, _text),
)
