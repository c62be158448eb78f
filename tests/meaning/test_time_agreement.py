"""DuckDB and Polars agree on thousands of made-up dates, times and texts of them."""

import random
from datetime import UTC, date, datetime, timedelta

import pytest

from lakelogic.engines.registry import load
from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Column, call, text
from lakelogic.sql.types import BIGINT, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ

PATTERNS = ["yyyy-MM-dd", "d/M/yy", "dd MMM yyyy", "EEE d MMMM yyyy", "yyyyDDD", "D.yyyy", "yyyyMMddHHmmss", "M/d/yyyy h:mm a",
            "yyyy-MM-dd HH:mm:ss.SSSSSS", "H:m:s d.M.yyyy", "%Y-%m-%d", "%d%m%y", "%b %d %Y %I:%M%p", "%j %Y", "%F %T.%f"]  # fmt: skip
ZONED = ["yyyy-MM-dd HH:mmXXX", "EEE, dd MMM yyyy HH:mm:ss Z", "%Y-%m-%dT%H:%M:%S%z"]
UNITS = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"]


@pytest.fixture(scope="module")
def both():
    return load("duckdb"), load("polars")


@pytest.fixture
def agree(both, meaning_class, same):
    def check(columns, outputs):
        one, two = (meaning_class(engine).rows(columns, outputs) for engine in both)
        wrong = [
            f"{name} of { {c: values[i] for c, (_, values) in columns.items()} }: {left[name]!r} and {right[name]!r}"
            for i, (left, right) in enumerate(zip(one, two, strict=True))
            for name in outputs
            if not same(left[name], right[name])
        ]
        assert not wrong, wrong[:5]

    return check


def some_clock(generator):
    if generator.random() < 0.3:
        year = generator.choice([1, 4, 100, 1582, 1600, 1900, 1969, 1970, 2000, 2023, 2024, 9999])
        day = datetime(year, generator.randint(1, 12), generator.choice([1, 2, 27, 28]))  # noqa: DTZ001
        return day + timedelta(microseconds=generator.choice([0, 1, 86_399_999_999]))
    return datetime(1, 1, 1) + timedelta(microseconds=generator.randrange(0, 315_537_897_600 * 10**6))  # noqa: DTZ001


def some_text(generator):
    moment = some_clock(generator)
    form = generator.choice([
        "%Y-%m-%d", "%d/%m/%y", "%d %b %Y", "%a %d %B %Y", "%Y%j", "%j.%Y", "%Y%m%d%H%M%S", "%m/%d/%Y %I:%M %p",
        "%Y-%m-%d %H:%M:%S.%f", "%H:%M:%S %d.%m.%Y", "%d%m%y", "%b %d %Y %I:%M%p", "%Y-%m-%d %H:%M+01:00",
        "%a, %d %b %Y %H:%M:%S -0330", "%Y-%m-%dT%H:%M:%SZ",
    ])  # fmt: skip
    made = moment.strftime(form.replace("%Y", f"{moment.year:04d}"))
    for _ in range(generator.choice([0, 0, 0, 1, 2])):
        place = generator.randrange(len(made))
        put = generator.choice(["", " ", "0", "1", "9", "3", "/", "-", "a", "M", "\n", "٣", "ſ", ":", "+", "."])
        made = made[:place] + put + made[place + generator.choice([0, 1]) :]
    return made


def test_texts_are_read_alike(agree):
    generator, x = random.Random(21), Column("x", STRING)
    values = [some_text(generator) for _ in range(4000)]
    outputs = {pattern: call("parse_timestamp", x, text(pattern), type=TIMESTAMP) for pattern in PATTERNS + ZONED}
    outputs |= {f"{pattern} day": call("parse_date", x, text(pattern), type=DATE) for pattern in PATTERNS + ZONED}
    agree({"x": (STRING, values)}, outputs)


def test_times_are_moved_measured_and_written_alike(agree):
    generator = random.Random(22)
    clocks, others = ([some_clock(generator) for _ in range(1500)] for _ in range(2))
    days = [date(c.year, c.month, c.day) for c in others]
    counts = [
        generator.choice([0, 1, -1, 12, generator.randint(-400, 400), generator.randint(-(10**6), 10**6)])
        for _ in clocks
    ]
    micros = [
        generator.choice([generator.randint(-(10**17), 10**18), generator.randint(-(10**6), 10**6), 2**63 - 1])
        for _ in clocks
    ]
    columns = {
        "c": (TIMESTAMP_NTZ, clocks), "e": (TIMESTAMP_NTZ, others), "t": (TIMESTAMP, [c.replace(tzinfo=UTC) for c in clocks]),
        "d": (DATE, days), "n": (INT, counts), "b": (BIGINT, micros),
    }  # fmt: skip
    written = ["add_months(d, n)", "date_add(d, n)", "months_between(c, e)", "timestamp_micros(b)", "timestamp_millis(b)",
               "t AT TIME ZONE 'Europe/Paris'", "c AT TIME ZONE 'America/New_York'", "c AT TIME ZONE 'Australia/Lord_Howe'",
               "weekofyear(d)", "extract(YEAROFWEEK FROM c)", "make_date(n, month(d), day(c))", "next_day(d, 'SAT')", "last_day(d)",
               "c + INTERVAL '1 year -2 months 3 days 04 hours'", "d - INTERVAL 1 QUARTER", "extract(SECOND FROM c)"]  # fmt: skip
    written += [f"timestampadd({unit}, n, c)" for unit in UNITS]
    written += [f"timestampdiff({unit}, c, e)" for unit in UNITS]
    written += [f"date_trunc('{unit}', t)" for unit in UNITS]
    written += [f"date_format(c, '{pattern}')" for pattern in PATTERNS]
    types = {name: type_ for name, (type_, _) in columns.items()}
    agree(columns, {sql: bind(sql, types) for sql in written})
