"""Tables that would lie in one another: a folder belongs to one table, and a table's folder to nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lakelogic.catalogs.base import Catalog
from lakelogic.errors import PlaceRefused
from lakelogic.run.places import Places
from lakelogic.tables import chain
from lakelogic.tables.kinds import kind_of, table_around
from lakelogic.tables.upkeep import IN_USE, STAGED

# What formats make in a table's folder before its first commit.
_OWN = frozenset({"_delta_log", "_lakelogic", "metadata", "data", "versions", "current", chain.FOLDER, IN_USE})
_HINT = "Nothing was read. Give the table a folder of its own: removing or cleaning one would take the other along."


def nested(places: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Pairs of names whose places lie in one another, the outer first; the same place is no such pair."""
    found = sorted((Path(place).parts, name) for name, several in places.items() for place in several)
    around: list[tuple[tuple[str, ...], str]] = []
    for parts, name in found:
        around = [one for one in around if parts[: len(one[0])] == one[0]]
        yield from ((outer, name) for above, outer in around if above != parts)
        around.append((parts, name))


def refuse_overlap(where: Places, catalog: Catalog) -> None:
    """Refuse a target, quarantine or secondary target that would lie in another table, or around something else."""
    ours = [(where.target, where.target_location), (where.quarantine, where.quarantine_location)]
    ours += [(other.name, other.location) for other in where.others]
    if len({place for _, place in ours}) < len(ours):
        raise PlaceRefused(f"Rows and bad rows of {where.target} would share a folder.", hint=_HINT)
    for outer, inner in nested({name: (place,) for name, place in ours}):
        raise PlaceRefused(f"{inner} would lie inside the table {outer}.", where=dict(ours)[inner], hint=_HINT)
    for name, place in ours:
        folder = Path(place)
        if (other := table_around(folder)) is not None:
            raise PlaceRefused(f"{name} would lie inside the table at {other}.", where=place, hint=_HINT)
        if kind_of(place) is None:
            _refuse_around(name, folder, catalog)


def _refuse_around(name: str, folder: Path, catalog: Catalog) -> None:
    """A table is not made where something else lies already, or will."""
    for what, other in (("the working folder", catalog.base), ("the warehouse", catalog.warehouse)):
        if other.is_relative_to(folder):
            raise PlaceRefused(f"{name} is a folder around {what}, {other}.", where=str(folder), hint=_HINT)
    if folder.is_dir():
        foreign = sorted(path.name for path in folder.iterdir() if not _is_ours(path.name))
        if foreign:
            more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            raise PlaceRefused(f"{name} is a folder that holds `{foreign[0]}`{more}.", where=str(folder), hint=_HINT)


def _is_ours(name: str) -> bool:
    return name.startswith((".", *STAGED)) or name in _OWN
