"""Small contracts tried on an engine: rows in sight, good rows and reasons back."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both sides of one run as plain rows, without the stamps, sorted by their text."""

    good: list[dict[str, Any]]
    bad: list[dict[str, Any]]
    result: Any

    def values(self, *names: str) -> list[Any]:
        """One column of the good rows, or several as tuples."""
        rows = [row[names[0]] if len(names) == 1 else tuple(row[name] for name in names) for row in self.good]
        return sorted(rows, key=repr)

    def reasons(self, name: str) -> dict[Any, list[str]]:
        """The errors of every quarantined row, by the value of a column."""
        return {row[name]: row["_lakelogic_errors"] for row in self.bad}

    def stamped(self, side: str, name: str) -> list[Any]:
        """A column of one side that `good` and `bad` leave out."""
        return sorted((row[name] for row in getattr(self, side)), key=repr)


@pytest.fixture
def tried(engine: Any, workspace: Path) -> Callable[..., Outcome]:
    """Run a contract over text that lands as `in.csv` (or under the names given), and look at both sides."""

    def run(
        document: Mapping[str, Any], text: str | Mapping[str, str], *, materialize: bool = False, **settings: Any
    ) -> Outcome:
        files = {"in.csv": text} if isinstance(text, str) else text
        for name, content in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(content, encoding="utf-8", newline="")
        base = {"source": {"path": next(iter(files))}, "materialization": {"target_path": "shop.silver.tried"}}
        with DataProcessor({**base, **document}, engine, **settings) as processor:
            result = processor.run(materialize=materialize)
        return Outcome(_rows(engine, result.good), _rows(engine, result.bad), result)

    return run


def _rows(engine: Any, frame: Any) -> list[dict[str, Any]]:
    return sorted(engine.collect(frame).to_pylist(), key=repr)


# Spark needs seconds for a history of a few rows: of these files every fifth test is tried on it with every change, and
# all of them with LAKELOGIC_ALL_FAULTS=1, which `make test-faults` sets. DuckDB and Polars try all.
_SAMPLED = ("test_strategies_scd2.py", "test_strategies_cdc.py", "test_strategies_snapshots.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("LAKELOGIC_ALL_FAULTS"):
        return
    on_spark = [item for item in items if item.path.name in _SAMPLED and "spark" in item.name]
    left_out = {item.nodeid for number, item in enumerate(on_spark) if number % 5}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
