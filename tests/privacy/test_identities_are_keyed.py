"""The identity of a bad row with personal data tells nothing about it, and stays the same over keys."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.quarantine import identity as identities

KEYS = [
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A=",
]
QUARANTINE = "lakelogic_warehouse/shop/quarantine/silver_people"


def contract(bound: int, **field: Any) -> dict[str, Any]:
    return {
        "dataset": "people",
        "source": {"path": "in/*.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "ssn", **field}]},
        "quality": {"row_rules": [{"name": "small", "sql": f"id < {bound}"}]},
        "materialization": {"strategy": "overwrite", "target_path": "shop.silver.people"},
    }


def rows() -> list[dict[str, Any]]:
    return list(DeltaTable(QUARANTINE).to_pyarrow_table().to_pylist())


@pytest.fixture
def landed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    Path("in").mkdir()
    Path("in/a.csv").write_text("id,ssn\n1,123456789\n50,987654321\n50,987654321\n")
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEYS[0])
    return str(Path("in/a.csv").absolute())


def guesses(file: str) -> set[str]:
    """What anybody can work out who knows how identities were made, and tries every number."""
    raw = '{"id":"50","ssn":"987654321"}'
    return {hashlib.sha256(f"{file}\0{raw}\0{n}".encode()).hexdigest()[:32] for n in (1, 2)}


def test_nobody_finds_a_row_by_trying_numbers(duckdb_engine: Any, landed: str) -> None:
    DataProcessor(contract(9), duckdb_engine).run()
    assert {row["_lakelogic_row_id"] for row in rows()} == guesses(landed)  # nothing personal: as it always was
    Path(landed).touch()
    personal = contract(9, pii=True, masking="encrypt")
    personal["materialization"]["target_path"] = "shop.silver.persons"
    DataProcessor({**personal, "dataset": "persons"}, duckdb_engine).run()
    found = DeltaTable(QUARANTINE.replace("people", "persons")).to_pyarrow_table().to_pylist()
    assert len({row["_lakelogic_row_id"] for row in found}) == 2
    assert not {row["_lakelogic_row_id"] for row in found} & guesses(landed)


def test_a_row_that_was_known_without_a_key_stays_the_same_row(
    duckdb_engine: Any, landed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    personal = {"pii": True, "masking": "encrypt"}
    with monkeypatch.context() as before:
        before.setattr(identities, "identity_keys", lambda keys: ())
        DataProcessor(contract(9, **personal), duckdb_engine).run()
    old = {row["_lakelogic_row_id"] for row in rows()}
    assert old == guesses(landed)
    DataProcessor(contract(8, **personal), duckdb_engine).run()
    active = [row for row in rows() if row["quarantine_state"] == "active"]
    assert sorted(row["_lakelogic_row_id"] for row in active) == sorted(old)


def test_a_new_key_makes_no_row_new(duckdb_engine: Any, landed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    personal = {"pii": True, "masking": "encrypt"}
    DataProcessor(contract(9, **personal), duckdb_engine).run()
    old = {row["_lakelogic_row_id"] for row in rows()}
    monkeypatch.setenv("LAKELOGIC_PII_KEY", f"{KEYS[1]},{KEYS[0]}")
    DataProcessor(contract(8, **personal), duckdb_engine).run()
    assert {row["_lakelogic_row_id"] for row in rows() if row["quarantine_state"] == "active"} == old
    # The order in which keys are written does not matter either, as long as the old one is there.
    monkeypatch.setenv("LAKELOGIC_PII_KEY", f"{KEYS[0]},{KEYS[1]}")
    DataProcessor(contract(7, **personal), duckdb_engine).run()
    assert {row["_lakelogic_row_id"] for row in rows() if row["quarantine_state"] == "active"} == old
