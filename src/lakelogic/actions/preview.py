"""Look into a table without starting an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import UsageError


@dataclass(frozen=True, slots=True)
class Preview:
    """Some rows of a table; masked values stay masked."""

    table: str
    location: str
    version: int
    total: int | None
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


def preview(table: str, limit: int = 20) -> Preview:
    """The first rows of a table, by name or path."""
    from lakelogic.tables.kinds import kind_of
    from lakelogic.tables.registry import load

    location = LocalCatalog().resolve(table)
    tables = load(kind_of(location) or "delta")
    state = tables.state(location)
    if state is None:
        raise UsageError(f"There is no table `{table}` at {location}.", hint="Check the name, or LAKELOGIC_WAREHOUSE.")
    rows = tables.preview(location, limit)
    return Preview(table, location, state.version, state.rows, tuple(rows.column_names), tuple(rows.to_pylist()))
