"""csv and tsv files as Arrow batches: a ragged or undecodable line becomes a row that says so.

A file is read by Arrow's parser. Where that one would stop or read something else than `storage/csv_records.py`
(bytes that are not UTF-8, a quote that is never closed, a lone carriage return, a comment, a value larger than a
block) the file is read again record by record, from the row that was due next.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from lakelogic.engines.text_reader import Builder, Part, local_path, positions
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers, strings
from lakelogic.storage.csv_records import MOST_LINES, Dialect, dialect_of, header_of, ragged, records
from lakelogic.storage.text_files import Lines, open_text

BLOCK = 4 << 20
SLICE = 16_384
_MARK = "\x01\x02\x01"
_BLANK = re.compile(rb"\n(?=[\r\n])")


class _Careful(Exception):
    """The fast parser cannot go on with this file."""


def batches_of(read: Read, part: Part, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, or of a part of it."""
    dialect, done = dialect_of(read.format, read.options), 0
    with _opened(read, part) as stream:
        lines, names = _begin(read, dialect, part, stream)
        if not names:
            return
        builder = Builder(read, part.uri, whole)
        where = positions(read, names)
        if _is_simple(dialect) and lines.is_level:
            try:
                for batch in _fast(
                    dialect, builder, len(names), where, _Body(stream, lines.number, dialect, len(names))
                ):
                    done += batch.num_rows
                    yield batch
            except _Careful:
                pass
            else:
                return
    with _opened(read, part) as stream:
        lines, names = _begin(read, dialect, part, stream)
        rows = islice(records(dialect, lines, len(names)), done, None)
        while found := list(islice(rows, SLICE)):
            columns = [
                None if at is None else strings([None if row.values is None else row.values[at] for row in found])
                for at in where
            ]
            yield builder.build(
                columns,
                integers([row.line for row in found]),
                strings([row.text for row in found]),
                strings([row.broken for row in found]),
            )


def _opened(read: Read, part: Part) -> BinaryIO:
    return open_text(local_path(part.uri), read.options, part.start, part.end)


def _begin(read: Read, dialect: Dialect, part: Part, stream: BinaryIO) -> tuple[Lines, list[str]]:
    """The lines of the rows, and the names of their values."""
    known = read.options.get("headers")
    names = list(known[part.uri]) if isinstance(known, dict) and part.uri in known else None
    lines = Lines(stream, part.line)
    if part.start:
        assert names is not None
        return lines, names
    if dialect.has_header:
        found = header_of(part.uri, dialect, lines)
        return lines, found
    for _ in range(dialect.skip_rows):
        lines.take()
    return lines, [column.name for column in read.columns] if names is None else names


def _is_simple(dialect: Dialect) -> bool:
    """Whether Arrow's parser takes the dialect: it knows characters of one byte."""
    return all(len(sign.encode()) == 1 for sign in (dialect.delimiter, dialect.quote or '"'))


class _Body(io.RawIOBase):
    """The bytes after the header. It stops where the fast parser must, and remembers where it saw blank lines.

    The parser steps over blank lines without a word, so the line of a later row could not be told without this.
    """

    def __init__(self, stream: BinaryIO, line: int, dialect: Dialect, width: int) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._quote = (dialect.quote or "").encode()
        self._comment = (dialect.comment or "").encode()
        self._line = line  # the physical line that the next byte belongs to
        self._tail = b"\n"  # the end of what was seen
        self.first = line
        self.blank: deque[int] = deque()
        self.quoted = False
        self._quotes = 0
        self._mark = dialect.delimiter.join([_MARK] * width).encode() + b"\n"
        self.marked = False

    def readable(self) -> bool:
        """It can be read, once."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Hand on the next bytes."""
        data = self._stream.read(len(buffer))
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise _Careful from error
        buffer[: len(data)] = data
        if data:
            self._watch(data)
        elif self._quotes % 2:
            raise _Careful  # a quote was never closed: the parser would take the rest of the file for one value
        elif self._tail.endswith(b"\r"):
            raise _Careful
        elif self.quoted and not self.marked:
            # A row of our own at the end. Where the parser does not find it, it stands in a quote that is open.
            self.marked = True
            data = self._mark if self._tail.endswith(b"\n") else b"\n" + self._mark
            buffer[: len(data)] = data
        return len(data)

    def _watch(self, data: bytes) -> None:
        if self._quote:
            self._quotes += data.count(self._quote)
            self.quoted = self._quotes > 0
        if self._comment and b"\n" + self._comment in self._tail + data:
            raise _Careful
        if b"\r" in data or self._tail.endswith(b"\r"):
            known = self._tail[-1:] + data
            # The last one is judged when the next byte is seen.
            if known.count(b"\r") - known.count(b"\r\n") - known.endswith(b"\r"):
                raise _Careful  # it ends a line by itself, and lines are counted by line feeds
        if self._tail.endswith(b"\n") and data[:1] in (b"\n", b"\r"):
            self.blank.append(self._line)
        start = 0
        for found in _BLANK.finditer(data):
            self._line += data.count(b"\n", start, found.end())
            self.blank.append(self._line)
            start = found.end()
        self._line += data.count(b"\n", start)
        self._tail = (self._tail + data)[-len(self._comment) - 1 :]


