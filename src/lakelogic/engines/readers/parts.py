"""Parts of files, and the batches that readers make of them: landed columns, then where each row came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from lakelogic.errors import UnsupportedError
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import strings
from lakelogic.sql.types import to_arrow
from lakelogic.storage.uris import is_object


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a file: from byte `start`, which begins the physical line `line`, to before byte `end`."""

    uri: str
    start: int = 0
    end: int | None = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class SplitPoints:
    """Where a file may be cut: behind any line feed, but nowhere in a file that has a `quote`."""

    quote: bytes = b""
    by_return: bool = False  # a lone carriage return counts as a line of its own


def schema(read: Read) -> pa.Schema:
    """The Arrow schema of the batches: landed columns, then the four internal ones."""
    landed = [pa.field(column.name, to_arrow(column.type)) for column in read.columns]
    internal = [(FILE, pa.string()), (NUMBER, pa.int64()), (TEXT, pa.string()), (BROKEN, pa.string())]
    return pa.schema([*landed, *(pa.field(name, type_) for name, type_ in internal)])


def local_path(uri: str) -> str:
    """The path of a pinned file on this machine, or the URI of an object that we read; others are refused."""
    if is_object(uri):
        return uri
    if uri.startswith("file:"):
        return unquote(urlsplit(uri).path)
    if "://" in uri:
        raise UnsupportedError(
            f"{uri} is not on this machine; reading it is not available yet.", hint="copy the files here"
        )
    return uri


def positions(read: Read, names: Iterable[str]) -> list[int | None]:
    """For each landed column, where a file has it: by its exact name, else without case; None where it has not."""
    listed = list(names)
    exact = {name: index for index, name in reversed(list(enumerate(listed)))}
    folded = {name.lower(): index for index, name in reversed(list(enumerate(listed)))}
    return [exact.get(column.name, folded.get(column.name.lower())) for column in read.columns]


def constants(read: Read, uri: str) -> Mapping[str, Any]:
    """The columns that a file does not hold but is known by: of its folders, or of a table's partitions."""
    fixed = read.options.get("constants")
    return fixed.get(uri, {}) if isinstance(fixed, Mapping) else {}


class Builder:
    """Puts batches of one file together: landed columns, then what is known about where each row came from."""

    def __init__(self, read: Read, uri: str, whole: pa.Schema) -> None:
        self._whole = whole
        self._uri = strings([uri])[0]
        fixed = constants(read, uri)
        self._fixed = {
            at: pa.scalar(fixed[column.name], to_arrow(column.type))
            for at, column in enumerate(read.columns)
            if column.name in fixed
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
