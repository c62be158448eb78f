"""Choose few of many combinations so that every three values that can occur together do occur together.

A matrix that takes hours is walked in minutes this way, and a mistake that needs up to three circumstances to show
(this strategy, at this point, by this kind of fault) is still met.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import TypeVar

Row = TypeVar("Row", bound=Hashable)


def covering(rows: Sequence[Row], values_of: Callable[[Row], tuple[Hashable, ...]], strength: int = 3) -> list[Row]:
    """Of these rows, in their order, as few as a greedy choice needs for all combinations of `strength` values."""
    parts = {row: set(combinations(enumerate(values_of(row)), strength)) for row in rows}
    missing = set().union(*parts.values()) if parts else set()
    # What a row would add only shrinks while others are chosen: an old figure is an upper bound.
    waiting = [(-len(parts[row]), number) for number, row in enumerate(rows)]
    heapq.heapify(waiting)
    chosen: set[int] = set()
    while missing:
        _, number = heapq.heappop(waiting)
        adds = len(parts[rows[number]] & missing)
        if waiting and adds < -waiting[0][0]:
            heapq.heappush(waiting, (-adds, number))
            continue
        missing -= parts[rows[number]]
        chosen.add(number)
    return [row for number, row in enumerate(rows) if number in chosen]
