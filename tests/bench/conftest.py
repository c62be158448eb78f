"""What the tests of the measurements share: the package itself, which is no part of the installation, and its data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the orders of a size, once."""
    from bench import data

    folder = tmp_path_factory.mktemp("bench")

    def make(rows: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAKELOGIC_BENCH", str(folder))
            return data.ensure(rows)

    return make


@pytest.fixture
def job(orders: Any) -> Any:
    """What a subject is told about the reference job."""

    def told(engine: str, module: str, rows: int) -> tuple[Any, dict[str, Any]]:
        from bench.harness import Case, job_of

        made = orders(rows)
        return made, job_of(Case("any", engine, module), made, "parquet", 1)

    return told
