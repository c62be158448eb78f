"""Windows as engines that speak SQL write them: functions that have a meaning there alone, sort keys, and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.plan.nodes import Bounds, Order, WindowFunction

PEERS = Bounds(False, None, 0)
_PRESENT = "_present"  # ends the name of a function that passes over NULLs
FUNCTIONS = frozenset(
    {
        "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
        "last_value", "nth_value", "lag_present", "lead_present", "first_value_present", "last_value_present",
        "nth_value_present",
    }
)  # fmt: skip


def over(function: WindowFunction, partition: Sequence[str], order: Sequence[str]) -> str:
    """OVER and what stands in its brackets; ranks and neighbours take no bounds."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    parts += [f"ORDER BY {', '.join(order)}"] if order else []
    if function.function not in FUNCTIONS or "_value" in function.function:
        parts.append(between(function.bounds or PEERS))
    return f" OVER ({' '.join(parts)})"


def window_call(function: str, values: Sequence[str], *, nulls_inside: bool) -> str:
    """A call that has a meaning over windows alone; IGNORE NULLS stands inside its brackets, or behind them."""
    nulls = " IGNORE NULLS" if function.endswith(_PRESENT) else ""
    inside, behind = (nulls, "") if nulls_inside else ("", nulls)
    return f"{function.removesuffix(_PRESENT)}({', '.join(values)}{inside}){behind}"


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
