"""Histories with `last_seen_field`, rows in any order of arrival, against plain Python over all rows in their order."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

KEYS, DAYS, BATCHES = 60, 9, 5
FIRST, DAY = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)
START, END = datetime(1900, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
CITIES = ["Bern", "Rome", "Oslo", "Kyiv"]
Row = tuple[int, int, str]  # key, day, city


def rows(seed: int, alike: int) -> list[list[Row]]:
    """Rows of all keys in no order at all, at most `alike` of a key with one city, as batches."""
    chance = random.Random(seed)
    made: list[Row] = []
    for key in range(KEYS):
        left = Counter(dict.fromkeys(CITIES, alike))
        for day in sorted(chance.sample(range(DAYS), 6)):
            city = chance.choice([city for city in CITIES if left[city]])
            left[city] -= 1
            made.append((key, day, city))
    chance.shuffle(made)
    return [made[at::BATCHES] for at in range(BATCHES)]


def history(events: list[Row]) -> list[tuple[Any, ...]]:
    """(key, number, city, from, to, last seen) of all rows in the order of their days."""
    found: list[tuple[Any, ...]] = []
    for key in {key for key, _, _ in events}:
        days = sorted((day, city) for owner, day, city in events if owner == key)
        begins = [at for at, (_, city) in enumerate(days) if at == 0 or days[at - 1][1] != city]
        for number, (at, after) in enumerate(pairwise([*begins, len(days)]), 1):
            start = START if number == 1 else FIRST + days[at][0] * DAY
            end = END if after == len(days) else FIRST + days[after][0] * DAY
            found.append((key, number, days[at][1], start, end, FIRST + days[after - 1][0] * DAY))
    return sorted(found)


def landed(engine: Any, number: int, events: list[Row], last_seen: str | None = "seen") -> None:
    Path("landing").mkdir(exist_ok=True)
    lines = [f"{key},{city},{FIRST + day * DAY:%Y-%m-%d}" for key, day, city in events]
    Path(f"landing/{number}.csv").write_text("\n".join(["id,city,at", *lines, ""]))
    settings: dict[str, Any] = {"timestamp_field": "at"}
    if last_seen is not None:
        settings["last_seen_field"] = last_seen
    document = {
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "city"}, {"name": "at", "type": "timestamp"}]},
        "materialization": {
            "strategy": "scd2", "primary_key": ["id"], "target_path": "shop.gold.people", "scd2": settings,
        },
    }  # fmt: skip
    DataProcessor(document, engine).run()


def table(*names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable("lakelogic_warehouse/shop/gold/people").to_pyarrow_table().to_pylist()
    return sorted(tuple(row[name] for name in names) for row in rows)


ALL = ("id", "_version", "city", "effective_from", "effective_to", "seen")


def test_in_any_order_of_arrival_a_history_is_that_of_all_rows_in_order(engine: Any, workspace: Path) -> None:
    events: list[Row] = []
    for number, batch in enumerate(rows(7, alike=2)):
        events += batch
        landed(engine, number, batch)
        assert table(*ALL) == history(events)
    keys = table("_sk")
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("seed", [1, 2])
def test_further_orders_of_arrival(duckdb_engine: Any, workspace: Path, seed: int) -> None:
    batches = rows(seed, alike=2)
    for number, batch in enumerate(batches):
        landed(duckdb_engine, number, batch)
    assert table(*ALL) == history([row for batch in batches for row in batch])


@pytest.mark.parametrize("seed", [3, 4])
def test_the_current_version_is_right_however_often_it_was_confirmed(
    duckdb_engine: Any, workspace: Path, seed: int
) -> None:
    events: list[Row] = []
    for number, batch in enumerate(rows(seed, alike=6)):
        events += batch
        landed(duckdb_engine, number, batch)
        current = [(key, city, seen) for key, _, city, _, end, seen in table(*ALL) if end == END]
        assert current == [(key, city, seen) for key, _, city, _, end, seen in history(events) if end == END]
