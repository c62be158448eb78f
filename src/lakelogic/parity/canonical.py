"""Values as texts that are equal exactly when the values are: how results of engines are compared and shown."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def canonical(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """The values of a column as JSON texts. A map's entries come by key; -0 is 0; NaN is NaN."""
    values: Sequence[Any] = readable(column).to_pylist()
    return [json.dumps(plain(value, column.type), ensure_ascii=False) for value in values]


def readable(column: Any) -> Any:
    """Dates and instants as whole numbers where Python's own cannot hold them (before 0001, after 9999)."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        try:
            column.to_pylist()
        except (ValueError, OverflowError):
            return pc.cast(column, pa.int64() if pa.types.is_timestamp(kind) else pa.int32())
    return column


def plain(value: Any, kind: pa.DataType | None = None) -> Any:
    """A value as it is written in `expected/*.jsonl`: instants in ISO with Z, decimals as text, bytes in base64."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value + 0.0
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        shown = value.astimezone(UTC) if value.tzinfo else value
        text = f"{shown.year:04d}-{shown:%m-%dT%H:%M:%S}" + (f".{shown.microsecond:06d}" if shown.microsecond else "")
        return text + ("Z" if value.tzinfo else "")
    if isinstance(value, date):
        return f"{value.year:04d}-{value:%m-%d}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        inner = {f.name: f.type for f in kind} if kind is not None and pa.types.is_struct(kind) else {}
        return {name: plain(item, inner.get(name)) for name, item in value.items()}
    if kind is not None and pa.types.is_map(kind):
        entries = [(plain(key, kind.key_type), plain(item, kind.item_type)) for key, item in value]
        entries.sort(key=lambda pair: repr(pair[0]))
        return {key if isinstance(key, str) else json.dumps(key): item for key, item in entries}
    if isinstance(value, list | tuple):
        element = kind.value_type if kind is not None and pa.types.is_list(kind) else None
        return [plain(item, element) for item in value]
    return str(value)
