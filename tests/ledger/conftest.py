"""A ledger on SQLite and one on a real PostgreSQL, and a clock that stands still."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from lakelogic import clock
from lakelogic.ledger.records import RunRecord
from lakelogic.ledger.store import open_ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """The URL of a ledger that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/.lakelogic/ledger.db"
    import psycopg

    server = request.getfixturevalue("postgres_url")
    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.removesuffix("postgres") + name


@pytest.fixture
def ledger(place):
    with open_ledger(place) as opened:
        yield opened


class StoppedClock:
    """Time that moves only when a test says so."""

    def __init__(self):
        self.at = datetime(2026, 3, 28, 12, 0, 1, 234567, tzinfo=UTC)

    def forward(self, **by):
        self.at += timedelta(**by)


@pytest.fixture
def stopped(monkeypatch):
    stopped = StoppedClock()
    monkeypatch.setattr(clock, "now", lambda: stopped.at)
    return stopped


@pytest.fixture
def a_run():
    """Make a run of `silver_crm_customers` that started so many minutes after noon."""

    def make(run_id="run-1", minute=0, **values):
        given = {"dataset": "silver_crm_customers", "status": "succeeded"} | values
        return RunRecord(run_id=run_id, started_at=datetime(2026, 3, 28, 12, minute, tzinfo=UTC), **given)

    return make
