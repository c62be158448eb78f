"""Days of a window: which values fall on them, and what a reach back adds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from lakelogic.plan.source.days import Days, days_of

MAY = Days(date(2026, 5, 1), date(2026, 5, 31))


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (date(2026, 5, 1), True),
        (date(2026, 5, 31), True),
        (date(2026, 6, 1), False),
        (datetime(2026, 5, 31, 23, 59, 59, 999999, tzinfo=UTC), True),
        (datetime(2026, 4, 30, 23, 59, tzinfo=UTC), False),
        ("2026-05-07", True),
        ("soon", False),
        (None, False),
    ],
)
def test_both_ends_belong_to_the_days(value: object, holds: bool) -> None:
    assert MAY.may_hold(value) is holds


@pytest.mark.parametrize(
    ("back", "first"),
    [
        (timedelta(0), date(2026, 5, 1)),
        (timedelta(hours=1), date(2026, 4, 30)),  # a part of a day is a day
        (timedelta(days=1), date(2026, 4, 30)),
        (timedelta(hours=25), date(2026, 4, 29)),
    ],
)
def test_days_reach_back_by_whole_days(back: timedelta, first: date) -> None:
    assert MAY.reaching_back(back) == Days(first, date(2026, 5, 31))


@pytest.mark.parametrize(
    ("first", "last", "meets"),
    [((5, 31), (6, 2), True), ((4, 1), (5, 1), True), ((6, 1), (6, 2), False), ((4, 1), (4, 30), False)],
)
def test_windows_meet_where_they_have_a_day_in_common(first, last, meets: bool) -> None:
    other = Days(date(2026, *first), date(2026, *last))
    assert MAY.meets(other) is meets
    assert other.meets(MAY) is meets


def test_days_have_instants_words_and_a_plain_form() -> None:
    leap = Days(date(2028, 2, 28), date(2028, 3, 1))
    assert [day.day for day in leap] == [28, 29, 1]
    assert (leap.start, leap.end) == (datetime(2028, 2, 28, tzinfo=UTC), datetime(2028, 3, 2, tzinfo=UTC))
    assert str(leap) == "2028-02-28 to 2028-03-01"
    assert str(Days(leap.first, leap.first)) == "2028-02-28"
    assert days_of(leap.as_dict()) == leap
