"""Read pinned files as Arrow batches: every value of a text file as its exact text, every line accounted for.

The one reader of csv, tsv and json for all engines, and of the Parquet files whose types engines read differently.
A batch has the landed columns, then `~file`, `~number`, `~text` and `~broken`. A line that cannot be parsed is a row
like any other, with the reason in `~broken`, its text in `~text` and NULL in the landed columns: a bad line never
stops a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from lakelogic.engines.base import Pinned
from lakelogic.errors import SourceError, UnsupportedError
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT, landed_name
from lakelogic.plan.columns.numbers import Shape
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.arrays import strings
from lakelogic.sql.types import STRING, to_arrow
from lakelogic.storage.csv_records import dialect_of
from lakelogic.storage.text_files import is_plain

TEXT_FORMATS = frozenset({"csv", "tsv", "json", "ndjson"})

# A plain file that is larger is read in parts of about this size, where several workers can take them.
PART = 16 * 2**20
_TOLD = re.compile(SourceError.code + r"  (.*?\.)(?:\. Detail: |\s*$)", re.MULTILINE)
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a file: from byte `start`, which begins the physical line `line`, to before byte `end`."""

    uri: str
    start: int = 0
    end: int | None = None
    line: int = 1


def schema(read: Read) -> pa.Schema:
    """The Arrow schema of the batches: landed columns, then the four internal ones."""
    landed = [pa.field(column.name, to_arrow(column.type)) for column in read.columns]
    internal = [(FILE, pa.string()), (NUMBER, pa.int64()), (TEXT, pa.string()), (BROKEN, pa.string())]
    return pa.schema([*landed, *(pa.field(name, type_) for name, type_ in internal)])


def local_path(uri: str) -> str:
    """The path of a pinned file on this machine; other places are refused, never guessed."""
    if uri.startswith("file:"):
        return unquote(urlsplit(uri).path)
    if "://" in uri:
        raise UnsupportedError(
            f"{uri} is not on this machine; reading it is not available yet.", hint="copy the files here"
        )
    return uri


def source_error(error: BaseException) -> SourceError | None:
    """The trouble with a file that a library wrapped in an error of its own; None where it has other trouble."""
    found = _TOLD.search(str(error))
    return SourceError(found[1]) if found else None


