"""A run that dies is finished from its staged record: whatever its input, its contract or its verdicts are by then."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor, clock
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.state import in_use
from lakelogic.tables.registry import load as load_tables

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
# Row 1 is too old at noon; rows 2 and 3 are too old a minute later.
ROWS = "id,seen_at\n1,2026-02-03T10:00:00Z\n2,2026-02-03T11:59:50Z\n3,2026-02-03T11:59:55Z\n"
PUBLISHED_LATER = ("after_staged_record", "after_quarantine_commit", "after_good_commit", "after_settling")


class Shop:
    """A contract over a landing folder, run in this process, and disturbed on the way."""

    def __init__(self, engine: Any, format_: str = "delta", **settings: Any) -> None:
        Path("landing").mkdir(exist_ok=True)
        self.engine, self.format = engine, format_
        self.contract: dict[str, Any] = {
            "dataset": "orders",
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": [{"name": "id", "type": "int"}, {"name": "seen_at", "type": "timestamp"}]},
            "quality": {"row_rules": [{"freshness": {"field": "seen_at", "max_age": "20s"}}]},
            "materialization": {"target_path": "a.silver.orders", "format": format_, "strategy": "append", **settings},
        }
        self.told: list[str] = []

    def run(self, at: str | None = None, rows: Any = None, **words: Any) -> str:
        def strike(point: str) -> None:
            if point == at:
                raise faults.InjectedFault(point)

        def hear(event: Any) -> None:
            self.told.append(event.text)

        processor = DataProcessor(self.contract, engine=self.engine, sinks=(hear,))
        try:
            with faults.watched(strike):
                return str(processor.run(rows, **words).status)
        except faults.InjectedFault:
            return "died"

    def ids(self, name: str = "a.silver.orders", format_: str | None = None) -> list[Any]:
        state = load_tables(format_ or self.format).state(LocalCatalog().resolve(name))
        files = state.files if state else ()
        rows = [row for path in files for row in pq.ParquetFile(path).read(["id"]).to_pylist()]
        return sorted(row["id"] for row in rows)

    def bad(self) -> list[Any]:
        return self.ids("a.quarantine.silver_orders", "delta")

    def ledger(self) -> Any:
        return open_ledger(LocalCatalog().ledger_url())


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    def stop(instant: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: instant)

    stop(NOON)
    return stop


@pytest.mark.parametrize("point", PUBLISHED_LATER)
def test_a_verdict_that_has_changed_since_the_crash_changes_nothing(
    engine: Any, workspace: Path, at: Callable[[datetime], None], point: str
) -> None:
    if engine.name == "spark" and point != "after_quarantine_commit":
        pytest.skip("where an engine could differ is the staged files, which one point shows")
    shop = Shop(engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run(point) == "died"
    at(NOON + timedelta(minutes=1))
    assert shop.run() == "no_new_data"
    assert (shop.ids(), shop.bad()) == ([2, 3], [1])
    with shop.ledger() as ledger:
        [first] = [run for run in ledger.runs("orders") if run.status == "succeeded"]
    assert (first.counts_source, first.counts_good, first.counts_quarantined) == (3, 2, 1)
    if point in ("after_staged_record", "after_quarantine_commit"):
        assert first.reason is not None
        assert "rolled forward" in first.reason
        assert any("finished from its staged rows (2 good, 1 quarantined)" in text for text in shop.told)


@pytest.mark.parametrize("format_", ["parquet", "iceberg"])
def test_the_record_publishes_into_every_format(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None], format_: str
) -> None:
    shop = Shop(duckdb_engine, format_, secondary_targets=[{"target_path": "a.b.copy", "format": "parquet"}])
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_quarantine_commit") == "died"
    at(NOON + timedelta(minutes=1))
    assert shop.run() == "no_new_data"
    assert (shop.ids(), shop.ids("a.b.copy", "parquet"), shop.bad()) == ([2, 3], [2, 3], [1])


def test_an_input_that_is_gone_after_the_crash_is_published_all_the_same(
    engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    shop = Shop(engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_staged_record") == "died"
    Path("landing/a.csv").unlink()
    Path("landing/b.csv").write_text("id,seen_at\n4,2026-02-03T12:00:00Z\n")
    assert shop.run() == "succeeded"
    assert (shop.ids(), shop.bad()) == ([2, 3, 4], [1])


def test_before_the_record_nothing_is_visible_and_files_are_dropped(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    shop = Shop(duckdb_engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_gates") == "died"
    [folder] = Path("lakelogic_warehouse/a/silver/orders").glob("batch-*")
    Path("landing/a.csv").write_text("id,seen_at\n9,2026-02-03T12:00:00Z\n")
    assert shop.run() == "succeeded"
    assert (shop.ids(), shop.bad()) == ([9], [])
    assert not folder.exists()
    with shop.ledger() as ledger:
        assert ledger.last_n(f"orders@{LocalCatalog().resolve('a.silver.orders')}") == 2


@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_a_contract_that_was_edited_does_not_hinder(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None], strategy: str
) -> None:
    shop = Shop(duckdb_engine, strategy=strategy, primary_key=["id"])
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_quarantine_commit") == "died"
    shop.contract["model"]["fields"].append({"name": "city", "type": "string"})
    shop.contract["quality"]["row_rules"] = [{"sql": "id > 100"}]
    Path("landing/b.csv").write_text("id,seen_at,city\n101,2026-02-03T12:00:00Z,Bern\n5,2026-02-03T12:00:00Z,Rome\n")
    assert shop.run() == "succeeded"
    assert (shop.ids(), shop.bad()) == ([2, 3, 101], [1, 5])


def test_a_record_whose_files_are_gone_is_given_up_and_its_input_read_again(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    shop = Shop(duckdb_engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_quarantine_commit") == "died"
    [file] = Path("lakelogic_warehouse/a/silver/orders").rglob("good/*.parquet")
    file.unlink()
    at(NOON + timedelta(minutes=1))  # judged again, all of them are too old: none may be lost, none doubled
    shop.run()
    assert (shop.ids(), shop.bad()) == ([], [1, 2, 3])
    assert any("could not be finished from its staged rows" in text for text in shop.told)


def test_judged_again_without_a_record_a_row_stands_on_one_side_only(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    """The ledger is lost after the quarantine was committed, and what was bad is good by now."""
    shop = Shop(duckdb_engine)
    shop.contract["quality"]["row_rules"] = [{"not_future": {"field": "seen_at"}}]
    Path("landing/a.csv").write_text("id,seen_at\n1,2026-02-03T12:00:30Z\n2,2026-02-03T11:59:50Z\n")
    assert shop.run("after_quarantine_commit") == "died"
    assert shop.bad() == [1]
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()
    at(NOON + timedelta(minutes=1))
    assert shop.run() == "succeeded"
    assert (shop.ids(), shop.bad()) == ([1, 2], [])


def test_a_batch_that_others_have_overtaken_is_published_behind_them(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    """A ledger of its own reads other files meanwhile; the batch's own input is gone."""
    shop = Shop(duckdb_engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_quarantine_commit") == "died"
    kept = Path("lakelogic_warehouse/.lakelogic").rename("kept")
    Path("landing/a.csv").unlink()
    Path("landing/b.csv").write_text("id,seen_at\n4,2026-02-03T12:00:00Z\n5,2026-02-03T10:00:00Z\n")
    assert shop.run() == "succeeded"
    Path("lakelogic_warehouse/.lakelogic").rename("other")
    kept.rename("lakelogic_warehouse/.lakelogic")
    shop.run()
    assert (shop.ids(), shop.bad()) == ([2, 3, 4], [1, 5])


def test_a_batch_whose_input_others_have_read_meanwhile_is_given_up(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    shop = Shop(duckdb_engine)
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_quarantine_commit") == "died"
    kept = Path("lakelogic_warehouse/.lakelogic").rename("kept")
    Path("landing/b.csv").write_text("id,seen_at\n4,2026-02-03T12:00:00Z\n")
    assert shop.run() == "succeeded"
    Path("lakelogic_warehouse/.lakelogic").rename("other")
    kept.rename("lakelogic_warehouse/.lakelogic")
    shop.run()
    assert (shop.ids(), shop.bad()) == ([2, 3, 4], [1])


def test_a_closed_gate_is_held_from_the_record_and_the_batch_counts_as_taken(
    duckdb_engine: Any, workspace: Path, at: Callable[[datetime], None]
) -> None:
    shop = Shop(duckdb_engine)
    shop.contract["quality"]["max_quarantine_ratio"] = 0.1
    Path("landing/a.csv").write_text(ROWS)
    assert shop.run("after_staged_record") == "died"
    at(NOON + timedelta(minutes=1))
    assert [shop.run(), shop.run()] == ["gated", "gated"]
    assert (shop.ids(), shop.bad()) == ([], [1])
    with shop.ledger() as ledger:
        [held] = ledger.waiting()
        assert in_use.folders_of(ledger, held.target)[held.facts["folder"]] == "held"


def test_rows_that_were_handed_in_are_finished_too(engine: Any, workspace: Path) -> None:
    shop = Shop(engine)
    shop.contract["quality"] = {"row_rules": [{"sql": "id < 10"}]}
    rows = [{"id": 1, "seen_at": NOON}, {"id": 20, "seen_at": NOON}]
    frame = engine.wrap(_table(rows))
    assert shop.run("after_quarantine_commit", frame, batch="monday") == "died"
    assert shop.run(None, frame, batch="monday") == "no_new_data"
    assert (shop.ids(), shop.bad()) == ([1], [20])
    assert shop.run(None, frame, batch="tuesday") == "succeeded"
    assert (shop.ids(), shop.bad()) == ([1, 1], [20, 20])


def test_a_named_batch_is_known_by_the_table_where_the_ledger_is_lost(duckdb_engine: Any, workspace: Path) -> None:
    shop = Shop(duckdb_engine)
    shop.contract["quality"] = {"row_rules": [{"sql": "id < 10"}]}
    frame = _table([{"id": 1, "seen_at": NOON}, {"id": 20, "seen_at": NOON}])
    assert shop.run("after_quarantine_commit", frame, batch="monday") == "died"
    _lose_the_ledger()
    shop.contract["model"]["fields"][0]["description"] = "an edit"
    assert shop.run(None, frame, batch="monday") == "succeeded"
    _lose_the_ledger()
    shop.contract["model"]["fields"].append({"name": "city", "type": "string"})
    assert shop.run(None, frame, batch="monday") == "no_new_data"
    assert (shop.ids(), shop.bad()) == ([1], [20])


def test_three_gated_batches_that_were_handed_in_wait_side_by_side(duckdb_engine: Any, workspace: Path) -> None:
    from lakelogic.engines.base import Engine
    from lakelogic.run.publish.hold import release
    from lakelogic.run.request import ContractRequest

    shop = Shop(duckdb_engine)
    shop.contract["quality"] = {"row_rules": [{"sql": "id < 10"}], "max_quarantine_ratio": 0.1}
    for one in (1, 2, 3):
        frame = _table([{"id": one, "seen_at": NOON}, {"id": 10 * one, "seen_at": NOON}])
        assert shop.run(None, frame, batch=f"day {one}") == "gated"
        assert shop.run(None, frame, batch=f"day {one}") == "gated"
    engine: Engine = duckdb_engine
    processor = DataProcessor(shop.contract, engine=engine)
    with shop.ledger() as ledger:
        waiting = ledger.waiting()
        assert len(waiting) == 3
        for held in waiting:
            release(
                ContractRequest(processor.loaded, engine, LocalCatalog(), ledger), held.run_id, person="ada", why=None
            )
    assert (shop.ids(), shop.bad()) == ([1, 2, 3], [10, 20, 30])
    assert shop.run(None, _table([{"id": 1, "seen_at": NOON}]), batch="day 1") == "no_new_data"


def test_a_batch_needs_rows_and_a_name(duckdb_engine: Any, workspace: Path) -> None:
    from lakelogic.errors import UsageError

    processor = DataProcessor(Shop(duckdb_engine).contract, engine=duckdb_engine)
    with pytest.raises(UsageError, match="there are none"):
        processor.run(batch="monday")
    with pytest.raises(UsageError, match="empty"):
        processor.run(_table([]), batch=" ")


def test_the_record_holds_no_rule_and_no_option_of_the_contract(duckdb_engine: Any, workspace: Path) -> None:
    shop = Shop(duckdb_engine)
    shop.contract["source"]["options"] = {"delimiter": ","}
    Path("landing/a.csv").write_text(ROWS)
    shop.run("after_staged_record")
    with shop.ledger() as ledger:
        [intent] = ledger.intents_with_files()
    kept = json.dumps(intent.staged["contract"])
    assert "freshness" not in kept
    assert "delimiter" not in kept


def _table(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=pa.schema([("id", pa.int32()), ("seen_at", pa.timestamp("us", "UTC"))]))


def _lose_the_ledger() -> None:
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()
