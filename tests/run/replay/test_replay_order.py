"""Rows that come back late: they take the place that they would have had, and never the place of a newer row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.input.batch_order import REPLACED, UNTOLD

Act = Callable[..., Any]
STRICT, MENDED = 0, -100


def contract(least: int = STRICT, **settings: Any) -> dict[str, Any]:
    more = {key: settings.pop(key) for key in ("lineage", "model") if key in settings}
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "primary_key": ["id"],
        "model": {
            "fields": [
                {"name": "id", "type": "int"},
                {"name": "amount", "type": "int", "min": least},
                {"name": "day", "type": "date"},
            ]
        },
        "materialization": {"target_path": "shop.silver.orders", **settings},
        **more,
    }


@pytest.fixture
def run(duckdb_engine: Any, workspace: Path) -> Act:
    Path("landing").mkdir()

    def act(document: dict[str, Any], name: str | None = None, *rows: str) -> Any:
        if name:
            head = ",".join(field["name"] for field in document["model"]["fields"])
            Path(f"landing/{name}.csv").write_text("\n".join([head, *rows, ""]))
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.run()

    return act


@pytest.fixture
def replay(duckdb_engine: Any, workspace: Path) -> Act:
    def act(document: dict[str, Any], **chosen: Any) -> Any:
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.replay(Chosen(**chosen))

    return act


def table(*names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    return sorted((tuple(str(row[name]) for name in names) for row in rows), key=repr)


def waiting() -> int:
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    return sum(row["quarantine_state"] == "active" for row in rows)


def test_a_row_that_comes_back_does_not_take_the_place_of_one_that_came_after_it(run: Act, replay: Act) -> None:
    strict, mended = contract(strategy="merge"), contract(MENDED, strategy="merge")
    run(strict, "1", "1,10,2026-01-01", "2,-5,2026-01-01", "3,-7,2026-01-01")
    run(strict, "2", "2,7,2026-01-02")
    done = replay(mended)
    assert (done.passed, done.failed, waiting()) == (2, 0, 0)
    # As if the mended contract had read 1.csv, then 2.csv.
    assert table("id", "amount") == [("1", "10"), ("2", "7"), ("3", "-7")]


def test_rows_of_one_key_that_come_back_one_after_another_end_as_they_came(run: Act, replay: Act) -> None:
    strict, mended = contract(strategy="merge"), contract(MENDED, strategy="merge")
    run(strict, "1", "2,-1,2026-01-01")
    run(strict, "2", "2,-2,2026-01-02", "4,1,2026-01-01")
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    first, second = (next(r["_lakelogic_row_id"] for r in rows if r["amount"] == value) for value in (-1, -2))
    replay(mended, rows=(first,))
    assert table("id", "amount") == [("2", "-1"), ("4", "1")]
    replay(mended, rows=(second,))
    assert table("id", "amount") == [("2", "-2"), ("4", "1")]


def test_all_waiting_rows_of_a_key_come_back_in_their_order_at_once(run: Act, replay: Act) -> None:
    strict, mended = contract(strategy="merge"), contract(MENDED, strategy="merge")
    run(strict, "1", "2,-1,2026-01-01", "5,1,2026-01-01")
    run(strict, "2", "2,-2,2026-01-02", "5,2,2026-01-02")
    run(strict, "3", "4,1,2026-01-01")
    done = replay(mended)
    assert (done.chosen, done.passed, waiting()) == (2, 2, 0)
    assert table("id", "amount") == [("2", "-2"), ("4", "1"), ("5", "2")]


def test_without_the_runs_ids_rows_wait_on_where_a_later_batch_was_published(run: Act, replay: Act) -> None:
    bare = {"lineage": {"enabled": False}, "strategy": "merge"}
    run(contract(**bare), "1", "2,-5,2026-01-01", "1,1,2026-01-01")
    run(contract(**bare), "2", "2,7,2026-01-02", "3,-3,2026-01-02")
    done = replay(contract(MENDED, **bare))
    assert (done.passed, dict(done.left_out), waiting()) == (1, {UNTOLD: 1}, 1)
    assert table("id", "amount") == [("1", "1"), ("2", "7"), ("3", "-3")]


def test_a_milestone_that_comes_back_late_is_filled_in(run: Act, replay: Act) -> None:
    fields = [
        {"name": "id", "type": "int"},
        {"name": "amount", "type": "int", "min": 0},
        {"name": "ordered", "type": "date", "milestone": True},
        {"name": "shipped", "type": "date", "milestone": True},
    ]
    settings = {"fact": {"type": "accumulating_snapshot"}}
    strict = contract(**settings, model={"fields": fields})
    run(strict, "1", "1,-5,2026-01-01,", "2,5,2026-01-01,")
    run(strict, "2", "1,8,,2026-01-03")
    mended = contract(**settings, model={"fields": [fields[0], {**fields[1], "min": -100}, *fields[2:]]})
    assert replay(mended).passed == 1
    assert table("id", "amount", "ordered", "shipped") == [
        ("1", "8", "2026-01-01", "2026-01-03"),
        ("2", "5", "2026-01-01", "None"),
    ]


def test_a_history_without_times_gets_a_late_row_before_what_came_after_it(run: Act, replay: Act) -> None:
    strict, mended = contract(strategy="scd2"), contract(MENDED, strategy="scd2")
    run(strict, "1", "2,-5,2026-01-01", "1,1,2026-01-01")
    run(strict, "2", "2,7,2026-01-02")
    replay(mended)
    assert table("id", "_version", "amount", "is_current") == [
        ("1", "1", "1", "True"),
        ("2", "1", "-5", "False"),
        ("2", "2", "7", "True"),
    ]


@pytest.mark.parametrize("scope", [{}, {"overwrite_scope": "partitions", "partition_by": ["day"]}])
def test_rows_of_a_batch_that_was_replaced_wait_on(run: Act, replay: Act, scope: dict[str, Any]) -> None:
    strict, mended = contract(strategy="overwrite", **scope), contract(MENDED, strategy="overwrite", **scope)
    run(strict, "1", "1,1,2026-01-01", "2,-2,2026-01-01")
    run(strict, "2", "3,3,2026-01-02", "4,-4,2026-01-02")
    done = replay(mended)
    assert (done.passed, dict(done.left_out), waiting()) == (1, {REPLACED: 1}, 1)
    kept = [("1", "1")] if scope else []
    assert table("id", "amount") == [*kept, ("3", "3"), ("4", "-4")]
