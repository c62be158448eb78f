"""Rows with values of every type are found, compared and kept alike by merge and scd2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

TARGET = "lakelogic_warehouse/shop/gold/things"
FIELDS = [
    {"name": "id", "type": "decimal(10,2)"},
    {"name": "Order", "type": "string"},
    {"name": "tags", "type": "array<string>"},
    {"name": "place", "type": "struct<city: string, zip: int>"},
    {"name": "notes", "type": "map<string, string>"},
    {"name": "ratio", "type": "double"},
    {"name": "paid", "type": "boolean"},
    {"name": "day", "type": "date"},
    {"name": "at", "type": "timestamp"},
    {"name": "wall", "type": "timestamp_ntz"},
]
ROW: dict[str, Any] = {
    "id": "1.50", "Order": "k", "tags": ["a", None], "place": {"city": "Bern", "zip": 3000}, "notes": {"x": "y"},
    "ratio": "NaN", "paid": True, "day": "2026-01-01", "at": "2026-01-01T10:00:00Z", "wall": "2026-01-01T10:00:00",
}  # fmt: skip
CHANGES: list[dict[str, Any]] = [
    {"tags": ["a", "b"]}, {"tags": None}, {"place": {"city": "Bern", "zip": 3001}}, {"place": None},
    {"notes": {"x": "z"}}, {"ratio": 1.5}, {"paid": None}, {"day": "2026-01-02"}, {"wall": "2026-01-01T10:00:01"},
    {"Order": "K"},
]  # fmt: skip


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Callable[..., Any]:
    numbers = iter(range(100))

    def land(*rows: dict[str, Any], **settings: Any) -> dict[str, int]:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(numbers):02d}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
        document = {
            "source": {"path": "landing/*.ndjson", "load_mode": "incremental"},
            "model": {"fields": FIELDS},
            "materialization": {"primary_key": ["id"], "target_path": "shop.gold.things", **settings},
        }
        result = DataProcessor(document, engine).run()
        assert result.counts.quarantined == 0, result.bad
        return dict(result.report["applied"])

    return land


def test_a_merge_sees_a_change_in_a_column_of_any_type(landed: Callable[..., Any]) -> None:
    rows = [{**ROW, "id": f"{number}.50"} for number in range(len(CHANGES))]
    landed(*rows, {**ROW, "id": "99"}, strategy="merge")
    changed = [{**row, **change} for row, change in zip(rows, CHANGES, strict=True)]
    applied = landed(*changed, {**ROW, "id": "99.00"}, strategy="merge")
    assert (applied["updated"], applied["unchanged"]) == (len(CHANGES), 1)
    assert landed(*changed, strategy="merge")["unchanged"] == len(CHANGES)
    found = {str(row["id"]): row for row in DeltaTable(TARGET).to_pyarrow_table().to_pylist()}
    assert found["0.50"]["tags"] == ["a", "b"]
    assert found["2.50"]["place"] == {"city": "Bern", "zip": 3001}
    assert dict(found["4.50"]["notes"]) == {"x": "z"}
    assert found["5.50"]["ratio"] == 1.5
    assert found["99.00"]["tags"] == ["a", None]


def test_a_history_sees_a_change_in_a_column_of_any_type(landed: Callable[..., Any]) -> None:
    history = {"strategy": "scd2", "scd2": {"timestamp_field": "at"}}
    rows = [{**ROW, "id": f"{number}.50"} for number in range(len(CHANGES))]
    landed(*rows, {**ROW, "id": "99"}, **history)
    later = {"at": "2026-02-01T00:00:00+01:00"}
    changed = [{**row, **change, **later} for row, change in zip(rows, CHANGES, strict=True)]
    applied = landed(*changed, {**ROW, "id": "99.00", **later}, **history)
    assert (applied["inserted"], applied["unchanged"], applied["closed"]) == (len(CHANGES), 1, len(CHANGES))
    found = [row for row in DeltaTable(TARGET).to_pyarrow_table().to_pylist() if row["_version"] == 2]
    assert {f"{row['effective_from']:%Y-%m-%d %H:%M}" for row in found} == {"2026-01-31 23:00"}
    assert sorted(str(row["id"]) for row in found) == sorted(f"{number}.50" for number in range(len(CHANGES)))
