"""Small estates that are run once in this process, and what is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.estate import EstateRequest
from lakelogic.actions.look.served import Served
from lakelogic.run.surroundings import Surroundings


@pytest.fixture(scope="session")
def duckdb_once() -> Iterator[Any]:
    from lakelogic.engines import registry

    engine = registry.load("duckdb")
    yield engine
    engine.close()


@pytest.fixture
def estate(workspace: Path, duckdb_once: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Served]:
    """Write contracts (by file name) and data, run the contracts in order, and serve them."""
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")

    def build(contracts: dict[str, str], data: dict[str, str] | None = None) -> Served:
        (workspace / "contracts").mkdir(exist_ok=True)
        (workspace / "data").mkdir(exist_ok=True)
        for name, text in (data or {}).items():
            (workspace / "data" / name).write_text(text)
        for name, text in contracts.items():
            (workspace / "contracts" / name).write_text(text)
            DataProcessor(f"contracts/{name}", duckdb_once).run().raise_for_status()
        return Served(Surroundings.here(), EstateRequest(("contracts",)))

    return build


@pytest.fixture
def run_again(duckdb_once: Any) -> Callable[[str], Any]:
    """Run one contract once more."""
    return lambda name: DataProcessor(f"contracts/{name}", duckdb_once).run()
