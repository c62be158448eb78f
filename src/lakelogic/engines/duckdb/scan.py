"""Files, and what people hand in, as queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lakelogic.engines.arrow.input import adopt_arrow, landed_of
from lakelogic.engines.base import Pinned
from lakelogic.engines.duckdb.frame import Query, fresh
from lakelogic.engines.duckdb.literals import cast, identifier, literal, text, try_cast
from lakelogic.engines.readers.formats import reader_of
from lakelogic.engines.readers.parquet_files import footers, sort_out
from lakelogic.engines.readers.parts import constants, local_path
from lakelogic.engines.readers.text_reader import TextScan
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import Landed, Plan, Read
from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type


def scan(read: Read, pinned: Pinned) -> Query:
    """The landed columns and the four about where a row came from."""
    identifiers = fresh([*(column.name for column in read.columns), FILE, NUMBER, TEXT, BROKEN], {})
    if not reader_of(read.format).by_engine:
        stream = TextScan(read, pinned)
        renamed = Renamed(stream, list(identifiers.values()))
        return stream_query(read.name, identifiers, renamed, lambda: stream.scanned)
    files = sort_out(read, pinned.files)
    plain = [file for group in files.plain.values() for file in group]
    columns = {identifiers[column.name]: (column.name, column.type) for column in read.columns}
    about = {
        identifiers[FILE]: '"filename"',
        identifiers[NUMBER]: '"file_row_number" + 1',
        identifiers[TEXT]: "CAST(NULL AS VARCHAR)",
        identifiers[BROKEN]: "CAST(NULL AS VARCHAR)",
    }
    sql = parquet_sql(plain, columns, about, read)
    start = Query("", {}, scanned=lambda: files.rows, prefix=prefix_of(read.name))
    if not files.odd:
        return start.then(f"read {read.name}", sql, identifiers)
    odd = Renamed(TextScan(read, Pinned(tuple(files.odd))), list(identifiers.values()))
    start = replace(start, inputs={read.name: odd})
    both = (
        f"{sql}\nUNION ALL\nSELECT * FROM {identifier(read.name)}"
        if plain
        else f"SELECT * FROM {identifier(read.name)}"
    )
    return start.then(f"read {read.name}", both, identifiers)


def prefix_of(name: str) -> str:
    """What the names of CTEs over a link begin with; the source's own need nothing."""
    return "" if name == Plan.SOURCE else f"{name}_"


def stream_query(name: str, identifiers: dict[str, str], stream: Any, scanned: Callable[[], int | None]) -> Query:
    """A query over an Arrow stream that is known by `name`."""
    start = Query(name, identifiers, (), {name: stream}, scanned, prefix_of(name))
    return start.then(f"read {name}", f"SELECT * FROM {identifier(name)}", identifiers)


class Renamed:
    """An Arrow stream under other column names, which can be opened again and again."""

    def __init__(self, stream: TextScan, names: list[str]) -> None:
        self._stream = stream
        self._names = names

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new pass."""
        schema = pa.schema(
            [field.with_name(name) for field, name in zip(self._stream.schema, self._names, strict=True)]
        )
        batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in self._stream.batches())
        return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested_schema)


def parquet_sql(
    files: Sequence[str],
    columns: dict[str, tuple[str, Type]],
    about: dict[str, str] | None = None,
    landed: Read | None = None,
) -> str:
    """Parquet files with the columns wanted: identifier → (name in the files, type). What a file lacks is NULL.

    With `landed`, columns that files are known by are filled in.
    """
    about = about or {}
    if not files:
        nothing = [
            *(f"{try_cast('NULL', type_)} AS {identifier(name)}" for name, (_, type_) in columns.items()),
            *(f"{'CAST(NULL AS BIGINT)' if sql.endswith('1') else 'CAST(NULL AS VARCHAR)'} AS {identifier(name)}"
              for name, sql in about.items()),
        ]  # fmt: skip
        return "SELECT " + ",\n       ".join(nothing) + "\nWHERE FALSE"
    footer_names = footers(files).names
    items = []
    fixed = (
        {}
        if landed is None
        else {name: [constants(landed, f).get(name) for f in files] for name in _fixed(landed, files)}
    )
    for column_name, (name, type_) in columns.items():
        if name in fixed:
            items.append(f"{identifier(f'll_fixed_{list(fixed).index(name)}')} AS {identifier(column_name)}")
            continue
        held = footer_names.get(name) or footer_names.get(name.lower())
        items.append(f"{try_cast(identifier(held) if held else 'NULL', type_)} AS {identifier(column_name)}")
    items += [f"{sql} AS {identifier(column_name)}" for column_name, sql in about.items()]
    paths = ", ".join(text(local_path(file)) for file in files)
    options = "union_by_name = true, hive_partitioning = false"
    if about:
        options += ", filename = true, file_row_number = true"
    sql = "SELECT " + ",\n       ".join(items) + f"\nFROM read_parquet([{paths}], {options})"
    if not fixed:
        return sql
    kinds = dict(columns.values())
    rows = ", ".join(
        "(" + ", ".join([text(local_path(file)), *(_typed(fixed[name][at], kinds[name]) for name in fixed)]) + ")"
        for at, file in enumerate(files)
    )
    named = ", ".join(["ll_path", *(f"ll_fixed_{at}" for at in range(len(fixed)))])
    return f'{sql}\nJOIN (VALUES {rows}) AS ll_fixed({named}) ON "filename" = ll_path'


def _fixed(read: Read, files: Sequence[str]) -> list[str]:
    """The landed columns that stand in no file."""
    fixed = set().union(*(constants(read, file) for file in files))
    return [column.name for column in read.columns if column.name in fixed]


def _typed(value: Any, type_: Type) -> str:
    return cast(literal(Literal(value, type_)), type_)


def adopt(data: Any, read: Read | None, name: str) -> tuple[Query, tuple[Landed, ...]]:
    """A frame that somebody hands in, as a query."""
    table = adopt_arrow(data, read is not None)
    identifiers = fresh(table.schema.names, {})
    landed = landed_of(table.schema)
    renamed = table.rename_columns(list(identifiers.values()))
    return stream_query(name, identifiers, Whole(renamed), lambda: table.num_rows), landed


class Whole:
    """An Arrow table as a stream; DuckDB reads this interface without looking for Arrow's dataset module."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new pass."""
        return self._table.__arrow_c_stream__(requested_schema)
