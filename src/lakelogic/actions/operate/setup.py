"""Prepare what is fetched or made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakelogic.errors import MissingExtra


def setup_spark(progress: Callable[[str], None]) -> dict[str, Any]:
    """Jars and the start-up archive for Spark sessions that LakeLogic starts."""
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        raise MissingExtra("spark", "Setting up Spark")
    from lakelogic.engines.spark.runtime.setup import setup

    return dict(setup(progress))
