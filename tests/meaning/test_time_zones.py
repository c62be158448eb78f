"""Clocks of time zones: the same on every engine at every change, far back and far ahead; zoneinfo is the calculator."""

from datetime import UTC, datetime, timedelta

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.types import STRING, TIMESTAMP, TIMESTAMP_NTZ

ZONES = ["Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Gaza",
         "Pacific/Apia", "Europe/Dublin", "America/Sao_Paulo"]  # fmt: skip
YEARS = [1900, 1916, 1945, 1970, 2007, 2024, 2037, 2038, 2066, 2100, 2101, 2400, 9998]


def clock(*parts):
    return datetime(*parts)  # noqa: DTZ001


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def changes(zone, year):
    """The moments at which the clocks of a zone change in a year, to the minute."""
    found, at = [], utc(year, 1, 1)
    while at.year == year:
        later = at + timedelta(days=1)
        if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            low, high = at, later
            while high - low > timedelta(minutes=1):
                middle = low + timedelta(minutes=(high - low) // timedelta(minutes=2))
                same = middle.astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            found.append(high)
        at = later
    return found


def test_clocks_follow_every_change_from_1900_to_9998(meaning):
    steps = [timedelta(microseconds=-1), timedelta(), timedelta(minutes=30), timedelta(hours=-1), timedelta(hours=2)]
    by_zone = {}
    for name in ZONES:
        zone = time_zones.zone_info(name)
        edges = [change + step for year in YEARS for change in changes(zone, year) for step in steps]
        by_zone[name] = (
            edges + [utc(year, 7, 15, 12) for year in YEARS] + [utc(1, 6, 1), utc(1850, 1, 1), utc(9999, 6, 1)]
        )
    size = max(len(edges) for edges in by_zone.values())
    columns, cases = {}, {}
    for index, (name, edges) in enumerate(by_zone.items()):
        zone = time_zones.zone_info(name)
        instants = edges + [None] * (size - len(edges))
        shown = [at and at.astimezone(zone).replace(tzinfo=None) for at in instants]
        columns |= {f"t{index}": (TIMESTAMP, instants), f"c{index}": (TIMESTAMP_NTZ, shown)}
        cases[f"t{index} AT TIME ZONE '{name}'"] = shown
        # A clock that was shown twice (fold) is read as the first time.
        cases[f"c{index} AT TIME ZONE '{name}'"] = [
            at and at.replace(tzinfo=zone, fold=0).astimezone(UTC) for at in shown
        ]
    meaning.says(columns, cases)


def test_times_that_are_skipped_or_shown_twice(meaning):
    clocks = [
        clock(2024, 3, 31, 1, 59, 59, 999999), clock(2024, 3, 31, 2), clock(2024, 3, 31, 2, 30), clock(2024, 3, 31, 3),
        clock(2024, 10, 27, 1, 59, 59), clock(2024, 10, 27, 2), clock(2024, 10, 27, 2, 59, 59, 999999), clock(2024, 10, 27, 3),
        None,
    ]  # fmt: skip
    paris = [
        utc(2024, 3, 31, 0, 59, 59, 999999),
        utc(2024, 3, 31, 1), utc(2024, 3, 31, 1, 30),  # skipped: one hour forward
        utc(2024, 3, 31, 1),
        utc(2024, 10, 26, 23, 59, 59),
        utc(2024, 10, 27, 0), utc(2024, 10, 27, 0, 59, 59, 999999),  # shown twice: the first time
        utc(2024, 10, 27, 2),
        None,
    ]  # fmt: skip
    there_and_back = [c if c is None or not 1 <= i <= 2 else c + timedelta(hours=1) for i, c in enumerate(clocks)]
    meaning.says(
        {"c": (TIMESTAMP_NTZ, clocks)},
        {
            "c AT TIME ZONE 'Europe/Paris'": paris,
            "to_utc_timestamp(c, 'Europe/Paris')": paris,
            "(c AT TIME ZONE 'Europe/Paris') AT TIME ZONE 'Europe/Paris'": there_and_back,
            "convert_timezone('Europe/Paris', 'UTC', c)": [p and p.replace(tzinfo=None) for p in paris],
            "c AT TIME ZONE '+01:00'": [c and (c - timedelta(hours=1)).replace(tzinfo=UTC) for c in clocks],
            "from_utc_timestamp(c, 'Asia/Kolkata')": [
                c and (c + timedelta(hours=5.5)).replace(tzinfo=UTC) for c in clocks
            ],
        },
    )


def test_what_leads_out_of_the_calendar_is_null(meaning):
    ends = [utc(1, 1, 1), utc(9999, 12, 31, 23, 59, 59, 999999), utc(1, 1, 1, 12), utc(9999, 12, 31)]
    meaning.says(
        {"t": (TIMESTAMP, ends)},
        {
            "t AT TIME ZONE '+18:00'": [clock(1, 1, 1, 18), None, clock(1, 1, 2, 6), clock(9999, 12, 31, 18)],
            "t AT TIME ZONE '-02:00'": [None, clock(9999, 12, 31, 21, 59, 59, 999999), clock(1, 1, 1, 10), clock(9999, 12, 30, 22)],
            # before 1891 Paris kept its own time, 9 minutes and 21 seconds ahead
            "t AT TIME ZONE 'Europe/Paris'": [
                clock(1, 1, 1, 0, 9, 21), None, clock(1, 1, 1, 12, 9, 21), clock(9999, 12, 31, 1),
            ],
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    "zone", ["UTC", "Z", "GMT", "+02:00", "-0330", "UTC+1", "GMT-11:30", "Europe/Paris", "EST5EDT"]
)
def test_zones_that_are_known(zone):
    assert time_zones.is_zone(zone)


@pytest.mark.parametrize(
    "zone", ["Europe/Pariss", "europe/paris", "CEST", "+19:00", "+02:60", "", "localtime", "../x", "2"]
)
def test_zones_that_are_not(zone):
    assert not time_zones.is_zone(zone)


def test_a_zone_is_a_constant_with_a_did_you_mean():
    columns = {"t": TIMESTAMP, "z": STRING}
    with pytest.raises(SqlProblems, match="There is no time zone `Europe/Pariss`") as caught:
        bind("t AT TIME ZONE 'Europe/Pariss'", columns)
    assert caught.value.problems[0].hint == "did you mean `Europe/Paris`?"
    with pytest.raises(SqlProblems, match="the time zone must be a constant"):
        bind("from_utc_timestamp(t, z)", columns)


def test_zones_of_the_database_have_tables():
    for zone in time_zones.nearest_zones()[::7]:
        by_instant, by_clock = time_zones.by_instant(zone), time_zones.by_clock(zone)
        for steps in (by_instant, by_clock):
            assert len(steps.offsets) == len(steps.thresholds) + 1, zone
            assert list(steps.thresholds) == sorted(steps.thresholds), zone
            assert all(abs(offset) <= 26 * 3_600_000_000 for offset in steps.offsets), zone
