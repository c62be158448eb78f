"""What all tests share: engines that are started once, a warehouse of one's own, a key, a stopped clock."""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
ENGINES = ("duckdb", "polars", "spark")
LOOPBACK = str(ROOT / "tests" / "loopback")

if LOOPBACK not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    # Here at once, and in all Python processes that tests start; workers of a test run have it from their start.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (LOOPBACK, os.environ.get("PYTHONPATH"))))
    runpy.run_path(str(ROOT / "tests" / "loopback" / "sitecustomize.py"))


def pytest_sessionfinish() -> None:
    """Workers end without the usual farewell: what they have judged goes here."""
    from lakelogic.storage import scratch

    scratch.remove_all()


@pytest.fixture(scope="session")
def _started() -> Iterator[dict[str, Any]]:
    started: dict[str, Any] = {}
    yield started
    for engine in started.values():
        engine.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL, started once for all who ask."""
    spec = importlib.util.spec_from_file_location("lakelogic_tests_postgres", ROOT / "tests/servers/postgres.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.postgres_server() as url:
        yield url


@pytest.fixture
def s3_store() -> Iterator[Any]:
    """Buckets to read from; nobody is told of them yet (`environ()` says how)."""
    spec = importlib.util.spec_from_file_location("lakelogic_tests_s3_store", ROOT / "tests/servers/s3_store.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.get(spec.name)
    if module is None:
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    with module.store() as store:
        yield store


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.spark] if name == "spark" else []) for name in ENGINES])
def engine(request: pytest.FixtureRequest, _started: dict[str, Any]) -> Any:
    """Each engine in turn; one instance serves the whole test run."""
    from lakelogic.engines import registry

    name = request.param
    if name not in _started:
        _started[name] = registry.load(name)
    return _started[name]


@pytest.fixture
def duckdb_engine(_started: dict[str, Any]) -> Any:
    from lakelogic.engines import registry

    if "duckdb" not in _started:
        _started["duckdb"] = registry.load("duckdb")
    return _started["duckdb"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with its own warehouse, and no settings from outside."""
    for name in list(os.environ):
        if name.startswith("LAKELOGIC_") and name != "LAKELOGIC_CACHE":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def home(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home page's contract with its four rows, and a key."""
    shutil.copytree(ROOT / "examples" / "home", workspace, dirs_exist_ok=True)
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    return workspace
