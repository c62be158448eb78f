"""The last lines of a run: why rows are bad and where one lies, warnings, drift, and what became of good rows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import UsageError
from lakelogic.run.findings import hide_folders, lines

FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "delay", "type": "int"}]
RULES = [
    {"name": "not_negative", "sql": "delay >= 0", "nulls": "pass"},
    {"name": "not_late", "sql": "delay <= 60", "nulls": "pass", "severity": "warning"},
    {"name": "not_very_late", "sql": "delay <= 90", "nulls": "pass", "severity": "warning"},
    {"name": "even", "sql": "delay % 2 = 0", "nulls": "pass", "severity": "info"},
]


def contract(**parts: Any) -> dict[str, Any]:
    return {
        "dataset": "flights",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": FIELDS},
        "quality": {"row_rules": RULES},
        "materialization": {"strategy": "merge", "primary_key": ["id"], "target_path": "air.silver.flights"},
        **parts,
    }


def land(name: str, text: str) -> None:
    path = Path("in", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(engine: Any, caplog: pytest.LogCaptureFixture, document: dict[str, Any]) -> tuple[Any, list[str]]:
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="lakelogic"):
        result = DataProcessor(document, engine).run()
    said = [record.getMessage() for record in caplog.records if record.name == "lakelogic"]
    last = next(at for at, line in enumerate(said) if line.startswith("Run complete"))
    return result, said[last + 1 :]


def test_a_run_ends_with_reasons_warnings_drift_and_what_became_of_good_rows(
    engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    land("a.csv", "id,delay,gate\n1,11,A\n,5,A\n3,-1,B\n,7,C\n5,100,D\n6,70,D\n")
    result, said = run(engine, caplog, contract())
    # 2 without an id (lines 3 and 5), 1 negative (line 4); of the 3 good rows 2 are late, 1 of them very late.
    assert said == [
        "Bad: 2 rows by id_required (such as in/a.csv:3)",
        "Bad: 1 row by not_negative (such as in/a.csv:4)",
        "Warned: 2 rows by not_late, kept as good rows",
        "Noted: 1 row by even, kept as good rows",
        "Warned: 1 row by not_very_late, kept as good rows",
        "Drift of the source: new gate",
        "Good rows: 3 inserted",
    ]
    assert result.warned == 2
    # Six judged: three bad, two of the good with a warning; info counts for nothing.
    assert (result.quality_score, result.report["quality_score"]) == (16.67, 16.67)
    land("b.csv", "id,delay,gate\n1,11,A\n5,102,D\n7,0,E\n")
    result, said = run(engine, caplog, contract())
    assert said[-1] == "Good rows: 1 inserted, 1 updated, 1 unchanged"
    assert result.quality_score == 66.67


def test_a_run_without_anything_to_tell_tells_what_became_of_its_rows(
    duckdb_engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    land("a.csv", "id,delay\n1,10\n2,20\n")
    result, said = run(duckdb_engine, caplog, contract(materialization={"target_path": "air.silver.flights"}))
    assert said == ["Good rows: 2 inserted"]
    assert result.quality_score == 100.0


def test_a_missing_column_is_told_and_what_it_may_be_called_now() -> None:
    drift = {"source": {"added": {"gendre": "string"}, "missing": ["genre"], "suggestions": {"genre": "gendre"}}}
    assert list(lines({}, drift)) == ["Drift of the source: new gendre; missing genre (did you mean gendre?)"]
    changed = {"table": {"changed": {"n": {"old": "int", "new": "bigint"}}}}
    assert list(lines({}, changed)) == ["Drift of the table: changed n (int, came as bigint)"]


def test_no_more_than_five_reasons_are_told_and_that_there_are_more() -> None:
    found = {"reasons": [{"rule": f"r{n}", "rows": 9 - n, "file": None, "line": None} for n in range(7)]}
    told = list(lines(found, {}))
    assert told[0] == "Bad: 9 rows by r0"
    assert told[5:] == ["Bad: 2 more rules, all in `lakelogic quarantine list`"]


def test_a_place_holds_no_value_of_a_masked_folder(
    duckdb_engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hide_folders("in/Mail=ann@x.org/day=1/a.csv", {"mail"}) == "in/Mail=••••/day=1/a.csv"
    land("mail=ann@x.org/a.csv", "id,delay\n1,-5\n2,3\n")
    document = contract(source={"path": "in/mail=*/*.csv"})
    document["model"] = {"fields": [*FIELDS, {"name": "mail", "type": "string", "pii": True, "masking": "redact"}]}
    with pytest.raises(UsageError, match="names of folders") as refused:
        run(duckdb_engine, caplog, document)
    assert "ann@x.org" not in f"{refused.value} {refused.value.hint} {caplog.text}"
