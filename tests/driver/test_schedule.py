"""What may begin when, what is held back, and when nothing more begins; with work that only pretends."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.console import LineFormatter
from lakelogic.driver.estate import Estate, load_estate
from lakelogic.driver.outcome import DatasetOutcome, exit_code, outcome
from lakelogic.driver.registry import Member
from lakelogic.driver.schedule import Policy, Scheduler

WAIT = 60  # for another thread that comes in a moment, or never


@pytest.fixture
def estate(lay, shop) -> Estate:
    found = load_estate(LocalCatalog(), lay(shop), compiled=False)
    assert found.is_valid
    return found


def succeed(member: Member) -> DatasetOutcome:
    return outcome(member, "succeeded")


def run(
    estate: Estate,
    work: Callable[[Member], DatasetOutcome],
    policy: Policy | None = None,
    stop: threading.Event | None = None,
) -> dict[str, DatasetOutcome]:
    members = {member.dataset: member for member in estate}
    return Scheduler(estate.graph, members, work, policy or Policy(), stop or threading.Event()).run()


def failing(*datasets: str, status: str = "failed") -> Callable[[Member], DatasetOutcome]:
    def work(member: Member) -> DatasetOutcome:
        return outcome(member, status if member.dataset in datasets else "succeeded", exit_code=4)  # type: ignore[arg-type]

    return work


def test_each_begins_after_everything_it_needs(estate: Estate) -> None:
    ended: list[str] = []

    def work(member: Member) -> DatasetOutcome:
        assert set(estate.graph.upstreams(member.dataset)) <= set(ended)
        ended.append(member.dataset)
        return outcome(member, "succeeded")

    found = run(estate, work, Policy(max_workers=4))
    assert {one.status for one in found.values()} == {"succeeded"}
    assert list(found) == [member.dataset for member in estate.graph.order()]
    assert exit_code(found.values()) == 0


def test_what_does_not_need_one_another_runs_side_by_side(estate: Estate) -> None:
    together = threading.Barrier(3)

    def work(member: Member) -> DatasetOutcome:
        if member.layer == "bronze":
            together.wait(WAIT)  # breaks unless all three are there at once
        return outcome(member, "succeeded")

    assert {one.status for one in run(estate, work, Policy(max_workers=3)).values()} == {"succeeded"}


def test_no_more_than_asked_for_run_at_once(estate: Estate) -> None:
    running, most, alone = [0], [0], threading.Lock()

    def work(member: Member) -> DatasetOutcome:
        with alone:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with alone:
            running[0] -= 1
        return outcome(member, "succeeded")

    run(estate, work, Policy(max_workers=2))
    assert most[0] <= 2


def test_a_silver_dataset_need_not_wait_for_a_bronze_one_that_it_does_not_need(estate: Estate) -> None:
    silver_began = threading.Event()

    def work(member: Member) -> DatasetOutcome:
        if member.dataset == "silver_crm_customers":
            silver_began.set()
        if member.dataset == "bronze_pos_orders":
            assert silver_began.wait(WAIT)
        return outcome(member, "succeeded")

    assert exit_code(run(estate, work, Policy(max_workers=2)).values()) == 0


def test_layers_wait_for_one_another_where_that_is_asked_for(estate: Estate) -> None:
    ended: list[str] = []

    def work(member: Member) -> DatasetOutcome:
        earlier = {other.dataset for other in estate if other.rank < member.rank}
        assert earlier <= set(ended)
        ended.append(member.dataset)
        return outcome(member, "succeeded")

    assert exit_code(run(estate, work, Policy(max_workers=4, strict_layer_order=True)).values()) == 0


@pytest.mark.parametrize(("status", "said"), [("failed", "failed"), ("gated", "was gated")])
def test_what_needs_a_dataset_that_came_out_badly_is_held_back_and_only_that(
    estate: Estate, status: str, said: str
) -> None:
    found = run(estate, failing("bronze_erp_products", status=status), Policy(max_workers=2))
    by_status: dict[str, set[str]] = {}
    for one in found.values():
        by_status.setdefault(one.status, set()).add(one.dataset)
    assert by_status == {
        status: {"bronze_erp_products"},
        "held_back": {"silver_erp_products", "gold_dim_products", "gold_fact_sales"},
        "succeeded": {
            "bronze_crm_customers",
            "silver_crm_customers",
            "gold_dim_customers",
            "bronze_pos_orders",
            "silver_pos_orders",
        },
    }
    assert found["silver_erp_products"].reasons == (f"needs `bronze_erp_products`, which {said}",)
    assert exit_code(found.values()) == 3


def test_a_dataset_that_was_left_alone_on_purpose_holds_nothing_back(estate: Estate) -> None:
    def work(member: Member) -> DatasetOutcome:
        if member.layer == "bronze":
            return outcome(member, "skipped", "done before", in_order=True)
        return outcome(member, "no_new_data")

    found = run(estate, work)
    assert found["gold_fact_sales"].status == "no_new_data"
    assert exit_code(found.values()) == 0


def test_after_a_failure_nothing_begins_where_a_pass_shall_fail_fast(estate: Estate) -> None:
    found = run(estate, failing("bronze_crm_customers"), Policy(fail_fast=True))
    assert found["bronze_pos_orders"].status == "skipped"
    assert found["bronze_pos_orders"].reasons == ("--fail-fast: `bronze_crm_customers` failed",)
    assert found["silver_pos_orders"].status == "skipped"  # it needs nothing that failed
    assert found["silver_crm_customers"].status == "held_back"
    assert exit_code(found.values()) == 4


def test_after_so_many_failures_in_a_row_nothing_more_begins(estate: Estate) -> None:
    broken = failing("bronze_crm_customers", "bronze_erp_products")
    found = run(estate, broken, Policy(max_consecutive_failures=2))
    assert found["bronze_pos_orders"].status == "skipped"
    assert "one after another" in found["bronze_pos_orders"].reasons[0]
    # One that goes well in between begins the count anew.
    apart = failing("bronze_crm_customers", "bronze_pos_orders")
    found = run(estate, apart, Policy(max_consecutive_failures=2))
    assert found["silver_erp_products"].status == "succeeded"


def test_a_pass_that_shall_end_lets_what_runs_come_to_its_end(estate: Estate) -> None:
    stop = threading.Event()

    def work(member: Member) -> DatasetOutcome:
        stop.set()
        return outcome(member, "succeeded")

    found = run(estate, work, Policy(), stop)
    assert [one.dataset for one in found.values() if one.status == "succeeded"] == ["bronze_crm_customers"]
    assert found["gold_fact_sales"].reasons == ("the pass was interrupted before its turn",)
    assert exit_code(found.values()) == 3


def test_what_waits_for_a_run_that_was_given_up_with_the_pass_is_skipped_with_the_pass(estate: Estate) -> None:
    stop = threading.Event()

    def work(member: Member) -> DatasetOutcome:
        stop.set()
        return outcome(member, "failed", "it was asked to end", exit_code=143)

    found = run(estate, work, Policy(), stop)
    assert [one.status for one in found.values()] == ["failed"] + ["skipped"] * (len(found) - 1)


def test_work_that_dies_is_a_failure_and_not_a_pass_without_end(estate: Estate) -> None:
    def work(member: Member) -> DatasetOutcome:
        raise SystemExit(0)

    found = run(estate, work)
    assert found["bronze_crm_customers"].status == "failed"


def test_a_defect_of_the_driver_is_told_by_its_kind_and_its_trace_is_in_the_log(estate: Estate, caplog) -> None:
    def work(member: Member) -> DatasetOutcome:
        raise KeyError("ada@example.com")

    caplog.set_level(logging.DEBUG, "lakelogic.driver")
    reason = run(estate, work)["bronze_crm_customers"].reasons[0]
    assert reason == "KeyError in the driver itself; LAKELOGIC_LOG_LEVEL=debug shows where"
    record = next(one for one in caplog.records if one.name == "lakelogic.driver")
    shown = LineFormatter().format(record)
    assert "bronze_crm_customers: a defect in the driver itself" in shown
    assert re.search(r"test_schedule\.py:\d+ in work\n  KeyError$", shown)
    assert "ada@example.com" not in shown


@pytest.mark.parametrize(
    ("codes", "exit_"),
    [
        ([0, 0], 0),
        ([0, 4], 3),
        ([4, 5], 4),
        ([1, 4], 1),
        ([2, 5], 2),
        ([5, 5], 5),
        ([0, 6], 6),
    ],
)
def test_the_exit_code_tells_the_worst_and_is_never_0_when_something_failed(codes: list[int], exit_: int) -> None:
    member = Member("d", "d", None, None, Path())  # type: ignore[arg-type]
    made = [outcome(member, "failed" if code else "succeeded", exit_code=code) for code in codes]
    assert exit_code(made) == exit_
