"""Passes over days, and over upstreams that are too old: tables, ledger and summary, on DuckDB."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from lakelogic import clock
from lakelogic.actions.look.gaps import GapsRequest, gaps
from lakelogic.actions.operate.drive import DriveRequest, drive, plan
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.driver.calendar import Wish, parts, windows
from lakelogic.driver.freshness import Demand
from lakelogic.driver.passes import Pass
from lakelogic.errors import UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.source.days import Days
from lakelogic.run.surroundings import Surroundings

H = timedelta(hours=1)
BRONZE = """
info: {target_layer: bronze, dataset: bronze_orders, owner: team}
source: {path: landing, pattern: 'o_*.csv', format: csv, load_mode: incremental}
materialization: {target_path: s.bronze.orders, partition_by: [day], reprocess_date_column: day}
service_levels: {freshness_hours: 24}
"""
SILVER = """
info: {target_layer: silver, dataset: silver_orders, owner: team}
source: {path: s.bronze.orders, watermark_field: day}
model: {fields: [{name: id, type: int}, {name: day, type: date}, {name: n, type: int}]}
quality: {max_quarantine_ratio: 0.5, row_rules: [{name: positive, sql: n > 0}]}
materialization: {target_path: s.silver.orders, strategy: overwrite}
"""


@pytest.fixture
def estate(lay, monkeypatch: pytest.MonkeyPatch) -> Path:
    registry = "entries: [{entity: orders, contracts: {bronze: bronze.yaml, silver: silver.yaml}}]\n"
    days = {f"landing/o_2026-02-0{n}.csv": f"id,day,n\n{n},2026-02-0{n},{n}\n" for n in (1, 2, 3)}
    folder = lay({"c/_registry.yaml": registry, "c/bronze.yaml": BRONZE, "c/silver.yaml": SILVER, **days})
    monkeypatch.chdir(folder)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return folder


def asked(**more: Any) -> DriveRequest:
    return DriveRequest(**{"registries": ("c/_registry.yaml",), "engine": "duckdb", "max_workers": 1, **more})


def february(first: int, last: int) -> Days:
    return Days(date(2026, 2, first), date(2026, 2, last))


def told(done: Pass) -> list[tuple[str, str, str | None]]:
    return [(one.dataset, one.status, one.window) for one in done.outcomes]


def values(table: str) -> list[tuple[int, int]]:
    found = DeltaTable(Path("lakelogic_warehouse").joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    return sorted((int(row["id"]), int(row["n"])) for row in found)


def test_a_backfill_shows_its_windows_runs_them_in_order_and_goes_on_in_the_middle(estate: Path) -> None:
    days = {"backfill_start_date": "2026-02-01", "backfill_end_date": "2026-02-03", "state_path": "state.json"}
    shown = plan(Surroundings.here(), asked(**days)).as_dict()
    assert [window["first"] for window in shown["windows"]] == ["2026-02-01", "2026-02-02", "2026-02-03"]
    assert not (estate / "lakelogic_warehouse").exists()
    second = estate / "landing/o_2026-02-02.csv"
    second.write_text("id,day,n\n2,2026-02-02,-2\n")  # the whole of it is bad
    done = drive(Surroundings.here(), asked(**days))
    assert [(one.days.first.day, one.status) for one in done.windows] == [(1, "done"), (2, "partial"), (3, "waiting")]
    assert told(done) == [
        ("bronze_orders", "succeeded", "files dated 2026-02-01"),
        ("silver_orders", "succeeded", "rows whose day is on 2026-02-01; they replace those days by day"),
        ("bronze_orders", "succeeded", "files dated 2026-02-02"),
        ("silver_orders", "gated", "rows whose day is on 2026-02-02; they replace those days by day"),
    ]
    assert (done.exit_code, done.as_dict()["window"]) == (3, "backfill")
    assert "1 windows wait, from 2026-02-03" in done.warnings[0]
    second.write_text("id,day,n\n2,2026-02-02,2\n")
    drive(Surroundings.here(), asked(reprocess_date="2026-02-02", layers=("bronze",)))
    again = drive(Surroundings.here(), asked(**days, resume=True))
    assert [(one.dataset, one.status) for one in again.outcomes] == [
        ("bronze_orders", "skipped"), ("silver_orders", "skipped"),
        ("bronze_orders", "skipped"), ("silver_orders", "succeeded"),
        ("bronze_orders", "succeeded"), ("silver_orders", "succeeded"),
    ]  # fmt: skip
    assert (again.exit_code, values("s.silver.orders")) == (0, [(1, 1), (2, 2), (3, 3)])


def test_days_are_processed_again_in_every_layer_and_no_watermark_moves_back(estate: Path) -> None:
    (estate / "c/silver.yaml").write_text(SILVER.replace("strategy: overwrite", "strategy: merge, primary_key: [id]"))
    drive(Surroundings.here(), asked(window="range", window_start_date="2026-02-01", window_end_date="2026-02-03"))
    (estate / "landing/o_2026-02-01.csv").write_text("id,day,n\n11,2026-02-01,11\n")
    (estate / "landing/o_2026-02-03.csv").write_text("id,day,n\n3,2026-02-03,33\n")
    done = drive(
        Surroundings.here(),
        asked(reprocess_start_date="2026-02-01", reprocess_end_date="2026-02-02", summary_path="out.json"),
    )
    assert (done.exit_code, [one.rows_source for one in done.outcomes]) == (0, [2, 2])
    assert values("s.bronze.orders") == values("s.silver.orders") == [(2, 2), (3, 3), (11, 11)]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        places = (f"{layer}_orders@{LocalCatalog().resolve(f's.{layer}.orders')}" for layer in ("bronze", "silver"))
        assert [ledger.watermark(place) for place in places] == ["2026-02-03"] * 2
        newest = ledger.runs("silver_orders", limit=1)[0]
    assert newest.reason == "reprocess: rows whose day is on 2026-02-01 to 2026-02-02; they replace those days by day"
    assert (newest.window_start, newest.window_end) == (
        datetime(2026, 2, 1, tzinfo=UTC),
        datetime(2026, 2, 3, tzinfo=UTC),
    )


def test_an_upstream_beyond_its_grace_holds_back_and_within_it_is_used_and_told(
    estate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive(Surroundings.here(), asked())
    contract = estate / "c/silver.yaml"
    contract.write_text(f"{SILVER}upstream_policy: warn\nupstream_grace_hours: 6\n")
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + 29 * H)
    used = drive(Surroundings.here(), asked(layers=("silver",)))
    note = "used although `bronze_orders` is 29 h old and must be at most 24 h: within its grace of 6 h"
    assert (used.exit_code, used.outcomes[0].reasons) == (0, (note,))
    judged = SILVER.replace("n > 0", "n >= 1")
    contract.write_text(f"{judged}upstream_policy: warn\nupstream_grace_hours: 6\n")
    drive(Surroundings.here(), asked(layers=("silver",)))
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert note in [run.reason for run in ledger.runs("silver_orders", limit=2)]
    monkeypatch.setattr(clock, "now", lambda: now + 31 * H)
    late = drive(Surroundings.here(), asked(layers=("silver",)))
    assert (late.exit_code, late.outcomes[0].status) == (5, "held_back")
    assert late.outcomes[0].reasons == ("`bronze_orders` is 31 h old and must be at most 24 h, with a grace of 6 h",)
    contract.write_text(f"{SILVER}upstream_policy: strict\n")
    monkeypatch.setattr(clock, "now", lambda: now + 25 * H)
    assert drive(Surroundings.here(), asked(layers=("silver",))).exit_code == 5
    contract.write_text(f"{SILVER}upstream_sources: [{{dataset: bronze_orders, max_age: 30h}}]\n")
    assert drive(Surroundings.here(), asked(layers=("silver",))).exit_code == 0


def test_gaps_are_days_between_those_that_runs_have_processed(estate: Path) -> None:
    for day in ("2026-02-01", "2026-02-03"):
        drive(Surroundings.here(), asked(window="range", window_start_date=day, window_end_date=day))
    bronze, silver = gaps(Surroundings.here(), GapsRequest())
    assert [(one.dataset, one.processed, one.gaps) for one in (bronze, silver)] == [
        ("bronze_orders", 2, (february(2, 2),)),
        ("silver_orders", 2, (february(2, 2),)),
    ]
    shown = CliRunner().invoke(cli, ["state", "gaps", "bronze_orders", "--until", "2026-02-05"]).stdout
    assert "2026-02-02, 2026-02-04 to 2026-02-05" in shown
    drive(Surroundings.here(), asked())  # reads all that is new, and the whole of the table
    assert [one.gaps for one in gaps(Surroundings.here(), GapsRequest(last="2026-02-04"))] == [(february(4, 4),), ()]


@pytest.mark.parametrize(
    ("demand", "age", "expected"),
    [
        (Demand(24 * H, 6 * H), 24 * H, (True, None)),  # a bound that is met exactly holds
        (Demand(24 * H, 6 * H), 30 * H, (True, "used although `x` is 30 h old and must be at most 24 h: within")),
        (Demand(24 * H, 0 * H), 25 * H, (False, "`x` is 25 h old and must be at most 24 h")),
        (Demand(24 * H, 6 * H), None, (False, "`x` was never published")),
        (Demand(24 * H, 0 * H, holds_back=False), 99 * H, (True, "used although `x` is 99 h old")),
    ],
)
def test_how_old_an_upstream_may_be(demand: Demand, age: timedelta | None, expected: tuple[bool, str | None]) -> None:
    may, why = demand.verdict("x", age)
    assert may is expected[0]
    assert why is None if expected[1] is None else why is not None and why.startswith(expected[1])


def test_windows_are_days_weeks_from_monday_or_months() -> None:
    span = Days(date(2026, 1, 30), date(2026, 2, 10))  # a Friday to a Tuesday
    cut = {granularity: [str(part) for part in parts(span, granularity)] for granularity in ("week", "month")}
    assert cut == {
        "week": ["2026-01-30 to 2026-02-01", "2026-02-02 to 2026-02-08", "2026-02-09 to 2026-02-10"],
        "month": ["2026-01-30 to 2026-01-31", "2026-02-01 to 2026-02-10"],
    }
    assert len(parts(span, "day")) == 12


def test_yesterday_is_the_day_before() -> None:
    (found,) = windows(Wish("yesterday"), date(2026, 3, 1))
    assert (found.days, found.late) == (Days(date(2026, 2, 28), date(2026, 2, 28)), True)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish("range"), "--window-start-date is missing"),
        (Wish("range", "2026-02-05", "2026-02-01"), "lies after"),
        (Wish("range", "2026-02-30", "2026-03-01"), "2026-02-30 is no date"),
        (Wish("none", "2026-02-01", "2026-02-02"), "belong to --window range"),
        (Wish("last_success", reprocess_date="2026-02-01"), "cannot be asked for together"),
        (Wish(backfill_start="2026-02-01"), "--backfill-end-date is missing"),
        (Wish(reprocess_date="2026-02-01", reprocess_start="2026-02-01"), "is one day"),
    ],
)
def test_what_cannot_be_meant_is_refused(wish: Wish, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        windows(wish, date(2026, 3, 1))
