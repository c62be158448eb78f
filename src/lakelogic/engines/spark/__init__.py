"""Spark: plans lowered to PySpark frames, classic or Connect, on sessions we start or are handed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakelogic.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: looking at the folder must not load pyspark.
    if name == "SparkEngine":
        from lakelogic.engines.spark.engine import SparkEngine

        return SparkEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
