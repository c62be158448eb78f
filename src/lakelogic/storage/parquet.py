"""Read Parquet files as a stream of Arrow batches; a column that a file lacks is NULL.

`pyarrow.dataset` could do this, but importing it costs as much as a small run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.storage.opening import for_arrow

BATCH = 16_384
FEW = 1_000  # rows for which Arrow's functions are not worth loading
SAMPLE = 4_096


def batches(
    paths: Sequence[str], columns: Sequence[str] | None = None, rows: int = BATCH, *, threads: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of the files in order, as they were written, so many at a time; several threads want more memory."""
    for path in paths:
        # What is read ahead is a whole file: memory that would grow with its rows.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            there = set(file.schema_arrow.names)
            wanted = None if columns is None else [name for name in columns if name in there]
            yield from file.iter_batches(rows, columns=wanted, use_threads=threads)


def may_hold_nulls(paths: Sequence[str], column: str) -> bool:
    """Whether a value of the column can be NULL, as far as the footers tell."""
    for path in paths:
        metadata = pq.read_metadata(path)
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            leaves = [leaf for leaf in map(group.column, range(group.num_columns)) if leaf.path_in_schema == column]
            statistics = [leaf.statistics for leaf in leaves]
            if not statistics or any(
                statistic is None or not statistic.has_null_count or statistic.null_count for statistic in statistics
            ):
                return True
    return False


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly these columns, in their order and types."""
    there = set(batch.schema.names)
    arrays = [
        typed(batch.column(field.name), field.type) if field.name in there else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast only where needed: the first cast of a process loads all of Arrow's functions."""
    return values if values.type == kind else values.cast(kind)


def reader(paths: Sequence[str], schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows of the files with exactly these columns, read as they are asked for."""
    stream = (conformed(batch, schema) for batch in batches(paths, schema.names))
    return pa.RecordBatchReader.from_batches(schema, stream)


def repeating(batch: pa.RecordBatch | pa.Table) -> bool | list[str]:
    """The columns whose values repeat, by a look at some: a dictionary of values that do not costs time and room."""
    if batch.num_rows <= FEW:
        return True
    from pyarrow import compute

    paths: list[str] = []
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        some = values.slice(0, SAMPLE)
        if pa.types.is_nested(values.type):
            paths += _leaves(name, values.type)
        elif compute.count_distinct(some).as_py() <= len(some) // 2:
            paths.append(name)
    return paths


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """What Parquet calls the columns below a nested one."""
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    if pa.types.is_map(kind):
        key, value = _leaves(f"{path}.key_value.key", kind.key_type), _leaves(f"{path}.key_value.value", kind.item_type)
        return key + value
    if pa.types.is_nested(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    return [path]


def schema_of(path: str) -> pa.Schema:
    """The columns of a file in the types that contracts have a word for; raises OSError or ArrowException.

    INT96 is how Spark and Hive wrote instants. What contracts do not know (times of day, durations, decimals of
    more than 38 digits, UUIDs) lands as text.
    """
    with pq.ParquetFile(for_arrow(path)) as file:
        schema = file.schema_arrow
        leaves = file.schema
        has_old = any(leaves.column(at).physical_type == "INT96" for at in range(len(leaves)))
        finer = _finer(file.metadata, schema)
    if has_old:
        schema = _instants(schema, _coarse(path))
    metadata = {name: {FINER: b"true"} for name in finer}
    return pa.schema(
        [field.with_type(known_type(field.type)).with_metadata(metadata.get(field.name)) for field in schema]
    )


FINER = b"lakelogic.finer"  # a column that holds instants finer than microseconds, as far as its footer tells
_NANOSECONDS = 1_000  # in a microsecond


def finer_columns(schema: pa.Schema) -> tuple[str, ...]:
    """The columns of a file whose instants lose what is finer than microseconds."""
    return tuple(field.name for field in schema if field.metadata and FINER in field.metadata)


def _finer(footer: pq.FileMetaData, schema: pa.Schema) -> set[str]:
    """Columns of nanoseconds of which a bound is no whole microsecond, or whose bounds are not told."""
    fine = {field.name for field in schema if "timestamp[ns" in str(field.type)}
    finer: set[str] = set()
    for group in map(footer.row_group, range(footer.num_row_groups)) if fine else ():
        for leaf in map(group.column, range(group.num_columns)):
            name = leaf.path_in_schema.partition(".")[0]
            if name not in fine or leaf.physical_type != "INT64":
                continue
            statistics = leaf.statistics
            if statistics is None or not statistics.has_min_max:
                finer |= {name} if statistics is None or statistics.num_values else set()
            elif statistics.min_raw % _NANOSECONDS or statistics.max_raw % _NANOSECONDS:
                finer.add(name)
    return finer


def _coarse(path: str) -> pa.Schema:
    with pq.ParquetFile(for_arrow(path), coerce_int96_timestamp_unit="ms") as file:
        return file.schema_arrow


def _instants(fine: pa.Schema, coarse: pa.Schema) -> pa.Schema:
    """Only INT96 has another unit when it is asked for so."""
    return pa.schema(
        [field.with_type(_instant(field.type, other.type)) for field, other in zip(fine, coarse, strict=True)]
    )


def _instant(fine: pa.DataType, coarse: pa.DataType) -> pa.DataType:
    if fine == coarse:
        return fine
    if pa.types.is_timestamp(fine):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_struct(fine):
        return pa.struct([f.with_type(_instant(f.type, o.type)) for f, o in zip(fine, coarse, strict=True)])
    if pa.types.is_map(fine):
        return pa.map_(_instant(fine.key_type, coarse.key_type), _instant(fine.item_type, coarse.item_type))
    return pa.list_(_instant(fine.value_type, coarse.value_type))


def known_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type in which a column is handed on; one that contracts do not know becomes text."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if kind.extension_name == "arrow.uuid" else known_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return known_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([pa.field(f.name, known_type(f.type)) for f in kind])
    if types.is_map(kind):
        return pa.map_(known_type(kind.key_type), known_type(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_list_view(kind):
        return pa.list_(known_type(kind.value_type))
    if types.is_fixed_size_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else pa.string()
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_binary(kind):
        return kind
    if types.is_date(kind):
        return pa.date32()
    return pa.null() if types.is_null(kind) else pa.string()
