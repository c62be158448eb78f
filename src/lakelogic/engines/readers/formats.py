"""How files of each format are read: one row each, beside the row of `contract/formats.py` that says what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lakelogic.contract import formats
from lakelogic.engines.readers import csv_lines, json_lines, parquet_files
from lakelogic.engines.readers.columns import Look, Sight
from lakelogic.engines.readers.parts import Part, SplitPoints
from lakelogic.errors import Defect, UnsupportedError
from lakelogic.plan.columns.numbers import Shape
from lakelogic.plan.nodes import Landed, Read

Keys: TypeAlias = Callable[[Read, Part], Mapping[str, Shape]]


def _anything(read: Read) -> None:
    """A format whose options cannot contradict one another."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How files of one format are read. A format tells its columns by `columns`, or each row tells its `keys`."""

    batches: Callable[[Read, Part, pa.Schema], Iterator[pa.RecordBatch]]  # the rows of a file, or of a part of it
    columns: Callable[[Look], Sight] | None = None  # without reading the rows
    keys: Keys | None = None  # by reading all rows: the names that a part of a file has, and how their values look
    check: Callable[[Read], None] = _anything  # refuses options before anything is read
    splits: Callable[[Read, str], SplitPoints | None] | None = None  # where a large file is cut; or None
    count: Callable[[str], int] | None = None  # the rows of a file, where it tells them without being read
    by_engine: bool = False  # engines read the files themselves, where they read the same as `batches`


_CSV = Reader(csv_lines.batches_of, columns=csv_lines.columns_of, check=csv_lines.check, splits=csv_lines.split_points)
_JSON = Reader(json_lines.batches_of, keys=json_lines.shapes_of, splits=json_lines.split_points)
_PARQUET = Reader(
    parquet_files.batches_of, columns=parquet_files.columns_of, count=parquet_files.count_of, by_engine=True
)

READERS: dict[str, Reader] = {
    "csv": _CSV,
    "tsv": _CSV,
    "json": _JSON,
    "ndjson": _JSON,
    "parquet": _PARQUET,
    "delta": _PARQUET,  # the files of any table
}


def reader_of(name: str) -> Reader:
    """The reader of a format; refuses what cannot be read yet."""
    if (reader := READERS.get(name)) is None:
        raise UnsupportedError(f"The format `{name}` is not available yet.")
    return reader


def keys_of(name: str) -> Keys:
    """What finds the keys of a format whose files have no header."""
    if (keys := reader_of(name).keys) is None:
        raise Defect(f"Files of the format `{name}` tell their columns themselves.")
    return keys


def columns_of(look: Look) -> tuple[Landed, ...]:
    """The columns of files that tell them themselves."""
    if (columns := reader_of(look.format).columns) is None:
        raise UnsupportedError(f"The columns of `{look.format}` cannot be found without an engine.")
    return columns(look).columns


def check_rows() -> None:
    """Refuse to start with a format that lacks a part: half of it in the contract, half of it here."""
    missing = sorted(set(formats.readable()) - READERS.keys())
    extra = sorted(READERS.keys() - {row.name for row in formats.FORMATS.values() if row.is_available})
    if missing or extra:
        problems = [f"`{name}` is available and has no reader" for name in missing]
        problems += [f"`{name}` has a reader and is not available" for name in extra]
        raise Defect(f"File formats are not whole: {'; '.join(problems)}.")
    for name, reader in READERS.items():
        if (reader.columns is None) == (reader.keys is None):
            raise Defect(f"The reader of `{name}` finds columns by `columns` or by `keys`: one of the two.")
        if (reader.keys is None) != formats.has_header(name):
            raise Defect(f"The format `{name}` has a header, or keys in its rows: its two rows do not agree.")
