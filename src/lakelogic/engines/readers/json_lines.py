"""JSON files as Arrow batches: scalars as their exact text, nested values as compact JSON text.

A file holds one object per line, or is one document: an array of objects, or an object. A document is told by
`multiline: true`, or by the bracket that a file of the format `json` begins with.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from lakelogic.engines.readers.parts import Builder, Part, SplitPoints, local_path, positions, schema
from lakelogic.names import landed_name
from lakelogic.plan.columns.numbers import OTHERS, Shape, shape_of
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers, strings
from lakelogic.storage.text_files import encoding_of, open_text

INVALID = "invalid JSON"
NUL_IN_KEY = "a key holds the character NUL"
NOT_AN_OBJECT = "not a JSON object"
TOO_DEEP = "nested too deeply"
# Deeper than people nest, and far from where a reader gives up, which is not the same everywhere.
MOST_DEPTH = 200

_ROWS = 16_384
_BLOCK = 1 << 17
_NOTHING: dict[str, Any] = {}
_WORD = f"lakelogic-{secrets.token_hex(16)}"
_BETWEEN = f',"{_WORD}",'
_BLANK = b" \t\r\n"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_HALF = re.compile("[\ud800-\udfff]")


class _Number(str):
    """A number as it was written, told apart from text of the same characters."""

    __slots__ = ()


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_no_constant)
_decode: Callable[[str], Any] = _decoder.decode
_pairs: Callable[[str], Any] = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_no_constant, object_pairs_hook=list
).decode
_quoted = json.JSONEncoder(ensure_ascii=False).encode


class Row(NamedTuple):
    """One value of a file: its line, its text as landed, and the object it is or why it is none."""

    line: int
    text: str
    value: dict[str, Any] | None
    broken: str | None


def canonical_json(value: Any) -> str:
    """A nested value as compact JSON, with numbers as they were written."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{_quoted(key)}:{canonical_json(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([canonical_json(item) for item in value]) + "]"
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


def is_whole(read: Read, part: Part) -> bool:
    """Whether the file is one document rather than a line for each object."""
    if read.options.get("multiline"):
        return True
    if read.format != "json" or part.start:
        return False
    with open_text(local_path(part.uri), read.options) as stream:
        while (line := stream.readline()) and not line.strip(_BLANK):
            pass
        if not line.lstrip(_BLANK).startswith(b"["):
            return False
        # An array on the first line that something follows is a broken line among others.
        following = any(more.strip(_BLANK) for more in stream)
    try:
        json.loads(line)
    except ValueError:
        return True
    return not following


def split_points(read: Read, uri: str) -> SplitPoints | None:
    """Where a file may be cut: nowhere in one that is a document."""
    return None if is_whole(read, Part(uri)) else SplitPoints()


def rows_of(read: Read, part: Part) -> Iterator[list[Row]]:
    """The values of a file in order, some at a time."""
    return _document(read, part) if is_whole(read, part) else _lines(read, part)


def _lines(read: Read, part: Part) -> Iterator[list[Row]]:
    unreadable = f"not valid {encoding_of(read.options)}"
    number = part.line
    with open_text(local_path(part.uri), read.options, part.start, part.end, part.line) as stream:
        while raw := stream.readlines(_BLOCK):
            found = _all_at_once(raw, number)
            yield list(_one_by_one(raw, number, unreadable)) if found is None else found
            number += len(raw)


def _all_at_once(raw: list[bytes], number: int) -> list[Row] | None:
    """The objects of lines that are all sound, parsed by one call; None where one is not.

    A word that occurs in none of them stands between the lines. When all of these words come out between the
    values, and only there, every line was exactly one value.
    """
    try:
        lines = b"".join(raw).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    texts = [line.removesuffix("\r") for line in lines]
    numbers = [at for at, text in enumerate(texts, number) if text and text.strip(" \t\r")]
    if len(numbers) < len(texts):
        texts = [texts[at - number] for at in numbers]
    joined = _BETWEEN.join(texts)
    if joined.count(_WORD) != len(texts) - 1 or any(len(t) > 2 * MOST_DEPTH and _is_deep(t) for t in texts):
        return None
    try:
        values = _decode(f"[{joined}]")
    except (ValueError, RecursionError):
        return None
    objects = values[::2]
    if values[1::2].count(_WORD) != len(texts) - 1 or not all(type(value) is dict for value in objects):
        return None
    if "\\u" in joined and any(_HALF.search(canonical_json(value)) or _has_nul_in_key(value) for value in objects):
        return None
    return [Row(*row) for row in zip(numbers, texts, objects, repeat(None))]


def _one_by_one(raw: list[bytes], number: int, unreadable: str) -> Iterator[Row]:
    for at, ended in enumerate(raw, number):
        line = ended.removesuffix(b"\n").removesuffix(b"\r")
        if not line.strip(_BLANK):
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            yield Row(at, line.decode("utf-8", "replace"), None, unreadable)
            continue
        yield Row(at, text, *_parse(text))


