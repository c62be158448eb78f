"""Polars: a plan becomes one lazy frame of native expressions."""

from lakelogic.engines.polars.session import PolarsEngine

__all__ = ["PolarsEngine"]