def _fast(
    dialect: Dialect, builder: Builder, width: int, where: list[int | None], body: _Body
) -> Iterator[pa.RecordBatch]:
    own = [str(index) for index in range(width)]  # header names may repeat; ours do not
    noted: deque[Any] = deque()

    def note(row: Any) -> str:
        noted.append(row)
        return "skip"

    lines = _Lines(body)
    try:
        reader = arrow_csv.open_csv(
            pa.PythonFile(body, mode="r"),
            # One thread, because only then the parser tells the number of a ragged row.
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=own, block_size=BLOCK),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                newlines_in_values=dialect.quote is not None,
                invalid_row_handler=note,
            ),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False,  # the body has looked
                column_types=dict.fromkeys(own, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=["", *dialect.nulls],
            ),
        )
        held: pa.RecordBatch | None = None
        for batch in reader:
            if held is not None and batch.num_rows:
                yield from _numbered(builder, held, where, noted, lines)
                held = None
            held = batch if batch.num_rows else held
        if body.marked:
            if held is None or any(column[-1].as_py() != _MARK for column in held.columns):
                raise _Careful
            held = held.slice(0, held.num_rows - 1)
        if held is not None:
            yield from _numbered(builder, held, where, noted, lines)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):
            raise _Careful from error
    yield from _numbered(builder, None, where, noted, lines)


def _numbered(
    builder: Builder, batch: pa.RecordBatch | None, where: list[int | None], noted: deque[Any], lines: _Lines
) -> Iterator[pa.RecordBatch]:
    """The rows of a parsed batch with their lines, then the ragged rows that stood among them."""
    if any("\n" in row.text for row in noted):
        raise _Careful  # a quote was opened and never closed, or closed too late
    rows = 0 if batch is None else batch.num_rows
    inner = lines.inner_ends(batch) if batch is not None else None
    numbers: list[int] | range
    odd: list[tuple[int, Any]] = []
    if not noted:
        numbers = lines.take(rows, inner)
    else:
        taken: list[int] = []
        while len(taken) < rows or (noted and (batch is None or noted[0].number == lines.record + 1)):
            if noted and noted[0].number == lines.record + 1:
                odd.append((lines.take(1, None)[0], noted.popleft()))
            else:
                until = rows - len(taken)
                if noted:
                    until = min(until, noted[0].number - lines.record - 1)
                start = len(taken)
                taken += lines.take(until, None if inner is None else inner[start : start + until])
        numbers = taken
    if batch is not None and rows:
        none = pa.nulls(rows, pa.string())
        columns = [None if at is None else batch.column(at) for at in where]
        yield builder.build(columns, integers(numbers), none, none)
    if odd:
        yield builder.build(
            [None for _ in where],
            integers([line for line, _ in odd]),
            strings([row.text for _, row in odd]),
            strings([ragged(row.expected_columns, row.actual_columns) for _, row in odd]),
        )


class _Lines:
    """From the order of records to the physical lines they begin at."""

    def __init__(self, body: _Body) -> None:
        self._body = body
        self._next = body.first
        self.record = 0  # records taken so far

    def inner_ends(self, batch: pa.RecordBatch) -> list[int] | None:
        """How many line ends each row has inside its values; None when no row has any."""
        if not self._body.quoted:
            return None
        found: list[int] | None = None
        for column in batch.columns:
            data = column.buffers()[2]
            if data is None or b"\n" not in data.to_pybytes():
                continue
            found = found or [0] * batch.num_rows
            for index, value in enumerate(column.to_pylist()):
                if value and "\n" in value:
                    found[index] += value.count("\n")
        if found is not None and max(found) > MOST_LINES:
            raise _Careful
        return found

    def take(self, rows: int, inner: list[int] | None) -> list[int] | range:
        """The lines of the next records."""
        self.record += rows
        blank = self._body.blank
        if inner is None and (not blank or blank[0] > self._next + rows):
            start = self._next
            self._next += rows
            return range(start, self._next)
        lines = []
        for index in range(rows):
            while blank and blank[0] <= self._next:
                self._next += blank.popleft() == self._next
            lines.append(self._next)
            self._next += 1 + (inner[index] if inner else 0)
        return lines
