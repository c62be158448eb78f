"""Intervals are constants: months first, then the rest, and only where a date or a time is moved by them."""

from datetime import UTC, date, datetime

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import BOOLEAN, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ


def clock(*parts):
    return datetime(*parts)  # noqa: DTZ001


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


DAYS = [date(2024, 1, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None]
CLOCKS = [clock(2024, 1, 31, 23, 30), clock(2024, 2, 29), clock(1, 1, 1), clock(9999, 12, 31, 23, 59, 59, 999999), None]
INSTANTS = [value and value.replace(tzinfo=UTC) for value in CLOCKS]


def test_an_interval_moves_dates_timestamps_and_wall_clocks(meaning):
    meaning.says(
        {"d": (DATE, DAYS), "t": (TIMESTAMP, INSTANTS), "c": (TIMESTAMP_NTZ, CLOCKS), "s": (STRING, ["2024-01-31"] * 5)},
        {
            "d + INTERVAL 1 MONTH": [date(2024, 2, 29), date(2024, 3, 29), date(1, 2, 1), None, None],
            "d - INTERVAL '1' YEAR": [date(2023, 1, 31), date(2023, 2, 28), None, date(9998, 12, 31), None],
            "INTERVAL 2 WEEKS + d": [date(2024, 2, 14), date(2024, 3, 14), date(1, 1, 15), None, None],
            # the month first: 31 January and a month is 29 February, and a day later March begins
            "d + INTERVAL '1 month 1 day'": [date(2024, 3, 1), date(2024, 3, 30), date(1, 2, 2), None, None],
            "d + INTERVAL 24 HOURS": [utc(2024, 2, 1), utc(2024, 3, 1), utc(1, 1, 2), None, None],
            "d + (INTERVAL 1 DAY)": [date(2024, 2, 1), date(2024, 3, 1), date(1, 1, 2), None, None],
            "d + INTERVAL 1 DAY * 3": [date(2024, 2, 3), date(2024, 3, 3), date(1, 1, 4), None, None],
            "d - INTERVAL -1 DAY": [date(2024, 2, 1), date(2024, 3, 1), date(1, 1, 2), None, None],
            "d + INTERVAL 0 DAYS": DAYS,
            "date_add(d, INTERVAL 1 MONTH)": [date(2024, 2, 29), date(2024, 3, 29), date(1, 2, 1), None, None],
            "t + INTERVAL 1 MONTH": [utc(2024, 2, 29, 23, 30), utc(2024, 3, 29), utc(1, 2, 1), None, None],
            "t - INTERVAL '1' MICROSECOND": [
                utc(2024, 1, 31, 23, 29, 59, 999999), utc(2024, 2, 28, 23, 59, 59, 999999), None,
                utc(9999, 12, 31, 23, 59, 59, 999998), None,
            ],
            "c + INTERVAL '1 02:03:04.5' DAY TO SECOND": [
                clock(2024, 2, 2, 1, 33, 4, 500000), clock(2024, 3, 1, 2, 3, 4, 500000), clock(1, 1, 2, 2, 3, 4, 500000), None, None,
            ],
            "c - INTERVAL '1-2' YEAR TO MONTH": [
                clock(2022, 11, 30, 23, 30), clock(2022, 12, 29), None, clock(9998, 10, 31, 23, 59, 59, 999999), None,
            ],
            "c + INTERVAL '-1 day 30 minutes'": [
                clock(2024, 1, 31), clock(2024, 2, 28, 0, 30), None, clock(9999, 12, 31, 0, 29, 59, 999999), None,
            ],
            "c + make_interval(1, 1, 0, 0, 0, 0, 0.000001)": [
                clock(2025, 2, 28, 23, 30, 0, 1), clock(2025, 3, 29, 0, 0, 0, 1), clock(2, 2, 1, 0, 0, 0, 1), None, None,
            ],
            "s + INTERVAL 90 MINUTES": [utc(2024, 1, 31, 1, 30)] * 5,
            "t - INTERVAL 1 YEAR 2 MONTHS": [
                utc(2022, 11, 30, 23, 30), utc(2022, 12, 29), None, utc(9998, 10, 31, 23, 59, 59, 999999), None,
            ],
        },
    )  # fmt: skip


COLUMNS = {"d": DATE, "t": TIMESTAMP, "c": TIMESTAMP_NTZ, "n": INT, "b": BOOLEAN}


@pytest.mark.parametrize(
    ("sql", "says", "hint"),
    [
        ("INTERVAL 1 DAY", "cannot stand alone", "add it to a date"),
        ("INTERVAL 1 DAY + INTERVAL 1 HOUR", "cannot stand alone", "add it to a date"),
        ("d + INTERVAL n DAYS", "must be a constant", "date_add(d, n)"),
        ("t + make_interval(n)", "constants only", "timestampadd(HOUR, n, t)"),
        ("make_interval(1)", "cannot stand alone", "t + make_interval"),
        ("d + INTERVAL 1 DAY * n", "multiplied by a whole constant", "add_months(d, n)"),
        ("INTERVAL 1 DAY - d", "subtracted from an interval", "t - INTERVAL"),
        ("d + INTERVAL '1.5' DAY", "not a whole number of days", "INTERVAL 3 DAYS"),
        ("d + INTERVAL '1 fortnight'", "`FORTNIGHT` is no unit", "INTERVAL 3 DAYS"),
        ("d + INTERVAL 'soon'", "`soon` is not an interval", "INTERVAL 3 DAYS"),
        ("d + INTERVAL '1-13' YEAR TO MONTH", "not years-months", "INTERVAL 3 DAYS"),
        ("t - t", "timestamp - timestamp has no portable meaning", "timestampdiff(SECOND, start, end)"),
        ("c - t", "timestamp_ntz - timestamp has no portable meaning", "timestampdiff"),
        ("t - d", "timestamp - date has no portable meaning", "cast both to DATE"),
        ("t + 1", "timestamp and int cannot be computed with one another", "timestampadd(HOUR, n, t)"),
        ("d * 2", "date and int cannot be computed with one another", "date_add(d, n)"),
        ("d + d", "date and date cannot be computed with one another", "date_add(d, n)"),
        ("n + INTERVAL 1 DAY", "needs a timestamp or a date, not int", None),
    ],
)
def test_sums_that_have_no_portable_meaning_are_refused(sql, says, hint):
    with pytest.raises(SqlProblems) as caught:
        bind(sql, COLUMNS)
    [problem] = caught.value.problems
    assert says in problem.message
    assert hint is None or hint in (problem.hint or "")


def test_a_date_less_a_date_is_a_whole_number_of_days():
    assert str(bind("d - d", COLUMNS).type) == "int"
    assert str(bind("d - '2024-01-01'", COLUMNS).type) == "int"
    assert str(bind("d + INTERVAL 1 MONTH", COLUMNS).type) == "date"
    assert str(bind("d + INTERVAL 1 HOUR", COLUMNS).type) == "timestamp"
    assert str(bind("c + INTERVAL 1 HOUR", COLUMNS).type) == "timestamp_ntz"
    assert str(bind("timestampadd(DAY, 1, d)", COLUMNS).type) == "timestamp"
