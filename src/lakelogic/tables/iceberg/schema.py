"""Columns of contracts as columns of Iceberg, and back; ids stay with the columns that stay."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pyarrow as pa
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids, schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField

from lakelogic.sql.types import from_arrow, parse_type, to_arrow
from lakelogic.storage.parquet import known_type

# Iceberg has no integers below 32 bits; which type a column was declared with stands in the table's properties.
TYPE = "lakelogic.type."
_FIRST_PARTITION = 1000


def declared(schema: pa.Schema) -> dict[str, str]:
    """The properties that keep types which Iceberg has no word for."""
    kept = {}
    for field in schema:
        kind = from_arrow(field.type)
        if kind != from_arrow(_back(_plain(field.type))):
            kept[TYPE + field.name] = str(kind)
    return kept


def to_pyarrow(schema: Schema, properties: Mapping[str, str]) -> pa.Schema:
    """The table's columns in the types of contracts."""
    fields = []
    for field, written in zip(schema.fields, schema_to_pyarrow(schema, include_field_ids=False), strict=True):
        kind = to_arrow(from_arrow(known_type(written.type)))
        if (declared_type := properties.get(TYPE + field.name)) is not None:
            ours = to_arrow(parse_type(declared_type))
            # Somebody may have promoted the column since.
            kind = ours if from_arrow(_back(_plain(ours))) == from_arrow(kind) else kind
        fields.append(pa.field(field.name, kind, not field.required))
    return pa.schema(fields)


def evolved(there: Schema, last_id: int, schema: pa.Schema) -> list[NestedField]:
    """Exactly these columns. A column keeps its id when its type stays or is promoted."""
    numbers = count(last_id + 1)
    fields = []
    for field in schema:
        kind = _plain(field.type)
        old = next((previous for previous in there.fields if previous.name == field.name), None)
        if old is not None and _same(old.field_type, kind):
            fields.append(old)
        elif old is not None and promotes(old.field_type, kind):
            fields.append(NestedField(old.field_id, old.name, kind, required=old.required, doc=old.doc))
        else:
            fresh = assign_fresh_schema_ids(
                Schema(NestedField(0, field.name, kind, required=False)), lambda: next(numbers)
            )
            fields.append(fresh.fields[0])
    return fields


def new_schema(schema: pa.Schema) -> Schema:
    """The schema of a new table."""
    fresh = _pyarrow_to_schema_without_ids(pa.schema([pa.field(f.name, f.type) for f in schema]))
    return assign_fresh_schema_ids(fresh)


def new_spec(schema: Schema, partition_by: tuple[str, ...]) -> PartitionSpec:
    """Partitions by the values of columns."""
    return PartitionSpec(
        *(
            PartitionField(schema.find_field(name).field_id, _FIRST_PARTITION + at, IdentityTransform(), name)
            for at, name in enumerate(partition_by)
        )
    )


def promotes(old: IcebergType, new: IcebergType) -> bool:
    """Whether Iceberg reads old files as the new type without rewriting them."""
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return old.scale == new.scale and old.precision <= new.precision
    return (type(old), type(new)) in {(IntegerType, LongType), (FloatType, DoubleType)}


def _plain(kind: pa.DataType) -> IcebergType:
    return _pyarrow_to_schema_without_ids(pa.schema([pa.field("x", kind)])).fields[0].field_type


def _back(kind: IcebergType) -> pa.DataType:
    schema = assign_fresh_schema_ids(Schema(NestedField(1, "x", kind, required=False)))
    return known_type(schema_to_pyarrow(schema, include_field_ids=False).field(0).type)


def _same(first: IcebergType, other: IcebergType) -> bool:
    return from_arrow(_back(first)) == from_arrow(_back(other))
