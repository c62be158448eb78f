"""csv and tsv files as Arrow batches: a ragged or undecodable line becomes a row that says so.

A file is read by Arrow's parser. Where that one would stop (bytes that are not UTF-8, a quote that is never
closed, a value larger than a block) the file is read again by `csv_careful.py`, from the row that was due next.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from lakelogic.engines.text_reader import Builder, local_path, open_bytes, positions, skip_mark
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers, strings

BLOCK = 4 << 20
SLICE = 16_384


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the values of a file are written."""

    delimiter: str
    quote: str | None
    nulls: tuple[str, ...]
    skip_rows: int
    has_header: bool


class _Careful(Exception):
    """The fast parser cannot go on with this file."""


def dialect_of(read: Read) -> Dialect:
    """The options of a source as a dialect."""
    options = read.options
    quote = options.get("quote_char")
    nulls = options.get("null_values") or ()
    skipped = options.get("skip_rows") or 0
    assert isinstance(nulls, (list, tuple))
    assert isinstance(skipped, int)
    return Dialect(
        delimiter=str(options.get("delimiter") or ("\t" if read.format == "tsv" else ",")),
        quote=None if quote == "" else str(quote or '"'),
        nulls=tuple(str(value) for value in nulls),
        skip_rows=skipped,
        has_header=bool(options.get("has_header", True)),
    )


def batches_of(read: Read, uri: str, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file."""
    from lakelogic.engines.csv_careful import careful_rows

    dialect, done = dialect_of(read), 0
    with open_bytes(local_path(uri)) as stream:
        names, line = _begin(read, dialect, stream)
        if not names:
            return
        builder = Builder(read, uri, whole)
        where = positions(read, names)
        try:
            for batch in _fast(dialect, builder, len(names), where, _Body(stream, line, dialect.quote)):
                done += batch.num_rows
                yield batch
        except _Careful:
            pass
        else:
            return
    with open_bytes(local_path(uri)) as stream:
        names, line = _begin(read, dialect, stream)
        rows = islice(careful_rows(dialect, stream, line, len(names)), done, None)
        while part := list(islice(rows, SLICE)):
            columns = [
                strings([None if row.values is None else row.values[at] for row in part])
                if at is not None
                else pa.nulls(len(part), pa.string())
                for at in where
            ]
            yield builder.build(
                columns,
                integers([row.line for row in part]),
                strings([row.text for row in part]),
                strings([row.broken for row in part]),
            )


def header_of(read: Read, uri: str) -> list[str]:
    """The column names that a file begins with; none for an empty file."""
    with open_bytes(local_path(uri)) as stream:
        return _begin(read, dialect_of(read), stream)[0]


def _begin(read: Read, dialect: Dialect, stream: BinaryIO) -> tuple[list[str], int]:
    """Step over what stands before the rows: the column names, and the physical line that comes next."""
    skip_mark(stream)
    line = 1
    for _ in range(dialect.skip_rows):
        line += bool(stream.readline())
    if not dialect.has_header:
        return [column.name for column in read.columns], line
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        while raw := stream.readline():
            taken += 1
            yield raw.decode("utf-8", "replace")

    quoting: dict[str, Any] = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
    for names in csv.reader(lines(), delimiter=dialect.delimiter, **quoting):
        if names:
            return [name.strip() or f"c{place}" for place, name in enumerate(names, 1)], line + taken
    return [], line + taken


class _Body(io.RawIOBase):
    """The bytes after the header. It stops at bytes that are not UTF-8, and remembers where it saw blank lines.

    The parser steps over blank lines without a word, so the line of a later row could not be told without this.
    """

    def __init__(self, stream: BinaryIO, line: int, quote: str | None) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._quote = (quote or "\0").encode()
        self._line = line  # the physical line that the next byte belongs to
        self._begins = True  # is the next byte the first of its line?
        self.first = line
        self.blank: deque[int] = deque()
        self.quoted = False
        self._quotes = 0

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
        return len(data)

    def _watch(self, data: bytes) -> None:
        self._quotes += data.count(self._quote)
        self.quoted = self._quotes > 0
        if self._begins and data[:1] in (b"\n", b"\r"):
            self.blank.append(self._line)
        start = 0
        while (at := _next_blank(data, start)) >= 0:
            self._line += data.count(b"\n", start, at + 1)
            self.blank.append(self._line)
            start = at + 1
        self._line += data.count(b"\n", start)
        self._begins = data.endswith(b"\n")


def _next_blank(data: bytes, start: int) -> int:
    """Where a line end stands that is followed by another one; -1 for nowhere."""
    return min((at for at in (data.find(b"\n\n", start), data.find(b"\n\r", start)) if at >= 0), default=-1)


def _fast(
    dialect: Dialect, builder: Builder, width: int, where: list[int | None], body: _Body
) -> Iterator[pa.RecordBatch]:
    own = [str(index) for index in range(width)]  # header names may repeat; ours do not
    ragged: deque[Any] = deque()

    def note(row: Any) -> str:
        ragged.append(row)
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
        for batch in reader:
            yield from _numbered(builder, batch, where, ragged, lines)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):
            raise _Careful from error
    yield from _numbered(builder, None, where, ragged, lines)


def _numbered(
    builder: Builder, batch: pa.RecordBatch | None, where: list[int | None], ragged: deque[Any], lines: _Lines
) -> Iterator[pa.RecordBatch]:
    """The rows of a parsed batch with their lines, then the ragged rows that stood among them."""
    if any("\n" in row.text for row in ragged):
        raise _Careful  # a quote was opened and never closed, or closed too late
    rows = 0 if batch is None else batch.num_rows
    inner = lines.inner_ends(batch) if batch is not None else None
    numbers: list[int] | range
    odd: list[tuple[int, Any]] = []
    if not ragged:
        numbers = lines.take(rows, inner)
    else:
        taken: list[int] = []
        while len(taken) < rows or (ragged and (batch is None or ragged[0].number == lines.record + 1)):
            if ragged and ragged[0].number == lines.record + 1:
                odd.append((lines.take(1, None)[0], ragged.popleft()))
            else:
                until = rows - len(taken)
                if ragged:
                    until = min(until, ragged[0].number - lines.record - 1)
                start = len(taken)
                taken += lines.take(until, None if inner is None else inner[start : start + until])
        numbers = taken
    if batch is not None and rows:
        none = pa.nulls(rows, pa.string())
        columns = [none if at is None else batch.column(at) for at in where]
        yield builder.build(columns, integers(numbers), none, none)
    if odd:
        none = pa.nulls(len(odd), pa.string())
        yield builder.build(
            [none for _ in where],
            integers([line for line, _ in odd]),
            strings([row.text for _, row in odd]),
            strings([ragged_reason(row.expected_columns, row.actual_columns) for _, row in odd]),
        )


def ragged_reason(expected: int, found: int) -> str:
    """Why a line with the wrong number of values could not be parsed."""
    return f"expected {expected} values, found {found}"


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
