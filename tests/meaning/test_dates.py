"""Parts of dates and times, in UTC, and days between them."""

from datetime import UTC, date, datetime

from lakelogic.sql.expressions import Column, Literal, call
from lakelogic.sql.types import DATE, INT, TIMESTAMP, TIMESTAMP_NTZ


def test_parts_are_those_of_utc(meaning):
    x = Column("x", TIMESTAMP)
    outputs = {name: call(name, x, type=INT) for name in ("year", "month", "day", "hour")}
    given = [
        datetime(2024, 12, 31, 23, 59, tzinfo=UTC),
        datetime(1969, 12, 31, 1, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        None,
    ]
    found = meaning.rows({"x": (TIMESTAMP, given)}, outputs)
    assert [tuple(row.values()) for row in found] == [(2024, 12, 31, 23), (1969, 12, 31, 1), (1, 1, 1, 0), (None,) * 4]


def test_parts_of_dates_and_of_wall_clocks(meaning):
    x = Column("x", DATE)
    found = meaning.rows(
        {"x": (DATE, [date(2024, 2, 29), None])}, {n: call(n, x, type=INT) for n in ("year", "month", "day")}
    )
    assert [tuple(row.values()) for row in found] == [(2024, 2, 29), (None, None, None)]
    clock = call("hour", Column("x", TIMESTAMP_NTZ), type=INT)
    meaning.maps(TIMESTAMP_NTZ, clock, [(datetime(2024, 1, 5, 7, 30), 7)])  # noqa: DTZ001


def test_days_between_and_date_add(meaning):
    end, start = Column("a", DATE), Column("b", DATE)
    found = meaning.rows(
        {
            "a": (DATE, [date(2024, 3, 1), date(2024, 1, 1), date(9999, 12, 31), None]),
            "b": (DATE, [date(2024, 2, 28), date(2024, 1, 2), date(1, 1, 1), date(2024, 1, 1)]),
        },
        {"y": call("days_between", end, start, type=INT)},
    )
    assert [row["y"] for row in found] == [2, -1, 3652058, None]
    days = call("date_add", Literal(date(2024, 2, 28), DATE), Column("x", INT), type=DATE)
    meaning.maps(
        INT,
        days,
        [
            (1, date(2024, 2, 29)),
            (-28, date(2024, 1, 31)),
            (0, date(2024, 2, 28)),
            (2147483647, None),
            (-2147483648, None),
            (None, None),
        ],
    )
    first = call("date_add", Column("x", DATE), Literal(-1, INT), type=DATE)
    meaning.maps(DATE, first, [(date(1, 1, 1), None), (date(1, 1, 2), date(1, 1, 1))])


def test_times_compare_as_instants(meaning):
    x = Column("x", TIMESTAMP)
    limit = Literal(datetime(2024, 1, 5, 12, 0, 0, 1, tzinfo=UTC), TIMESTAMP)
    cases = [
        (datetime(2024, 1, 5, 12, tzinfo=UTC), True),
        (datetime(2024, 1, 5, 12, 0, 0, 1, tzinfo=UTC), False),
        (None, None),
    ]
    meaning.maps(TIMESTAMP, call("lt", x, limit), cases)
