"""Service levels: what was promised, held against counts, measures and a clock that stands still."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakelogic.contract.document import Contract
from lakelogic.run.publish.levels import completeness_fields, evaluate
from lakelogic.run.publish.reconcile import Counts

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "city", "type": "string"}]


def contract(**levels: Any) -> Contract:
    return Contract.model_validate(
        {"model": {"fields": FIELDS}, "materialization": {"target_path": "a.b.c"}, "service_levels": levels}
    )


def level(document: Contract, good: int = 10, measured: Any = (), newest: datetime | None = NOON) -> dict[str, Any]:
    (found,) = evaluate(document, Counts(good, good, 0), dict(measured), now=NOON, newest=newest)
    return found


@pytest.mark.parametrize(
    ("age", "kept", "value"),
    [(timedelta(hours=2), True, 2.0), (timedelta(hours=2, seconds=4), False, 2.001), (None, False, None)],
)
def test_data_is_fresh_up_to_the_limit_and_never_before_it_came(age: timedelta | None, kept: bool, value) -> None:
    found = level(contract(freshness_hours=2), newest=None if age is None else NOON - age)
    assert (found["kept"], found["value"], found["expected"]) == (kept, value, "at most 2 hours")


@pytest.mark.parametrize(
    ("bounds", "good", "kept", "expected"),
    [
        ({"min_rows": 10}, 10, True, "at least 10 rows"),
        ({"min_rows": 11}, 10, False, "at least 11 rows"),
        ({"max_rows": 9}, 10, False, "at most 9 rows"),
        ({"min_rows": 5, "max_rows": 10}, 10, True, "5 to 10 rows"),
    ],
)
def test_rows_are_counted_with_both_ends(bounds: dict[str, int], good: int, kept: bool, expected: str) -> None:
    found = level(contract(row_count=bounds), good)
    assert (found["kept"], found["value"], found["expected"]) == (kept, good, expected)


@pytest.mark.parametrize(
    ("present", "good", "kept", "value"),
    [
        ({"present:id": 10, "present:city": 8}, 10, True, 0.9),
        ({"present:id": 10, "present:city": 7}, 10, False, 0.85),
        ({"present:id": 0}, 0, True, 1.0),  # of nothing nothing is missing
        ({}, 10, True, 1.0),
    ],
)
def test_completeness_is_the_share_of_values_that_are_there(present: Any, good: int, kept: bool, value) -> None:
    found = level(contract(completeness={"threshold": 0.9}), good, present)
    assert (found["kept"], found["value"]) == (kept, value)


def test_fields_that_must_be_there_are_those_that_are_named_or_the_required_ones() -> None:
    assert completeness_fields(contract()) == ()
    assert completeness_fields(contract(completeness={"threshold": 1})) == ("id",)
    assert completeness_fields(contract(completeness={"threshold": 1, "fields": ["city"]})) == ("city",)
