"""Making and upgrading a ledger, and what is said when it cannot be used."""

import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from lakelogic.errors import LedgerError, MissingExtra, UsageError
from lakelogic.ledger import migrations
from lakelogic.ledger.records import RUN_COLUMNS
from lakelogic.ledger.store import open_ledger

SCHEMA = [
    "run_id", "pipeline_run_id", "batch_id", "dataset", "contract", "contract_version", "contract_fingerprint",
    "layer", "domain", "system", "environment", "engine", "engine_version", "status", "reason", "error_code",
    "error_message", "started_at", "finished_at", "duration_seconds", "window_start", "window_end", "watermark",
    "counts_source", "counts_good", "counts_quarantined", "counts_filtered", "counts_deduplicated", "counts_expanded",
    "quarantine_ratio", "quality_score", "rule_failures", "dataset_rules", "service_levels", "schema_drift", "files",
    "bytes_read", "bytes_written", "target", "target_version", "quarantine_target", "quarantine_version",
    "estimated_cost", "cost_currency", "lakelogic_version", "account", "findings", "error",
]  # fmt: skip


def engine_of(place):
    return create_engine(place.replace("postgresql:", "postgresql+psycopg:"))


def test_the_runs_have_the_documented_columns_in_order(place):
    open_ledger(place).close()
    engine = engine_of(place)
    assert [column["name"] for column in inspect(engine).get_columns("runs")] == SCHEMA == list(RUN_COLUMNS)
    engine.dispose()


def test_times_are_times_in_the_database_itself(place, ledger, a_run):
    ledger.record(a_run(finished_at=datetime(2026, 3, 28, 12, 0, 0, 500_000, tzinfo=UTC)))
    engine = engine_of(place)
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            seconds = "round((julianday(finished_at) - julianday(started_at)) * 86400, 3)"
        else:
            seconds = "extract(epoch FROM finished_at - started_at)"
        assert float(connection.scalar(text(f"SELECT {seconds} FROM runs"))) == 0.5
    engine.dispose()


def test_migrations_are_numbered_without_a_gap_and_recorded_once(place):
    for _ in range(2):
        open_ledger(place).close()
    assert [migration.number for migration in migrations.MIGRATIONS] == [*range(1, migrations.NEWEST + 1)]
    engine = engine_of(place)
    with engine.connect() as connection:
        applied = connection.execute(text("SELECT number, title FROM lakelogic_migrations ORDER BY number")).all()
    engine.dispose()
    assert [tuple(row) for row in applied] == [(step.number, step.title) for step in migrations.MIGRATIONS]


def test_an_older_ledger_is_upgraded_and_keeps_its_runs(place, a_run, monkeypatch):
    with open_ledger(place) as ledger:
        ledger.record(a_run())
    step = migrations.Migration(
        migrations.NEWEST + 1, "notes on runs", ("CREATE TABLE notes (at {instant}, body {json})",)
    )
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, step))
    monkeypatch.setattr(migrations, "NEWEST", migrations.NEWEST + 1)
    with open_ledger(place) as ledger:
        assert ledger.run("run-1") == a_run()
    engine = engine_of(place)
    assert inspect(engine).has_table("notes")
    engine.dispose()


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(place, a_run, monkeypatch):
    with open_ledger(place) as ledger:
        ledger.record(a_run())
    step = migrations.Migration(
        migrations.NEWEST + 1, "broken", ("CREATE TABLE notes (at {instant})", "CREATE TABLE (")
    )
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, step))
        patch.setattr(migrations, "NEWEST", migrations.NEWEST + 1)
        with pytest.raises(LedgerError):
            open_ledger(place)
    with open_ledger(place) as ledger:
        assert ledger.run("run-1") == a_run()
    engine = engine_of(place)
    assert not inspect(engine).has_table("notes")
    engine.dispose()


def test_a_ledger_of_a_newer_version_is_refused(place):
    open_ledger(place).close()
    engine = engine_of(place)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO lakelogic_migrations VALUES (99, 'later', CURRENT_TIMESTAMP)"))
    engine.dispose()
    with pytest.raises(LedgerError, match=rf"is at version 99; .* versions up to {migrations.NEWEST}") as caught:
        open_ledger(place)
    assert "A newer LakeLogic has written it" in str(caught.value)


def test_a_path_is_a_ledger_in_a_file_whatever_its_name(tmp_path, a_run):
    path = tmp_path / "50% off?" / "the ledger.db"
    with open_ledger(path) as ledger:
        ledger.record(a_run())
    assert path.exists()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=re.escape(str(tmp_path / "file"))) as caught:
        open_ledger(tmp_path / "file" / "below" / "ledger.db")
    assert "writable" in str(caught.value)
    assert "LAKELOGIC_LEDGER" in str(caught.value)


def test_a_folder_in_place_of_the_file_says_what_to_do(tmp_path):
    with pytest.raises(LedgerError, match="unable to open database file") as caught:
        open_ledger(tmp_path)
    assert "LAKELOGIC_LEDGER" in str(caught.value)


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_text("my notes, " * 100)
    with pytest.raises(LedgerError, match="not a database") as caught:
        open_ledger(path)
    assert "Move it away" in str(caught.value)
    assert path.read_text().startswith("my notes")


def test_a_server_that_does_not_answer_is_named_without_the_password():
    with pytest.raises(LedgerError) as caught:
        open_ledger("postgresql://ada:sesame@127.0.0.1:1/ledger")
    assert "127.0.0.1:1/ledger" in str(caught.value)
    assert "server runs" in str(caught.value)
    assert "sesame" not in f"{caught.value} {caught.value!r}"


def test_a_missing_driver_is_answered_with_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'lakelogic[postgres]'")):
        open_ledger("postgresql://localhost/ledger")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/d",
        "postgresql+asyncpg://h/d",
        "nonsense",
        "",
        "sesame:// x",
        "sqlite:///l.db?mode=ro",
        "postgresql://h:port/d",
    ],
)
def test_other_databases_and_nonsense_are_refused(url):
    with pytest.raises(UsageError, match="ledger"):
        open_ledger(url)


def test_a_ledger_in_a_file_needs_no_database_library(tmp_path):
    lines = f"import sys; from lakelogic.ledger.store import open_ledger; open_ledger('sqlite:///{tmp_path}/l.db')"
    lines += "; import lakelogic.ledger.publish; print({'sqlalchemy', 'pyarrow', 'psycopg'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "set()"


def test_opening_a_ledger_that_is_up_to_date_asks_one_question(tmp_path, monkeypatch):
    open_ledger(tmp_path / "ledger.db").close()
    asked = []
    original = sqlite3.connect

    def listening(*arguments, **options):
        connection = original(*arguments, **options)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr("sqlite3.connect", listening)
    open_ledger(Path(tmp_path / "ledger.db")).close()
    assert [line.split()[0] for line in asked] == ["BEGIN", "SELECT", "COMMIT"]
