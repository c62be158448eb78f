"""Dates and times that a source writes in its own way, read the same by every engine."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from lakelogic import DataProcessor

ROWS = """id,born,seen,local
1,05/03/2024, 5.3.2024 14:30,Mar 5 2024 02:30 PM
2,29/02/2023,5.3.2024 14:30,Mar 5 2024 02:30 PM
3,2024-03-05,5.3.2024 14:30,Mar 5 2024 02:30 PM
4,,,
5,31/12/9999,31.12.9999 23:59,Dec 31 9999 11:59 pm
6,05/03/2024,5.3.2024 24:30,Mar 5 2024 14:30 PM
"""


def test_declared_dates_are_read_by_their_pattern_and_by_nothing_else(engine: Any, workspace: Path) -> None:
    (workspace / "in.csv").write_text(ROWS, encoding="utf-8")
    contract = {
        "version": "1.0.0",
        "dataset": "people",
        "source": {
            "path": str(workspace / "in.csv"),
            "options": {
                "date_formats": {"Born": "dd/MM/yyyy", "seen": "%d.%m.%Y %H:%M", "local": "MMM d yyyy hh:mm a"},
            },
        },
        "model": {
            "fields": [
                {"name": "id", "type": "int"},
                {"name": "born", "type": "date"},
                {"name": "seen", "type": "timestamp"},
                {"name": "local", "type": "timestamp_ntz"},
            ]
        },
        "lineage": {"enabled": False},
    }
    result = DataProcessor(contract, engine).run(materialize=False)
    good = {row["id"]: row for row in engine.collect(result.good).to_pylist()}
    half_past_two = datetime(2024, 3, 5, 14, 30, tzinfo=UTC)
    assert {key: (row["born"], row["seen"], row["local"]) for key, row in good.items()} == {
        1: (date(2024, 3, 5), half_past_two, half_past_two.replace(tzinfo=None)),
        4: (None, None, None),
        5: (date(9999, 12, 31), datetime(9999, 12, 31, 23, 59, tzinfo=UTC), datetime(9999, 12, 31, 23, 59)),  # noqa: DTZ001
    }
    bad = {row["id"]: row for row in engine.collect(result.bad).to_pylist()}
    assert {key: row["_lakelogic_errors"] for key, row in bad.items()} == {
        2: ["Type mismatch: born cannot be cast to date"],
        3: ["Type mismatch: born cannot be cast to date"],
        6: ["Type mismatch: seen cannot be cast to timestamp", "Type mismatch: local cannot be cast to timestamp_ntz"],
    }
    assert dict(bad[3]["_lakelogic_original"]) == {"born": "2024-03-05"}
