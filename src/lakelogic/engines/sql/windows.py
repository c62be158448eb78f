"""Windows as engines that speak SQL write them: the direction of a sort key, and the rows between two bounds."""

from __future__ import annotations

from lakelogic.plan.nodes import Bounds, Order

PEERS = Bounds(False, None, 0)


def direction(key: Order) -> str:
    """What follows a sort key."""
    return f" {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def between(bounds: Bounds) -> str:
    """The rows that a function over a window sees."""
    start, end = _edge(bounds.start, "PRECEDING"), _edge(bounds.end, "FOLLOWING")
    return f"{'ROWS' if bounds.rows else 'RANGE'} BETWEEN {start} AND {end}"


def _edge(offset: int | None, endless: str) -> str:
    if offset is None:
        return f"UNBOUNDED {endless}"
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
