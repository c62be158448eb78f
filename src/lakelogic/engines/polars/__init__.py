"""Polars: a plan becomes one lazy frame of native expressions."""

from lakelogic.engines.polars.engine import PolarsEngine

__all__ = ["PolarsEngine"]
