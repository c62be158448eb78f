"""Rows that a later run reads again: bad once more they stay one row, good they leave the queue."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.quarantine import queue as queue

ORDERS: dict[str, Any] = {
    "dataset": "orders",
    "source": {"path": "in.csv"},
    "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]},
    "materialization": {"target_path": "shop.silver.orders", "strategy": "merge"},
    "primary_key": ["id"],
}
ROWS = "id,amount\n1,10\n2,-5\n,3\n"
Act = Callable[..., Any]


def mended(document: Mapping[str, Any], **materialization: Any) -> dict[str, Any]:
    made = deepcopy(dict(document))
    made["model"]["fields"][1]["min"] = -10
    made["materialization"] |= materialization
    return made


@pytest.fixture
def run(duckdb_engine: Any, workspace: Path) -> Act:
    def act(document: Mapping[str, Any], text: str | None = None) -> Any:
        if text is not None:
            Path("in.csv").write_text(text)
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.run()

    return act


def rows(place: str) -> list[dict[str, Any]]:
    return sorted(DeltaTable(f"lakelogic_warehouse/shop/{place}").to_pyarrow_table().to_pylist(), key=repr)


def states() -> list[tuple[Any, str]]:
    return sorted(
        ((row["amount"], row["quarantine_state"]) for row in rows("quarantine/silver_orders")), key=lambda pair: pair[0]
    )


def ids() -> list[int]:
    return sorted(row["id"] for row in rows("silver/orders"))


def test_a_row_that_is_good_when_its_file_is_read_again_leaves_the_queue(run: Act) -> None:
    run(ORDERS, ROWS)
    done = run(mended(ORDERS))
    assert ids() == [1, 2]
    assert states() == [(-5, "replayed"), (3, "active")]
    left = next(row for row in rows("quarantine/silver_orders") if row["amount"] == -5)
    assert (left["_lakelogic_settled_by"], left["_lakelogic_settled_why"]) == (done.run_id, "its source was read again")


def test_a_row_that_is_bad_again_stands_once_with_the_newest_reasons(run: Act) -> None:
    run(ORDERS, ROWS)
    named = deepcopy(ORDERS)
    named["quality"] = {"row_rules": [{"name": "positive", "sql": "amount > 0", "category": "validity"}]}
    done = run(named)
    found = {row["amount"]: row for row in rows("quarantine/silver_orders")}
    assert len(rows("quarantine/silver_orders")) == 2
    assert found[-5]["_lakelogic_rules"] == ["amount_min", "positive"]
    assert found[3]["_lakelogic_run_id"] == done.run_id


def test_files_in_which_nothing_can_be_meant_are_not_looked_at(run: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    run(ORDERS, ROWS)
    queue_table = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders")
    (path,) = (str(Path(uri)) for uri in queue_table.file_uris())
    (batch,) = {row["_lakelogic_batch_id"] for row in rows("quarantine/silver_orders")}
    assert queue.holds_only(path, "_lakelogic_batch_id", batch)
    assert not queue.holds_only(path, "_lakelogic_batch_id", "another")
    assert not queue.holds_only(path, "no such column", batch)
    looked_at: list[str] = []
    light = queue.Queue.light

    def spied(self: queue.Queue, files: Any = None, *more: Any) -> Any:
        looked_at.extend(files or ())
        return light(self, files, *more)

    monkeypatch.setattr(queue.Queue, "light", spied)
    Path("other.csv").write_text(ROWS)
    run({**ORDERS, "source": {"path": "other.csv"}})
    assert looked_at == []


def test_a_row_of_a_gated_run_does_not_stand_in_both_places(run: Act) -> None:
    gated = deepcopy(ORDERS) | {"quality": {"max_quarantine_ratio": 0.1}}
    assert run(gated, ROWS).status == "gated"
    assert run(mended(ORDERS)).status == "succeeded"
    assert ids() == [1, 2]
    assert states() == [(-5, "replayed"), (3, "active")]


def test_a_row_that_was_replayed_and_is_bad_again_waits_again(run: Act) -> None:
    run(ORDERS, ROWS)
    run(mended(ORDERS))
    stricter = deepcopy(ORDERS)
    stricter["model"]["fields"][1]["min"] = -1
    run(stricter)
    assert states() == [(-5, "active"), (3, "active")]


def test_a_file_that_changed_may_hold_other_rows_so_the_old_ones_wait_on(run: Act) -> None:
    run(ORDERS, ROWS)
    run(ORDERS, "id,amount\n7,1\n8,-5\n2,-5\n")
    assert ids() == [1, 7]
    # The row `2,-5` stands there still: it waits once. The others of the file before wait on.
    assert states() == [(-5, "active"), (-5, "active"), (3, "active")]


def test_an_overwrite_lets_go_of_the_rows_of_the_files_it_replaces(run: Act) -> None:
    document = deepcopy(ORDERS)
    document["materialization"]["strategy"] = "overwrite"
    run(document, ROWS)
    os.utime("in.csv", (1, 1))
    run(document, "id,amount\n2,5\n3,-1\n")
    assert ids() == [2]
    # Other rows stand in the file now: whether these two are among them is not known.
    assert states() == [(-5, "superseded"), (-1, "active"), (3, "superseded")]


def test_new_files_leave_the_rows_of_others_alone(run: Act) -> None:
    document = deepcopy(ORDERS)
    document["source"] = {"path": "landing/*.csv", "load_mode": "incremental"}
    Path("landing").mkdir()
    Path("landing/a.csv").write_text(ROWS)
    run(document)
    Path("landing/b.csv").write_text("id,amount\n4,4\n5,-6\n")
    run(document)
    assert states() == [(-6, "active"), (-5, "active"), (3, "active")]


def test_two_datasets_that_share_a_quarantine_do_not_touch_the_rows_of_one_another(
    run: Act, duckdb_engine: Any
) -> None:
    one = deepcopy(ORDERS) | {"quarantine": {"target": "shop.quarantine.silver_orders"}}
    other = mended(one, target_path="shop.silver.copies") | {"dataset": "copies"}
    run(one, ROWS)
    run(other)
    assert states() == [(-5, "active"), (3, "active"), (3, "active")]
    with DataProcessor(mended(one), duckdb_engine) as processor:
        assert processor.replay().chosen == 2
    assert ids() == [1, 2]
