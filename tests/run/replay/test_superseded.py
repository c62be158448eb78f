"""A row that leaves the queue is called `replayed` only where it was published for certain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.operate.quarantine import Request, list_rows, overview
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load

CONTRACT = """
dataset: orders
source: {path: landing/*.csv}
model: {fields: [{name: id, type: int}, {name: amount, type: int, min: LOW}]}
STEPS
materialization: {strategy: STRATEGY, primary_key: [id], target_path: shop.silver.orders}
"""
FILTER = 'transformations: [{sql: "SELECT * FROM source WHERE amount <> -7"}]'
Run = Callable[..., Any]


@pytest.fixture
def run(workspace: Path, duckdb_engine: Any) -> Run:
    Path("landing").mkdir()
    land("1,10", "2,-5", "3,-7")

    def go(low: int, steps: str = "", strategy: str = "overwrite", replay: bool = False) -> Any:
        text = CONTRACT.replace("LOW", str(low)).replace("STEPS", steps).replace("STRATEGY", strategy)
        Path("orders.yaml").write_text(text)
        processor = DataProcessor("orders.yaml", duckdb_engine)
        return processor.replay(Chosen()) if replay else processor.run()

    return go


def land(*rows: str) -> None:
    Path("landing/1.csv").write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))


def states() -> list[tuple[int, str, str | None]]:
    rows = load("delta").preview("lakelogic_warehouse/shop/quarantine/silver_orders", 99).to_pylist()
    return sorted((row["id"], row["quarantine_state"], row.get("_lakelogic_settled_why")) for row in rows)


def ids() -> list[int]:
    rows = load("delta").preview("lakelogic_warehouse/shop/silver/orders", 99).to_pylist()
    return sorted(row["id"] for row in rows)


def test_what_a_run_reads_again_and_publishes_is_replayed(run: Run) -> None:
    run(0)
    run(-10)
    assert ids() == [1, 2, 3]
    assert states() == [(2, "replayed", "its source was read again"), (3, "replayed", "its source was read again")]


def test_a_row_that_stands_in_its_file_no_more_is_superseded(run: Run) -> None:
    run(0)
    land("1,10")
    run(0)
    assert ids() == [1]
    assert {state for _, state, _ in states()} == {"superseded"}
    assert all("has changed since" in str(why) for _, _, why in states())
    assert list_rows(Surroundings.here(), Request("orders.yaml", Chosen(states=("superseded",)))).total == 2
    [summary] = overview(Surroundings.here())
    told = summary.as_dict()
    assert [told[state] for state in ("active", "replayed", "discarded", "superseded")] == [0, 0, 0, 2]


def test_where_steps_leave_rows_out_nobody_claims_that_they_were_published(run: Run) -> None:
    run(0)
    run(-10, FILTER)
    assert ids() == [1, 2]
    assert [state for _, state, _ in states()] == ["superseded", "superseded"]
    assert all("may be one of them" in str(why) for _, _, why in states())


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_replay_tells_the_row_that_a_step_leaves_out_from_the_one_that_it_published(run: Run, strategy: str) -> None:
    run(0, strategy=strategy)
    assert run(-10, FILTER, strategy, replay=True).passed == 2
    assert ids() == [1, 2]
    assert states() == [(2, "replayed", None), (3, "superseded", "a step leaves it out now: it was not published")]
    assert run(-10, FILTER, strategy, replay=True).chosen == 0
