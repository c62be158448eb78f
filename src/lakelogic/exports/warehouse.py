"""The statements of an export to a warehouse: identifiers quoted, values bound, the same shape for every dialect."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakelogic.errors import ExportError
from lakelogic.exports.base import Shipment

# The table at the destination that remembers what arrived: one row for each export.
CONTROL = "lakelogic_exports"
CONTROL_COLUMNS = pa.schema([
    ("dataset", pa.string()), ("export_name", pa.string()), ("target", pa.string()), ("batch_id", pa.string()),
    ("table_version", pa.int64()), ("exported_rows", pa.int64()), ("exported_at", pa.timestamp("us", "UTC")),
])  # fmt: skip
CONTROL_KEY = ("dataset", "export_name", "target")

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_LONGEST = 255


@dataclass(frozen=True, slots=True)
class WarehouseDialect:
    """How a warehouse writes names and types. `folds`: names without signs are written in upper case there."""

    sign: str
    folds: bool
    type_of: Callable[[pa.DataType], str]

    def name(self, written: str) -> str:
        """A name as the warehouse keeps it."""
        return written.upper() if self.folds and _SIMPLE.fullmatch(written) else written

    def quoted(self, written: str) -> str:
        """A name between quotes, its own quotes doubled; what cannot be a name is refused."""
        if not written or len(written) > _LONGEST or any(ord(sign) < 32 or sign == "\x7f" for sign in written):
            raise ExportError(
                f"{written[:60]!r} cannot be a name there.", hint="Give the column or table another name."
            )
        return f"{self.sign}{self.name(written).replace(self.sign, self.sign * 2)}{self.sign}"

    def path(self, *parts: str) -> str:
        """A name of several parts."""
        return ".".join(self.quoted(part) for part in parts)

    def listed(self, names: Sequence[str], prefix: str = "") -> str:
        """Names with commas, each behind a prefix."""
        return ", ".join(f"{prefix}{self.quoted(name)}" for name in names)


def parts_of(target: str) -> tuple[str, str, str]:
    """Database or catalog, schema and table."""
    first, second, third = (part.strip() for part in target.split("."))
    if "/" in target or ".." in target:
        raise ExportError(f"`{target}` cannot be a table there.", hint="Write catalog.schema.table.")
    return first, second, third


def columns(dialect: WarehouseDialect, schema: pa.Schema) -> str:
    """Columns with their types, for CREATE TABLE and ADD COLUMN."""
    return ", ".join(f"{dialect.quoted(field.name)} {dialect.type_of(field.type)}" for field in schema)


def new_columns(dialect: WarehouseDialect, schema: pa.Schema, there: Sequence[str]) -> pa.Schema:
    """The columns that the table there does not have yet."""
    names = {name.lower() for name in there}
    return pa.schema([field for field in schema if dialect.name(field.name).lower() not in names])


def merge(dialect: WarehouseDialect, target: str, source: str, names: Sequence[str], key: Sequence[str]) -> str:
    """Rows of `source` take the place of those with their key, and are added where there is none."""
    same = " AND ".join(f"t.{dialect.quoted(name)} = s.{dialect.quoted(name)}" for name in key)
    others = [name for name in names if name not in key]
    changed = ", ".join(f"{dialect.quoted(name)} = s.{dialect.quoted(name)}" for name in others)
    update = f" WHEN MATCHED THEN UPDATE SET {changed}" if others else ""
    return (
        f"MERGE INTO {target} AS t USING {source} AS s ON {same}{update} WHEN NOT MATCHED THEN "
        f"INSERT ({dialect.listed(names)}) VALUES ({dialect.listed(names, 's.')})"
    )


def control_values(shipment: Shipment) -> dict[str, Any]:
    """What the destination remembers of a shipment."""
    return {
        "dataset": shipment.dataset, "export_name": shipment.export, "target": shipment.target,
        "batch_id": shipment.batch_id, "table_version": shipment.version, "exported_rows": shipment.rows,
        "exported_at": shipment.sent_at,
    }  # fmt: skip


def control_merge(dialect: WarehouseDialect, table: str, marks: Sequence[str]) -> str:
    """Remember a shipment; `marks` stand for the bound values, in the order of the columns."""
    typed = ", ".join(
        f"CAST({mark} AS {dialect.type_of(field.type)}) AS {dialect.quoted(field.name)}"
        for mark, field in zip(marks, CONTROL_COLUMNS, strict=True)
    )
    return merge(dialect, table, f"(SELECT {typed})", CONTROL_COLUMNS.names, CONTROL_KEY)


def control_question(dialect: WarehouseDialect, table: str, marks: Sequence[str]) -> str:
    """Which batch of an export arrived last."""
    same = " AND ".join(f"{dialect.quoted(name)} = {mark}" for name, mark in zip(CONTROL_KEY, marks, strict=True))
    return f"SELECT {dialect.quoted('batch_id')} FROM {table} WHERE {same}"
