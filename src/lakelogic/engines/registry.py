"""Find an engine by name: ours and guests register through the entry point group `lakelogic.engines`."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from lakelogic import guests
from lakelogic.engines.base import Engine
from lakelogic.errors import MissingExtra, UsageError

GROUP = "lakelogic.engines"
_OURS = ("spark", "duckdb", "polars")
_MODULES = {"spark": "pyspark", "duckdb": "duckdb", "polars": "polars"}


def names() -> tuple[str, ...]:
    """The engines that are registered, ours first."""
    registered = {point.name for point in guests.registered(GROUP)} | set(_OURS)
    return (*_OURS, *sorted(registered - set(_OURS)))


def default_name() -> str:
    """`LAKELOGIC_ENGINE`, else Spark where it is installed and Java is found, else DuckDB, else Polars."""
    if chosen := os.environ.get("LAKELOGIC_ENGINE"):
        return chosen
    if find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME") or os.environ.get("SPARK_REMOTE")):
        return "spark"
    if find_spec("duckdb"):
        return "duckdb"
    if find_spec("polars"):
        return "polars"
    raise MissingExtra("duckdb", "Running a contract")


def load(name: str, **settings: Any) -> Engine:
    """Start an engine. `settings` are the engine's own (`spark=session`, `master=…`, `remote=…`)."""
    if name not in _OURS and name not in names():
        raise UsageError(f"There is no engine `{name}`.", hint=f"Choose one of {', '.join(names())}.")
    if name in _MODULES and find_spec(_MODULES[name]) is None:
        raise MissingExtra(name, f"The engine `{name}`")
    point = guests.find(GROUP, name)
    if point is None:
        raise UsageError(
            f"The engine `{name}` is not registered.",
            hint="Install lakelogic again: pip install --force-reinstall lakelogic",
        )
    from lakelogic.engines.readers.formats import check_rows

    check_rows()
    engine: Engine = point.load()(**settings)
    return engine
