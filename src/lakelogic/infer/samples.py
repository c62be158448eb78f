"""Some rows of landed files, as texts, with the file that each came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic.connectors.discover import discover, parquet_columns, parquet_schemas
from lakelogic.engines import text_reader
from lakelogic.engines.base import Pinned
from lakelogic.infer.columns import type_of
from lakelogic.infer.landings import Landing
from lakelogic.names import BROKEN
from lakelogic.plan.nodes import Landed, Read
from lakelogic.storage import parquet

LEAST_PER_FILE = 100
_NULL_WORDS = ("NA", "N/A", "n/a", "NULL", "null", "None", "-", "\\N", "NaN", "nan")


@dataclass(frozen=True, slots=True)
class Sample:
    """Columns with their values, None where there is none; `files` has the number of the file of each row."""

    columns: dict[str, list[str | None]]
    files: list[int]
    declared: dict[str, str] = field(default_factory=dict)  # types that the files themselves tell
    broken: int = 0
    nulls: tuple[str, ...] = ()  # texts that mean no value

    @property
    def rows(self) -> int:
        """How many rows were looked at."""
        return len(self.files)


def sample(landing: Landing, rows: int) -> Sample:
    """At most so many rows, from every file some."""
    share = max(rows // len(landing.files), LEAST_PER_FILE)
    if landing.format == "parquet":
        return _of_parquet(landing, share)
    pinned = Pinned(landing.files)
    if landing.format in ("csv", "tsv"):
        columns = discover(landing.format, landing.files)
    else:
        columns = text_reader.discover(Read("source", landing.format, ()), pinned)  # type: ignore[arg-type]
    found = Sample({column.name: [] for column in columns}, [])
    broken = 0
    for number, path in enumerate(landing.files):
        for row, trouble in _rows(landing, path, columns, share):
            if trouble:
                broken += 1
                continue
            found.files.append(number)
            for name, values in found.columns.items():
                value = row[name]
                values.append(None if value is None or value == "" else str(value))
    nulls = _null_words(found.columns) if landing.format in ("csv", "tsv") else ()
    columns_ = {name: [None if value in nulls else value for value in values] for name, values in found.columns.items()}
    return Sample(columns_, found.files, {}, broken, nulls)


def _null_words(columns: Mapping[str, Sequence[str | None]]) -> tuple[str, ...]:
    """Words for no value that stand in a column whose other values are no words: in `NA,1,2` a number is missing."""
    found: set[str] = set()
    for name, values in columns.items():
        there = {value for value in values if value is not None}
        words = there & set(_NULL_WORDS)
        rest = [value for value in values if value is not None and value not in _NULL_WORDS]
        if words and rest and type_of(name, rest)[0] != "string":
            found |= words
    return tuple(word for word in _NULL_WORDS if word in found)


def _rows(
    landing: Landing, path: str, columns: tuple[Landed, ...], most: int
) -> Iterator[tuple[dict[str, Any], str | None]]:
    options: dict[str, object] = {}
    if landing.format in ("csv", "tsv"):
        from lakelogic.connectors.discover import csv_headers

        options["headers"] = csv_headers([path], file_format=landing.format)
    read = Read("source", landing.format, columns, options)  # type: ignore[arg-type]
    left = most
    for batch in text_reader.TextScan(read, Pinned((path,))).batches():
        for row in batch.slice(0, left).to_pylist():
            yield row, row[BROKEN]
        left -= batch.num_rows
        if left <= 0:
            return


def _of_parquet(landing: Landing, share: int) -> Sample:
    columns = {column.name: column.type for column in parquet_columns(parquet_schemas(landing.files))}
    found = Sample({name: [] for name in columns}, [], {name: str(kind) for name, kind in columns.items()})
    for number, path in enumerate(landing.files):
        left = share
        for batch in parquet.batches([path]):
            for row in batch.slice(0, left).to_pylist():
                found.files.append(number)
                for name, values in found.columns.items():
                    value = row.get(name)
                    values.append(None if value is None else str(value))
            left -= batch.num_rows
            if left <= 0:
                break
    return found
