"""Parts of dates and times, moving them, and what lies between them; Python's calendar is the calculator."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from lakelogic.sql.catalogue.time_calls import date_sequence
from lakelogic.sql.expressions import Column, Literal, call
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ


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


# the edges that every function of times is tried with

FIRST, LAST = date(1, 1, 1), date(9999, 12, 31)
DAYS = [FIRST, LAST, date(1582, 10, 4), date(1582, 10, 10), date(1600, 2, 29), date(1900, 2, 28), date(1969, 12, 31),
        date(1970, 1, 1), date(2000, 2, 29), date(2020, 12, 31), date(2021, 1, 3), date(2021, 1, 4), date(2024, 2, 29),
        date(2024, 12, 30), date(2026, 7, 31), None]  # fmt: skip


def clock(day: date, micros: int) -> datetime:
    """What a clock on the wall shows so many microseconds into a day."""
    return datetime(day.year, day.month, day.day) + timedelta(microseconds=micros)  # noqa: DTZ001


CLOCKS = [None if day is None else clock(day, micros) for day in DAYS for micros in (0, 1, 86_399_999_999)]


def utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=UTC)


def of(function, values):
    return [None if value is None else function(value) for value in values]


DATE_PARTS = {
    "year": lambda d: d.year, "quarter": lambda d: (d.month + 2) // 3, "month": lambda d: d.month,
    "weekofyear": lambda d: d.isocalendar()[1], "dayofweek": lambda d: d.isoweekday() % 7 + 1, "weekday": lambda d: d.weekday(),
    "dayofyear": lambda d: d.timetuple().tm_yday, "day": lambda d: d.day,
    "dayname": lambda d: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][d.weekday()],
    "monthname": lambda d: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][d.month - 1],
}  # fmt: skip
CLOCK_PARTS = {
    "hour": lambda c: c.hour, "minute": lambda c: c.minute, "second": lambda c: c.second,
}  # fmt: skip


def test_every_part_of_every_kind_of_time_at_the_edges_of_the_calendar(meaning):
    instants = of(utc, CLOCKS)
    cases = {f"{name}(c)": of(part, CLOCKS) for name, part in (DATE_PARTS | CLOCK_PARTS).items()}
    cases |= {f"{name}(t)": of(part, CLOCKS) for name, part in (DATE_PARTS | CLOCK_PARTS).items()}
    cases["extract(YEAROFWEEK FROM c)"] = of(lambda c: c.isocalendar()[0], CLOCKS)
    cases["extract(DOW_ISO FROM t)"] = of(lambda c: c.isoweekday(), CLOCKS)
    cases["extract(SECOND FROM t)"] = of(lambda c: Decimal(c.second) + Decimal(c.microsecond).scaleb(-6), CLOCKS)
    meaning.says({"t": (TIMESTAMP, instants), "c": (TIMESTAMP_NTZ, CLOCKS)}, cases)
    dates = {f"{name}(d)": of(part, DAYS) for name, part in DATE_PARTS.items()}
    meaning.says({"d": (DATE, DAYS)}, dates | {"hour(d)": of(lambda _: 0, DAYS)})


def shifted(value, months):
    """So many months later, the day cut to the month; None beyond the calendar."""
    count = value.year * 12 + value.month - 1 + months
    year, month = divmod(count, 12)
    if not 1 <= year <= 9999:
        return None
    return value.replace(year=year, month=month + 1, day=min(value.day, monthrange(year, month + 1)[1]))


def later(value, **delta):
    try:
        return value + timedelta(**delta)
    except OverflowError:
        return None


def pairs(values, counts, function):
    return [
        None if value is None or count is None else function(value, count)
        for value, count in zip(values, counts, strict=True)
    ]


COUNTS = [0, 1, -1, 13, -25, 365, -366, 1200, -1200, 119_988, -119_988, 2_147_483_647, -2_147_483_648, 31, None, 5]


def test_days_and_months_are_added_within_the_calendar(meaning):
    meaning.says(
        {"d": (DATE, DAYS), "n": (INT, COUNTS)},
        {
            "date_add(d, n)": pairs(DAYS, COUNTS, lambda d, n: later(d, days=n)),
            "date_sub(d, n)": pairs(DAYS, COUNTS, lambda d, n: None if n < -(2**31) + 1 else later(d, days=-n)),
            "d + n": pairs(DAYS, COUNTS, lambda d, n: later(d, days=n)),
            "d - 1": of(lambda d: later(d, days=-1), DAYS),
            "add_months(d, n)": pairs(DAYS, COUNTS, shifted),
            "last_day(d)": of(lambda d: d.replace(day=monthrange(d.year, d.month)[1]), DAYS),
            "next_day(d, 'WED')": of(lambda d: later(d, days=(1 - d.weekday()) % 7 + 1), DAYS),
        },
    )


def test_units_are_added_to_timestamps_and_wall_clocks(meaning):
    counts = (COUNTS * 3)[: len(CLOCKS)]
    big = [2**63 - 1 if n == 2_147_483_647 else n for n in counts]
    fixed = {"microsecond": {"microseconds": 1}, "millisecond": {"milliseconds": 1}, "second": {"seconds": 1},
             "minute": {"minutes": 1}, "hour": {"hours": 1}, "day": {"days": 1}, "week": {"weeks": 1}}  # fmt: skip
    cases = {}
    for unit, one in fixed.items():
        step = timedelta(**one)
        cases[f"timestampadd({unit}, n, c)"] = pairs(CLOCKS, big, lambda c, n, step=step: moved(c, step, n))
        cases[f"dateadd({unit}, n, t)"] = of(utc, cases[f"timestampadd({unit}, n, c)"])
    for unit, months in (("month", 1), ("quarter", 3), ("year", 12)):
        found = pairs(CLOCKS, big, lambda c, n, months=months: shifted(c, n * months))
        cases[f"timestampadd({unit}, n, c)"] = found
        cases[f"timestampadd({unit}, n, t)"] = of(utc, found)
    meaning.says({"t": (TIMESTAMP, of(utc, CLOCKS)), "c": (TIMESTAMP_NTZ, CLOCKS), "n": (BIGINT, big)}, cases)


def moved(value, step, count):
    try:
        return value + step * count
    except OverflowError:
        return None


def truncated(value, unit):
    start = value.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "week":
            return start - timedelta(days=start.weekday())
        case "month":
            return start.replace(day=1)
        case "quarter":
            return start.replace(day=1, month=(start.month - 1) // 3 * 3 + 1)
        case "year":
            return start.replace(day=1, month=1)
        case "day":
            return start
        case "millisecond":
            return value.replace(microsecond=value.microsecond // 1000 * 1000)
        case "microsecond":
            return value
    names = ["hour", "minute", "second", "microsecond"]
    return value.replace(**dict.fromkeys(names[names.index(unit) + 1 :], 0))


def test_times_are_cut_to_the_beginning_of_their_unit(meaning):
    units = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"]
    cases = {f"date_trunc('{unit}', c)": of(lambda c, u=unit: truncated(c, u), CLOCKS) for unit in units}
    cases |= {f"date_trunc('{unit}', t)": of(lambda c, u=unit: utc(truncated(c, u)), CLOCKS) for unit in units}
    cases |= {
        f"trunc(t, '{unit}')": of(lambda c, u=unit: truncated(c, u).date(), CLOCKS)
        for unit in ("week", "month", "quarter", "year")
    }
    meaning.says({"t": (TIMESTAMP, of(utc, CLOCKS)), "c": (TIMESTAMP_NTZ, CLOCKS)}, cases)
    days = of(lambda d: utc(truncated(clock(d, 0), "quarter")), DAYS)
    meaning.says({"d": (DATE, DAYS)}, {"date_trunc('quarter', d)": days})


# start, end, whole months, whole days, whole hours: by hand
BETWEEN = [
    ("2024-01-31T10:00", "2024-02-29T10:00", 0, 29, 696),  # the 31st is not reached
    ("2024-01-31T10:00", "2024-03-01T10:00", 1, 30, 720),
    ("2024-01-31T10:00", "2024-03-01T09:59", 0, 29, 719),  # only 29 days are whole
    ("2024-03-31T10:00", "2024-02-29T10:00", -1, -31, -744),
    ("2024-03-30T10:00", "2024-02-29T10:01", 0, -29, -719),  # a month back would be the 29th at ten
    ("2024-02-29T00:00", "2025-02-28T23:59", 11, 365, 8783),
    ("2024-02-29T00:00", "2025-03-01T00:00", 12, 366, 8784),
    ("2023-12-31T23:59", "2024-01-01T00:00", 0, 0, 0),
    ("2024-01-01T00:00", "2023-12-31T23:59", 0, 0, 0),
    ("1969-12-31T12:00", "1970-01-01T12:00", 0, 1, 24),
    ("0001-01-01T00:00", "9999-12-31T23:59", 119_987, 3_652_058, 87_649_415),
    ("9999-12-31T23:59", "0001-01-01T00:00", -119_987, -3_652_058, -87_649_415),
    (None, "2024-01-01T00:00", None, None, None),
]


def whole(value, size):
    return None if value is None else abs(value) // size * (1 if value > 0 else -1)


def test_whole_units_between_two_times_are_counted_toward_zero(meaning):
    starts = [start and datetime.fromisoformat(start) for start, *_ in BETWEEN]
    ends = [datetime.fromisoformat(end) for _, end, *_ in BETWEEN]
    months, days, hours = ([row[index] for row in BETWEEN] for index in (2, 3, 4))
    minutes = [start and whole(int((end - start).total_seconds()), 60) for start, end in zip(starts, ends, strict=True)]
    micros = [start and (end - start) // timedelta(microseconds=1) for start, end in zip(starts, ends, strict=True)]
    expected = {
        "month": months, "quarter": [whole(n, 3) for n in months], "year": [whole(n, 12) for n in months],
        "day": days, "week": [whole(n, 7) for n in days], "hour": hours, "minute": minutes,
        "second": [whole(n, 1_000_000) for n in micros], "microsecond": micros,
    }  # fmt: skip
    columns = {"a": (TIMESTAMP_NTZ, starts), "b": (TIMESTAMP_NTZ, ends), "s": (TIMESTAMP, of(utc, starts)),
               "e": (TIMESTAMP, of(utc, ends))}  # fmt: skip
    cases = {f"timestampdiff({unit}, a, b)": values for unit, values in expected.items()}
    cases |= {f"datediff({unit}, s, e)": values for unit, values in expected.items()}
    cases["timestampdiff(DAY, s, b)"] = days
    cases["datediff(e, s)"] = [
        start and (end.date() - start.date()).days for start, end in zip(starts, ends, strict=True)
    ]
    meaning.says(columns, cases)


def test_whole_units_between_dates(meaning):
    ones = [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 1), FIRST, LAST, None]
    twos = [date(2024, 3, 1), date(2023, 2, 28), date(2024, 2, 29), LAST, FIRST, LAST]
    cases = {
        "timestampdiff(MONTH, a, b)": [1, -12, 0, 119_987, -119_987, None],
        "timestampdiff(YEAR, a, b)": [0, -1, 0, 9998, -9998, None],
        "timestampdiff(DAY, a, b)": [30, -366, -1, 3_652_058, -3_652_058, None],
        "timestampdiff(WEEK, a, b)": [4, -52, 0, 521_722, -521_722, None],
        "timestampdiff(HOUR, a, b)": [720, -8784, -24, 87_649_392, -87_649_392, None],
        "b - a": [30, -366, -1, 3_652_058, -3_652_058, None],
    }
    meaning.says({"a": (DATE, ones), "b": (DATE, twos)}, cases)


def test_months_between_with_their_fraction_of_31_days(meaning):
    cases = [
        ("1997-02-28T10:30:00", "1996-10-30T00:00:00", 3.94959677),  # (-2 days + 10:30) / 31 days below 4
        ("2024-03-31T10:00:00", "2024-02-29T00:00:00", 1.0),  # both are last days
        ("2024-03-15T23:59:59", "2024-02-15T00:00:00", 1.0),  # the same day of the month
        ("2024-03-15T00:00:00", "2024-02-29T00:00:00", 0.5483871),  # 1 - 14/31
        ("2024-02-29T00:00:00", "2024-03-15T00:00:00", -0.5483871),
        ("2024-01-02T00:00:00", "2024-01-01T00:00:00", 0.03225806),  # 1/31
        ("9999-12-31T00:00:00", "0001-01-02T00:00:00", 119_987.93548387),  # 29/31
        (None, "2024-01-01T00:00:00", None),
    ]
    ends = [end and utc(datetime.fromisoformat(end)) for end, _, _ in cases]
    starts = [utc(datetime.fromisoformat(start)) for _, start, _ in cases]
    columns = {"e": (TIMESTAMP, ends), "s": (TIMESTAMP, starts)}
    meaning.says(columns, {"months_between(e, s)": [expected for _, _, expected in cases]})


def test_sequences_include_both_ends_and_count_months_from_the_start(meaning):
    a = Column("a", DATE)
    b = Column("b", DATE)
    day = {name: date.fromisoformat(name) for name in (
        "2024-01-29", "2024-01-30", "2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-02-05", "2024-02-12",
    )}  # fmt: skip
    starts = [day["2024-01-31"], day["2024-01-29"], day["2024-01-31"], None, day["2024-01-31"], LAST, FIRST]
    ends = [day["2024-04-30"], day["2024-01-31"], day["2024-01-30"], LAST, None, LAST, FIRST]
    months = [[day["2024-01-31"], day["2024-02-29"], day["2024-03-31"], day["2024-04-30"]], [day["2024-01-29"]], None,
              None, None, [LAST], [FIRST]]  # fmt: skip
    rows = meaning.rows(
        {"a": (DATE, starts), "b": (DATE, ends)},
        {
            "month": date_sequence(a, b, 1, "month"),
            "two": date_sequence(a, b, 2, "months"),
            "year": date_sequence(a, b, 1, "year"),
            "day": date_sequence(a, b, 1, "day"),
            "week": date_sequence(a, b, 1, "week"),
            "far": date_sequence(a, b, 2_000_000_000, "day"),
        },
    )
    assert [row["month"] for row in rows] == months
    assert [row["two"] for row in rows][:3] == [[day["2024-01-31"], day["2024-03-31"]], [day["2024-01-29"]], None]
    assert [row["year"] for row in rows] == [found and found[:1] for found in months]
    assert rows[1]["day"] == [day["2024-01-29"], day["2024-01-30"], day["2024-01-31"]]
    assert (len(rows[0]["day"]), rows[2]["day"], rows[3]["day"]) == (91, None, None)
    assert rows[0]["week"][:3] == [date(2024, 1, 31), date(2024, 2, 7), date(2024, 2, 14)]
    assert [row["far"] for row in rows] == [row["year"] for row in rows]


def test_sequences_of_timestamps_and_wall_clocks(meaning):
    start, end = datetime(2024, 1, 31, 22, 30), datetime(2024, 2, 29, 22, 30)  # noqa: DTZ001
    columns = {"a": (TIMESTAMP_NTZ, [start]), "b": (TIMESTAMP_NTZ, [end]), "s": (TIMESTAMP, [utc(start)]),
               "e": (TIMESTAMP, [utc(end)])}  # fmt: skip
    a, b = Column("a", TIMESTAMP_NTZ), Column("b", TIMESTAMP_NTZ)
    s, e = Column("s", TIMESTAMP), Column("e", TIMESTAMP)
    (row,) = meaning.rows(
        columns,
        {
            "month": date_sequence(a, b, 1, "month"),
            "instants": date_sequence(s, e, 1, "month"),
            "hour": date_sequence(s, e, 12, "hour"),
            "day": date_sequence(a, b, 7, "day"),
        },
    )
    assert row["month"] == [start, end]
    assert [utc(value) for value in row["instants"]] == [utc(start), utc(end)]
    assert [utc(value) for value in row["hour"][:2]] == [utc(start), utc(datetime(2024, 2, 1, 10, 30))]  # noqa: DTZ001
    assert len(row["hour"]) == 59
    assert row["day"] == [start + timedelta(days=7 * n) for n in range(5)]


def test_numbers_from_1970_and_back(meaning):
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    micros = of(lambda c: (c - epoch) // timedelta(microseconds=1), CLOCKS)
    instants = of(utc, CLOCKS)
    cases = {
        "unix_micros(t)": micros,
        "unix_micros(c)": micros,
        "unix_millis(t)": of(lambda n: n // 1000, micros),
        "unix_seconds(t)": of(lambda n: n // 1_000_000, micros),
        "unix_timestamp(c)": of(lambda n: n // 1_000_000, micros),
        "timestamp_micros(n)": instants,
        "timestamp_micros(n + 1)": of(lambda c: utc(later(c, microseconds=1)), CLOCKS),
        "timestamp_micros(n - 1)": of(lambda c: utc(later(c, microseconds=-1)), CLOCKS),
        "timestamp_millis(n)": of(lambda n: utc(moved(epoch, timedelta(milliseconds=1), n)), micros),
        "timestamp_seconds(n)": of(lambda n: utc(moved(epoch, timedelta(seconds=1), n)), micros),
    }
    meaning.says({"t": (TIMESTAMP, instants), "c": (TIMESTAMP_NTZ, CLOCKS), "n": (BIGINT, micros)}, cases)
    days = of(lambda d: (d - date(1970, 1, 1)).days, DAYS)
    meaning.says(
        {"d": (DATE, DAYS), "n": (INT, days)},
        {
            "unix_date(d)": days,
            "date_from_unix_date(n)": DAYS,
            "date_from_unix_date(n + 1)": of(lambda d: later(d, days=1), DAYS),
        },
    )


def test_seconds_with_decimals_are_kept_to_the_microsecond_and_never_rounded(meaning):
    values = [1.5, -0.000001, 1704067200.123456, 0.1234567, 1e300, float("nan"), None]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    expected = [
        epoch + timedelta(seconds=1.5),
        epoch - timedelta(microseconds=1),
        datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
        None, None, None, None,
    ]  # fmt: skip
    meaning.says({"x": (DOUBLE, values)}, {"timestamp_seconds(x)": expected})


def test_dates_and_times_are_made_from_numbers_that_say_a_real_day(meaning):
    parts = [(2024, 2, 29), (2023, 2, 29), (1900, 2, 29), (1, 1, 1), (9999, 12, 31), (0, 1, 1), (10000, 1, 1), (2024, 13, 1),
             (2024, 0, 1), (2024, 1, 0), (2024, 4, 31), (-5, 1, 1), (None, 1, 1), (2024, -1, 1)]  # fmt: skip
    real = [date(2024, 2, 29), None, None, FIRST, LAST, *[None] * 9]
    columns = {name: (INT, [part[index] for part in parts]) for index, name in enumerate("ymd")}
    last_second = [None if d is None else clock(d, 86_399_000_000) for d in real]
    meaning.says(
        columns,
        {
            "make_date(y, m, d)": real,
            "make_timestamp_ntz(y, m, d, 23, 59, 59)": last_second,
            "make_timestamp(y, m, d, 23, 59, 59)": of(utc, last_second),
            "make_timestamp_ntz(y, m, d, 24, 0, 0)": [None] * len(parts),
            "make_timestamp_ntz(y, m, d, 0, -1, 0)": [None] * len(parts),
            "make_timestamp_ntz(y, m, d, 0, 0, 60)": [None] * len(parts),
            "make_timestamp_ntz(y, m, d, 0, 0, 1.25)": [None if d is None else clock(d, 1_250_000) for d in real],
        },
    )


def test_dates_timestamps_wall_clocks_and_text_are_compared_in_utc(meaning):
    noon = datetime(2024, 1, 5, 12)  # noqa: DTZ001
    meaning.says(
        {
            "t": (TIMESTAMP, [utc(noon), utc(noon), utc(noon), None]),
            "c": (TIMESTAMP_NTZ, [noon, noon + timedelta(microseconds=1), noon - timedelta(days=1), noon]),
            "d": (DATE, [date(2024, 1, 5), date(2024, 1, 6), date(2024, 1, 5), date(2024, 1, 5)]),
            "s": (STRING, ["2024-01-05T13:00:00+01:00", "2024-01-05", "20240105", "noon"]),
        },
        {
            "t = c": [True, False, False, None],
            "t < c": [False, True, False, None],
            "t > d": [True, False, True, None],
            "c >= d": [True, False, False, True],
            "t = s": [True, False, False, None],
            "d = s": [None, False, True, None],
            "t BETWEEN d AND d + 1": [True, False, True, None],
        },
    )
