"""What is registered under a group of entry points: by this package, and by guests."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points


@cache
def registered(group: str) -> tuple[EntryPoint, ...]:
    """What anybody registered. Looked up once: it reads the metadata of all packages that are installed."""
    return tuple(entry_points(group=group))


@cache
def _ours() -> tuple[EntryPoint, ...]:
    try:
        return tuple(distribution("lakelogic").entry_points)
    except PackageNotFoundError:
        return ()


def find(group: str, name: str) -> EntryPoint | None:
    """What is registered under that name: ours, for which no other package is looked at, or a guest's."""
    for point in _ours():
        if point.group == group and point.name == name:
            return point
    return next((point for point in registered(group) if point.name == name), None)
