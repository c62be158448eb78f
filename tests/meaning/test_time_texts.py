"""Dates and times from text and as text, by Java's patterns and by strftime's: all of a text must match."""

from datetime import UTC, date, datetime

from lakelogic.sql.expressions import Column, call, text
from lakelogic.sql.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ


def clock(*parts):
    return datetime(*parts)  # noqa: DTZ001


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


FIRST, LAST = date(1, 1, 1), date(9999, 12, 31)

# pattern → text → date
DATES = {
    "yyyy-MM-dd": {
        "2024-02-29": date(2024, 2, 29), "0001-01-01": FIRST, "9999-12-31": LAST, " 2024-01-05\t\r\n": date(2024, 1, 5),
        "1582-10-10": date(1582, 10, 10),  # the calendar is the same at all times
        "2023-02-29": None, "0000-01-01": None, "2024-13-01": None, "2024-00-10": None, "2024-1-5": None, "2024-01-05T": None,
        "20240105": None, "2024/01/05": None, "+2024-01-05": None, "12024-01-05": None, "２０２４-01-05": None, "": None,
        "2024-01-32": None, None: None,
    },
    "dd/MM/yyyy": {"05/03/2024": date(2024, 3, 5), "31/04/2024": None, "5/3/2024": None, "2024-03-05": None},
    "d.M.yyyy": {"5.3.2024": date(2024, 3, 5), "05.03.2024": date(2024, 3, 5), "005.3.2024": None, "31.12.9999": LAST, "5,3.2024": None},
    "yyyyMMdd": {"20240229": date(2024, 2, 29), "2024229": None, "202402290": None, "20240230": None},
    "yyyy-MM": {"2024-02": date(2024, 2, 1), "2024-2": None},
    "yyyy": {"2024": date(2024, 1, 1), "24": None, "0000": None},
    "dd MMM yyyy": {"05 Mar 2024": date(2024, 3, 5), "05 MAR 2024": date(2024, 3, 5), "05 mär 2024": None, "05 March 2024": None},
    "MMMM d, yyyy": {"March 5, 2024": date(2024, 3, 5), "may 31, 2024": date(2024, 5, 31), "Mar 5, 2024": None, "auguſt 1, 2024": None},
    "d-MMM-yy": {"5-Mar-24": date(2024, 3, 5), "5-Mar-99": date(2099, 3, 5), "5-Mar-2024": None},
    "EEE dd MMM yyyy": {"Tue 05 Mar 2024": date(2024, 3, 5), "tue 05 mar 2024": date(2024, 3, 5), "Mon 05 Mar 2024": None},
    "EEEE, d/M/yyyy": {"Monday, 1/1/0001": FIRST, "Friday, 31/12/9999": LAST, "Fri, 31/12/9999": None},
    "yyyy-DDD": {"2024-366": LAST.replace(year=2024), "2023-366": None, "2023-001": date(2023, 1, 1), "2023-000": None, "2023-1": None},
    "D/yyyy": {"60/2024": date(2024, 2, 29), "60/2023": date(2023, 3, 1), "367/2024": None, "0/2024": None},
    "yyyy年M月d日": {"2024年3月5日": date(2024, 3, 5), "2024年13月5日": None},
    "'day' d 'of' M (yyyy)": {"day 5 of 3 (2024)": date(2024, 3, 5), "day 5 of 3 2024": None},
    "yyyy.MM.dd": {"2024.03.05": date(2024, 3, 5), "2024x03x05": None},
    "%Y-%m-%d": {"2024-03-05": date(2024, 3, 5), "2024-3-5": date(2024, 3, 5), "2024-03-05 ": date(2024, 3, 5), "24-03-05": None},
    "%Y%m%d": {"20240305": date(2024, 3, 5), "2024305": None},
    "%d.%m.%y": {"05.03.68": date(2068, 3, 5), "05.03.69": date(1969, 3, 5), "05.03.00": date(2000, 3, 5)},
    "%b %-d, %Y": {"Mar 5, 2024": date(2024, 3, 5), "Mar 05, 2024": date(2024, 3, 5)},
    "%A %d %B %Y": {"Tuesday 05 March 2024": date(2024, 3, 5), "Monday 05 March 2024": None},
    "%j/%Y": {"065/2024": date(2024, 3, 5), "65/2024": date(2024, 3, 5)},
    "%D": {"03/05/24": date(2024, 3, 5)},
    "dd/MM/yyyy HH:mm": {"05/03/2024 23:59": date(2024, 3, 5), "05/03/2024": None, "05/03/2024 24:00": None},
    # the day in UTC
    "yyyy-MM-dd HH:mmXXX": {"2024-03-05 00:30+01:00": date(2024, 3, 4), "0001-01-01 00:30+01:00": None},
}  # fmt: skip

