"""Find the landed columns of an input without an engine: headers of text files, footers, folders, a table's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa

from lakelogic.errors import DataError, SourceError
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import DOUBLE, FLOAT, INTEGER_BITS, NULL, STRING, Type, decimal, from_arrow, unusable
from lakelogic.storage import parquet
from lakelogic.storage.csv_records import header

# What Hive calls the folder of rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Look:
    """Files whose columns are asked for.

    `names` are those that files without a header may hold, by place. A header that has none of the `expected` names (in
    lower case) is taken for a row of values, and refused.
    """

    format: str
    files: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    expected: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What files told of their columns: over all of them, matched without case, and the names that each file has."""

    columns: tuple[Landed, ...]
    by_file: Mapping[str, Sequence[str]] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)  # what readers of these files go by
    finer: tuple[str, ...] = ()  # columns whose instants are finer than microseconds


def csv_headers(
    files: Sequence[str],
    options: Mapping[str, object] | None = None,
    *,
    file_format: str = "csv",
    names: Sequence[str] = (),
    expected: frozenset[str] | None = None,
) -> dict[str, list[str]]:
    """The column names of each text file, in the order of its columns, for readers that go by position.

    A name has no blanks around it; a nameless column is called after its place (`c3`). A file without content
    has no columns. Without `has_header` the columns are `names`, then c3, c4, … for what is beyond them.
    A header that has none of the `expected` names (in lower case) is a row of values, and refused without telling them.
    """
    headers = {path: header(path, file_format, options or {}, names) for path in files}
    if (options or {}).get("has_header") is False:
        expected = None
    for path, columns in headers.items():
        if expected is not None and columns and not expected.intersection(name.lower() for name in columns):
            raise DataError(
                f"None of the {len(names)} declared fields stands in the header of {path}.",
                hint="If the file has no header, say source.options.has_header: false. The header is not shown here: "
                "the contract masks fields, and these may be values.",
            )
        _refuse_twins(path, columns)
    return headers


def text_columns(headers: Mapping[str, Sequence[str]]) -> tuple[Landed, ...]:
    """The columns of text files by their headers."""
    first: dict[str, str] = {}
    for names in headers.values():
        for name in names:
            first.setdefault(name.lower(), name)
    return tuple(Landed(name, STRING) for name in first.values())


def parquet_schemas(files: Sequence[str]) -> dict[str, pa.Schema]:
    """The columns of each Parquet file, as its footer tells."""
    schemas: dict[str, pa.Schema] = {}
    for path in files:
        try:
            schemas[path] = parquet.schema_of(path)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"{path} is not a readable Parquet file: {error}") from error
    return schemas


def parquet_columns(schemas: Mapping[str, pa.Schema]) -> tuple[Landed, ...]:
    """The columns of all Parquet files, in the narrowest type that holds the values of every file exactly.

    Where there is none, the column is refused, naming both files.
    """
    columns: dict[str, tuple[Landed, str]] = {}
    for path, schema in schemas.items():
        _refuse_twins(path, schema.names)
        for stored in schema:
            kind = NULL if pa.types.is_null(stored.type) else from_arrow(stored.type)
            if trouble := unusable(kind):
                raise SourceError(
                    f"Column `{stored.name}` of {path} has {trouble}.",
                    hint="Name the fields apart where it is written.",
                )
            column, where = columns.setdefault(stored.name.lower(), (Landed(stored.name, kind), path))
            wider = _wider(column.type, kind)
            if wider is None:
                raise SourceError(
                    f"Column `{column.name}` is {column.type} in {where} and {kind} in {path}.",
                    hint="Read the two kinds of files by contracts of their own, or write one kind again.",
                )
            if wider != column.type:
                columns[stored.name.lower()] = (Landed(column.name, wider), path)
    return tuple(Landed(column.name, STRING) if column.type == NULL else column for column, _ in columns.values())


def _wider(left: Type, other: Type) -> Type | None:
    """The type that holds all values of both; None where that would change some."""
    if other in (left, NULL):
        return left
    if left == NULL:
        return other
    if left.is_integer and other.is_integer:
        return left if INTEGER_BITS[left.kind] > INTEGER_BITS[other.kind] else other
    kinds = {left.kind, other.kind}
    if kinds == {"float", "double"}:
        return DOUBLE
    if left.is_number and other.is_number and kinds & {"float", "double"}:
        # A double has 53 bits, a float 24.
        whole = next((kind for kind in kinds if kind in INTEGER_BITS), "bigint")
        room = 53 if "double" in kinds else 24
        return (DOUBLE if "double" in kinds else FLOAT) if INTEGER_BITS[whole] < room else None
    if left.is_number and other.is_number:
        scale = max(left.scale, other.scale)
        whole_digits = max(_digits(left), _digits(other))
        return decimal(whole_digits + scale, scale) if whole_digits + scale <= 38 else None
    return _wider_nested(left, other) if left.is_nested and left.kind == other.kind else None


def _wider_nested(left: Type, other: Type) -> Type | None:
    """Part by part; a struct has the fields of both, and a value that lacks one has NULL there."""
    fields: list[tuple[str, Type]] = []
    for name, kind in left.fields:
        field = other.field(name)
        wider = kind if field is None else _wider(kind, field[1])
        if wider is None:
            return None
        fields.append((name, wider))
    fields += [(name, kind) for name, kind in other.fields if left.field(name) is None]
    key = None if left.key is None or other.key is None else _wider(left.key, other.key)
    element = None if left.element is None or other.element is None else _wider(left.element, other.element)
    if (left.key is not None and key is None) or (left.element is not None and element is None):
        return None
    return Type(left.kind, key=key, element=element, fields=tuple(fields))


def _digits(kind: Type) -> int:
    """How many digits stand before the point."""
    return len(str(2 ** (INTEGER_BITS[kind.kind] - 1))) if kind.is_integer else kind.precision - kind.scale


def landed_columns(schema: pa.Schema) -> tuple[Landed, ...]:
    """The columns of an Arrow schema, such as a Delta table's state gives."""
    return tuple(Landed(field.name, from_arrow(field.type)) for field in schema)


def folder_values(files: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """For each file, the values of its `name=value` folders for the names given; nothing where no file has any.

    Names are matched without case; values are percent-decoded, and Hive's word for no value is NULL. The innermost
    folder counts. A file outside such folders has NULL.
    """
    wanted = {name.lower(): name for name in names}
    values_by_file: dict[str, dict[str, str | None]] = {}
    seen: set[str] = set()
    for path in files:
        values: dict[str, str | None] = {}
        for folder in path.split("/")[:-1]:
            key, equals, value = folder.partition("=")
            name = wanted.get(unquote(key).lower()) if equals else None
            if name is not None:
                values[name] = None if value == _NO_VALUE else unquote(value)
        values_by_file[path] = values
        seen |= values.keys()
    if not seen:
        return {}
    return {path: {name: values.get(name) for name in names if name in seen} for path, values in values_by_file.items()}


def _refuse_twins(path: str, names: Sequence[str]) -> None:
    """Two columns of one name, by case too, could not be told apart by the model."""
    first: dict[str, str] = {}
    for name in names:
        other = first.get(name.lower())
        if other is not None:
            what = f"column `{name}` twice" if other == name else f"columns `{other}` and `{name}`, alike but for case"
            raise SourceError(f"{path} has {what}.", hint="Give every column a name of its own.")
        first[name.lower()] = name
