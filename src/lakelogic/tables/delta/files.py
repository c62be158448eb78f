"""What the footers of staged Parquet files say: fitness for a Delta table, and statistics for its log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from lakelogic.errors import TableError
from lakelogic.tables.base import StagedFile
from lakelogic.tables.partitions import text_of
from lakelogic.tables.staged import Footer, column_places, null_counts, read_footer

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
    partition: Mapping[str, str | None] = field(default_factory=dict)


def read_footers(root: str, files: Sequence[StagedFile], schema: pa.Schema) -> list[DeltaFile]:
    """Check every staged file against the schema it is committed with, and collect what the log records."""
    return [_delta_file(root, read_footer(root, file, schema), schema, file.partition) for file in files]


def _delta_file(root: str, footer: Footer, schema: pa.Schema, partition: Mapping[str, Any]) -> DeltaFile:
    if "" in partition.values():
        raise TableError(
            "A Delta table cannot keep an empty text as the value of a partition: readers take it for NULL.",
            where=root,
            hint="Say partition_by in the contract, and such rows go to quarantine; or make it a word with a step.",
        )
    nulls = null_counts(footer.metadata, schema)
    held = pa.schema([column for column in schema if column.name not in partition])
    stats = _statistics(footer.metadata, held, nulls)
    texts = {name: text_of(value) for name, value in partition.items()}
    return DeltaFile(footer.path, footer.rows, footer.size, footer.modified_ms, stats, nulls, texts)


def _statistics(footer: Any, schema: pa.Schema, nulls: Mapping[str, int | None]) -> str:
    """Delta's statistics as JSON text."""
    places = column_places(footer)
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    for column in schema:
        if column.name not in places or len(low) >= INDEXED_COLUMNS:
            continue
        groups = [
            footer.row_group(group).column(places[column.name]).statistics for group in range(footer.num_row_groups)
        ]
        bounds = _bounds(groups, column.type)
        if bounds is not None:
            low[column.name], high[column.name] = bounds
    counted = [(column.name, nulls[column.name]) for column in schema if nulls.get(column.name) is not None]
    counts = dict(counted[:INDEXED_COLUMNS])
    stats = {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": counts}
    return json.dumps(stats, allow_nan=False)


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
