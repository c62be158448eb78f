"""Find a catalog by name: ours and guests register through the entry point group `lakelogic.catalogs`."""

from __future__ import annotations

from lakelogic import guests
from lakelogic.catalogs.base import Catalog
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import UsageError

GROUP = "lakelogic.catalogs"
VARIABLE = "LAKELOGIC_CATALOG"
LOCAL = "local"


def names() -> tuple[str, ...]:
    """The catalogs that are registered, ours first."""
    return (LOCAL, *sorted({point.name for point in guests.registered(GROUP)} - {LOCAL}))


def load(name: str = LOCAL) -> Catalog:
    """The catalog of that name, as it is in this directory and environment."""
    if name == LOCAL:  # what every command needs is not looked for among all packages
        return LocalCatalog()
    point = guests.find(GROUP, name)
    if point is None:
        raise UsageError(f"There is no catalog `{name}`.", hint=f"Choose one of {', '.join(names())}.")
    catalog: Catalog = point.load()()
    return catalog
