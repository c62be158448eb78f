"""A history over a table: keys that it does not have any more end, keys that it has again begin anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor, clock
from lakelogic.actions.look.preview import preview
from lakelogic.errors import DataError
from lakelogic.run.surroundings import Surroundings

MODES = [None, "incremental"]
Act = Callable[..., Any]
FIRST, LAST = "1900-01-01", "9999-12-31"


def bronze(**settings: Any) -> dict[str, Any]:
    fields = [("id", "int"), ("city", "string"), ("at", "timestamp")]
    return {
        "dataset": "bronze",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": [{"name": name, "type": kind} for name, kind in fields]},
        "materialization": {"target_path": "shop.bronze.people", "strategy": "append", **settings},
    }


def history(load_mode: str | None = None, *, timed: bool = True, **more: Any) -> dict[str, Any]:
    scd2 = {"track_columns": ["city"], **({"timestamp_field": "at"} if timed else {})}
    cities = ["Bern", "Chur", "Genf", "Rome"]
    return {
        "dataset": "history",
        "source": {"path": "shop.bronze.people", **({"load_mode": load_mode} if load_mode else {})},
        "model": {
            "fields": [
                {"name": "id", "type": "int"},
                {"name": "city", "type": "string", "accepted_values": cities},
                {"name": "at", "type": "timestamp"},
            ]
        },
        "materialization": {
            "target_path": "shop.gold.people", "strategy": "scd2", "primary_key": ["id"], "scd2": scd2
        },
        **more,
    }  # fmt: skip


def land(*rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing/a.csv").write_text("id,city,at\n" + "".join(f"{row}\n" for row in rows))


def versions(key: int | None = None) -> list[tuple[Any, ...]]:
    """Key, city, start, end, and whether it is current: by key and start."""
    found = preview(Surroundings.here(), "shop.gold.people", 100).rows
    told = [
        (row["id"], row["city"], f"{row['effective_from']:%Y-%m-%d}", f"{row['effective_to']:%Y-%m-%d}",
         row["is_current"])
        for row in found
    ]  # fmt: skip
    return in_order(one for one in told if key is None or one[0] == key)


def in_order(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=lambda one: (one[0], one[2]))


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Every run after this happens on a day of 2026."""
    seconds = iter(range(100_000))

    def at(day: str) -> None:
        moment = datetime.fromisoformat(f"2026-{day}T12:00:00").replace(tzinfo=UTC)
        monkeypatch.setattr(clock, "now", lambda: moment + timedelta(seconds=next(seconds)))

    return at


@pytest.fixture
def act(duckdb_engine: Any, workspace: Path) -> Act:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.run()

    return run


def test_every_engine_ends_what_the_table_lost(engine: Any, workspace: Path, on: Any) -> None:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, engine) as processor:
            return processor.run()

    on("06-01")
    land("1,Bern,2026-01-05", "2,Rome,2026-01-05", "3,Chur,2026-01-05")
    run(bronze())
    run(history())
    on("06-02")
    land("1,Genf,2026-02-01", "3,Chur,2026-01-05")
    run(bronze())
    run(history())
    ended = [
        (1, "Bern", FIRST, "2026-02-01", False),
        (1, "Genf", "2026-02-01", LAST, True),
        (2, "Rome", FIRST, "2026-06-02", False),
        (3, "Chur", FIRST, LAST, True),
    ]
    assert versions() == ended
    on("06-03")
    land("1,Genf,2026-02-01", "2,Rome,2026-01-05", "3,Chur,2026-01-05")
    run(bronze())
    run(history())
    assert versions() == in_order([*ended, (2, "Rome", "2026-06-03", LAST, True)])