# pattern → text → instant
TIMES = {
    "yyyy-MM-dd HH:mm:ss": {
        "2024-02-29 23:59:59": utc(2024, 2, 29, 23, 59, 59), "0001-01-01 00:00:00": utc(1, 1, 1), "1969-12-31 23:59:59": utc(1969, 12, 31, 23, 59, 59),
        "2024-02-29 24:00:00": None, "2024-02-29 23:60:00": None, "2024-02-29 23:59:60": None, "2024-02-29T23:59:59": None, "2024-02-29": None, None: None,
    },
    "M/d/yyyy h:mm a": {
        "3/5/2024 12:00 AM": utc(2024, 3, 5), "3/5/2024 12:30 pm": utc(2024, 3, 5, 12, 30), "3/5/2024 1:05 PM": utc(2024, 3, 5, 13, 5),
        "3/5/2024 11:59 Pm": utc(2024, 3, 5, 23, 59), "3/5/2024 13:00 PM": None, "3/5/2024 0:30 AM": None, "3/5/2024 1:05PM": None,
    },
    "dd.MM.yyyy HH:mm:ss.SSS": {
        "05.03.2024 10:00:00.5": utc(2024, 3, 5, 10, 0, 0, 500000), "05.03.2024 10:00:00.123": utc(2024, 3, 5, 10, 0, 0, 123000),
        "05.03.2024 10:00:00.1234": None, "05.03.2024 10:00:00.": None, "05.03.2024 10:00:00": None,
    },
    "yyyyMMddHHmmssSSSSSS": {"20240305100000000001": utc(2024, 3, 5, 10, 0, 0, 1), "202403051000001": utc(2024, 3, 5, 10, 0, 0, 100000)},
    "yyyy-MM-dd'T'HH:mm:ssXXX": {
        "2024-03-05T10:00:00Z": utc(2024, 3, 5, 10), "2024-03-05T10:00:00+02:00": utc(2024, 3, 5, 8), "2024-03-05T10:00:00-05:30": utc(2024, 3, 5, 15, 30),
        "2024-03-05T10:00:00+18:00": utc(2024, 3, 4, 16), "2024-03-05T10:00:00+18:01": None, "2024-03-05T10:00:00+0200": None, "2024-03-05T10:00:00": None,
        "0001-01-01T00:00:00+00:01": None, "9999-12-31T23:59:59-00:01": None, "9999-12-31T23:59:59+00:00": utc(9999, 12, 31, 23, 59, 59),
    },
    "EEE, d MMM yyyy HH:mm:ss Z": {"Tue, 5 Mar 2024 10:00:00 +0100": utc(2024, 3, 5, 9), "Tue, 5 Mar 2024 10:00:00 Z": None, "Wed, 5 Mar 2024 10:00:00 +0100": None},
    "%Y-%m-%dT%H:%M:%S.%f%z": {
        "2024-03-05T10:00:00.000001Z": utc(2024, 3, 5, 10, 0, 0, 1), "2024-03-05T10:00:00.5+0130": utc(2024, 3, 5, 8, 30, 0, 500000),
        "2024-3-5T1:2:3.5+01:30": utc(2024, 3, 4, 23, 32, 3, 500000), "2024-03-05T10:00:00.1234567Z": None,
    },
    "%d/%b/%Y:%H:%M:%S %z": {"05/Mar/2024:10:00:00 -0800": utc(2024, 3, 5, 18)},
    "%F %T": {"2024-03-05 10:00:00": utc(2024, 3, 5, 10)},
    "%m/%d/%Y %I:%M %p": {"03/05/2024 12:00 AM": utc(2024, 3, 5), "03/05/2024 1:00 PM": utc(2024, 3, 5, 13)},
    "yyyy-MM-dd HH": {"2024-03-05 07": utc(2024, 3, 5, 7)},
    "yyyy-MM-dd H:m:s": {"2024-03-05 7:8:9": utc(2024, 3, 5, 7, 8, 9), "2024-03-05 07:08:09": utc(2024, 3, 5, 7, 8, 9), "2024-03-05 7:60:9": None},
}  # fmt: skip


def table(cases):
    """One column of all texts, and for every pattern what becomes of each of them that it is about."""
    texts = list(dict.fromkeys(value for by_text in cases.values() for value in by_text))
    return texts, {
        pattern: {texts.index(value): expected for value, expected in by_text.items()}
        for pattern, by_text in cases.items()
    }


def differences(meaning, cases, function, type_, change=lambda value: value):
    texts, expected = table(cases)
    x = Column("x", STRING)
    outputs = {pattern: call(function, x, text(pattern), type=type_) for pattern in cases}
    rows = meaning.rows({"x": (STRING, texts)}, outputs)
    return [
        f"{texts[index]!r} by {pattern}: expected {change(value)!r}, found {rows[index][pattern]!r}"
        for pattern, by_row in expected.items()
        for index, value in by_row.items()
        if rows[index][pattern] != change(value)
    ]


