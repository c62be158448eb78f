"""Sources that are bounded by what their table holds, or by days: which rows are taken, and that none is doubled."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import CommitConflict, DataError, UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.compile import load_checked
from lakelogic.plan.source.days import Days
from lakelogic.quarantine.queue import Chosen
from lakelogic.run import faults
from lakelogic.run.contract_run import run
from lakelogic.run.input.days import Asked
from lakelogic.run.publish.hold import release
from lakelogic.run.replay.replay import replay
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.run.state.doctor import check_up
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load as load_tables

Go = Callable[..., Result]
FORMATS = ["delta", "parquet", "iceberg"]
MERGED: dict[str, Any] = {"strategy": "merge", "primary_key": ["id"]}
OPTIONS = ("lookback", "from_date", "to_date", "path", "watermark_strategy", "load_mode", "watermark_field", "pattern")


def orders(bounds: str | None = "max_target", /, **settings: Any) -> dict[str, Any]:
    """A contract over `landing`; what belongs to the source goes there, all else to `materialization`."""
    source = {"path": "landing/*.csv", "load_mode": "incremental", "watermark_field": "at"}
    chosen = {key: settings.pop(key) for key in OPTIONS if key in settings}
    wanted = {**source, "watermark_strategy": bounds, **chosen}
    at = {"name": "at", "type": settings.pop("type", "timestamp")}
    rule = settings.pop("rule", "n > 0")
    return {
        "dataset": "orders",
        "source": {key: value for key, value in wanted.items() if value is not None},
        "model": {"fields": [{"name": "id", "type": "int"}, at, {"name": "n", "type": "int"}]},
        "quality": {"row_rules": [{"name": "positive", "sql": rule}], **settings.pop("quality", {})},
        "materialization": {"target_path": "s.silver.o", **settings},
    }


@pytest.fixture
def said() -> list[str]:
    """What the last run told people."""
    return []


@pytest.fixture
def go(workspace: Path, duckdb_engine: Any, said: list[str]) -> Go:
    def call(contract: dict[str, Any], **more: Any) -> Result:
        said.clear()
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            sinks = (lambda event: said.append(event.text),)
            return run(
                ContractRequest(load_checked(contract), duckdb_engine, LocalCatalog(), ledger, sinks=sinks, **more)
            )

    return call


@pytest.fixture
def again(workspace: Path, duckdb_engine: Any) -> Callable[..., Any]:
    """Replay everything that waits."""

    def call(contract: dict[str, Any]) -> Any:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            return replay(ContractRequest(load_checked(contract), duckdb_engine, LocalCatalog(), ledger), Chosen())

    return call


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path(f"landing/{name}.csv").write_text("".join(f"{line}\n" for line in ("id,at,n", *rows)))


def rows(name: str = "s.silver.o", form: str = "delta") -> list[dict[str, Any]]:
    state = load_tables(form).state(LocalCatalog().resolve(name))
    assert state is not None
    return [row for path in state.files for row in pq.ParquetFile(path).read().to_pylist()]


def ids(name: str = "s.silver.o", form: str = "delta") -> list[Any]:
    return sorted(row["id"] for row in rows(name, form))


def waiting() -> list[Any]:
    found = (
        rows("s.quarantine.silver_o")
        if load_tables("delta").state(LocalCatalog().resolve("s.quarantine.silver_o"))
        else []
    )
    return sorted(row["id"] for row in found if row["quarantine_state"] == "active")


def recorded(result: Result) -> Any:
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return ledger.run(result.run_id)


def february(first: int, last: int | None = None, **more: bool) -> Asked:
    return Asked(Days(date(2026, 2, first), date(2026, 2, last or first)), **more)


# max_target


def test_rows_strictly_after_the_greatest_are_taken_and_the_others_counted(go: Go, said: list[str]) -> None:
    land("a", "1,2026-02-01T10:00:00Z,1", "2,2026-02-02T10:00:00Z,2")
    assert (go(orders()).status, ids()) == ("succeeded", [1, 2])
    assert "Watermark: all rows: the table has no at yet" in said
    # 3 is late, 4 has the very value of the greatest, 5 is after it by the smallest time there is.
    land("b", "3,2026-02-01T11:00:00Z,3", "4,2026-02-02T10:00:00Z,4", "5,2026-02-02T10:00:00.000001Z,5")
    result = go(orders())
    assert ids() == [1, 2, 5]
    assert (result.counts.source, result.counts.good, result.counts.filtered) == (5, 1, {"watermark": 4})
    reason = "rows whose at is after 2026-02-02 10:00:00Z, the greatest in the table"
    assert f"Watermark: {reason}" in said
    assert "4 rows at or before 2026-02-02 10:00:00Z left out by the watermark" in said
    told = recorded(result)
    assert (told.reason, told.watermark) == (reason, "2026-02-02T10:00:00.000001+00:00")
    assert (told.window_start, told.window_end) == (datetime(2026, 2, 2, 10, tzinfo=UTC), None)
    assert result.report["window"] == reason


def test_an_unchanged_source_is_not_read_and_one_without_news_commits_nothing(go: Go, said: list[str]) -> None:
    land("a", "1,2026-02-01,1", "2,2026-02-02,2")
    go(orders())
    assert (go(orders()).status, any("left out" in line for line in said)) == ("no_new_data", False)
    land("late", "3,2026-01-01,3")
    late = go(orders())
    assert (late.status, ids()) == ("no_new_data", [1, 2])
    assert recorded(late).reason == (
        "nothing new to read; 3 rows at or before 2026-02-02 00:00:00Z left out by the watermark"
    )
    place = LocalCatalog().resolve("s.silver.o")
    assert load_tables("delta").state(place).version == 0  # type: ignore[union-attr]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert ledger.open_intents(f"orders@{place}", place) == []


def test_a_bad_row_below_the_bound_waits_on_although_its_file_is_read_again(go: Go, again: Any) -> None:
    land("a", "1,2026-02-05,1", "2,2026-02-03,-2")
    go(orders())
    assert (ids(), waiting()) == ([1], [2])
    land("b", "3,2026-02-06,3")
    go(orders())  # reads a.csv again, and leaves the row out that waits
    assert (ids(), waiting()) == ([1, 3], [2])
    again(orders(rule="n <> 0"))
    assert (ids(), waiting()) == ([1, 2, 3], [])
    go(orders(rule="n <> 0"))
    assert ids() == [1, 2, 3]


def test_a_bad_row_with_the_greatest_value_neither_blocks_nor_gets_lost(go: Go) -> None:
    land("a", "1,2026-02-01,1", "9,2026-02-09,-9")
    go(orders())
    land("b", "3,2026-02-03,3")
    result = go(orders())
    assert (ids(), waiting(), result.counts.quarantined) == ([1, 3], [9], 1)  # read again, it waits once
    land("c", "4,2026-02-04,4")
    go(orders(rule="n <> 0"))  # mended: it comes from its source, and leaves the queue
    assert (ids(), waiting()) == ([1, 3, 4, 9], [])
    go(orders(rule="n <> 0"))
    assert ids() == [1, 3, 4, 9]


def test_a_run_that_finds_nothing_but_what_waits_publishes_nothing_and_closes_no_gate(go: Go) -> None:
    land("a", "1,2026-02-01,1", "9,2026-02-09,-9")
    go(orders())
    land("late", "3,2026-01-01,3")
    result = go(orders())
    assert (result.status, ids(), waiting()) == ("succeeded", [1], [9])
    assert go(orders()).status == "no_new_data"


def test_a_row_that_waits_closes_a_gate_once_and_one_that_came_with_a_held_batch_again(go: Go) -> None:
    strict = orders(quality={"max_quarantine_ratio": 0.4})
    land("a", "1,2026-02-01,1", "2,2026-02-02,2", "9,2026-02-09,-9")
    assert go(strict).status == "succeeded"  # a third of the rows
    land("b", "3,2026-02-03,3")
    assert (go(strict).status, ids()) == ("succeeded", [1, 2, 3])  # the bad row is read again, and is not news
    land("c", "4,2026-02-04,-4", "5,2026-02-05,5")
    assert go(strict).status == "gated"  # of two new rows one is bad
    land("d", "6,2026-02-06,6")
    held = go(strict)  # 4, 5 and 6 are judged: one of three, but 9 waits as a part of what was held
    assert (held.status, ids()) == ("gated", [1, 2, 3])
    land("e", "7,2026-02-07,7")
    assert (go(strict).status, ids()) == ("succeeded", [1, 2, 3, 5, 6, 7])


def test_a_row_without_a_value_waits_once_and_is_never_doubled(go: Go, again: Any) -> None:
    land("a", "1,2026-02-01,1", "2,,2", "3,yesterday,3")
    result = go(orders())
    assert (ids(), waiting(), result.counts.quarantined) == ([1], [2, 3], 2)
    reasons = {row["id"]: row["_lakelogic_errors"] for row in rows("s.quarantine.silver_o")}
    assert "Watermark missing: at tells no place" in str(reasons[2])
    assert "Type mismatch: at cannot be cast to timestamp" in str(reasons[3])
    land("b", "4,2026-02-04,4")
    go(orders())
    assert (ids(), waiting()) == ([1, 4], [2, 3])
    again(orders())
    assert (ids(), waiting()) == ([1, 4], [2, 3])
    # With a strategy that does not need it, the row is one like others.
    again(orders("pipeline_log", watermark_field=None))
    assert (ids(), waiting()) == ([1, 2, 4], [3])


HISTORY: dict[str, Any] = {"strategy": "scd2", "primary_key": ["id"]}
OVER = [("delta", {}), ("parquet", {}), ("iceberg", {}), ("delta", MERGED), ("iceberg", HISTORY)]


@pytest.mark.parametrize(
    ("form", "how"), OVER, ids=lambda one: one if isinstance(one, str) else one.get("strategy", "append")
)
def test_tables_are_read_from_the_greatest_value_on(go: Go, form: str, how: dict[str, Any]) -> None:
    upstream = {
        "dataset": "bronze",
        "source": {"path": "landing/*.csv"},
        "model": {
            "fields": [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}, {"name": "n", "type": "int"}]
        },
        "materialization": {"target_path": "s.bronze.o", "format": form},
    }
    land("a", "1,2026-02-01,1", "2,2026-02-02,2")
    go(upstream)
    over = orders(path="s.bronze.o", format=form, **how)
    go(over)
    land("b", "3,2026-02-03,3", "4,2026-02-02,4")
    go(upstream)
    result = go(over)
    assert (ids(form=form), result.counts.filtered) == ([1, 2, 3], {"watermark": 3})
    assert go(over).status == "no_new_data"


def test_what_a_table_has_lost_below_the_bound_stays_and_nothing_was_read_twice(
    go: Go, workspace: Path, duckdb_engine: Any
) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}, {"name": "n", "type": "int"}]
    upstream = {
        "dataset": "bronze",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": fields},
        "materialization": {"target_path": "s.bronze.o", "strategy": "overwrite"},
    }
    over = {"merge": orders(path="s.bronze.o", **MERGED), "append": orders(path="s.bronze.o", target_path="s.silver.a")}
    for lines in (["1,2026-02-01,1", "2,2026-02-02,2"], ["2,2026-02-02,2", "3,2026-02-03,3"]):
        land("a", *lines)
        go(upstream)
        for contract in over.values():
            go(contract)
    assert ids() == ids("s.silver.a") == [1, 2, 3]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        for contract in over.values():
            job = ContractRequest(load_checked(contract), duckdb_engine, LocalCatalog(), ledger)
            assert not [found for found in check_up(job, mend=False) if "twice" in str(found)]


def test_rows_that_are_marked_as_deleted_count_and_rows_that_were_removed_do_not(go: Go) -> None:
    changes = orders(None, load_mode="cdc", watermark_field=None, **MERGED)
    changes["source"] |= {"cdc_op_field": "op", "cdc_timestamp_field": "at"}
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,at,n,op\n1,2026-02-01,1,I\n2,2026-02-08,2,I\n2,2026-02-09,2,D\n")
    go(changes)
    assert sorted((row["id"], row["_lakelogic_is_deleted"]) for row in rows()) == [(1, False), (2, True)]
    Path("landing/a.csv").unlink()
    land("b", "1,2026-02-10,10", "3,2026-02-09,3")  # 3 is as old as the deletion
    go(orders(**MERGED))
    assert sorted((row["id"], row["n"]) for row in rows()) == [(1, 10), (2, 2)]
    DeltaTable(LocalCatalog().resolve("s.silver.o")).delete("id = 1")  # by hand: the table ends earlier
    go(orders(**MERGED))
    assert sorted((row["id"], row["n"]) for row in rows()) == [(1, 10), (2, 2)]


def test_the_member_for_unknown_keys_does_not_lift_the_bound(go: Go) -> None:
    contract = orders(**MERGED, unknown_member={"at": "9999-12-31", "n": 0})
    land("a", "1,2026-02-01,1")
    go(contract)
    land("b", "2,2026-02-02,2")
    go(contract)
    assert ids() == [-1, 1, 2]


def test_a_table_that_is_partitioned_by_the_field_tells_it_too(go: Go) -> None:
    contract = orders(type="date", partition_by=["at"])
    land("a", "1,2026-02-01,1", "2,2026-02-03,2")
    go(contract)
    land("b", "3,2026-02-02,3", "4,2026-02-04,4")
    result = go(contract)
    assert (ids(), result.counts.filtered) == ([1, 2, 4], {"watermark": 3})


@pytest.mark.parametrize(("type_", "values"), [("bigint", (7, 8, 9)), ("decimal(10,2)", ("1.10", "1.11", "1.12"))])
def test_numbers_tell_too(go: Go, type_: str, values: tuple[Any, ...]) -> None:
    low, middle, high = values
    land("a", f"1,{middle},1")
    go(orders(type=type_))
    land("b", f"2,{low},2", f"3,{middle},3", f"4,{high},4")
    result = go(orders(type=type_))
    assert (ids(), result.counts.filtered) == ([1, 4], {"watermark": 3})
    assert (recorded(result).watermark, recorded(result).window_start) == (str(high), None)


def test_dates_are_read_as_the_source_writes_them(go: Go) -> None:
    contract = orders(type="date")
    contract["source"]["options"] = {"date_formats": {"at": "%d.%m.%Y"}}
    land("a", "1,28.01.2026,1")
    go(contract)
    land("b", "2,01.02.2026,2", "3,27.01.2026,3")
    go(contract)
    assert ids() == [1, 2]


def test_files_that_are_moved_copied_or_touched_add_nothing(go: Go, said: list[str]) -> None:
    land("a", "1,2026-02-01,1", "9,2026-02-09,-9")
    go(orders())
    Path("landing/a.csv").rename("landing/b.csv")
    land("c", "2,2026-02-02,2")
    go(orders())
    assert (ids(), waiting()) == ([1, 2], [9])
    assert not any("not read again" in line for line in said)  # its rows are looked at
    land("d", "1,2026-02-01,1", "9,2026-02-09,-9", "2,2026-02-02,2", "3,2026-02-03,3")  # the next dump
    Path("landing/b.csv").unlink()
    Path("landing/c.csv").unlink()
    go(orders())
    assert ids() == [1, 2, 3]
    by_content = orders(target_path="s.silver.once")
    by_content["source"]["identity"] = "content"
    Path("landing/e.csv").write_bytes(Path("landing/d.csv").read_bytes())
    go(by_content)
    assert ids("s.silver.once") == [1, 2, 3]


def test_a_contract_that_changed_does_not_reach_rows_that_are_there_and_says_so(go: Go, said: list[str]) -> None:
    land("a", "1,2026-02-01,1")
    go(orders())
    result = go(orders(rule="n > 5"))
    assert (result.status, ids()) == ("no_new_data", [1])
    assert any("The contract has changed, and nothing is new to read" in line for line in said)


def test_every_engine_takes_the_same_rows(engine: Any, workspace: Path) -> None:
    counted = []
    for name, lines in (
        ("a", ("1,2026-02-01T10:00:00.5Z,1", "2,,2")),
        ("b", ("3,2026-02-01T10:00:00.5Z,3", "4,2026-02-01T10:00:00.500001Z,4", "5,2026-02-01,5", "6,2026-03-01,-6")),
        ("c", ("7,2026-02-02,7",)),
    ):
        land(name, *lines)
        with DataProcessor(orders(), engine) as processor:
            result = processor.run()
        counted.append((result.counts.good, result.counts.quarantined, result.counts.filtered.get("watermark", 0)))
    # Rows 2 and 6 are bad with every run that reads them, and wait once; 3 is a tie, 5 is late.
    assert counted == [(1, 1, 0), (1, 2, 3), (1, 2, 4)]
    assert (ids(), waiting()) == ([1, 4, 7], [2, 6])


# crashes, ledgers, targets


POINTS = ["after_intent", "after_stage", "after_staged_record", "after_quarantine_commit", "after_good_commit"]
AFTER = [("max_target", point) for point in POINTS] + [("lookback", "after_quarantine_commit")]


@pytest.mark.parametrize(("bounds", "point"), AFTER)
def test_a_run_that_dies_and_one_more_give_the_tables_of_one(go: Go, bounds: str, point: str) -> None:
    contract = orders() if bounds == "max_target" else orders(bounds, lookback="1 day", **MERGED)
    land("a", "1,2026-02-01,1")
    go(contract)
    land("b", "2,2026-02-02,2", "3,2026-02-03,-3", "4,2026-01-01,4")

    def die(reached: str) -> None:
        if reached == point:
            raise faults.InjectedFault(reached)

    with faults.watched(die), pytest.raises(faults.InjectedFault):
        go(contract)
    land("c", "5,2026-02-05,5")  # and more comes meanwhile
    go(contract)
    assert (ids(), waiting()) == ([1, 2, 5], [3])
    go(contract)
    assert (ids(), waiting()) == ([1, 2, 5], [3])


def test_another_ledger_over_the_same_table_adds_nothing_twice(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    land("a", "1,2026-02-01,1")
    go(orders())
    monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{Path.cwd()}/other.db")
    assert (go(orders()).status, ids()) == ("no_new_data", [1])
    land("b", "2,2026-02-02,2")
    go(orders())
    monkeypatch.delenv("LAKELOGIC_LEDGER")
    go(orders())
    assert ids() == [1, 2]


@pytest.mark.parametrize("more", [False, True], ids=["the same", "more"])
def test_a_run_that_another_ledger_overtakes_adds_nothing_twice(
    go: Go, monkeypatch: pytest.MonkeyPatch, more: bool
) -> None:
    land("a", "1,2026-02-01,1")
    go(orders())
    land("b", "2,2026-02-02,2")
    overtaken: list[str] = []

    def overtake(reached: str) -> None:
        if reached == "after_staged_record" and not overtaken:
            overtaken.append(reached)
            if more:
                land("c", "3,2026-02-03,3")
            monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{Path.cwd()}/other.db")
            go(orders())
            monkeypatch.delenv("LAKELOGIC_LEDGER")

    with faults.watched(overtake), suppress(CommitConflict):
        go(orders())
    assert ids() == ([1, 2, 3] if more else [1, 2])
    go(orders())
    assert ids() == ([1, 2, 3] if more else [1, 2])


def test_every_target_has_a_bound_of_its_own_and_a_table_that_is_gone_begins_again(go: Go) -> None:
    import shutil

    land("a", "1,2026-02-01,1", "2,2026-02-02,2")
    go(orders())
    go(orders(target_path="s.silver.dev"))
    assert ids("s.silver.dev") == [1, 2]
    go(orders(), target="s.silver.copy")
    assert ids("s.silver.copy") == [1, 2]
    shutil.rmtree(LocalCatalog().resolve("s.silver.o"))
    go(orders())
    assert ids() == [1, 2]


def test_a_table_that_was_emptied_by_hand_is_filled_again(go: Go) -> None:
    land("a", "1,2026-02-01,1", "2,2026-02-02,2")
    go(orders())
    DeltaTable(LocalCatalog().resolve("s.silver.o")).delete()
    go(orders())
    assert ids() == [1, 2]


def test_another_strategy_goes_on_where_the_last_one_stood(go: Go, said: list[str]) -> None:
    known = orders("pipeline_log", watermark_field=None)
    land("a", "1,2026-02-01,1")
    go(known)
    land("b", "2,2026-02-02,2", "3,2026-01-01,3")
    go(orders())  # 3 is late, and b.csv is read in part
    assert ids() == [1, 2]
    go(known)
    assert ids() == [1, 2, 3]
    assert any("its rows are replaced" in line for line in said)
    go(orders())
    go(known)
    assert ids() == [1, 2, 3]


def test_a_field_that_no_row_of_the_table_has_is_refused_for_append_and_harmless_for_merge(go: Go) -> None:
    land("a", "1,2026-02-01,1")
    plain = orders(None, load_mode=None, watermark_field=None)
    plain["model"]["fields"] = [plain["model"]["fields"][0]]
    plain["quality"] = {}
    plain["schema_policy"] = {"unknown_fields": "drop"}
    go(plain)
    with pytest.raises(DataError, match=r"No row of s\.silver\.o has a value in `at`"):
        go(orders())
    assert ids() == [1]
    go(orders(**MERGED))
    assert [(row["id"], row["n"]) for row in rows()] == [(1, 1)]


def test_a_batch_that_waits_behind_a_gate_is_not_published_twice(go: Go, workspace: Path, duckdb_engine: Any) -> None:
    land("a", "1,2026-02-01,1")
    go(orders())
    land("b", "2,2026-02-02,2", "3,2026-02-03,-3")
    strict = orders(quality={"max_quarantine_ratio": 0.1})
    held = go(strict)
    assert (held.status, ids()) == ("gated", [1])
    assert go(strict).status == "gated"
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        release(
            ContractRequest(load_checked(strict), duckdb_engine, LocalCatalog(), ledger),
            held.run_id,
            person="me",
            why=None,
        )
    assert ids() == [1, 2]
    go(strict)
    assert ids() == [1, 2]


def test_a_batch_that_waits_does_not_give_way_to_one_that_begins_later(go: Go, duckdb_engine: Any) -> None:
    strict = orders(quality={"max_quarantine_ratio": 0.1})
    land("a", "1,2026-02-01,1")
    go(strict)
    land("b", "2,2026-02-02,2", "3,2026-02-03,-3")
    held = go(strict)
    # Rows that are handed in lift the bound over those that wait.
    go(strict, data=pa.table({"id": [20], "at": ["2026-02-20"], "n": [1]}))
    land("c", "30,2026-02-21,1", "31,2026-02-22,-1")
    go(strict)
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert len(ledger.waiting()) == 2
        release(
            ContractRequest(load_checked(strict), duckdb_engine, LocalCatalog(), ledger),
            held.run_id,
            person="me",
            why=None,
        )
    assert ids() == [1, 2, 20]
    assert go(strict).status == "gated"
    go(orders(quality={"max_quarantine_ratio": 1}))
    assert ids() == [1, 2, 20, 30]


# lookback


def test_lookback_reads_from_so_long_before_the_greatest_on(go: Go, said: list[str]) -> None:
    contract = orders("lookback", lookback="2 days", **MERGED)
    land("a", "1,2026-02-05T12:00:00Z,1", "2,2026-02-01T00:00:00Z,2")
    go(contract)
    # 2026-02-05 12:00 less two days is 2026-02-03 12:00, which is taken; a second before is not.
    land("b", "3,2026-02-03T12:00:00Z,3", "4,2026-02-03T11:59:59Z,4", "5,2026-02-04T00:00:00Z,5")
    result = go(contract)
    assert (ids(), result.counts.filtered) == ([1, 2, 3, 5], {"watermark": 2})
    told = "rows whose at is from 2026-02-03 12:00:00Z on (the table reaches 2026-02-05 12:00:00Z)"
    assert f"Watermark: {told}" in said
    assert "2 rows before 2026-02-03 12:00:00Z left out by the watermark" in said
    assert recorded(result).window_start == datetime(2026, 2, 3, 12, tzinfo=UTC)
    assert recorded(result).watermark == "2026-02-05T12:00:00+00:00"
    assert go(contract).status == "no_new_data"


def test_lookback_over_days_takes_whole_days(go: Go) -> None:
    contract = orders("lookback", lookback="36h", type="date", **MERGED)
    land("a", "1,2026-02-05,1")
    go(contract)
    land("b", "2,2026-02-03,2", "3,2026-02-02,3")
    go(contract)
    assert ids() == [1, 2]


@pytest.mark.parametrize("how", [{}, {"scd2": {"timestamp_field": "at"}}], ids=["by the watermark", "written"])
def test_a_history_that_reads_versions_again_makes_none_twice(go: Go, how: dict[str, Any]) -> None:
    contract = orders("lookback", lookback="30 days", strategy="scd2", primary_key=["id"], **how)
    land("a", "1,2026-02-01,1")
    go(contract)
    land("b", "1,2026-02-03,3")
    go(contract)
    land("c", "2,2026-02-04,5")
    go(contract)
    land("d", "1,2026-02-02,2")  # late, between both versions
    go(contract)
    assert sorted((row["id"], row["n"]) for row in rows()) == [(1, 1), (1, 2), (1, 3), (2, 5)]
    [current] = [row["n"] for row in rows() if row["id"] == 1 and row["is_current"]]
    assert current == 3


def test_an_older_row_that_is_read_again_does_not_undo_a_newer_one(go: Go) -> None:
    contract = orders("lookback", lookback="30 days", **MERGED)
    land("a", "1,2026-02-01,1")
    go(contract)
    land("b", "1,2026-02-05,5")
    result = go(contract)  # both rows of the key are read: the newer by the watermark wins
    assert [(row["id"], row["n"]) for row in rows()] == [(1, 5)]
    assert sum(result.counts.deduplicated.values()) == 1
    Path("landing/b.csv").unlink()
    land("c", "2,2026-02-06,6")
    go(contract)  # the older row alone
    assert sorted((row["id"], row["n"]) for row in rows()) == [(1, 5), (2, 6)]


# date_range


def days(first: int, last: int, **settings: Any) -> dict[str, Any]:
    return orders("date_range", from_date=f"2026-02-{first:02}", to_date=f"2026-02-{last:02}", **settings)


def test_a_range_of_days_includes_both_ends_and_is_replaced_when_read_again(go: Go, said: list[str]) -> None:
    land("a", "1,2026-02-01T23:59:59Z,1", "2,2026-02-02T00:00:00Z,2", "3,2026-02-03T23:59:59Z,3", "4,2026-02-04,4")
    result = go(days(2, 3))
    assert (ids(), result.counts.source, result.counts.filtered) == ([2, 3], 4, {"watermark": 2})
    assert "Watermark: rows whose at is on 2026-02-02 to 2026-02-03; they replace those days by at" in said
    assert "2 rows of other days left out by the watermark" in said
    told = recorded(result)
    assert (told.window_start, told.window_end) == (datetime(2026, 2, 2, tzinfo=UTC), datetime(2026, 2, 4, tzinfo=UTC))
    assert go(days(2, 3)).status == "no_new_data"
    land("b", "5,2026-02-03,5", "6,2026-02-05,6")
    go(days(2, 3))
    assert ids() == [2, 3, 5]
    go(days(3, 4))  # the range moves on: other days stay
    assert ids() == [2, 3, 4, 5]


def test_a_range_of_a_table_for_merge_and_overwrite(go: Go) -> None:
    land("a", "1,2026-02-01,1", "2,2026-02-02,2", "3,2026-02-03,3")
    go(orders(None, load_mode=None, watermark_field=None, target_path="s.bronze.o"))
    merged = days(1, 2, path="s.bronze.o", **MERGED)
    go(merged)
    assert (ids(), go(merged).status) == ([1, 2], "no_new_data")
    whole = days(2, 3, path="s.bronze.o", strategy="overwrite", target_path="s.silver.w")
    go(whole)
    assert ids("s.silver.w") == [2, 3]
    go(days(1, 1, path="s.bronze.o", strategy="overwrite", target_path="s.silver.w"))
    assert ids("s.silver.w") == [1]
    go(days(20, 21, path="s.bronze.o", strategy="overwrite", target_path="s.silver.w"))
    assert ids("s.silver.w") == []


def test_a_row_that_falls_on_no_day_waits_and_is_not_lost(go: Go) -> None:
    land("a", "1,2026-02-02,1", "2,,2")
    go(days(2, 3))
    assert (ids(), waiting()) == ([1], [2])
    land("b", "3,2026-02-03,3")
    go(days(2, 3))
    assert (ids(), waiting()) == ([1, 3], [2])


# windows and reload


def test_windows_take_their_part_of_a_range_and_nothing_of_other_days(go: Go) -> None:
    land("a", "1,2026-02-01,1", "2,2026-02-02,2", "3,2026-02-03,3")
    assert go(days(1, 2), asked=february(10)).status == "no_new_data"
    go(days(1, 2), asked=february(2, 3))
    assert ids() == [2]
    land("a", "1,2026-02-01,1", "22,2026-02-02,2", "3,2026-02-03,3")
    go(days(1, 2), asked=february(2, again=True))
    assert ids() == [22]


def test_windows_do_not_lift_the_bound_over_days_that_nobody_read(go: Go) -> None:
    land("a", "1,2026-02-01,1", "2,2026-02-02,2", "3,2026-02-03,3")
    result = go(orders(), asked=february(3))
    assert ids() == [1, 2, 3]
    assert recorded(result).reason.endswith("whatever days are asked for: the contract begins where its table ends")
    with pytest.raises(UsageError, match="begins where its table ends"):
        go(orders(), asked=february(3, again=True))


def test_reload_reads_everything_of_a_bounded_source(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    from lakelogic.actions.operate.reset import reload
    from lakelogic.actions.operate.run import RunRequest

    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")

    def through(contract: dict[str, Any]) -> list[Any]:
        Path("orders.yaml").write_text(yaml.safe_dump(contract))
        with DataProcessor("orders.yaml") as processor:
            processor.run()
        land("b", "2,2026-01-02,2")
        reload(Surroundings.here(), RunRequest("orders.yaml"))
        Path("landing/b.csv").unlink()
        return ids()

    land("a", "1,2026-02-01,1", "3,2026-02-03,3")
    assert through(orders()) == [1, 2, 3]
    assert through(days(3, 4)) == [3]
