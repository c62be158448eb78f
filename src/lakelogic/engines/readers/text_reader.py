"""Read pinned files as Arrow batches: every value of a text file as its exact text, every line accounted for.

The one reader of csv, tsv and json for all engines, and of the Parquet files whose types engines read differently.
A batch has the landed columns, then `~file`, `~number`, `~text` and `~broken`. A line that cannot be parsed is a row
like any other, with the reason in `~broken`, its text in `~text` and NULL in the landed columns: a bad line never
stops a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from lakelogic.engines.base import Pinned
from lakelogic.engines.readers.formats import keys_of, reader_of
from lakelogic.engines.readers.parts import Part, local_path, schema
from lakelogic.errors import SourceError
from lakelogic.names import landed_name
from lakelogic.plan.columns.numbers import Shape
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import STRING
from lakelogic.storage.text_files import is_plain
from lakelogic.storage.uris import is_object

# A plain file that is larger is read in parts of about this size, where several workers can take them.
PART = 16 * 2**20
_TOLD = re.compile(SourceError.code + r"  (.*?\.)(?:\. Detail: |\s*$)", re.MULTILINE)
_PIECE = 1 << 20


def source_error(error: BaseException) -> SourceError | None:
    """The trouble with a file that a library wrapped in an error of its own; None where it has other trouble."""
    found = _TOLD.search(str(error))
    return SourceError(found[1]) if found else None


def batches_of(read: Read, part: Part, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, or of a part of it."""
    return reader_of(read.format).batches(read, part, whole)


@dataclass(slots=True)
class TextScan:
    """The files of one `Read`. It can be read again and again: each pass counts the rows it yields."""

    read: Read
    pinned: Pinned
    schema: pa.Schema = field(init=False)
    passes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schema = schema(self.read)
        reader_of(self.read.format).check(self.read)

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
    """The keys of all rows, in sorted order; keys that differ only in case are one column."""
    keys = keys_of(read.format)
    return columns_of(pair for uri in pinned.files for pair in keys(read, Part(uri)).items())


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


def parts_of(read: Read, uri: str) -> list[Part]:
    """A file in parts that can be read apart from one another; one part where its text does not tell where to cut."""
    path, splits = local_path(uri), reader_of(read.format).splits
    if is_object(uri) or splits is None or not is_plain(path, read.options) or Path(path).stat().st_size <= PART:
        return [Part(uri)]
    points = splits(read, uri)
    return [Part(uri)] if points is None else _cut(path, uri, points.quote, by_return=points.by_return)


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
