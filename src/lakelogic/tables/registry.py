"""Find a table format by name: ours and guests register through the entry point group `lakelogic.tables`."""

from __future__ import annotations

from importlib.util import find_spec

from lakelogic import guests
from lakelogic.errors import MissingExtra, UnsupportedError
from lakelogic.tables.base import TableFormat

GROUP = "lakelogic.tables"
# Formats of ours whose package is an extra: format → (module, extra).
_EXTRAS = {"delta": ("deltalake", "delta"), "iceberg": ("pyiceberg", "iceberg")}


def names() -> tuple[str, ...]:
    """The formats that are registered."""
    return tuple(sorted({point.name for point in guests.registered(GROUP)}))


def load(name: str) -> TableFormat:
    """The table format of that name, ready to use."""
    module, extra = _EXTRAS.get(name, (None, name))
    if module is not None and find_spec(module) is None:
        raise MissingExtra(extra, f"The table format `{name}`")
    point = guests.find(GROUP, name)
    if point is None:
        raise UnsupportedError(
            f"The table format `{name}` is not available yet.", hint=f"Available: {', '.join(names()) or 'none'}."
        )
    table_format: TableFormat = point.load()()
    return table_format
