"""Rows of a table by their place or their key, without an engine; what is masked stays as it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakelogic.errors import NotFound, TableError, UnsupportedError, UsageError
from lakelogic.storage import parquet
from lakelogic.tables.base import TableFormat, TableState

MOST_ROWS = 1_000_000  # of a table through which rows are looked for while somebody waits


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table by the version and its number there, from 0, file by file."""

    version: int
    number: int

    def __str__(self) -> str:
        return f"{self.version}-{self.number}"

    @classmethod
    def parse(cls, written: str) -> Place:
        """As it was told; anything else is refused."""
        version, _, number = written.partition("-")
        if not (version.isascii() and number.isascii() and version.isdigit() and number.isdigit()):
            raise UsageError(f"`{written[:60]}` is not the place of a row.", hint="Take `at` of a row that was told.")
        if max(len(version), len(number)) > 18:
            raise NotFound(f"There is no row at `{written[:60]}`.")
        return cls(int(version), int(number))


def look(tables: TableFormat, location: str, version: int | None = None) -> TableState | None:
    """A table whose rows can be told by their place; None where there is none, or not in that version."""
    try:
        state = tables.state(location, version)
    except TableError:
        if version is None:
            raise
        return None
    if state is not None and state.own:
        raise UnsupportedError(
            f"The rows of {location} cannot be told from its files alone.", hint="Look at it with its own engine."
        )
    return state


def row_at(state: TableState, number: int) -> dict[str, Any]:
    """One row by its number; only its row group is read."""
    left = number
    for path in sorted(state.files):
        with pq.ParquetFile(path) as file:
            if left >= file.metadata.num_rows:
                left -= file.metadata.num_rows
                continue
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if left < rows:
                    return _as_rows(_conformed(file.read_row_group(group).slice(left, 1), state, path))[0]
                left -= rows
    raise NotFound(
        f"There is no row {state.version}-{number} in {state.location}.", hint="Take `at` of a row that was told."
    )


def rows_with(state: TableState, wanted: Mapping[str, str], limit: int = 2) -> list[tuple[int, dict[str, Any]]]:
    """Rows that have these values, written as text, and their numbers; the newest files come last."""
    spelling = {name.lower(): name for name in state.schema.names}
    columns: dict[str, Any] = {}
    for column, value in wanted.items():
        name = spelling.get(column.lower())
        if name is None:
            raise NotFound(f"The table {state.location} has no column `{column}`.", hint="Run the contract again.")
        try:
            columns[name] = pa.scalar(value, pa.string()).cast(state.schema.field(name).type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return []  # a text that is no value of the column is in no row
    hits: list[int] = []
    before = 0
    for path in sorted(state.files):
        for batch in parquet.batches([path], list(columns)):
            table = _conformed(pa.Table.from_batches([batch]), state, path, list(columns))
            hit: Any = None
            for name, value in columns.items():
                same = pc.fill_null(pc.equal(table.column(name), value), False)
                hit = same if hit is None else pc.and_(hit, same)
            hits += [before + at for at in pc.indices_nonzero(hit).to_pylist()]
            before += batch.num_rows
            if len(hits) >= limit:
                break
    return [(number, row_at(state, number)) for number in hits[:limit]]


def whole(state: TableState, most: int = MOST_ROWS) -> pa.Table:
    """All rows of a table in the order of their numbers; a table that is too large is refused."""
    rows = state.rows if state.rows is not None else sum(pq.read_metadata(path).num_rows for path in state.files)
    if rows > most:
        raise UsageError(
            f"{state.location} has {rows:,} rows: too many to look through while somebody waits.",
            hint="Query the tables with an engine; the columns and steps between them are told by the column lineage.",
        )
    parts = []
    for path in sorted(state.files):
        with pq.ParquetFile(path) as file:
            parts.append(_conformed(file.read(), state, path))
    return pa.concat_tables(parts) if parts else state.schema.empty_table()


def _conformed(table: pa.Table, state: TableState, path: str, only: Sequence[str] | None = None) -> pa.Table:
    """The columns of the table in their types; what the file does not hold is in its folder, or NULL."""
    held = state.parts.get(path, {})
    arrays, fields = [], []
    for field in state.schema:
        if only is not None and field.name not in only:
            continue
        if field.name in table.column_names:
            column = table.column(field.name)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        elif field.name in held:
            arrays.append(pa.array([held[field.name]] * table.num_rows, field.type))
        else:
            arrays.append(pa.nulls(table.num_rows, field.type))
        fields.append(field)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _as_rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