@pytest.mark.parametrize("load_mode", MODES)
@pytest.mark.parametrize("timed", [True, False])
def test_a_key_that_is_deleted_ends_and_one_that_is_back_begins_again(
    act: Act, on: Any, load_mode: str | None, timed: bool
) -> None:
    both = ("1,Bern,2026-01-05", "2,Rome,2026-01-05")
    on("06-01")
    land(*both)
    act(bronze())
    act(history(load_mode, timed=timed))
    on("06-02")
    land(both[0])
    act(bronze())
    result = act(history(load_mode, timed=timed))
    assert (result.report["applied"]["gone"], result.report["applied"]["closed"]) == (1, 1)
    ended = (2, "Rome", FIRST, "2026-06-02", False)
    assert versions(2) == [ended]
    assert act(history(load_mode, timed=timed)).status == "no_new_data"
    on("06-03")
    land(*both)
    act(bronze())
    act(history(load_mode, timed=timed))
    again = (2, "Rome", "2026-06-03", LAST, True)
    assert versions() == [(1, "Bern", FIRST, LAST, True), ended, again]
    # What is back is read again, changed without another time, and changed in the time it was away.
    on("06-04")
    land(*both, "3,Genf,2026-03-01")
    act(bronze())
    act(history(load_mode, timed=timed))
    assert versions(2) == [ended, again]
    on("06-05")
    land(both[0], "2,Chur,2026-01-06", "3,Genf,2026-03-01")
    act(bronze())
    act(history(load_mode, timed=timed))
    assert versions(2) == [ended, (2, "Rome", "2026-06-03", "2026-06-05", False), (2, "Chur", "2026-06-05", LAST, True)]
    assert versions(1) == [(1, "Bern", FIRST, LAST, True)]


@pytest.mark.parametrize("load_mode", MODES)
def test_a_row_that_is_back_can_be_corrected(act: Act, on: Any, load_mode: str | None) -> None:
    for day, city in (("06-01", "Rome"), ("06-02", None), ("06-03", "Rome"), ("06-04", "Chur")):
        on(day)
        land("1,Bern,2026-01-05", *([f"2,{city},2026-01-05"] if city else []))
        act(bronze())
        act(history(load_mode))
    assert versions(2) == [(2, "Rome", FIRST, "2026-06-02", False), (2, "Chur", "2026-06-03", LAST, True)]


@pytest.mark.parametrize("load_mode", MODES)
def test_softly_deleted_rows_end_too_and_bad_ones_do_not(act: Act, on: Any, load_mode: str | None) -> None:
    snapshot = bronze(strategy="snapshot_reconcile", primary_key=["id"], deletion={"max_delete_ratio": 1})
    on("06-01")
    land("1,Bern,2026-01-05", "2,Rome,2026-01-05", "3,Chur,2026-01-05")
    act(snapshot)
    act(history(load_mode))
    on("06-02")
    land("1,Bern,2026-01-05", "3,Atlantis,2026-01-06")
    act(snapshot)
    act(history(load_mode))
    assert versions() == [
        (1, "Bern", FIRST, LAST, True),
        (2, "Rome", FIRST, "2026-06-02", False),
        (3, "Chur", FIRST, LAST, True),
    ]


@pytest.mark.parametrize("load_mode", MODES)
def test_a_table_that_is_suddenly_empty_ends_nothing(act: Act, on: Any, load_mode: str | None) -> None:
    on("06-01")
    land("1,Bern,2026-01-05", "2,Rome,2026-01-05")
    act(bronze())
    act(history(load_mode))
    land()
    act(bronze())
    assert act(history(load_mode)).status == "gated"
    assert [one[-1] for one in versions()] == [True, True]


def test_without_stamps_a_history_is_not_guessed(act: Act, on: Any) -> None:
    plain = {"lineage": {"enabled": False}}
    on("06-01")
    land("1,Bern,2026-01-05", "2,Rome,2026-01-05")
    act(bronze())
    act(history("incremental", **plain))
    land("1,Bern,2026-01-05")
    act(bronze())
    with pytest.raises(DataError, match="a history cannot tell which of them were deleted"):
        act(history("incremental", **plain))


@pytest.mark.parametrize("point", ["after_staged_record", "after_good_commit"])
def test_a_run_that_died_ends_them_at_its_own_moment(
    act: Act, on: Any, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run import faults

    on("06-01")
    land("1,Bern,2026-01-05", "2,Rome,2026-01-05")
    act(bronze())
    act(history())
    on("06-02")
    land("1,Bern,2026-01-05")
    act(bronze())
    reach = faults.reach

    def die(name: str) -> None:
        reach(name)
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(faults, "reach", die)
        with pytest.raises(KeyboardInterrupt):
            act(history())
    on("06-09")
    act(history())
    assert versions(2) == [(2, "Rome", FIRST, "2026-06-02", False)]
