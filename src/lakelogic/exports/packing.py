"""Write the rows of a table into files that a destination takes: chosen columns, files of a bounded size, digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from lakelogic.errors import ExportError, UnsupportedError, UsageError
from lakelogic.exports.base import ExportFile
from lakelogic.names import RESERVED_PREFIX

PART_BYTES = 64 * 2**20
SUFFIXES = {"parquet": "parquet", "csv": "csv", "ndjson": "ndjson"}


class _FileWriter(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> Any: ...

    def close(self) -> Any: ...


def chosen_columns(columns: Sequence[str], table: pa.Schema) -> pa.Schema:
    """The columns to send, in the table's spelling: those that are named, or all that are no stamps of ours."""
    if not columns:
        return pa.schema([field for field in table if not field.name.startswith(RESERVED_PREFIX)])
    return pa.schema([table.field(name) for name in spelled(columns, table, "columns")])


def spelled(names: Sequence[str], table: pa.Schema, key: str) -> tuple[str, ...]:
    """Names of a contract in the spelling of the table."""
    spelling = {name.lower(): name for name in table.names}
    lacking = [name for name in names if name.lower() not in spelling]
    if lacking:
        raise UsageError(
            f"The table has no column `{lacking[0]}` to export.",
            where=f"exports[].{key}",
            hint=f"Choose among: {', '.join(table.names)}.",
        )
    return tuple(spelling[name.lower()] for name in names)


def refuse_doubtful_key(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    """A row without a key could not be found again, and two rows of one key have no order."""
    table = pa.Table.from_batches(batches, schema)
    named = ", ".join(schema.names)
    if absent := sum(column.null_count for column in table.columns):
        raise ExportError(
            f"The key ({named}) is absent in {absent} values.", hint="Choose another `key`, or overwrite."
        )
    counted = table.group_by(schema.names).aggregate([([], "count_all")])
    if twice := table.num_rows - counted.num_rows:
        raise ExportError(
            f"The key ({named}) does not tell all rows apart: {twice} rows have the key of another one.",
            hint="Choose another `key`, or overwrite.",
        )


def pack(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path, form: str, part_bytes: int = PART_BYTES
) -> tuple[ExportFile, ...]:
    """The rows as files `part-00000.parquet`, …; at least one, so that an empty table is told too."""
    parts: list[ExportFile] = []
    stream = iter(batches)
    waiting = next(stream, None)
    while waiting is not None or not parts:
        path, rows = folder / f"part-{len(parts):05d}.{SUFFIXES[form]}", 0
        with path.open("xb") as sink:
            writer = _WRITERS[form](sink, schema)
            while waiting is not None and sink.tell() < part_bytes:
                writer.write_batch(waiting)
                rows += waiting.num_rows
                waiting = next(stream, None)
            writer.close()
        parts.append(ExportFile(str(path), path.name, rows, path.stat().st_size, digest(path)))
    return tuple(parts)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parquet(sink: BinaryIO, schema: pa.Schema) -> _FileWriter:
    import pyarrow.parquet as pq

    # Snappy: the one compression that every warehouse reads.
    writer: _FileWriter = pq.ParquetWriter(sink, schema, compression="snappy", coerce_timestamps="us")
    return writer


def _csv(sink: BinaryIO, schema: pa.Schema) -> _FileWriter:
    import pyarrow.csv

    nested = [field.name for field in schema if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)]
    if nested:
        raise UnsupportedError(
            f"CSV cannot hold the column `{nested[0]}`.", hint="Use format: parquet or ndjson, or leave it out."
        )
    writer: _FileWriter = pyarrow.csv.CSVWriter(sink, schema)
    return writer


class _JsonLinesWriter:
    """One JSON object a line; decimals and bytes as text, so that nothing is rounded."""

    def __init__(self, sink: BinaryIO, _: pa.Schema) -> None:
        self._sink = sink

    def write_batch(self, batch: pa.RecordBatch) -> None:
        for row in _rows(batch):
            self._sink.write(json.dumps(row, default=_plain, ensure_ascii=False).encode() + b"\n")

    def close(self) -> None:
        return


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    yield from batch.to_pylist()


def _plain(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


_WRITERS: dict[str, Callable[[BinaryIO, pa.Schema], _FileWriter]] = {
    "parquet": _parquet,
    "csv": _csv,
    "ndjson": _JsonLinesWriter,
}