def test_text_becomes_a_date_by_a_pattern(meaning):
    assert differences(meaning, DATES, "parse_date", DATE) == []


def test_text_becomes_an_instant_by_a_pattern(meaning):
    assert differences(meaning, TIMES, "parse_timestamp", TIMESTAMP) == []


def test_text_becomes_a_wall_clock_by_a_pattern(meaning):
    plain = {
        pattern: by_text
        for pattern, by_text in TIMES.items()
        if not any(zone in pattern for zone in ("XXX", "Z", "%z"))
    }
    assert len(plain) > 5
    found = differences(
        meaning, plain, "parse_timestamp_ntz", TIMESTAMP_NTZ, lambda value: value and value.replace(tzinfo=None)
    )
    assert found == []


MOMENTS = [
    clock(2024, 3, 5, 14, 7, 9, 120340),
    clock(1, 1, 1),
    clock(9999, 12, 31, 23, 59, 59, 999999),
    clock(1969, 12, 31, 12),
    None,
]
WRITTEN = {
    "yyyy-MM-dd HH:mm:ss": ["2024-03-05 14:07:09", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "1969-12-31 12:00:00"],
    "yy M d H h m s a": ["24 3 5 14 2 7 9 PM", "01 1 1 0 12 0 0 AM", "99 12 31 23 11 59 59 PM", "69 12 31 12 12 0 0 PM"],
    "hh:mm a": ["02:07 PM", "12:00 AM", "11:59 PM", "12:00 PM"],
    "EEE EEEE MMM MMMM": ["Tue Tuesday Mar March", "Mon Monday Jan January", "Fri Friday Dec December", "Wed Wednesday Dec December"],
    "D DDD": ["65 065", "1 001", "365 365", "365 365"],
    "S SS SSS SSSS SSSSS SSSSSS": ["1 12 120 1203 12034 120340", "0 00 000 0000 00000 000000", "9 99 999 9999 99999 999999", "0 00 000 0000 00000 000000"],
    "h 'o''clock' a": ["2 o'clock PM", "12 o'clock AM", "11 o'clock PM", "12 o'clock PM"],
    "yyyy''MM": ["2024'03", "0001'01", "9999'12", "1969'12"],
    "d. MMMM – yyyy": ["5. March – 2024", "1. January – 0001", "31. December – 9999", "31. December – 1969"],
    "%Y-%m-%d %H:%M:%S.%f": ["2024-03-05 14:07:09.120340", "0001-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999", "1969-12-31 12:00:00.000000"],
    "%-d/%-m/%y %-I %p %j%%": ["5/3/24 2 PM 065%", "1/1/01 12 AM 001%", "31/12/99 11 PM 365%", "31/12/69 12 PM 365%"],
    "%a %A %b %B": ["Tue Tuesday Mar March", "Mon Monday Jan January", "Fri Friday Dec December", "Wed Wednesday Dec December"],
}  # fmt: skip


def test_wall_clocks_are_written_by_a_pattern(meaning):
    c = Column("c", TIMESTAMP_NTZ)
    outputs = {pattern: call("format_time", c, text(pattern), type=STRING) for pattern in WRITTEN}
    rows = meaning.rows({"c": (TIMESTAMP_NTZ, MOMENTS)}, outputs)
    assert {pattern: [row[pattern] for row in rows] for pattern in WRITTEN} == {
        pattern: [*shown, None] for pattern, shown in WRITTEN.items()
    }


def test_instants_are_written_in_utc_and_dates_have_no_time(meaning):
    instants = [value and value.replace(tzinfo=UTC) for value in MOMENTS]
    days = [value and value.date() for value in MOMENTS]
    meaning.says(
        {"t": (TIMESTAMP, instants), "d": (DATE, days)},
        {
            "date_format(t, 'HH:mmXXX')": ["14:07Z", "00:00Z", "23:59Z", "12:00Z", None],
            "date_format(t, 'HH:mm Z')": ["14:07 +0000", "00:00 +0000", "23:59 +0000", "12:00 +0000", None],
            "date_format(t, '%H%z')": ["14+0000", "00+0000", "23+0000", "12+0000", None],
            "date_format(d, 'yyyyMMdd HH:mm')": ["20240305 00:00", "00010101 00:00", "99991231 00:00", "19691231 00:00", None],
            "date_format(d, 'EEE')": ["Tue", "Mon", "Fri", "Wed", None],
            "from_unixtime(unix_seconds(t))": [
                "2024-03-05 14:07:09", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "1969-12-31 12:00:00", None,
            ],
            "to_timestamp(date_format(t, 'EEE d MMM yyyy h:m:s.SSSSSS a'), 'EEE d MMM yyyy h:m:s.SSSSSS a')": instants,
            "to_date(date_format(d, '%d.%m.%Y'), '%d.%m.%Y')": days,
        },
    )  # fmt: skip
