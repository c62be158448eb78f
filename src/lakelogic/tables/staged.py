"""Look at staged Parquet files before a table takes them: place, rows, types."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.errors import TableError
from lakelogic.sql.types import from_arrow
from lakelogic.tables.base import StagedFile


@dataclass(frozen=True, slots=True)
class Footer:
    """A staged file that fits: its path relative to the table's root, and what its footer says."""

    path: str
    size: int
    modified_ms: int
    metadata: Any

    @property
    def rows(self) -> int:
        """How many rows the file holds."""
        return int(self.metadata.num_rows)


def read_footer(root: str, file: StagedFile, schema: pa.Schema) -> Footer:
    """Check a staged file against the schema it is committed with.

    Refuses files outside the root, files in folders that a vacuum never enters, INT96, types other than the
    declared ones, and row counts that differ from what the stage reported.
    """
    relative = _relative(root, file.path)
    try:
        with pq.ParquetFile(file.path) as parquet:
            footer, landed = parquet.metadata, parquet.schema_arrow
        status = Path(file.path).stat()
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"The staged file {file.path} cannot be read: {error}", where=root) from error
    if footer.num_rows != file.rows:
        raise TableError(
            f"The staged file {file.path} holds {footer.num_rows} rows, {file.rows} were reported.",
            where=root,
            hint="Something wrote to the file after it was staged; run again.",
        )
    _refuse_int96(root, file.path, footer)
    _refuse_other_types(root, file.path, landed, schema)
    return Footer(relative, status.st_size, status.st_mtime_ns // 1_000_000, footer)


def column_places(footer: Any) -> dict[str, int]:
    """Where the columns of a simple type at the top stand in a footer: the name of a nested leaf is not its path."""
    places = {}
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        if column.name == column.path and column.max_repetition_level == 0:
            places[column.name] = index
    return places


def null_counts(footer: Any, schema: pa.Schema) -> dict[str, int | None]:
    """The number of NULLs per declared column of a simple type; None where the footer does not tell."""
    counts: dict[str, int | None] = {}
    for name, index in column_places(footer).items():
        if schema.get_field_index(name) < 0:
            continue
        groups = [footer.row_group(group).column(index).statistics for group in range(footer.num_row_groups)]
        is_counted = all(group is not None and group.has_null_count for group in groups)
        counts[name] = sum(int(group.null_count) for group in groups) if is_counted else None
    return counts


def _relative(root: str, path: str) -> str:
    relative = os.path.relpath(os.path.abspath(path), os.path.abspath(root))  # noqa: PTH100 (links stay as they are)
    parts = Path(relative).parts
    if ".." in parts or Path(relative).is_absolute():
        raise TableError(
            f"The staged file {path} does not lie under the table.",
            where=root,
            hint="A table refers only to files below its own folder; stage or copy the file there.",
        )
    hidden = next((part for part in parts if part.startswith(("_", "."))), None)
    if hidden is not None:
        raise TableError(
            f"The staged file {path} lies in `{hidden}`, where a vacuum never removes anything.",
            where=root,
            hint="No folder of a data file may begin with an underscore or a dot.",
        )
    return "/".join(parts)


def _refuse_int96(root: str, path: str, footer: Any) -> None:
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        if column.physical_type == "INT96":
            raise TableError(
                f"Column `{column.path}` of {path} is stored as INT96; readers misread it outside the years 1678-2262.",
                where=root,
                hint="Set spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS on the session that writes.",
            )


def _refuse_other_types(root: str, path: str, landed: pa.Schema, schema: pa.Schema) -> None:
    for field in schema:
        index = landed.get_field_index(field.name)
        if index < 0:
            raise TableError(f"The staged file {path} has no column `{field.name}`.", where=root)
        column_type = landed.field(index).type
        if from_arrow(column_type) != from_arrow(field.type):
            raise TableError(
                f"Column `{field.name}` of {path} is {from_arrow(column_type)}, "
                f"the table gets {from_arrow(field.type)}.",
                where=root,
            )
        if pa.types.is_timestamp(column_type) and column_type.unit != "us":
            raise TableError(
                f"Column `{field.name}` of {path} is a timestamp in {column_type.unit}; a table keeps microseconds.",
                where=root,
            )
