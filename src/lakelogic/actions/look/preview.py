"""Look into a table without starting an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from lakelogic.catalogs.base import Catalog
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Preview:
    """Some rows of a table; masked values stay masked."""

    table: str
    location: str
    version: int
    total: int | None
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    deleted_column: str | None = None  # marks rows as deleted: sources, links and exports leave these out
    deleted: int = 0  # how many of the rows shown are


def preview(around: Surroundings, table: str, limit: int = 20, columns: Sequence[str] = ()) -> Preview:
    """The first rows of a table, by name or path; with `columns` only these, in this order.

    Refused where rows were written before the contract of the table masked what it masks now.
    """
    from lakelogic.actions.visibility.owners import refuse_rows_in_clear

    refuse_rows_in_clear(around, around.catalog.resolve(table))
    return first_rows(around.catalog, table, limit, columns)


def first_rows(catalog: Catalog, table: str, limit: int = 20, columns: Sequence[str] = ()) -> Preview:
    """The same as they are kept, for whoever hides by itself what is masked."""
    from lakelogic.run.input.deleted import deleted_of, marks
    from lakelogic.tables.kinds import kind_of
    from lakelogic.tables.registry import load

    location = catalog.resolve(table)
    tables = load(kind_of(location) or "delta")
    state = tables.state(location)
    if state is None:
        raise UsageError(f"There is no table `{table}` at {location}.", hint="Check the name, or LAKELOGIC_WAREHOUSE.")
    rows = tables.preview(location, limit)
    deleted = deleted_of(tables, state)
    gone = sum(marks(rows, deleted)) if deleted else 0
    if columns:
        rows = rows.select(_spelled(columns, rows.column_names, table))
    return Preview(
        table,
        location,
        state.version,
        state.rows,
        tuple(rows.column_names),
        tuple(rows.to_pylist()),
        deleted.column if deleted else None,
        gone,
    )


def _spelled(wanted: Sequence[str], there: Sequence[str], table: str) -> list[str]:
    """The columns that somebody means, in the table's spelling; one that is not there is refused."""
    spelling = {name.lower(): name for name in there}
    for name in wanted:
        if name.lower() not in spelling:
            near = get_close_matches(name.lower(), spelling, n=1)
            hint = f"Did you mean `{spelling[near[0]]}`?" if near else f"There are {', '.join(there)}."
            raise UsageError(f"The table `{table}` has no column `{name}`.", hint=hint)
    return [spelling[name.lower()] for name in wanted]
