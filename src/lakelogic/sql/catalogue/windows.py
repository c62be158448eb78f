"""Functions of a row among others: rank, lag, first value; aggregates can stand over a window too."""

from __future__ import annotations

from lakelogic.sql.catalogue.row import Function

FUNCTIONS: tuple[Function, ...] = ()

# SQL name → canonical function, least and most arguments
WINDOWS: dict[str, tuple[str, int, int]] = {}
