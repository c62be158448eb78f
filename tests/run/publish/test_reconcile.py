"""Rows add up, or the run stops: the account worked out from plain numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lakelogic.engines.base import DataFile, Staged
from lakelogic.errors import ReconcileError
from lakelogic.plan.nodes import Fate
from lakelogic.run.publish.reconcile import Counts, quality_score, reconcile

FILTERED = Fate(1, "filtered", "only_open")
AGAIN = Fate(2, "filtered", "only_open")  # a step may lose rows in two places
TWICE = Fate(3, "deduplicated", "latest")
EXPLODED = Fate(4, "expanded", "items")
OUTSIDE = Fate(5, "outside", "days")
INNER = Fate(6, "filtered", "a query", inner=True)


def plan(*fates: Fate) -> Any:
    return SimpleNamespace(dataset="orders", fates=fates, accounts=(SimpleNamespace(nodes=()),))


def staged(good: int, bad: int, scanned: int | None, fates: Any = (), copies: Any = ()) -> Staged:
    files = [(DataFile("part", rows, 1),) if rows else () for rows in (good, bad)]
    return Staged(files[0], files[1], scanned, dict(fates), dict(copies))


def never() -> int | None:
    raise AssertionError("counted again although rows add up")


def test_good_quarantined_and_named_losses_are_what_was_read() -> None:
    found = reconcile(plan(FILTERED, AGAIN, TWICE), staged(5, 2, 12, {1: 2, 2: 1, 3: 2}), {}, never)
    assert found == Counts(12, 5, 2, {"only_open": 3}, {"latest": 2}, {}, {})


def test_rows_that_a_step_made_are_taken_off_again() -> None:
    found = reconcile(plan(EXPLODED), staged(7, 1, 5, {}, {4: 3}), {}, never)  # 5 read, 3 copies: 8 judged
    assert (found.source, found.good, found.quarantined, found.expanded) == (5, 7, 1, {"items": 3})
    assert found.total == "5 read, 8 judged"


def test_rows_outside_of_the_days_are_read_and_in_nobodys_account() -> None:
    found = reconcile(plan(OUTSIDE), staged(4, 0, 10, {5: 6}), {}, never)
    assert (found.source, found.good, found.filtered) == (4, 4, {})


def test_rows_that_a_query_made_for_itself_are_no_loss_that_is_told() -> None:
    found = reconcile(plan(INNER, FILTERED), staged(3, 0, 5, {6: 1, 1: 1}), {}, never)
    assert (found.source, found.filtered) == (5, {"only_open": 1})


def test_a_row_that_nobody_accounts_for_stops_the_run() -> None:
    with pytest.raises(ReconcileError, match="12 were read, 11 are accounted for"):
        reconcile(plan(), staged(9, 2, 12), {}, lambda: 12)


@pytest.mark.parametrize("exact", [11, None])
def test_a_count_that_an_engine_observed_twice_is_no_missing_row(exact: int | None) -> None:
    assert reconcile(plan(), staged(9, 2, 12), {}, lambda: exact).source == 11


def test_an_engine_that_cannot_count_what_it_scanned_is_asked_to_count_again() -> None:
    assert reconcile(plan(), staged(9, 2, None), {}, lambda: 11).source == 11


@pytest.mark.parametrize(
    ("good", "bad", "warned", "score"),
    [(0, 0, 0, 100.0), (4, 0, 0, 100.0), (3, 1, 0, 75.0), (3, 1, 1, 50.0), (1, 2, 0, 33.33), (2, 0, 5, 0.0)],
)
def test_the_score_is_the_share_of_rows_that_no_rule_had_anything_against(good, bad, warned, score: float) -> None:
    assert quality_score(good, bad, warned) == score
