"""Frames that people hand in (Arrow, pandas, Polars, DuckDB, PySpark) as Arrow tables of contract types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lakelogic.errors import UsageError
from lakelogic.names import BROKEN, FILE, INTERNAL, NUMBER, TEXT
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import Type, from_arrow, to_arrow, unusable

MEMORY = "memory"


def to_table(data: Any) -> pa.Table:
    """Whatever was handed in, as one Arrow table."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    library = type(data).__module__.partition(".")[0]
    if library == "pyspark":
        return data.toArrow()
    if library == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if library == "polars" and hasattr(data, "lazy"):
        return data.lazy().collect().to_arrow()  # its stream would hold string views, which few kernels take
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return pa.Table.from_pylist(data)
    raise UsageError(
        f"A {type(data).__module__}.{type(data).__qualname__} is not rows.",
        hint="hand in a frame of PySpark, Polars, DuckDB, pandas or Arrow, or a list of dicts",
    )


def adopt_arrow(data: Any, with_internal: bool) -> pa.Table:
    """The rows with the Arrow types of their contract types, and the four internal columns if asked for."""
    table = to_table(data)
    if clash := [name for name in table.schema.names if name.startswith(INTERNAL)]:
        raise UsageError(f"A column cannot be called `{clash[0]}`: names that begin with ~ are LakeLogic's own.")
    columns = [conform(column, _landed_type(column.type)) for column in table.columns]
    names = list(table.schema.names)
    if with_internal:
        rows = table.num_rows
        none = pa.nulls(rows, pa.string())
        columns += [
            pa.repeat(pa.scalar(MEMORY, pa.string()), rows),
            pa.array(range(1, rows + 1), pa.int64()),
            none,
            none,
        ]
        names += [FILE, NUMBER, TEXT, BROKEN]
    return pa.Table.from_arrays(columns, names=names)


def _landed_type(type_: pa.DataType) -> Type:
    contract_type = Type("string") if pa.types.is_null(type_) else from_arrow(type_)
    if trouble := unusable(contract_type):
        raise UsageError(f"A column that was handed in has {trouble}.", hint="Name the fields apart.")
    return contract_type


def landed_of(schema: pa.Schema) -> tuple[Landed, ...]:
    """The columns of a table that are not internal."""
    return tuple(Landed(f.name, _landed_type(f.type)) for f in schema if not f.name.startswith(INTERNAL))


def _has_times(type_: pa.DataType) -> bool:
    """Whether there are times of day inside, which have one text of ours."""
    return pa.types.is_time(type_) or any(_has_times(type_.field(at).type) for at in range(type_.num_fields))


def conform(column: Any, type_: Type) -> Any:
    """An array or a chunked array in the exact Arrow type of a contract type; values are never changed."""
    to = to_arrow(type_)
    if column.type == to:
        return column
    if pa.types.is_time(column.type) or (type_.is_nested and _has_times(column.type)):
        from lakelogic.engines.readers.parquet_files import landed

        if not isinstance(column, pa.ChunkedArray):
            return landed(column, to)
        return pa.chunked_array([landed(chunk, to) for chunk in column.chunks], to)
    if type_.is_nested or (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(to)):
        return column.cast(to, safe=False)  # finer than microseconds is cut off
    return column.cast(to)
