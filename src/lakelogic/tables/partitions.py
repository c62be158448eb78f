"""Values of partition columns as text, the same way in every format, and as folder names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from lakelogic.errors import TableError, UnsupportedError
from lakelogic.sql.types import from_arrow
from lakelogic.tables.base import Layout, StagedFile

# What folders and other engines call a partition without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_NAME = 255  # bytes that file systems let a name have
_KINDS = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")


def refuse_columns(root: str, partition_by: Sequence[str], schema: pa.Schema) -> None:
    """Partition columns must be there, once, and of a kind whose text is the same for every reader."""
    for name in partition_by:
        if schema.get_field_index(name) < 0:
            raise TableError(f"There is no column `{name}` to partition by.", where=root)
        kind = from_arrow(schema.field(name).type)
        if kind.kind not in _KINDS:
            raise UnsupportedError(
                f"A table cannot be partitioned by `{name}`: it is {kind}.",
                where=root,
                hint="Partition by a string, a whole number, a boolean or a date; derive one with a step.",
            )
    if len(set(partition_by)) < len(partition_by) or len(partition_by) >= len(schema.names):
        raise TableError("Partition columns must differ, and leave at least one other column.", where=root)


def refuse_layout(root: str, layout: Layout, partition_by: Sequence[str]) -> None:
    """A table that is there keeps its partitions; saying none means those that it has."""
    if layout.partition_by and tuple(layout.partition_by) != tuple(partition_by):
        raise TableError(
            f"The table is partitioned by {', '.join(partition_by) or 'nothing'}, the contract says "
            f"{', '.join(layout.partition_by)}.",
            where=root,
            hint="partition_by of a table that is there cannot change; write to a new target_path.",
        )


def refuse_files(root: str, partition_by: Sequence[str], files: Sequence[StagedFile]) -> None:
    """Every staged file must say its one value of each partition column."""
    for file in files:
        if set(file.partition) != set(partition_by):
            layout = ", ".join(sorted(file.partition)) or "no partition"
            wants = ", ".join(partition_by) or "none"
            raise TableError(
                f"The staged file {file.path} was staged by {layout}; the table is partitioned by {wants}.",
                where=root,
                hint="partition_by of a table that is there cannot change; write to a new target_path.",
            )


def text_of(value: Any) -> str | None:
    """A value as the logs of tables write it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def value_of(text: str | None, kind: pa.DataType) -> Any:
    """The value that a log's text means."""
    if text is None:
        return None
    if pa.types.is_boolean(kind):
        return text == "true"
    if pa.types.is_integer(kind):
        return int(text)
    return date.fromisoformat(text) if pa.types.is_date(kind) else text


def folders(partition: Mapping[str, Any], partition_by: Sequence[str]) -> str:
    """`day=2026-01-31/country=NL`; nothing for a table without partitions.

    Where a value is too long for a name, the folder is called by a digest and tells no value: a shortened one would be
    taken for the value by readers who go by folders, while the files hold it in full.
    """
    parts = []
    for name in partition_by:
        text = text_of(partition[name])
        parts.append(f"{quote(name, safe='')}={NO_VALUE if text is None else quote(text, safe=' :+@,-')}")
    place = "/".join(parts)
    if any(len(part) > _LONGEST_NAME for part in parts):
        return f"long-{sha256(place.encode()).hexdigest()[:32]}"
    return place
