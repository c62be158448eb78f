"""Functions of a row among others: rank, lag, first value; aggregates can stand over a window too."""

from __future__ import annotations

from lakelogic.sql.catalogue.row import Function

FUNCTIONS: tuple[Function, ...] = ()
