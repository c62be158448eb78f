"""Which columns a table and new rows may have together; the same for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lakelogic.errors import TableError
from lakelogic.sql.types import from_arrow, to_arrow


def stored(schema: pa.Schema) -> pa.Schema:
    """The columns in the types that a table keeps."""
    return pa.schema([pa.field(field.name, to_arrow(from_arrow(field.type)), field.nullable) for field in schema])


def refuse_twins(root: str, names: Sequence[str]) -> None:
    """Table formats compare column names without case; two spellings of one name would break the table for Spark."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise TableError(
                f"Columns `{other}` and `{name}` differ only in case; a table cannot hold both.",
                where=root,
                hint=f"Publish the column as `{other}`.",
            )


def added(root: str, there: pa.Schema, schema: pa.Schema) -> list[pa.Field]:
    """The columns that are new to a table; refuses a type that changed."""
    types = {field.name: field.type for field in there}
    changed = [
        f"`{field.name}` is stored as {from_arrow(types[field.name])}, the new rows have {from_arrow(field.type)}"
        for field in schema
        if field.name in types and from_arrow(types[field.name]) != from_arrow(field.type)
    ]
    if changed:
        raise TableError(
            f"The type of a column cannot change: {'; '.join(changed)}.",
            where=root,
            hint="Give the field its stored type, publish it under another name, or choose another target.",
        )
    new = [field for field in schema if field.name not in types]
    refuse_twins(root, [*types, *(field.name for field in new)])
    return new


def grown(root: str, there: pa.Schema, schema: pa.Schema) -> pa.Schema:
    """The table's columns with the new ones behind them."""
    new = added(root, there, schema)
    return pa.schema([*there, *(pa.field(field.name, to_arrow(from_arrow(field.type))) for field in new)])


def refuse_nulls(root: str, there: pa.Schema, path: str, nulls: Mapping[str, int | None]) -> None:
    """A NOT NULL column is checked by the footer of a staged file: nobody else looks into it."""
    for field in there:
        if not field.nullable and nulls.get(field.name) != 0:
            raise TableError(
                f"The table's column `{field.name}` is NOT NULL; {path} has or may have NULLs in it.", where=root
            )
