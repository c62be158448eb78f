"""Some rows of landed files, as texts, with the file that each came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic.contract import formats
from lakelogic.engines.base import Pinned
from lakelogic.engines.readers import text_reader
from lakelogic.engines.readers.columns import Look
from lakelogic.engines.readers.formats import columns_of, reader_of
from lakelogic.infer import nested
from lakelogic.infer.columns import type_of
from lakelogic.infer.documents import are_documents
from lakelogic.infer.encodings import Encoding, encoding_of, options_of
from lakelogic.infer.landings import Landing
from lakelogic.names import BROKEN
from lakelogic.plan.nodes import Landed, Read

LEAST_PER_FILE = 100
_NULL_WORDS = ("NA", "N/A", "n/a", "NULL", "null", "None", "-", "\\N", "NaN", "nan")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of an entity are read, and what to say of that."""

    columns: tuple[Landed, ...]
    options: dict[str, object] = field(default_factory=dict)
    encoding: Encoding = field(default_factory=Encoding)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Columns with their values, None where there is none; `files` has the number of the file of each row."""

    columns: dict[str, list[str | None]]
    files: list[int]
    declared: dict[str, tuple[str, str]] = field(default_factory=dict)  # types that the files tell, and how
    broken: int = 0
    nulls: tuple[str, ...] = ()  # texts that mean no value
    more: dict[str, list[str]] = field(default_factory=dict)  # values of further rows that differ from those here

    @property
    def rows(self) -> int:
        """How many rows were looked at."""
        return len(self.files)


def reading(landing: Landing) -> Reading:
    """How the files are to be read."""
    if not formats.is_text(landing.format):
        return Reading(columns_of(Look(landing.format, landing.files)))
    encoding = encoding_of(landing.files)
    options = dict(options_of(encoding))
    if formats.has_header(landing.format):
        return Reading(columns_of(Look(landing.format, landing.files, options)), options, encoding)
    is_whole, note = are_documents(landing.files, options)
    if is_whole:
        options["multiline"] = True
    read = Read("source", landing.format, (), options)
    return Reading(text_reader.discover(read, Pinned(landing.files)), options, encoding, note)


def sample(landing: Landing, how: Reading, rows: int) -> Sample:
    """At most so many rows, from every file some."""
    share = max(rows // len(landing.files), LEAST_PER_FILE)
    collected = Sample({column.name: [] for column in how.columns}, [])
    broken = 0
    for number, path in enumerate(landing.files):
        left = share
        for batch in batches(landing, how, path):
            for row in batch.slice(0, left).to_pylist():
                if row.get(BROKEN):
                    broken += 1
                    continue
                collected.files.append(number)
                for name, values in collected.columns.items():
                    values.append(text_of(row.get(name)))
            left -= batch.num_rows
            if left <= 0:
                break
    if not formats.is_text(landing.format):
        types = {column.name: (str(column.type), "its file says so") for column in how.columns}
        return Sample(collected.columns, collected.files, types, broken)
    return settled(Sample(collected.columns, collected.files, {}, broken), landing)


def settled(seen: Sample, landing: Landing) -> Sample:
    """With the words for no value taken out, and the types of nested values told, by all values that are known."""
    values_by_column = {name: [*values, *seen.more.get(name, ())] for name, values in seen.columns.items()}
    if not formats.has_header(landing.format):
        shapes = {
            name: nested.type_of([v for v in values if v is not None]) for name, values in values_by_column.items()
        }
        return replace(seen, declared={name: shape for name, shape in shapes.items() if shape is not None})
    nulls = _null_words(values_by_column)
    columns = {name: [None if v in nulls else v for v in values] for name, values in seen.columns.items()}
    more = {name: [v for v in values if v not in nulls] for name, values in seen.more.items()}
    return replace(seen, columns=columns, more=more, nulls=(*seen.nulls, *nulls))


def text_of(value: Any) -> str | None:
    """A value as it is looked at."""
    return None if value is None or value == "" else str(value)


def batches(landing: Landing, how: Reading, path: str) -> Iterator[Any]:
    """The rows of one file, many at a time."""
    options = dict(how.options)
    if (columns := reader_of(landing.format).columns) is not None:
        options |= columns(Look(landing.format, (path,), how.options)).options
    read = Read("source", landing.format, how.columns, options)
    yield from text_reader.TextScan(read, Pinned((path,))).batches()


def _null_words(columns: Mapping[str, Sequence[str | None]]) -> tuple[str, ...]:
    """Words for no value that stand in a column whose other values are no words: in `NA,1,2` a number is missing."""
    words_used: set[str] = set()
    for name, values in columns.items():
        there = {value for value in values if value is not None}
        words = there & set(_NULL_WORDS)
        rest = [value for value in values if value is not None and value not in _NULL_WORDS]
        if words and rest and type_of(name, rest)[0] != "string":
            words_used |= words
    return tuple(word for word in _NULL_WORDS if word in words_used)
