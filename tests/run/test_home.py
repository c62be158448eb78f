"""The home page's contract, word for word, on every engine."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import CredentialError
from lakelogic.privacy.keys import load_keys
from lakelogic.privacy.masks import reveal_text

GOOD = "lakelogic_warehouse/catalog/silver/customers"
BAD = "lakelogic_warehouse/catalog/quarantine/silver_customers"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def rows(place: str) -> list[dict[str, Any]]:
    table = DeltaTable(place).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: row["cus_id"] or "")


def clear(text: str | None) -> str | None:
    return None if text is None else reveal_text(text, load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": KEY}))


def test_the_contract_writes_two_good_and_two_quarantined_rows(engine: Any, home: Path) -> None:
    result = DataProcessor("contract.yaml", engine).run()

    assert (result.status, result.published) == ("succeeded", True)
    good, bad = rows(GOOD), rows(BAD)
    assert [(row["cus_id"], clear(row["email"])) for row in good] == [
        ("C100", "logged@example.com"),
        ("C101", "user101@corp.example.com"),
    ]
    assert all(row["email"].startswith("enc:") for row in good)
    assert [(row["cus_id"], clear(row["email"])) for row in bad] == [("C102", "not_an_email"), ("C103", None)]
    assert bad[0]["email"].startswith("enc:")
    assert bad[0]["_lakelogic_errors"] == ["Rule failed: email LIKE '%@%.%'"]
    assert bad[0]["_lakelogic_categories"] == ["correctness"]
    assert bad[1]["_lakelogic_errors"] == ["Rule failed: email is required"]
    assert bad[1]["_lakelogic_categories"] == ["completeness"]
    assert {row["quarantine_state"] for row in bad} == {"active"}
    folder = home / "landing" / "customers"
    assert [row["_lakelogic_source"] for row in good] == [str(folder / "C100.json"), str(folder / "C101.json")]
    assert [row["_lakelogic_source"] for row in bad] == [str(folder / "C102.json"), str(folder / "C103.json")]


def test_no_clear_address_is_written_anywhere(engine: Any, home: Path) -> None:
    DataProcessor("contract.yaml", engine).run()
    needles = (b"not_an_email", b"ogged@", b"user101@")
    for path in Path("lakelogic_warehouse").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".parquet":
                import pyarrow.parquet as pq

                content += repr(pq.read_table(path, partitioning=None).to_pylist()).encode()
            assert not any(needle in content for needle in needles), path


def test_log_lines_read_as_on_the_home_page(engine: Any, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="lakelogic"):
        DataProcessor("contract.yaml", engine).run()
    lines = [record.getMessage() for record in caplog.records if record.name == "lakelogic"]
    assert lines == [
        "LakeLogic Alert: 2 records quarantined in 'customers'. Total: 4",
        "Wrote 2 quarantined rows to catalog.quarantine.silver_customers",
        "Wrote 2 valid rows to catalog.silver.customers",
        "Run complete [layer=silver] | Total: 4 | Good: 2 | Quarantine: 2 | Ratio: 50.0%",
        "Bad: 1 row by email LIKE '%@%.%' (such as landing/customers/C102.json:1)",
        "Bad: 1 row by email_required (such as landing/customers/C103.json:1)",
        "Good rows: 2 inserted",
    ]


def test_frames_are_native_and_bad_rows_are_shown_in_clear_to_who_holds_the_key(engine: Any, home: Path) -> None:
    result = DataProcessor("contract.yaml", engine).run()
    good, bad = result
    kinds = {"polars": "polars", "duckdb": "duckdb", "spark": "pyspark"}
    # DuckDB's own module has an underscore in front.
    assert type(good).__module__.lstrip("_").split(".")[0] == kinds[engine.name]
    assert type(bad).__module__.lstrip("_").split(".")[0] == kinds[engine.name]
    table: pa.Table = engine.collect(bad)
    shown = {row["cus_id"]: row["email"] for row in table.to_pylist()}
    assert shown == {"C102": "not_an_email", "C103": None}
    text = result.as_text()
    assert re.search(r"C100\s+enc:", text)
    assert re.search(r"C102\s+not_an_email\s+\[\"correctness\"\]\s+\[\"Rule failed: email LIKE '%@%\.%'\"\]", text)


def test_reveal_never_keeps_bad_rows_masked(engine: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_REVEAL", "never")
    result = DataProcessor("contract.yaml", engine).run()
    shown = {row["cus_id"]: row["email"] for row in engine.collect(result.bad).to_pylist()}
    assert shown["C102"].startswith("enc:")


def test_the_report_holds_the_account_and_the_service_level(engine: Any, home: Path) -> None:
    processor = DataProcessor("contract.yaml", engine)
    processor.run()
    report = processor.last_report
    assert report is not None
    assert report["counts"] == {
        "source": 4, "good": 2, "quarantined": 2, "filtered": {}, "deduplicated": {"merge": 0}, "grouped": {},
        "expanded": {},
    }  # fmt: skip
    assert {rule["name"]: rule["failed"] for rule in report["row_rules"] if rule["failed"]} == {
        "email_required": 1,
        "email LIKE '%@%.%'": 1,
    }
    [freshness] = report["service_levels"]
    assert (freshness["name"], freshness["kept"], freshness["expected"]) == ("freshness", True, "at most 24 hours")
    assert report["engine"] == engine.name


def test_run_again_reads_nothing_and_changes_nothing(engine: Any, home: Path) -> None:
    DataProcessor("contract.yaml", engine).run()
    before = (DeltaTable(GOOD).version(), DeltaTable(BAD).version(), rows(GOOD), rows(BAD))
    again = DataProcessor("contract.yaml", engine).run()
    assert (again.status, again.counts.source) == ("no_new_data", 0)
    assert (DeltaTable(GOOD).version(), DeltaTable(BAD).version(), rows(GOOD), rows(BAD)) == before


def test_only_a_fifth_file_is_read_and_a_changed_key_is_merged(engine: Any, home: Path) -> None:
    DataProcessor("contract.yaml", engine).run()
    first = {row["cus_id"]: row for row in rows(GOOD)}
    lines = '{"cus_id": "C104", "email": "new@example.com"}\n{"cus_id": "C100", "email": "moved@example.com"}\n'
    Path("landing/customers/C104.json").write_text(lines)
    result = DataProcessor("contract.yaml", engine).run()
    assert (result.counts.source, result.counts.good, result.report["files"]) == (
        2, 2, [str(home / "landing/customers/C104.json")],
    )  # fmt: skip
    after = {row["cus_id"]: row for row in rows(GOOD)}
    assert {key: clear(row["email"]) for key, row in after.items()} == {
        "C100": "moved@example.com",
        "C101": "user101@corp.example.com",
        "C104": "new@example.com",
    }
    assert after["C101"] == first["C101"]
    assert after["C100"]["_lakelogic_created_at"] == first["C100"]["_lakelogic_created_at"]
    assert after["C100"]["_lakelogic_processed_at"] > first["C100"]["_lakelogic_processed_at"]


def test_without_a_key_nothing_is_read(engine: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKELOGIC_PII_KEY")
    with pytest.raises(CredentialError, match="LAKELOGIC_PII_KEY") as caught:
        DataProcessor("contract.yaml", engine).run()
    assert caught.value.exit_code == 2
    assert "lakelogic keys new" in str(caught.value)
    assert not Path(GOOD).exists()


def test_another_source_is_judged_without_writing(engine: Any, home: Path) -> None:
    other = Path("other.json")
    other.write_text('{"cus_id": "X1", "email": "a@b.example"}\n{"cus_id": "X2", "email": "nope"}\n')
    good, bad = DataProcessor("contract.yaml", engine).run_source("other.json")
    assert [row["cus_id"] for row in engine.collect(good).to_pylist()] == ["X1"]
    assert [row["cus_id"] for row in engine.collect(bad).to_pylist()] == ["X2"]
    assert not Path("lakelogic_warehouse").exists()


@pytest.mark.parametrize("said", [{}, {"materialize": False}], ids=["without a target", "only judged"])
def test_a_dict_and_rows_that_are_handed_in(engine: Any, workspace: Path, said: dict[str, bool]) -> None:
    contract = {
        "info": {"title": "Scores", "target_layer": "silver"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "score", "type": "double", "min": 0}]},
    }  # fmt: skip
    handed = pa.table({"id": pa.array(["1", "x", "3"]), "score": pa.array([0.5, 0.5, -1.0])})
    result = DataProcessor(contract, engine).run(handed, **said)
    assert (result.status, result.published) == ("succeeded", False)
    assert engine.collect(result.good).select(["id", "score"]).to_pylist() == [{"id": 1, "score": 0.5}]
    reasons = {row["_lakelogic_errors"][0] for row in engine.collect(result.bad).to_pylist()}
    assert reasons == {"Type mismatch: id cannot be cast to int", "Rule failed: score_min (score >= 0)"}
    assert not Path("lakelogic_warehouse").exists()


def test_a_result_can_be_sent_elsewhere(engine: Any, home: Path) -> None:
    DataProcessor("contract.yaml", engine).run(materialize_target="scratch.trial.customers")
    assert len(rows("lakelogic_warehouse/scratch/trial/customers")) == 2
    assert not Path(GOOD).exists()
