"""Read a csv file that Arrow's parser refuses: record by record, recovering at the next line after trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from lakelogic.engines.text_reader import NOT_UTF8

if TYPE_CHECKING:
    from lakelogic.engines.csv_lines import Dialect

# A quoted value that runs on for longer than this is a quote that somebody forgot to close.
_MOST_LINES = 1_000


class Row(NamedTuple):
    """One record: its values, or why it has none."""

    line: int
    values: list[str | None] | None
    text: str | None = None
    broken: str | None = None


def careful_rows(dialect: Dialect, stream: BinaryIO, line: int, width: int) -> Iterator[Row]:
    """The records after the header, each with the physical line it begins at."""
    from lakelogic.engines.csv_lines import ragged_reason

    pending: list[bytes] = []

    def next_line() -> bytes:
        return pending.pop(0) if pending else stream.readline()

    while raw := next_line():
        here, line = line, line + 1
        if not raw.strip(b"\r\n"):
            continue
        text, valid = _decoded(raw)
        taken: list[bytes] = []
        values, is_open = split(text, dialect)
        while valid and is_open and len(taken) < _MOST_LINES and (more := next_line()):
            taken.append(more)
            longer, valid = _decoded(more)
            text = f"{text}\n{longer}"
            values, is_open = split(text, dialect)
        if valid and not is_open and len(values) == width:
            line += len(taken)
            yield Row(here, values)
            continue
        # The first line alone is given up; what follows it may well be sound.
        pending[:0] = taken
        text, valid = _decoded(raw)
        if not valid:
            yield Row(here, None, text, NOT_UTF8)
        elif is_open or taken:
            yield Row(here, None, text, "a quote is not closed")
        else:
            yield Row(here, None, text, ragged_reason(width, len(values)))


def _decoded(raw: bytes) -> tuple[str, bool]:
    """A line without its end, and whether it was UTF-8."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return raw.decode("utf-8"), True
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), False


def split(text: str, dialect: Dialect) -> tuple[list[str | None], bool]:
    """The values of a record, and whether its last quote is still open."""
    values: list[str | None] = []
    nulls = {"", *dialect.nulls}
    if dialect.quote is None:
        return [None if value in nulls else value for value in text.split(dialect.delimiter)], False
    quote = re.escape(dialect.quote)
    closing = re.compile(f"((?:[^{quote}]|{quote}{quote})*){quote}")
    position = 0
    while True:
        if text.startswith(dialect.quote, position):
            match = closing.match(text, position + 1)
            if match is None:
                return values, True
            end = text.find(dialect.delimiter, match.end())
            tail = text[match.end() : end if end >= 0 else len(text)]
            values.append(match[1].replace(dialect.quote * 2, dialect.quote) + tail)
        else:
            end = text.find(dialect.delimiter, position)
            value = text[position : end if end >= 0 else len(text)]
            values.append(None if value in nulls else value)
        if end < 0:
            return values, False
        position = end + len(dialect.delimiter)