def _parse(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """The object of a line, or why there is none."""
    if _is_deep(text):
        return None, TOO_DEEP
    try:
        value = _decode(text)
    except ValueError:
        return None, INVALID
    return _object(value, text)


def _object(value: Any, text: str) -> tuple[dict[str, Any] | None, str | None]:
    if not isinstance(value, dict):
        return None, NOT_AN_OBJECT
    if "\\u" in text and _HALF.search(canonical_json(value)):  # half a surrogate pair cannot be written as UTF-8
        return None, INVALID
    if "\\u" in text and _has_nul_in_key(value):  # no engine can name a column so, and some end the process
        return None, NUL_IN_KEY
    return value, None


def _has_nul_in_key(value: Any) -> bool:
    if isinstance(value, dict):
        return any("\0" in key or _has_nul_in_key(item) for key, item in value.items())
    return isinstance(value, list) and any(_has_nul_in_key(item) for item in value)


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return False
    depth = deepest = 0
    for sign in _STRING.sub("", text):
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest > MOST_DEPTH


def _document(read: Read, part: Part) -> Iterator[list[Row]]:
    """The objects of documents, which stand alone, in an array, or one after the other.

    Where the text stops being JSON, what is left of it is one broken row: nobody can tell how many it would be.
    """
    with open_text(local_path(part.uri), read.options) as stream:
        text = stream.read().decode("utf-8", "surrogateescape")
    unreadable = f"not valid {encoding_of(read.options)}"
    line, counted = 1, 0
    for start, end, value, broken in _values(text):
        line += text.count("\n", counted, start)
        counted = start
        written = text[start:end]
        if _HALF.search(written):
            yield [Row(line, _HALF.sub("\ufffd", written), None, unreadable)]
        elif broken is not None:
            yield [Row(line, written, None, broken)]
        else:
            yield [Row(line, written, *_object(value, written))]


def _values(text: str) -> Iterator[tuple[int, int, Any, str | None]]:
    """The values of a text: where each begins and ends, and what it is or why it is none."""
    at = _blank(text, 0)
    inside = False  # of an array
    while at < len(text):
        if not inside and text[at] == "[":
            inside, at = True, _blank(text, at + 1)
            if text.startswith("]", at):
                inside, at = False, _blank(text, at + 1)
            continue
        # The depth is looked at only up to the end of the value, which is not known before it is parsed.
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            yield at, len(text.rstrip(" \t\r\n")), None, TOO_DEEP if deep else INVALID
            return
        yield at, end, value, TOO_DEEP if _is_deep(text[at:end]) else None
        at = _blank(text, end)
        if not inside:
            continue
        if text.startswith("]", at):
            inside, at = False, _blank(text, at + 1)
        elif text.startswith(",", at) and not text.startswith("]", _blank(text, at + 1)):
            at = _blank(text, at + 1)
        else:
            yield at, len(text.rstrip(" \t\r\n")) if at < len(text) else at, None, INVALID
            return
    if inside:
        yield len(text), len(text), None, INVALID


def _blank(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def shapes_of(read: Read, part: Part) -> dict[str, Shape]:
    """The top-level keys of the objects in a file, and how their values are written; columns of `read` need no look."""
    known = {column.name.lower() for column in read.columns}
    found: dict[str, Shape] = {}
    for rows in rows_of(read, part):
        look(found, [row.value for row in rows if row.value is not None], known)
    return found


def shapes_of_texts(texts: Sequence[str]) -> dict[str, Shape]:
    """The same for objects that were kept as text."""
    found: dict[str, Shape] = {}
    look(found, [value for value, _ in map(_parse, texts) if value is not None], ())
    return found


def look(found: dict[str, Shape], objects: Sequence[dict[str, Any]], known: Collection[str]) -> None:
    """Add what these objects have to what was found before."""
    for key in set().union(*objects):
        before = found.get(key)
        if before is None:
            before = found[key] = OTHERS if landed_name(key).lower() in known else Shape()
        if before.has_others:
            continue
        values = {value for one in objects if type(value := one.get(key)) is _Number}
        if any(type(value := one.get(key)) is not _Number and value is not None for one in objects):
            found[key] = OTHERS
        elif values:
            found[key] = before | shape_of(values)


def batches_of(read: Read, part: Part, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, or of a part of it, in order."""
    builder = Builder(read, part.uri, whole)
    rows: list[Row] = []
    for found in rows_of(read, part):
        rows += found
        if len(rows) >= _ROWS:
            yield _batch(read, builder, rows)
            rows = []
    if rows:
        yield _batch(read, builder, rows)


def _settled(row: Row) -> dict[str, Any]:
    """The object of a row that has keys of one name in several cases: the last of them stands for all."""
    value = row.value or _NOTHING
    last = {landed_name(key).lower(): key for key, _ in _pairs(row.text)}
    return {key: value[key] for key in last.values()}


def batch_of_texts(read: Read, texts: Sequence[str]) -> pa.RecordBatch:
    """Objects that were kept as text, as rows once more; `~number` counts them from 1."""
    rows = [Row(at, text, *_parse(text)) for at, text in enumerate(texts, 1)]
    return _batch(read, Builder(read, "", schema(read)), rows)


def _batch(read: Read, builder: Builder, rows: list[Row]) -> pa.RecordBatch:
    objects = [row.value or _NOTHING for row in rows]
    shapes = [tuple(value) for value in objects]
    twins = {shape for shape in set(shapes) if len({landed_name(key).lower() for key in shape}) < len(shape)}
    if twins:
        objects = [
            _settled(row) if shape in twins else value for row, shape, value in zip(rows, shapes, objects, strict=True)
        ]
        shapes = [tuple(value) for value in objects]
    # The key that stands for a column, in objects of each shape.
    spelled = {shape: positions(read, map(landed_name, shape)) for shape in set(shapes)}
    columns: list[pa.Array] = []
    for at, _ in enumerate(read.columns):
        keys = {shape: None if (where := found[at]) is None else shape[where] for shape, found in spelled.items()}
        if len(keys) == 1:
            (key,) = keys.values()
            values = [None] * len(rows) if key is None else [value[key] for value in objects]
        else:
            values = [
                None if (key := keys[shape]) is None else value[key]
                for shape, value in zip(shapes, objects, strict=True)
            ]
        columns.append(strings([v if v is None or isinstance(v, str) else landed_text(v) for v in values]))
    return builder.build(
        columns,
        integers([row.line for row in rows]),
        strings([row.text for row in rows]),
        strings([row.broken for row in rows]),
    )
