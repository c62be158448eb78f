"""Run statements: staged files, measures, duplicates, and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa

from lakelogic.engines.arrow import stage as arrow_stage
from lakelogic.engines.arrow.input import conform
from lakelogic.engines.base import AS_IT_COMES, Order, Staged
from lakelogic.engines.duckdb.expressions import LONG, expression_sql, size
from lakelogic.engines.duckdb.frame import Query, fresh
from lakelogic.engines.duckdb.functions.aggregates import summary
from lakelogic.engines.duckdb.literals import identifier
from lakelogic.engines.duckdb.relations import EXPLODES
from lakelogic.engines.duckdb.scan import parquet_sql
from lakelogic.engines.exact.parts import Pieces
from lakelogic.engines.readers.text_reader import source_error
from lakelogic.errors import EngineError, LakeLogicError
from lakelogic.plan.nodes import Mask, Measure, Published
from lakelogic.privacy.keys import Keys
from lakelogic.sql.bind import aggregate_type
from lakelogic.sql.types import from_arrow

BATCH = 100_000
# Of rows that were exploded: each may hold all elements of the one it was made of.
BATCH_OF_EXPLODED = 256
BYTES_OF_EXPLODED = 32 << 20
KEYS_AT_ONCE = 3_000_000


def stream(connection: Any, query: Query) -> pa.RecordBatchReader:
    """The rows of a query, batch by batch, on a cursor of its own."""
    cursor = connection.cursor()
    try:
        for name, data in query.inputs.items():
            cursor.register(name, data)
        if EXPLODES not in query.sql:
            return cursor.sql(query.sql).to_arrow_reader(BATCH)
        reader = cursor.sql(query.sql).to_arrow_reader(BATCH_OF_EXPLODED)
        return pa.RecordBatchReader.from_batches(reader.schema, _gathered(reader))
    except duckdb.Error as error:
        raise failure(error) from error


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches together, as long as they are small."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > BATCH or size + batch.nbytes > BYTES_OF_EXPLODED):
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def failure(error: Exception) -> LakeLogicError:
    """A native error in our words; trouble with a file of the source is told as such."""
    return source_error(error) or EngineError(f"DuckDB could not do its work: {str(error).strip().splitlines()[0]}")


def stage(
    connection: Any,
    query: Query,
    columns: Sequence[Published],
    masks: Sequence[Mask],
    keys: Keys,
    place: str,
    order: Order = AS_IT_COMES,
) -> Staged:
    """One pass over the lowered rows into staged files."""
    try:
        staged = arrow_stage.stage(stream(connection, query), columns, masks, keys, place, order)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise failure(error) from error
    return replace(staged, scanned=query.scanned())


def measure(
    connection: Any, files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]
) -> dict[str, Any]:
    """All measures in one statement over staged files."""
    if not measures:
        return {}
    held = [column for column in columns if column.on_good]
    names = fresh((column.name for column in held), {})
    source = parquet_sql(files, {names[column.name]: (column.name, column.type) for column in held})
    computed, inner, outer = [], [], []
    short = Pieces(size, LONG, count()).bound
    for index, wanted in enumerate(measures):
        name = f"m{index}"
        computed += (
            []
            if wanted.value is None
            else [f"{expression_sql(short(wanted.value), names)} AS {identifier(name + '~value')}"]
        )
        computed += (
            []
            if wanted.where is None
            else [f"{expression_sql(short(wanted.where), names)} AS {identifier(name + '~where')}"]
        )
        args, written = ([], []) if wanted.value is None else ([wanted.value], [identifier(name + "~value")])
        where = None if wanted.where is None else identifier(name + "~where")
        calls = summary(
            wanted.function, name, written, args, aggregate_type(wanted.function, wanted.value), where=where
        )
        inner += [f"{sql} AS {identifier(part)}" for part, sql in calls.inner.items()]
        outer.append(f"{calls.outer} AS {identifier(name)}")
    rows = f"SELECT {', '.join(computed or ['1'])} FROM ({source})"
    sql = f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM ({rows}))"
    try:
        row = connection.cursor().sql(sql).to_arrow_table().to_pylist()[0]
    except duckdb.Error as error:
        raise failure(error) from error
    return {wanted.name: row[f"m{index}"] for index, wanted in enumerate(measures)}


def duplicates(connection: Any, query: Query, keys: Sequence[str]) -> int:
    """How many different keys occur more than once. Many are looked at in turns: all of them at once take much room."""
    listed = ", ".join(identifier(query.columns[key]) for key in keys)
    present = " OR ".join(f"{identifier(query.columns[key])} IS NOT NULL" for key in keys)
    turns = 1 + _count(connection, query, f"SELECT * FROM {identifier(query.name)}") // KEYS_AT_ONCE
    repeats = 0
    for turn in range(turns):
        these = f"({present}) AND hash({listed}) % {turns} = {turn}" if turns > 1 else present
        inside = f"SELECT {listed} FROM {identifier(query.name)} WHERE {these} GROUP BY {listed} HAVING count(*) > 1"
        repeats += _count(connection, query, inside)
    return repeats


def _count(connection: Any, query: Query, rows: str) -> int:
    counted = query.then("counted", f"SELECT count(*) AS n FROM (\n  {rows}\n)", {"n": "n"})
    return int(stream(connection, counted).read_all().column("n")[0].as_py())


def collect(connection: Any, query: Query, limit: int | None) -> pa.Table:
    """The rows as an Arrow table of contract types."""
    if limit is not None:
        query = query.then("limit", f"SELECT * FROM {identifier(query.name)} LIMIT {int(limit)}", query.columns)
    try:
        return tidy(stream(connection, query).read_all())
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise failure(error) from error


def tidy(table: pa.Table) -> pa.Table:
    """A table with the Arrow types of its contract types."""
    columns = [conform(column, from_arrow(column.type)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.schema.names)
