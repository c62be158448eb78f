"""The same strategies on every table format, with the same rows at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.tables.registry import load

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/gold/things"
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "land"},
    {"name": "city"},
    {"name": "at", "type": "timestamp"},
]


@pytest.fixture(params=["delta", "iceberg", "parquet"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def landed(duckdb_engine: Any, workspace: Path, form: str) -> Land:
    numbers = iter(range(100))

    def land(
        *lines: str, header: str = "id,land,city,at", source: dict[str, Any] | None = None, **settings: Any
    ) -> Any:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(numbers):02d}.csv").write_text("\n".join([header, *lines, ""]))
        document = {
            "source": {"path": "landing/*.csv", "load_mode": "incremental", **(source or {})},
            "model": {"fields": FIELDS},
            "materialization": {
                "primary_key": ["id"], "target_path": "shop.gold.things", "format": form, **settings,
            },
        }  # fmt: skip
        return DataProcessor(document, duckdb_engine).run()

    return land


@pytest.fixture
def rows(form: str) -> Callable[..., list[tuple[Any, ...]]]:
    def read(*names: str) -> list[tuple[Any, ...]]:
        found = load(form).preview(str(Path(TARGET).absolute()), 1000).to_pylist()
        days = [[f"{row[n]:%Y-%m-%d}" if hasattr(row[n], "year") else row[n] for n in names] for row in found]
        return sorted((tuple(row) for row in days), key=repr)

    return read


def effects(result: Any) -> dict[str, int]:
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


def test_rows_are_merged_into_a_table_with_partitions(landed: Land, rows: Callable[..., Any]) -> None:
    merge = {"strategy": "merge", "sequence_by": "at", "partition_by": ["land"]}
    landed("1,CH,Bern,2026-01-01", "2,IT,Rome,2026-01-01", "3,NO,Oslo,2026-01-01", **merge)
    result = landed("1,CH,Genf,2026-01-02", "2,CH,Chur,2026-01-02", "3,NO,Lund,2025-01-01", **merge)
    assert effects(result) == {"updated": 2, "stale": 1}
    assert rows("id", "land", "city") == [(1, "CH", "Genf"), (2, "CH", "Chur"), (3, "NO", "Oslo")]


def test_a_history_takes_late_rows_in(landed: Land, rows: Callable[..., Any]) -> None:
    history = {"strategy": "scd2", "scd2": {"timestamp_field": "at", "track_columns": ["city"]}}
    landed("1,CH,Bern,2026-01-01", "1,CH,Chur,2026-03-01", "2,IT,Rome,2026-01-01", **history)
    result = landed("1,CH,Genf,2026-02-01", "2,IT,Rome,2026-02-01", **history)
    assert effects(result) == {"inserted": 1, "unchanged": 1}
    assert rows("id", "_version", "city", "effective_from", "effective_to", "is_current") == [
        (1, 1, "Bern", "1900-01-01", "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", "2026-03-01", False),
        (1, 3, "Chur", "2026-03-01", "9999-12-31", True),
        (2, 1, "Rome", "1900-01-01", "9999-12-31", True),
    ]


def test_changes_delete_softly(landed: Land, rows: Callable[..., Any]) -> None:
    cdc = {"load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at"}
    header = "op,id,land,city,at"
    landed("I,1,CH,Bern,2026-01-01", "I,2,IT,Rome,2026-01-01", header=header, source=cdc)
    result = landed("D,1,,,2026-02-01", "U,2,IT,Bari,2026-02-01", header=header, source=cdc)
    assert effects(result) == {"updated": 1, "deleted": 1}
    assert rows("id", "city", "_lakelogic_is_deleted") == [(1, "Bern", True), (2, "Bari", False)]


def test_a_periodic_snapshot_replaces_its_partition(landed: Land, rows: Callable[..., Any]) -> None:
    fact = {"fact": {"type": "periodic_snapshot"}, "partition_by": ["land"]}
    landed("1,CH,Bern,2026-01-01", "2,IT,Rome,2026-01-01", **fact)
    landed("3,CH,Chur,2026-01-02", **fact)
    assert rows("id", "land") == [(2, "IT"), (3, "CH")]
