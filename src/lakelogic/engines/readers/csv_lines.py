"""csv and tsv files as Arrow batches: a ragged or undecodable line becomes a row that says so.

A file is read by Arrow's parser. Where that one would stop or read something else than `storage/csv_records.py`
(bytes that are not UTF-8, a quote that is never closed, a lone carriage return, a comment, a value larger than a
block) the file is read again record by record, from the row that was due next.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from lakelogic.engines.readers.columns import Look, Sight, csv_headers, text_columns
from lakelogic.engines.readers.parts import Builder, Part, SplitPoints, local_path, positions
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers, strings
from lakelogic.storage.csv_records import MOST_LINES, CsvDialect, dialect_of, header_of, ragged, records
from lakelogic.storage.text_files import PhysicalLines, open_text

BLOCK = 4 << 20
_MOST_BLOCKS = 4  # a record that is longer is read with care
SLICE = 16_384
_MARK = "\x01\x02\x01"
_BLANK = re.compile(rb"\n(?=[\r\n])")


class _Careful(Exception):
    """The fast parser cannot go on with this file."""


def columns_of(look: Look) -> Sight:
    """The columns by the headers of the files."""
    headers = csv_headers(look.files, look.options, file_format=look.format, names=look.names, expected=look.expected)
    return Sight(text_columns(headers), headers, {"headers": headers})


def check(read: Read) -> None:
    """Refuse options that cannot be told apart."""
    dialect_of(read.format, read.options)


def split_points(read: Read, uri: str) -> SplitPoints | None:
    """Where a file may be cut, once its header is known."""
    dialect, headers = dialect_of(read.format, read.options), read.options.get("headers")
    if not isinstance(headers, Mapping) or not headers.get(uri) or dialect.skip_rows:
        return None
    return SplitPoints((dialect.quote or "").encode(), by_return=True)


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
                for batch in _fast(dialect, builder, len(names), where, _chunks(dialect, stream, lines.number)):
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
    return open_text(local_path(part.uri), read.options, part.start, part.end, part.line)


def _begin(read: Read, dialect: CsvDialect, part: Part, stream: BinaryIO) -> tuple[PhysicalLines, list[str]]:
    """The lines of the rows, and the names of their values."""
    known = read.options.get("headers")
    names = list(known[part.uri]) if isinstance(known, dict) and part.uri in known else None
    lines = PhysicalLines(stream, part.line)
    if part.start:
        assert names is not None
        return lines, names
    if dialect.has_header:
        found = header_of(part.uri, dialect, lines)
        return lines, found
    for _ in range(dialect.skip_rows):
        lines.take()
    return lines, [column.name for column in read.columns] if names is None else names


def _is_simple(dialect: CsvDialect) -> bool:
    """Whether Arrow's parser takes the dialect: it knows characters of one byte, and no bound within a block."""
    return dialect.most_bytes >= _MOST_BLOCKS * BLOCK and all(
        len(sign.encode()) == 1 for sign in (dialect.delimiter, dialect.quote or '"')
    )


@dataclass(slots=True)
class _Chunk:
    """Whole lines of the body, and where they stand in the file. `blank` are the lines without anything in them.

    The parser steps over blank lines without a word, so the line of a later row could not be told without this.
    """

    data: bytes
    line: int
    has_quotes: bool
    blank: deque[int]


def _chunks(dialect: CsvDialect, stream: BinaryIO, line: int) -> Iterator[_Chunk]:
    """The bytes after the header in chunks that end where a record probably ends; stops where the parser must.

    The parser is given every chunk by itself. It would lose a line feed that opens a block of its own, and it would
    take a byte order mark at the beginning for no part of the value.
    """
    quote, comment = (dialect.quote or "").encode(), (dialect.comment or "").encode()
    rest = b""
    while True:
        data = stream.read(BLOCK)
        rest += data
        end = len(rest) if not data else _end(rest, quote)
        if end:
            chunk, rest = rest[:end], rest[end:]
            if chunk.startswith(codecs.BOM_UTF8) or chunk.count(b"\r") != chunk.count(b"\r\n"):
                raise _Careful  # a lone carriage return ends a line by itself, and lines are counted by line feeds
            if comment and b"\n" + comment in b"\n" + chunk:
                raise _Careful
            try:
                chunk.decode("utf-8")
            except UnicodeDecodeError as error:
                raise _Careful from error
            yield _Chunk(chunk, line, bool(quote) and quote in chunk, _blank_lines(chunk, line))
            line += chunk.count(b"\n")
        elif len(rest) >= _MOST_BLOCKS * BLOCK:
            raise _Careful
        if not data:
            return


def _end(data: bytes, quote: bytes) -> int:
    """Behind the last line feed that has an even number of quotes before it; 0 where there is none."""
    at = len(data)
    odd = bool(quote) and data.count(quote) % 2 == 1
    while (found := data.rfind(b"\n", 0, at)) >= 0:
        if quote:
            odd ^= data.count(quote, found, at) % 2 == 1
        if not odd:
            return found + 1
        at = data.rfind(quote, 0, found) + 1  # line feeds behind that quote have the same number before them
        odd ^= data.count(quote, at, found) % 2 == 1
    return 0


def _blank_lines(chunk: bytes, line: int) -> deque[int]:
    found: deque[int] = deque([line] if chunk[:1] in (b"\n", b"\r") else ())
    start = 0
    for blank in _BLANK.finditer(chunk):
        line += chunk.count(b"\n", start, blank.end())
        found.append(line)
        start = blank.end()
    return found


def _fast(
    dialect: CsvDialect, builder: Builder, width: int, where: list[int | None], chunks: Iterable[_Chunk]
) -> Iterator[pa.RecordBatch]:
    own = [str(index) for index in range(width)]  # header names may repeat; ours do not
    mark = dialect.delimiter.join([_MARK] * width).encode() + b"\n"
    convert = arrow_csv.ConvertOptions(
        check_utf8=False,  # the chunks were looked at
        column_types=dict.fromkeys(own, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=["", *dialect.nulls],
    )
    for chunk in chunks:
        noted: deque[Any] = deque()

        def note(row: Any, noted: deque[Any] = noted) -> str:
            noted.append(row)
            return "skip"

        # A row of our own at the end. Where the parser does not find it, it stands in a quote that is open.
        data = chunk.data + (b"" if chunk.data.endswith(b"\n") else b"\n") + mark
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(data),
                # One thread, because only then the parser tells the number of a ragged row.
                read_options=arrow_csv.ReadOptions(use_threads=False, column_names=own, block_size=len(data) + 1),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote or False,
                    newlines_in_values=dialect.quote is not None,
                    invalid_row_handler=note,
                ),
                convert_options=convert,
            ).combine_chunks()
        except pa.ArrowInvalid as error:
            raise _Careful from error
        rows = table.num_rows - 1
        if rows < 0 or any(column[rows].as_py() != _MARK for column in table.columns):
            raise _Careful
        batch = table.slice(0, rows).to_batches()[0] if rows else None
        yield from _numbered(builder, batch, where, noted, _Lines(chunk))


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

    def __init__(self, chunk: _Chunk) -> None:
        self._chunk = chunk
        self._next = chunk.line
        self.record = 0  # records taken so far

    def inner_ends(self, batch: pa.RecordBatch) -> list[int] | None:
        """How many line ends each row has inside its values; None when no row has any."""
        if not self._chunk.has_quotes:
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
        blank = self._chunk.blank
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
