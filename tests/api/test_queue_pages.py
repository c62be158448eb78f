"""A quarantine in many files is paged, chosen and counted as one list, each row once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic import names
from lakelogic.actions.look import queue_pages
from lakelogic.actions.look.queue_pages import QueueFilter
from lakelogic.quarantine.queue import Stamped

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Twelve rows in three files; four share a time, one has none, every third breaks two rules."""
    monkeypatch.setattr(queue_pages, "_STRIDE", 2)
    files = []
    for number in range(3):
        rows = [
            {
                names.ROW_ID: f"{number}{place}",
                names.STATE: "discarded" if place == 3 else "active",
                names.PROCESSED_AT: None
                if (number, place) == (1, 0)
                else NOON + timedelta(minutes=0 if place < 2 else number),
                names.RUN_ID: f"run-{number}",
                names.RULES: ["late", "empty"] if place == 2 else ["late"],
                names.CATEGORIES: ["c"],
                names.SOURCE: "a.csv",
            }
            for place in range(4)
        ]
        files.append(str(tmp_path / f"{number}.parquet"))
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        columns[names.PROCESSED_AT] = pa.array(columns[names.PROCESSED_AT], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table(columns), files[-1])
    place = SimpleNamespace(queue=SimpleNamespace(stamped=Stamped()))
    return queue_pages._Index(1, tuple(files), queue_pages._read(place, files))


def walked(index, wanted):
    seen = []
    while True:
        rows, total, more = index.page(wanted)
        seen += [row["row_id"] for row in rows]
        if not more:
            return seen, total
        wanted = replace(wanted, after=(rows[-1]["at"], rows[-1]["row_id"]))


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_pages_of_any_size_give_every_row_once_newest_first_and_those_without_a_time_last(index, limit):
    everything = ["23", "22", "13", "12", "21", "20", "11", "03", "02", "01", "00", "10"]
    assert walked(index, QueueFilter((), limit=limit)) == (everything, 12)
    assert walked(index, QueueFilter(("discarded",), limit=limit)) == (["23", "13", "03"], 3)
    assert walked(index, QueueFilter(rules=("empty",), limit=limit)) == (["22", "12", "02"], 3)
    assert walked(index, QueueFilter(rules=("empty",), run_id="run-1", limit=limit)) == (["12"], 1)
    assert walked(index, QueueFilter(source="b.csv", limit=limit)) == ([], 0)


def test_facets_count_what_is_chosen_and_states_whatever_their_state(index):
    total, oldest, counts = index.counted(QueueFilter(rules=("late",)))
    assert (total, oldest) == (9, NOON)
    assert counts == {
        "state": {"active": 9, "replayed": 0, "discarded": 3, "superseded": 0}, "rule": {"late": 9, "empty": 3},
        "category": {"c": 9}, "run_id": {"run-0": 3, "run-1": 3, "run-2": 3}, "source": {"a.csv": 9},
    }  # fmt: skip


def test_of_very_many_values_the_most_frequent_are_counted(index, monkeypatch):
    monkeypatch.setattr(queue_pages, "_MOST_COUNTS", 2)
    # Every third row breaks a second rule; nine rows wait, three of each run.
    _, _, counts = index.counted(QueueFilter())
    assert counts["rule"] == {"late": 9, "empty": 3}
    assert (len(counts["run_id"]), set(counts["run_id"].values())) == (2, {3})