def batches_of(read: Read, part: Part, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, or of a part of it."""
    if read.format in ("csv", "tsv"):
        from lakelogic.engines.readers import csv_lines

        return csv_lines.batches_of(read, part, whole)
    if read.format in ("json", "ndjson"):
        from lakelogic.engines.readers import json_lines

        return json_lines.batches_of(read, part, whole)
    from lakelogic.engines.readers import parquet_files

    return parquet_files.batches_of(read, part, whole)


@dataclass(slots=True)
class TextScan:
    """The files of one `Read`. It can be read again and again: each pass counts the rows it yields."""

    read: Read
    pinned: Pinned
    schema: pa.Schema = field(init=False)
    passes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schema = schema(self.read)
        if self.read.format in ("csv", "tsv"):
            dialect_of(self.read.format, self.read.options)  # what cannot be read so is refused before anything is

    @property
    def scanned(self) -> int | None:
        """The rows of the longest pass; None before the first."""
        return max(self.passes, default=None)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One pass over all files, in their order."""
        self.passes.append(0)
        current = len(self.passes) - 1
        for uri in self.pinned.files:
            for batch in batches_of(self.read, Part(uri), self.schema):
                if batch.num_rows:
                    self.passes[current] += batch.num_rows
                    yield batch

    def reader(self) -> pa.RecordBatchReader:
        """One pass as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new pass for whoever speaks Arrow's C stream protocol."""
        return self.reader().__arrow_c_stream__(requested_schema)


def discover(read: Read, pinned: Pinned) -> tuple[Landed, ...]:
    """The top-level keys of all JSON objects, in sorted order; keys that differ only in case are one column."""
    from lakelogic.engines.readers.json_lines import shapes_of

    return columns_of(pair for uri in pinned.files for pair in shapes_of(read, Part(uri)).items())


def columns_of(keys: Iterable[tuple[str, Shape]]) -> tuple[Landed, ...]:
    """The landed columns for the keys of objects, each with how its values are written."""
    shapes: dict[str, Shape] = {}
    names: set[str] = set()
    for key, shape in keys:
        name = landed_name(key)
        names.add(name)
        shapes[name.lower()] = shapes.get(name.lower(), Shape()) | shape
    spelled: dict[str, str] = {}
    for name in sorted(names):
        spelled.setdefault(name.lower(), name)
    return tuple(Landed(name, STRING, shapes[key]) for key, name in spelled.items())


def positions(read: Read, names: Iterable[str]) -> list[int | None]:
    """For each landed column, where a file has it: by its exact name, else without case; None where it has not."""
    listed = list(names)
    exact = {name: index for index, name in reversed(list(enumerate(listed)))}
    folded = {name.lower(): index for index, name in reversed(list(enumerate(listed)))}
    return [exact.get(column.name, folded.get(column.name.lower())) for column in read.columns]


def constants(read: Read, uri: str) -> Mapping[str, Any]:
    """The columns that a file does not hold but is known by: of its folders, or of a table's partitions."""
    known = read.options.get("constants")
    return known.get(uri, {}) if isinstance(known, Mapping) else {}


class Builder:
    """Puts batches of one file together: landed columns, then what is known about where each row came from."""

    def __init__(self, read: Read, uri: str, whole: pa.Schema) -> None:
        self._whole = whole
        self._uri = strings([uri])[0]
        known = constants(read, uri)
        self._fixed = {
            at: pa.scalar(known[column.name], to_arrow(column.type))
            for at, column in enumerate(read.columns)
            if column.name in known
        }

    def build(
        self, columns: Sequence[pa.Array | None], numbers: pa.Array, texts: pa.Array, broken: pa.Array
    ) -> pa.RecordBatch:
        """One batch; all arrays have the same length. A column that the file lacks is None."""
        rows = len(numbers)
        arrays = []
        for at, column in enumerate(columns):
            if at in self._fixed:
                arrays.append(pa.repeat(self._fixed[at], rows))
            else:
                arrays.append(pa.nulls(rows, self._whole.field(at).type) if column is None else column)
        return pa.RecordBatch.from_arrays(
            [*arrays, pa.repeat(self._uri, rows), numbers, texts, broken], schema=self._whole
        )


def parts_of(read: Read, uri: str) -> list[Part]:
    """A file in parts that can be read apart from one another; one part where its text does not tell where to cut."""
    path = local_path(uri)
    if read.format not in TEXT_FORMATS or not is_plain(path, read.options) or Path(path).stat().st_size <= PART:
        return [Part(uri)]
    quote = b""
    if read.format in ("csv", "tsv"):
        dialect = dialect_of(read.format, read.options)
        known = read.options.get("headers")
        if not isinstance(known, Mapping) or not known.get(uri) or dialect.skip_rows:
            return [Part(uri)]
        quote = (dialect.quote or "").encode()
    else:
        from lakelogic.engines.readers.json_lines import is_whole

        if is_whole(read, Part(uri)):
            return [Part(uri)]
    return _cut(path, uri, quote, by_return=read.format in ("csv", "tsv"))


def _cut(path: str, uri: str, quote: bytes, *, by_return: bool) -> list[Part]:
    """Parts that end with a line feed. A quote anywhere forbids cutting: a line end may stand inside a value."""
    parts: list[Part] = []
    start, line, at, lines = 0, 1, 0, 0
    with Path(path).open("rb") as stream:
        while piece := stream.read(_PIECE):
            piece += stream.readline()
            if quote and quote in piece:
                return [Part(uri)]
            at += len(piece)
            lines += piece.count(b"\n")
            if by_return:
                lines += piece.count(b"\r") - piece.count(b"\r\n")
            if at - start >= PART:
                parts.append(Part(uri, start, at, line))
                start, line = at, 1 + lines
    if at > start:
        parts.append(Part(uri, start, at, line))
    return parts
