"""Ledgers that do not know of one another, and runs that overtake one another: the table tells what was published."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import Blocked, CommitConflict
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.input import pin as window
from lakelogic.run.processor import DataProcessor
from lakelogic.tables.registry import load

FORMATS = ["delta", "parquet", "iceberg"]
Run = Callable[..., str]


@pytest.fixture(params=FORMATS)
def run(request: pytest.FixtureRequest, workspace: Path, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    (workspace / "landing").mkdir()
    contract = {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}]},
        "materialization": {"target_path": "a.b.orders", "format": request.param},
    }

    def go(ledger: str = "first") -> str:
        monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{workspace}/{ledger}.db")
        with DataProcessor(contract, engine=duckdb_engine) as processor:
            return processor.run().status

    return go


def land(name: str, *ids: Any) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def rows(table: str = "a.b.orders", column: str = "id") -> list[Any]:
    found = (load(form).state(LocalCatalog().resolve(table)) for form in FORMATS)
    state = next(one for one in found if one is not None)
    return sorted(row[column] for path in state.files for row in pq.ParquetFile(path).read().to_pylist())


@contextmanager
def at(point: str, do: Callable[[], Any]) -> Iterator[None]:
    """Do something once when a run reaches a point; `pinned` is right after its input was pinned."""
    done = []
    pin = window.pin_source

    def pinning(*given: Any) -> Any:
        found = pin(*given)
        strike("pinned")
        return found

    def strike(reached: str) -> None:
        if reached == point and not done:
            done.append(reached)
            do()

    with faults.watched(strike), pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "pin_source", pinning)
        yield
    assert done


def die() -> None:
    raise faults.InjectedFault("killed")


def test_two_ledgers_take_turns_and_no_row_is_read_twice(run: Run) -> None:
    turns = random.Random(7)
    for number in range(8):
        land(f"{number}.csv", number, f"bad {number}")
        run(turns.choice(["first", "second"]))
    run("first")
    run("second")
    assert rows() == list(range(8))
    assert len(rows("a.quarantine.orders", "_lakelogic_raw")) == 8


def test_what_another_ledger_publishes_after_the_input_was_pinned_is_not_published_again(run: Run) -> None:
    for point in ("pinned", "after_intent", "after_stage", "after_gates"):
        land(f"{point}.csv", 1, f"bad {point}")
        with at(point, lambda: run("second")), suppress(CommitConflict):
            assert run("first") == "no_new_data"  # or it finds out that it was overtaken
        assert run("first") == "no_new_data"
    assert rows() == [1, 1, 1, 1]
    assert len(rows("a.quarantine.orders", "_lakelogic_raw")) == 4


def test_a_run_that_lost_its_lease_to_one_that_died_publishes_nothing_twice(run: Run) -> None:
    land("1.csv", 1)

    def taken_over() -> None:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            lease = ledger.lease(LocalCatalog().resolve("a.b.orders"))
            assert lease is not None
            ledger.release(lease)
        with at("after_good_commit", die), pytest.raises(faults.InjectedFault):
            run("first")

    # The loser stalls once its input is pinned, and goes on after the winner has published and died.
    with at("pinned", taken_over), pytest.raises((CommitConflict, Blocked)):
        run("first")
    land("2.csv", 2)
    run("first")
    run("first")
    assert rows() == [1, 2]


def test_a_commit_that_the_ledger_never_heard_of_is_read_back_also_where_its_numbers_are_ahead(run: Run) -> None:
    land("1.csv", 1)
    run("first")
    land("2.csv", 2)
    run("second")
    with open_ledger(f"sqlite:///{Path.cwd()}/first.db") as ledger:
        with ledger.database.read() as connection:
            (known,) = connection.rows("SELECT dataset FROM sequences")
        for _ in range(5):
            ledger.next_n(known["dataset"])  # of runs that failed before they published
    assert run("first") == "no_new_data"
    assert rows() == [1, 2]


def test_two_contracts_with_one_name_and_a_kill_read_nothing_twice(workspace: Path, duckdb_engine: Any) -> None:
    (workspace / "landing").mkdir()

    def go(target: str) -> str:
        contract = {
            "dataset": "orders",
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": [{"name": "id", "type": "int", "required": True}]},
            "materialization": {"target_path": target},
        }
        return DataProcessor(contract, engine=duckdb_engine).run().status

    land("1.csv", 1)
    with at("after_good_commit", die), pytest.raises(faults.InjectedFault):
        go("a.b.orders")
    go("a.c.orders")
    land("2.csv", 2)
    for target in ("a.c.orders", "a.b.orders"):
        go(target)
    assert (rows("a.b.orders"), rows("a.c.orders")) == ([1, 2], [1, 2])
