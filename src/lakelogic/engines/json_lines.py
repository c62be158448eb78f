"""ndjson files as Arrow batches: scalars as their exact text, nested values as compact JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pyarrow as pa

from lakelogic.engines.text_reader import NOT_UTF8, Builder, local_path, open_bytes, positions, skip_mark
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers, strings

INVALID = "invalid JSON"
NOT_AN_OBJECT = "not a JSON object"

_ROWS = 16_384


class _Number(str):
    """A number as it was written, told apart from text of the same characters."""

    __slots__ = ()


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decode: Callable[[str], Any] = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_no_constant
).decode
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def canonical_json(value: Any) -> str:
    """A nested value as compact JSON, with numbers as they were written."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{canonical_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical_json(item) for item in value) + "]"
    return _quoted(value)


def landed_text(value: Any) -> str | None:
    """A top-level value as it lands in a string column."""
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return canonical_json(value)


def _lines(uri: str) -> Iterator[tuple[int, str, str | None]]:
    """Line number, text, and why it could not be decoded; blank lines are passed over."""
    with open_bytes(local_path(uri)) as stream:
        skip_mark(stream)
        for number, raw in enumerate(stream, start=1):
            stripped = raw.strip()
            if not stripped:
                continue
            try:
                yield number, stripped.decode("utf-8"), None
            except UnicodeDecodeError:
                yield number, stripped.decode("utf-8", "replace"), NOT_UTF8


def _parse(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """The object of a line, or why there is none."""
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        return None, INVALID
    if not isinstance(value, dict):
        return None, NOT_AN_OBJECT
    if "\\u" in text:  # half a surrogate pair cannot be written as UTF-8
        try:
            canonical_json(value).encode("utf-8")
        except UnicodeEncodeError:
            return None, INVALID
    return value, None


def keys_of(uri: str) -> set[str]:
    """The top-level keys of the objects in a file."""
    found: set[str] = set()
    for _, text, broken in _lines(uri):
        value = None if broken else _parse(text)[0]
        if value is not None:
            found.update(value)
    return found


def batches_of(read: Read, uri: str, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, in order."""
    builder = Builder(read, uri, whole)
    rows: list[dict[str, Any]] = []
    about: list[tuple[int, str, str | None]] = []
    for number, text, broken in _lines(uri):
        value: dict[str, Any] | None = None
        if broken is None:
            value, broken = _parse(text)
        rows.append(value or {})
        about.append((number, text, broken))
        if len(rows) >= _ROWS:
            yield _batch(read, builder, rows, about)
            rows, about = [], []
    if rows:
        yield _batch(read, builder, rows, about)


def _batch(
    read: Read, builder: Builder, rows: list[dict[str, Any]], about: list[tuple[int, str, str | None]]
) -> pa.RecordBatch:
    shapes: dict[tuple[str, ...], list[str | None]] = {}
    columns: list[list[str | None]] = [[] for _ in read.columns]
    for row in rows:
        keys = tuple(row)
        names = shapes.get(keys)
        if names is None:
            names = [None if at is None else keys[at] for at in positions(read, keys)]
            shapes[keys] = names
        for column, name in zip(columns, names, strict=True):
            column.append(None if name is None else landed_text(row[name]))
    return builder.build(
        [strings(column) for column in columns],
        integers([number for number, _, _ in about]),
        strings([text for _, text, _ in about]),
        strings([broken for _, _, broken in about]),
    )
