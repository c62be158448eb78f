"""Parquet files: what their footers say, which of them every engine reads alike, and how the others are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakelogic.engines.readers.columns import Look, Sight, parquet_columns, parquet_schemas
from lakelogic.engines.readers.parts import Builder, Part, constants, local_path, positions
from lakelogic.errors import SourceError
from lakelogic.plan.nodes import Read
from lakelogic.sql.arrays import integers
from lakelogic.sql.types import to_arrow
from lakelogic.storage.opening import for_arrow
from lakelogic.storage.parquet import finer_columns
from lakelogic.storage.uris import is_object

BATCH = 16_384


@dataclass(frozen=True, slots=True)
class Footers:
    """Rows of all files together, and the columns any of them has: by exact name and by name without case."""

    rows: int
    names: dict[str, str] = field(default_factory=dict)
    schemas: tuple[pa.Schema, ...] = ()


def footers(files: Sequence[str]) -> Footers:
    """Read the footers; no data is touched."""
    from pyarrow import parquet

    rows, schemas = 0, []
    names: dict[str, str] = {}
    for file in files:
        try:
            with parquet.ParquetFile(for_arrow(local_path(file))) as opened:
                rows += opened.metadata.num_rows
                schemas.append(opened.schema_arrow)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(file, error) from error
        for name in schemas[-1].names:
            names.setdefault(name.lower(), name)
            names[name] = name
    return Footers(rows, names, tuple(schemas))


@dataclass(frozen=True, slots=True)
class Sorted:
    """The files of a read: `plain` ones by the spelling of the landed columns in them (None: not there), and others.

    `rows` are those of all files together.
    """

    rows: int
    plain: dict[tuple[str | None, ...], list[str]]
    odd: list[str]


def sort_out(read: Read, files: Sequence[str]) -> Sorted:
    """Tell files that hold exactly the landed types, which engines read themselves, from those that need our reader.

    Engines differ on nanoseconds, INT96, unsigned numbers, times of day and on columns of another type than asked for.
    """
    from pyarrow import parquet

    rows = 0
    plain: dict[tuple[str | None, ...], list[str]] = {}
    odd: list[str] = []
    for file in files:
        try:
            with parquet.ParquetFile(for_arrow(local_path(file))) as opened:
                rows += opened.metadata.num_rows
                found, leaves = opened.schema_arrow, opened.schema
                has_old = any(leaves.column(at).physical_type == "INT96" for at in range(len(leaves)))
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(file, error) from error
        fixed = constants(read, file)
        where = [
            None if column.name in fixed else at
            for column, at in zip(read.columns, positions(read, found.names), strict=True)
        ]
        fits = all(
            at is None or _is_exactly(found.field(at).type, to_arrow(column.type))
            for column, at in zip(read.columns, where, strict=True)
        )
        # Spark passes over files whose names begin like this; DuckDB takes some paths for patterns.
        hidden = file.rsplit("/", 1)[-1].startswith(("_", ".")) or any(sign in file for sign in "*?[")
        if fits and not has_old and not hidden and not is_object(file):
            plain.setdefault(tuple(None if at is None else found.names[at] for at in where), []).append(file)
        else:
            odd.append(file)
    return Sorted(rows, plain, odd)


def _is_exactly(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column is stored in the type wanted; how Arrow would hold it in memory does not count."""
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    if types.is_string(wanted):
        return bool(types.is_string(found) or types.is_large_string(found) or types.is_string_view(found))
    if types.is_binary(wanted):
        return bool(types.is_binary(found) or types.is_large_binary(found) or types.is_binary_view(found))
    if types.is_timestamp(wanted):
        return bool(
            types.is_timestamp(found) and found.unit in ("us", "ms") and (found.tz is None) == (wanted.tz is None)
        )
    if types.is_map(wanted):
        return (
            types.is_map(found)
            and _is_exactly(found.key_type, wanted.key_type)
            and _is_exactly(found.item_type, wanted.item_type)
        )
    if types.is_list(wanted):
        return bool(types.is_list(found) or types.is_large_list(found)) and _is_exactly(
            found.value_type, wanted.value_type
        )
    if types.is_struct(wanted):
        return (
            types.is_struct(found)
            and [f.name for f in found] == [f.name for f in wanted]
            and all(_is_exactly(f.type, w.type) for f, w in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def columns_of(look: Look) -> Sight:
    """The columns by the footers of the files."""
    schemas = parquet_schemas(look.files)
    finer = dict.fromkeys(name for schema in schemas.values() for name in finer_columns(schema))
    names = {path: schema.names for path, schema in schemas.items()}
    return Sight(parquet_columns(schemas), names, finer=tuple(finer))


def count_of(path: str) -> int:
    """The rows of a file, by its footer."""
    from pyarrow import parquet

    return int(parquet.read_metadata(for_arrow(path)).num_rows)


def batches_of(read: Read, part: Part, whole: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file in the landed types."""
    from pyarrow import parquet

    builder = Builder(read, part.uri, whole)
    fixed = constants(read, part.uri)
    done = 0
    try:
        with parquet.ParquetFile(for_arrow(local_path(part.uri)), coerce_int96_timestamp_unit="us") as opened:
            where = positions(read, opened.schema_arrow.names)
            for batch in opened.iter_batches(BATCH):
                none = pa.nulls(batch.num_rows, pa.string())
                columns = [
                    None if at is None or column.name in fixed else landed(batch.column(at), to_arrow(column.type))
                    for column, at in zip(read.columns, where, strict=True)
                ]
                numbers = integers(range(done + 1, done + batch.num_rows + 1))
                done += batch.num_rows
                yield builder.build(columns, numbers, none, none)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(part.uri, error) from error


def landed(values: Any, wanted: pa.DataType) -> Any:
    """An array in the type of its landed column; values are never changed, but for what is finer than microseconds."""
    kind = values.type
    if kind == wanted:
        return values
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return pa.array([None if v is None else str(v) for v in values.to_pylist()], wanted)
        return landed(values.storage, wanted)
    if pa.types.is_dictionary(kind):
        return landed(values.dictionary_decode(), wanted)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(wanted):
        return values.cast(wanted, safe=False)
    if pa.types.is_string(wanted) and pa.types.is_time(kind):
        return pa.array([None if v is None else v.isoformat() for v in _micros(values).to_pylist()], wanted)
    if pa.types.is_string(wanted) and pa.types.is_duration(kind):
        return values.cast(pa.int64()).cast(wanted)
    if pa.types.is_list(kind) and pa.types.is_list(wanted):
        inner = landed(values.values, wanted.value_type)
        return pa.ListArray.from_arrays(values.offsets, inner, mask=values.is_null() if values.null_count else None)
    if pa.types.is_map(kind) and pa.types.is_map(wanted):
        keys, items = landed(values.keys, wanted.key_type), landed(values.items, wanted.item_type)
        mask = values.is_null() if values.null_count else None
        return pa.MapArray.from_arrays(values.offsets, keys, items, mask=mask)
    if pa.types.is_struct(kind) and pa.types.is_struct(wanted):
        places = {kind.field(at).name.lower(): at for at in range(kind.num_fields)}
        parts = [
            landed(values.field(places[part.name.lower()]), part.type)
            if part.name.lower() in places
            else pa.nulls(len(values), part.type)
            for part in wanted
        ]
        mask = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)
    return values.cast(wanted)


def _micros(values: Any) -> Any:
    return values.cast(pa.time64("us"), safe=False) if values.type != pa.time32("s") else values


def _unreadable(file: str, error: BaseException) -> SourceError:
    return SourceError(f"{file} cannot be read as Parquet: {str(error).rstrip('.')}.")
