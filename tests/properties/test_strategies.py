"""Histories and merges of random changes, batch by batch, against plain Python that knows one key at a time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

KEYS, BATCHES = 40, 5
START, END = datetime(1900, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
DAY = timedelta(days=1)
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
FIELDS = [{"name": "id", "type": "int"}, {"name": "city"}, {"name": "at", "type": "timestamp"}]


@dataclass(frozen=True)
class Event:
    """What a line says about a key: where it lives since a day, or (None) that it is gone."""

    key: int
    day: int
    city: str | None

    @property
    def line(self) -> str:
        return f"{'D' if self.city is None else 'U'},{self.key},{self.city or ''},{FIRST + self.day * DAY:%Y-%m-%d}"


def batches(seed: int) -> list[list[Event]]:
    """Changes in no order at all; a key has at most one change a day in a batch."""
    chance = random.Random(seed)
    made = []
    for _ in range(BATCHES):
        chosen = {(chance.randrange(KEYS), chance.randrange(12)) for _ in range(KEYS * 2)}
        made.append([Event(key, day, chance.choice(["Bern", "Rome", "Oslo", None])) for key, day in sorted(chosen)])
        chance.shuffle(made[-1])
    return made


@dataclass
class Version:
    day: int
    city: str
    end: int | None = None  # the day that ended it, or None while it holds


@dataclass
class History:
    """The versions of one key, changed by one event at a time."""

    versions: list[Version] = field(default_factory=list)

    def apply(self, events: list[Event]) -> None:
        """All events of a batch, by day; that something had ended on a day is known while it is applied."""
        ends = [(v.day, v.end) for v in self.versions if v.end is not None]
        stored = list(self.versions)
        for event in sorted(events, key=lambda e: e.day):
            until = [end for day, end in ends if day <= event.day < end]
            self._apply(event, until, [v for v in stored if not _speaks_before(events, event, v)])

    def _apply(self, event: Event, ends: list[int], stored: list[Version]) -> None:
        same = next((v for v in self.versions if v.day == event.day), None)
        held = next((v for v in self.versions if v.day < event.day and (v.end is None or event.day < v.end)), None)
        if same is not None and event.city is None:
            self.versions.remove(same)
            return
        if same is not None and event.city is not None:
            same.city = event.city
            return
        if event.city is None:
            if held is not None:
                held.end = event.day
            return
        if held is not None and held.city == event.city:
            return
        later = [v.day for v in self.versions if v.day > event.day]
        end = held.end if held is not None else min([*later, *ends], default=None)
        if held is not None:
            held.end = event.day
        following = next((v for v in self.versions if v.day == end and v.city == event.city), None)
        if following is not None and any(following is v for v in stored):
            following.day = event.day  # it began earlier than was known
            return
        self.versions.append(Version(event.day, event.city, end))
        self.versions.sort(key=lambda v: v.day)

    def rows(self, key: int) -> list[tuple[Any, ...]]:
        found = []
        for number, version in enumerate(self.versions, 1):
            start = START if number == 1 else FIRST + version.day * DAY
            end = END if version.end is None else FIRST + version.end * DAY
            found.append((key, number, version.city, start, end, version.end is None))
        return found


def _speaks_before(events: list[Event], event: Event, version: Version) -> bool:
    """Whether the batch itself says something else between an event and a version, or corrects that version."""
    return any(event.day < other.day <= version.day and other.city != version.city for other in events)


def landed(engine: Any, number: int, events: list[Event], *, hard: bool = False, **settings: Any) -> Any:
    Path("landing").mkdir(exist_ok=True)
    Path(f"landing/{number}.csv").write_text("\n".join(["op,id,city,at", *(event.line for event in events), ""]))
    document: dict[str, Any] = {
        "source": {
            "path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at",
        },
        "model": {"fields": FIELDS},
        "materialization": {"primary_key": ["id"], "target_path": "shop.gold.people", **settings},
    }  # fmt: skip
    if hard:
        document["soft_deletes"] = {"enabled": False}
    return DataProcessor(document, engine).run()


def table(*names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable("lakelogic_warehouse/shop/gold/people").to_pyarrow_table().to_pylist()
    return sorted(tuple(row[name] for name in names) for row in rows)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_history_is_what_events_make_of_it_one_by_one(duckdb_engine: Any, workspace: Path, seed: int) -> None:
    known = {key: History() for key in range(KEYS)}
    for number, events in enumerate(batches(seed)):
        for key, history in known.items():
            history.apply([event for event in events if event.key == key])
        result = landed(duckdb_engine, number, events, strategy="scd2")
        expected = sorted(row for key, history in known.items() for row in history.rows(key))
        assert table("id", "_version", "city", "effective_from", "effective_to", "is_current") == expected
        applied = result.report["applied"]
        told = ("inserted", "updated", "unchanged", "deleted", "ignored")
        assert sum(applied.get(name, 0) for name in told) == len(events)
        keys = table("_sk")
        assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize("hard", [False, True])
def test_a_merge_is_what_the_newest_events_make_of_it(
    duckdb_engine: Any, workspace: Path, seed: int, hard: bool
) -> None:
    known: dict[int, Event] = {}
    living: dict[int, str] = {}
    for number, events in enumerate(batches(seed)):
        newest = {e.key: e for e in sorted(events, key=lambda e: e.day)}
        for key, event in newest.items():
            if key in known and event.day < known[key].day:
                continue
            if event.city is None and key not in known and hard:
                continue
            if event.city is None:
                if hard:
                    del known[key], living[key]
                    continue
                known[key] = event
            else:
                known[key] = event
                living[key] = event.city
        landed(duckdb_engine, number, events, hard=hard)
        if hard:
            assert table("id", "city") == sorted(living.items())
        else:
            expected = sorted((key, living.get(key), known[key].city is None) for key in known)
            assert table("id", "city", "_lakelogic_is_deleted") == expected
