"""Read pinned text files (csv, tsv, ndjson) as Arrow batches: every value as its exact text, every line accounted for.

Shared by the engines that read text in this process. A batch has the landed columns (string), then `~file`,
`~number`, `~text` and `~broken`. A line that cannot be parsed is a row like any other, with the reason in
`~broken`, its text in `~text` and NULL in the landed columns: a bad line never stops a run.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from lakelogic.engines.base import Pinned
from lakelogic.errors import SourceError, UnsupportedError
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.arrays import strings
from lakelogic.sql.types import STRING

TEXT_FORMATS = frozenset({"csv", "tsv", "json", "ndjson"})

NOT_UTF8 = "not valid UTF-8"

_BOM = b"\xef\xbb\xbf"


def schema(read: Read) -> pa.Schema:
    """The Arrow schema of the batches: landed columns as string, then the four internal ones."""
    landed = [pa.field(column.name, pa.string()) for column in read.columns]
    internal = [(FILE, pa.string()), (NUMBER, pa.int64()), (TEXT, pa.string()), (BROKEN, pa.string())]
    return pa.schema([*landed, *(pa.field(name, type_) for name, type_ in internal)])


def local_path(uri: str) -> str:
    """The path of a pinned file on this machine; other places are refused, never guessed."""
    if uri.startswith("file:"):
        return unquote(urlsplit(uri).path)
    if "://" in uri:
        raise UnsupportedError(
            f"{uri} is not on this machine; reading it with this engine is not available yet.",
            hint="copy the files here, or run with --engine spark",
        )
    return uri


def open_bytes(path: str) -> BinaryIO:
    """The bytes of a file; a name that ends in .gz is unpacked."""
    try:
        opened = gzip.open(path, "rb") if path.endswith(".gz") else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from error
    return cast(BinaryIO, opened)


def skip_mark(stream: BinaryIO) -> None:
    """Step over a byte order mark."""
    if stream.read(len(_BOM)) != _BOM:
        stream.seek(0)


@dataclass(slots=True)
class TextScan:
    """The text files of one `Read`. It can be read again and again: each pass counts the rows it yields."""

    read: Read
    pinned: Pinned
    schema: pa.Schema = field(init=False)
    passes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schema = schema(self.read)
        refuse_unknown_options(self.read)

    @property
    def scanned(self) -> int | None:
        """The rows of the longest pass; None before the first."""
        return max(self.passes, default=None)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One pass over all files, in their order."""
        self.passes.append(0)
        current = len(self.passes) - 1
        for uri in self.pinned.files:
            for batch in self._file(uri):
                if batch.num_rows:
                    self.passes[current] += batch.num_rows
                    yield batch

    def reader(self) -> pa.RecordBatchReader:
        """One pass as an Arrow stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new pass for whoever speaks Arrow's C stream protocol."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def _file(self, uri: str) -> Iterator[pa.RecordBatch]:
        if self.read.format in ("csv", "tsv"):
            from lakelogic.engines.csv_lines import batches_of
        else:
            from lakelogic.engines.json_lines import batches_of
        return batches_of(self.read, uri, self.schema)


def refuse_unknown_options(read: Read) -> None:
    """Options that would change what is read and are not built are refused, never ignored."""
    options = read.options
    encoding = str(options.get("encoding") or "utf-8").lower().replace("_", "-")
    if encoding not in ("utf-8", "utf8", "utf-8-sig"):
        raise UnsupportedError(f"source.options.encoding `{encoding}` is not available yet.", hint="store it as UTF-8")
    for name in ("comment_prefix", "multiline"):
        if options.get(name):
            raise UnsupportedError(f"source.options.{name} is not available yet.")


def discover(read: Read, pinned: Pinned) -> tuple[Landed, ...]:
    """The top-level keys of all ndjson objects, in sorted order; keys that differ only in case are one column."""
    from lakelogic.engines.json_lines import keys_of

    refuse_unknown_options(read)
    found: set[str] = set()
    for uri in pinned.files:
        found |= keys_of(uri)
    names: dict[str, str] = {}
    for name in sorted(found):
        names.setdefault(name.casefold(), name)
    return tuple(Landed(name, STRING) for name in names.values())


def positions(read: Read, names: Iterable[str]) -> list[int | None]:
    """For each landed column, where a file has it: by its exact name, else without case; None where it has not."""
    listed = list(names)
    exact = {name: index for index, name in reversed(list(enumerate(listed)))}
    folded = {name.casefold(): index for index, name in reversed(list(enumerate(listed)))}
    return [exact.get(column.name, folded.get(column.name.casefold())) for column in read.columns]


class Builder:
    """Puts batches of one file together: landed columns, then what is known about where each row came from."""

    def __init__(self, read: Read, uri: str, whole: pa.Schema) -> None:
        self._width = len(read.columns)
        self._whole = whole
        self._uri = strings([uri])[0]

    def build(
        self, columns: Sequence[pa.Array], numbers: pa.Array, texts: pa.Array, broken: pa.Array
    ) -> pa.RecordBatch:
        """One batch; all arrays have the same length."""
        assert len(columns) == self._width
        files = pa.repeat(self._uri, len(numbers))
        return pa.RecordBatch.from_arrays([*columns, files, numbers, texts, broken], schema=self._whole)
