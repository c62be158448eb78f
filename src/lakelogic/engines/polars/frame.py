"""Lazy rows on Polars: a frame, and how many rows its scan saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import polars as pl

from lakelogic.engines.exact import parts


@dataclass(frozen=True, slots=True)
class Rows:
    """A lazy frame, and a way to tell how many rows its scan saw."""

    frame: pl.LazyFrame
    scanned: Callable[[], int | None] = lambda: None

    def then(self, frame: pl.LazyFrame) -> Rows:
        """The next frame over the same scan."""
        return replace(self, frame=frame)


Links: TypeAlias = parts.Links[Rows]
