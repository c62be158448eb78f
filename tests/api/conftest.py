"""The lab, run once on DuckDB, and a service over it that is called in this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lakelogic import DataProcessor
from lakelogic.actions.look.estate import EstateRequest
from lakelogic.actions.operate.access import new_token
from lakelogic.actions.operate.jobs import do
from lakelogic.api.app import create_app
from lakelogic.api.service import Service
from lakelogic.api.settings import Settings
from lakelogic.ledger.work import WorkQueue
from lakelogic.run.surroundings import Surroundings

ROOT = Path(__file__).parents[2]
LOCAL = "http://127.0.0.1:8096"

# A second domain with personal data, so that there is something to keep from some and hidden from all.
PEOPLE = """
info: {dataset: silver_people, domain: people, target_layer: silver}
source: {path: data/people.csv}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: email, pii: true, masking: redact}
    - {name: age, type: int, min: 0}
materialization: {strategy: merge, target_path: people.silver.people}
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, duckdb_once: Any) -> Path:
    """A folder with the lab and a second domain, both run once."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "examples/orders_lab", folder, dirs_exist_ok=True)
    (folder / "people").mkdir()
    (folder / "people/people.yaml").write_text(PEOPLE)
    (folder / "data/people.csv").write_text("id,email,age\n1,ada@example.com,36\n2,bob@example.com,-4\n")
    before = Path.cwd()
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("LAKELOGIC_")}
    os.environ.update({name: value for name, value in kept.items() if name == "LAKELOGIC_CACHE"})
    os.chdir(folder)
    try:
        for contract in (
            "contracts/bronze/orders",
            "contracts/silver/orders",
            "contracts/gold/region_kpis",
            "people/people",
        ):
            DataProcessor(f"{contract}.yaml", duckdb_once).run()
    finally:
        os.chdir(before)
        os.environ.update(kept)
    return folder


@pytest.fixture(scope="session")
def duckdb_once() -> Iterator[Any]:
    from lakelogic.engines import registry

    engine = registry.load("duckdb")
    yield engine
    engine.close()


@pytest.fixture
def lab(built: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of one's own of the lab that has run."""
    shutil.copytree(built, workspace, dirs_exist_ok=True)
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    return workspace


@pytest.fixture
def settings() -> Settings:
    return Settings(EstateRequest(("contracts", "people")), stream_seconds=0.0)


@pytest.fixture(scope="session")
def apps() -> dict[Settings, Any]:
    """Routes are built once for all tests; what a service holds is new in each."""
    return {}


@pytest.fixture
def serve(lab: Path, settings: Settings, apps: dict[Settings, Any]) -> Callable[..., TestClient]:
    """A client of the service: `serve(token=…, most_body_bytes=…)`."""
    known: set[Settings] = set()

    def start(token: str | None = None, base: str = LOCAL, **changed: Any) -> TestClient:
        wanted = replace(settings, **changed)
        app = apps[wanted] = apps.get(wanted) or create_app(wanted)
        if wanted not in known:
            app.state.service = Service(wanted, Surroundings.here())
            known.add(wanted)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TestClient(app, base, headers=headers, raise_server_exceptions=False)

    return start


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    """Whoever sits at this machine."""
    return serve()


@pytest.fixture
def token(lab: Path) -> Callable[..., str]:
    """Make a token: `token("ada", lab="steward")`."""

    def make(person: str, **roles: str) -> str:
        return new_token(
            Surroundings.here(),
            person,
            {"*" if domain == "everywhere" else domain: role for domain, role in roles.items()},
        )[0]

    return make


@pytest.fixture
def work() -> Callable[[], int]:
    """Do everything that waits, in this process; how many pieces that were."""

    def done() -> int:
        count = 0
        with Surroundings.here() as around:
            queue = WorkQueue(around.ledger.database)
            while (taken := queue.take("worker", timedelta(seconds=60))) is not None:
                do(around, taken)
                count += 1
        return count

    return done
