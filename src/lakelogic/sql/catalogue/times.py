"""Dates, timestamps, intervals and time zones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from lakelogic.sql.arguments import Args, Signatures, constant_text
from lakelogic.sql.catalogue import time_calls as calls
from lakelogic.sql.catalogue.row import composed, internal, scalar
from lakelogic.sql.coerce import day, number
from lakelogic.sql.expressions import Call, Expression, convert, text
from lakelogic.sql.types import DATE, INT, TIMESTAMP, TIMESTAMP_NTZ


def _clock(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


FUNCTIONS = (
    # parts: of timestamps in UTC, of wall clocks as they are; text is read as a date (as a timestamp for hours and below)
    scalar("year", "dates", "year(d)", "The year of a date or timestamp (in UTC), as int.",
       ("year(DATE'2024-02-29')", 2024), ("year('0001-01-01')", 1), ("year(TIMESTAMP'9999-12-31T23:59:59Z')", 9999)),
    scalar("quarter", "dates", "quarter(d)", "1 to 4, as int.", ("quarter(DATE'2024-05-01')", 2), ("quarter(DATE'2024-12-31')", 4)),
    scalar("month", "dates", "month(d)", "1 to 12, as int.", ("month(DATE'2024-02-29')", 2)),
    scalar("week", "dates", "weekofyear(d); week(d)", "The ISO week, 1 to 53: weeks begin on Monday, and week 1 holds the first Thursday.",
       ("weekofyear(DATE'2021-01-03')", 53), ("weekofyear(DATE'2021-01-04')", 1), ("weekofyear(DATE'2024-12-30')", 1)),
    scalar("year_of_week", "dates", "extract(YEAROFWEEK FROM d)", "The year that the ISO week belongs to.",
       ("extract(YEAROFWEEK FROM DATE'2021-01-03')", 2020), ("extract(YEAROFWEEK FROM DATE'2024-12-30')", 2025)),
    scalar("day_of_week", "dates", "dayofweek(d)", "1 for Sunday to 7 for Saturday.", ("dayofweek(DATE'2024-01-07')", 1), ("dayofweek(DATE'2024-01-06')", 7)),
    scalar("weekday", "dates", "weekday(d)", "0 for Monday to 6 for Sunday.", ("weekday(DATE'2024-01-07')", 6), ("weekday(DATE'2024-01-01')", 0)),
    scalar("day_of_year", "dates", "dayofyear(d)", "1 to 366.", ("dayofyear(DATE'2024-12-31')", 366), ("dayofyear(DATE'1900-12-31')", 365)),
    scalar("day", "dates", "day(d); dayofmonth(d)", "1 to 31, as int.", ("day(DATE'2024-02-29')", 29)),
    scalar("hour", "dates", "hour(t)", "0 to 23 (in UTC), as int.", ("hour(TIMESTAMP'2024-01-05 10:30:00Z')", 10), ("hour(TIMESTAMP'2024-01-05T00:30:00+02:00')", 22)),
    scalar("minute", "dates", "minute(t)", "0 to 59, as int.", ("minute(TIMESTAMP'2024-01-05 10:30:59Z')", 30), ("minute('1969-12-31 23:59')", 59)),
    scalar("second", "dates", "second(t)", "0 to 59, as int, without its fraction.", ("second(TIMESTAMP'1969-12-31 23:59:58.999999Z')", 58)),
    scalar("second_fraction", "dates", "extract(SECOND FROM t); date_part('second', t)", "Seconds with their fraction, as decimal(8,6).",
       ("extract(SECOND FROM TIMESTAMP'2024-01-05 10:30:01.5Z')", Decimal("1.500000"))),
    scalar("day_name", "dates", "dayname(d)", "Mon to Sun.", ("dayname(DATE'2024-01-07')", "Sun"), ("dayname(DATE'0001-01-01')", "Mon")),
    scalar("month_name", "dates", "monthname(d)", "Jan to Dec.", ("monthname(DATE'2024-09-07')", "Sep")),
    composed("date_part", "dates", "extract(part FROM d); date_part('part', d); datepart('part', d)",
       "A part by its name: year, quarter, month, week, day, dow, dow_iso (1 for Monday), doy, yearofweek, hour, minute, second.",
       ("extract(DOW_ISO FROM DATE'2024-01-07')", 7), ("date_part('doy', DATE'2024-02-01')", 32), ("extract(MONTHS FROM DATE'2024-02-01')", 2)),
    # moving
    scalar("date_add", "dates", "date_add(d, n); d + n", "The date n days later; outside the years 1 to 9999 NULL.",
       ("date_add(DATE'2024-02-28', 1)", date(2024, 2, 29)), ("DATE'2024-02-28' + 2", date(2024, 3, 1)), ("date_add(DATE'9999-12-31', 1)", None)),
    composed("date_sub", "dates", "date_sub(d, n); d - n", "The date n days earlier.",
       ("date_sub(DATE'2024-03-01', 1)", date(2024, 2, 29)), ("DATE'2024-03-01' - 1", date(2024, 2, 29))),
    scalar("add_months", "dates", "add_months(d, n)", "The date n months later; a day that the month does not have becomes its last.",
       ("add_months(DATE'2024-01-31', 1)", date(2024, 2, 29)), ("add_months(DATE'2024-02-29', 12)", date(2025, 2, 28)),
       ("add_months(DATE'2024-02-29', -1)", date(2024, 1, 29)), ("add_months(DATE'9999-12-01', 1)", None)),
    composed("timestampadd", "dates", "timestampadd(unit, n, t); dateadd(unit, n, t); date_add(unit, n, t)",
       "The timestamp n units later, from microsecond to year; dates become timestamps.",
       ("timestampadd(MONTH, 1, TIMESTAMP'2024-01-31 10:00:00Z')", _utc(2024, 2, 29, 10)), ("dateadd(HOUR, -1, DATE'2024-01-01')", _utc(2023, 12, 31, 23)),
       ("timestampadd(MICROSECOND, 1, TIMESTAMP'9999-12-31 23:59:59.999999Z')", None)),
    composed("interval", "dates", "t + INTERVAL n unit; t - INTERVAL 'n unit …'; d + INTERVAL …",
       "An interval is a constant, added to or subtracted from a date or time: months first, then the rest. A date stays a date unless hours or less are added.",
       ("DATE'2024-01-31' + INTERVAL 1 MONTH", date(2024, 2, 29)), ("DATE'2024-01-31' - INTERVAL '3' DAY", date(2024, 1, 28)),
       ("TIMESTAMP'2024-01-31 10:00:00Z' + INTERVAL '1 year 2 months'", _utc(2025, 3, 31, 10)), ("DATE'2024-01-31' + INTERVAL 2 HOURS", _utc(2024, 1, 31, 2)),
       ("TIMESTAMP_NTZ'2024-01-31 10:00:00' - INTERVAL '1 02:03:04.5' DAY TO SECOND", _clock(2024, 1, 30, 7, 56, 55, 500000)),
       ("DATE'0001-01-01' - INTERVAL '1-2' YEAR TO MONTH", None)),
    composed("make_interval", "dates", "t + make_interval(years, months, weeks, days, hours, mins, secs)", "An interval from constants; what is left out is 0.",
       ("DATE'2024-01-31' + make_interval(0, 1)", date(2024, 2, 29)), ("TIMESTAMP'2024-01-31 00:00:00Z' + make_interval(0, 0, 1, 1, 0, 0, 0.5)", _utc(2024, 2, 8, 0, 0, 0, 500000))),
    composed("make_dt_interval", "dates", "t + make_dt_interval(days, hours, mins, secs); t + make_ym_interval(years, months)", "Intervals of days and times, or of years and months, from constants.",
       ("TIMESTAMP'2024-01-31 00:00:00Z' - make_dt_interval(1, 0, 0, 0.5)", _utc(2024, 1, 29, 23, 59, 59, 500000)), ("DATE'2024-01-31' + make_ym_interval(1, 1)", date(2025, 2, 28))),
    scalar("last_day", "dates", "last_day(d)", "The last day of the month.", ("last_day(DATE'2024-02-01')", date(2024, 2, 29)), ("last_day(DATE'1900-02-01')", date(1900, 2, 28))),
    scalar("next_day", "dates", "next_day(d, 'MON')", "The first date after d that is that weekday, which is a constant.",
       ("next_day(DATE'2024-01-05', 'FRI')", date(2024, 1, 12)), ("next_day(DATE'2024-01-05', 'Sunday')", date(2024, 1, 7)), ("next_day(DATE'9999-12-31', 'MO')", None)),
    scalar("date_trunc", "dates", "date_trunc(unit, t)", "The beginning of the microsecond, millisecond, second, minute, hour, day, week (Monday), month, quarter or year; dates become timestamps.",
       ("date_trunc('MONTH', TIMESTAMP'2024-02-29 10:30:00Z')", _utc(2024, 2, 1)), ("date_trunc('week', TIMESTAMP'1969-12-31 10:00:00Z')", _utc(1969, 12, 29)),
       ("date_trunc('hour', TIMESTAMP_NTZ'1969-12-31 10:30:00')", _clock(1969, 12, 31, 10)), ("date_trunc('quarter', DATE'2024-05-05')", _utc(2024, 4, 1))),
    scalar("trunc_date", "dates", "trunc(d, unit)", "The first day of the week (Monday), month, quarter or year, as a date.",
       ("trunc(DATE'2024-02-29', 'MM')", date(2024, 2, 1)), ("trunc(DATE'2024-02-29', 'week')", date(2024, 2, 26)), ("trunc(DATE'2024-02-29', 'YEAR')", date(2024, 1, 1))),
    # differences
    scalar("days_between", "dates", "datediff(end, start); end - start", "Calendar days from start to end, as int.",
       ("datediff(DATE'2024-03-01', DATE'2024-02-28')", 2), ("datediff(DATE'2024-01-01', DATE'2024-01-02')", -1), ("DATE'2024-03-01' - DATE'2024-02-28'", 2)),
    scalar("units_between", "dates", "timestampdiff(unit, start, end); datediff(unit, start, end); date_diff(unit, start, end)",
       "Whole units from start to end, toward zero, as bigint. A month is whole when its day and time of day are reached.",
       ("timestampdiff(MONTH, DATE'2024-01-31', DATE'2024-02-29')", 0), ("timestampdiff(MONTH, DATE'2024-01-31', DATE'2024-03-31')", 2),
       ("datediff(HOUR, TIMESTAMP'2024-01-01 00:30:00Z', TIMESTAMP'2024-01-01 02:00:00Z')", 1), ("timestampdiff(YEAR, DATE'2024-02-29', DATE'2023-03-01')", 0),
       ("timestampdiff(DAY, TIMESTAMP'2024-01-02 00:00:00Z', TIMESTAMP'2023-12-31 12:00:00Z')", -1)),
    scalar("months_between", "dates", "months_between(end, start)",
       "Months from start to end, as double with 8 decimals: whole when both have the same day of month or both are last days, otherwise with the difference of days and seconds as part of 31 days.",
       ("months_between(DATE'2024-03-31', DATE'2024-02-29')", 1.0), ("months_between(DATE'2024-03-15', DATE'2024-02-29')", 0.5483871),
       ("months_between(TIMESTAMP'1997-02-28 10:30:00Z', DATE'1996-10-30')", 3.94959677)),
    # making
    scalar("make_date", "dates", "make_date(year, month, day)", "NULL when there is no such day in the years 1 to 9999.",
       ("make_date(2024, 2, 29)", date(2024, 2, 29)), ("make_date(2023, 2, 29)", None), ("make_date(0, 1, 1)", None)),
    scalar("make_timestamp", "dates", "make_timestamp(year, month, day, hour, min, sec); make_timestamp(…, zone); make_timestamp_ltz(…)",
       "An instant from UTC's clock, or from that of a zone; seconds may have 6 decimals and are below 60.",
       ("make_timestamp(2024, 2, 29, 10, 30, 1.5)", _utc(2024, 2, 29, 10, 30, 1, 500000)), ("make_timestamp(2024, 2, 29, 24, 0, 0)", None),
       ("make_timestamp(2024, 7, 1, 10, 0, 0, 'Europe/Paris')", _utc(2024, 7, 1, 8)), ("make_timestamp(2024, 2, 29, 10, 0, 60)", None)),
    scalar("make_timestamp_ntz", "dates", "make_timestamp_ntz(year, month, day, hour, min, sec)", "A wall clock.",
       ("make_timestamp_ntz(2024, 2, 29, 10, 30, 59)", _clock(2024, 2, 29, 10, 30, 59)), ("make_timestamp_ntz(2024, 2, 30, 0, 0, 0)", None)),
    composed("try_make_timestamp", "dates", "try_make_timestamp(…); try_make_timestamp_ltz(…); try_make_timestamp_ntz(…)", "The same: no function stops a run.",
       ("try_make_timestamp(2024, 2, 30, 0, 0, 0)", None), ("try_make_timestamp_ntz(2024, 2, 29, 0, 0, 0)", _clock(2024, 2, 29))),
    composed("date_literal", "dates", "DATE'…'", "A constant: YYYY-MM-DD or YYYYMMDD, in the years 1 to 9999.",
       ("DATE'2024-02-29'", date(2024, 2, 29)), ("DATE'20240229'", date(2024, 2, 29)), ("DATE'0001-01-01'", date(1, 1, 1))),
    composed("timestamp_literal", "dates", "TIMESTAMP'…'; TIMESTAMP_LTZ'…'", "A constant instant: a day, or a day and a time with a blank or a T between them; seconds, up to 6 decimals and an offset may follow. Without an offset it is UTC.",
       ("TIMESTAMP'2024-02-29'", _utc(2024, 2, 29)), ("TIMESTAMP'2024-02-29 10:30'", _utc(2024, 2, 29, 10, 30)), ("TIMESTAMP'2024-02-29T10:30:00.5+02:00'", _utc(2024, 2, 29, 8, 30, 0, 500000)),
       ("TIMESTAMP'2024-02-29T10:30:00-0530'", _utc(2024, 2, 29, 16))),
    composed("timestamp_ntz_literal", "dates", "TIMESTAMP_NTZ'…'", "A constant wall clock, without an offset.",
       ("TIMESTAMP_NTZ'2024-02-29 10:30:00.000001'", _clock(2024, 2, 29, 10, 30, 0, 1))),
    composed("current_date", "dates", "current_date(); curdate(); current_timestamp(); now(); localtimestamp()", "The run's clock, in UTC: the same instant everywhere in a run.",
       ("current_date() = CAST(now() AS DATE)", True), ("localtimestamp() = current_timestamp()", True)),
    composed("current_timezone", "dates", "current_timezone()", "Always UTC.", ("current_timezone()", "UTC")),
    # text
    composed("to_date", "dates", "to_date(s); date(s); to_timestamp(s); timestamp(s)", "ISO text as a date or an instant, as CAST reads it.",
       ("to_date('2024-02-29')", date(2024, 2, 29)), ("to_date('29/02/2024')", None), ("to_timestamp('2024-02-29T10:30:00+01:00')", _utc(2024, 2, 29, 9, 30)), ("to_timestamp('20240229T103000Z')", _utc(2024, 2, 29, 10, 30)),
       ("to_timestamp('2024-02-29T10:30:00.123456789Z')", _utc(2024, 2, 29, 10, 30, 0, 123456)), ("date('2024-02-29 10:30')", None)),
    scalar("parse_date", "dates", "to_date(s, pattern); try_to_date(s, pattern)",
       "Text as a date, by a constant pattern: Java's, or strftime's when it has a %. What does not match entirely is NULL; blanks around are passed over.",
       ("to_date('05/03/2024', 'dd/MM/yyyy')", date(2024, 3, 5)), ("to_date('30/02/2024', 'dd/MM/yyyy')", None), ("to_date('5 Mar 24', 'd MMM yy')", date(2024, 3, 5)),
       ("to_date('2024-03-05', '%Y-%m-%d')", date(2024, 3, 5)), ("to_date('2024-03-05', 'dd/MM/yyyy')", None), ("to_date('2024366', 'yyyyDDD')", date(2024, 12, 31))),
    scalar("parse_timestamp", "dates", "to_timestamp(s, pattern); try_to_timestamp(s, pattern); to_timestamp_ltz(s, pattern)", "Text as an instant, by a pattern; without an offset it is UTC.",
       ("to_timestamp('05.03.2024 14:30', 'dd.MM.yyyy HH:mm')", _utc(2024, 3, 5, 14, 30)), ("to_timestamp('3/5/2024 2:30 pm', 'M/d/yyyy h:mm a')", _utc(2024, 3, 5, 14, 30)),
       ("to_timestamp('Tue, 05 Mar 2024 14:30:00 +0100', '%a, %d %b %Y %H:%M:%S %z')", _utc(2024, 3, 5, 13, 30)), ("to_timestamp('Mon, 05 Mar 2024', 'EEE, dd MMM yyyy')", None)),
    scalar("parse_timestamp_ntz", "dates", "to_timestamp_ntz(s); to_timestamp_ntz(s, pattern)", "Text as a wall clock.",
       ("to_timestamp_ntz('20240305143000123', 'yyyyMMddHHmmssSSS')", _clock(2024, 3, 5, 14, 30, 0, 123000)), ("to_timestamp_ntz('2024-03-05 14:30')", _clock(2024, 3, 5, 14, 30))),
    scalar("format_time", "dates", "date_format(t, pattern); to_char(t, pattern); to_varchar(t, pattern)", "A date or time as text, by a constant pattern; names are English, instants are shown in UTC.",
       ("date_format(TIMESTAMP'2024-03-05 14:30:00.120Z', 'dd MMM yyyy, h:mm:ss.SSS a')", "05 Mar 2024, 2:30:00.120 PM"), ("date_format(DATE'2024-03-05', 'EEEE d MMMM yyyy')", "Tuesday 5 March 2024"),
       ("date_format(TIMESTAMP'2024-03-05 14:30:00Z', \"yyyy-MM-dd'T'HH:mm:ssXXX\")", "2024-03-05T14:30:00Z"), ("date_format(DATE'0001-01-01', '%d/%m/%Y')", "01/01/0001"), ("date_format(DATE'2024-03-05', 'D')", "65")),
    # numbers from 1970
    scalar("unix_date", "dates", "unix_date(d)", "Days from 1970-01-01, as int.", ("unix_date(DATE'1970-01-02')", 1), ("unix_date(DATE'0001-01-01')", -719162)),
    scalar("date_from_unix_date", "dates", "date_from_unix_date(n)", "The date n days from 1970-01-01.", ("date_from_unix_date(-1)", date(1969, 12, 31)), ("date_from_unix_date(2932897)", None)),
    scalar("unix_seconds", "dates", "unix_seconds(t)", "Seconds from 1970-01-01, rounded down, as bigint.",
       ("unix_seconds(TIMESTAMP'1970-01-01 00:00:01.9Z')", 1), ("unix_seconds(TIMESTAMP'1969-12-31 23:59:59.5Z')", -1)),
    scalar("unix_millis", "dates", "unix_millis(t)", "Milliseconds from 1970-01-01, rounded down.", ("unix_millis(TIMESTAMP'1969-12-31 23:59:59.9995Z')", -1)),
    scalar("unix_micros", "dates", "unix_micros(t)", "Microseconds from 1970-01-01.", ("unix_micros(TIMESTAMP'0001-01-01 00:00:00Z')", -62135596800000000)),
    scalar("timestamp_micros", "dates", "timestamp_micros(n)", "The instant n microseconds from 1970-01-01.", ("timestamp_micros(-1)", _utc(1969, 12, 31, 23, 59, 59, 999999)), ("timestamp_micros(253402300800000000)", None)),
    composed("timestamp_seconds", "dates", "timestamp_seconds(n)", "The instant n seconds from 1970-01-01; n may have 6 decimals.",
       ("timestamp_seconds(1.5)", _utc(1970, 1, 1, 0, 0, 1, 500000)), ("timestamp_seconds(-1)", _utc(1969, 12, 31, 23, 59, 59)), ("timestamp_seconds(9223372036854775807)", None)),
    composed("timestamp_millis", "dates", "timestamp_millis(n)", "The instant n milliseconds from 1970-01-01.", ("timestamp_millis(-1)", _utc(1969, 12, 31, 23, 59, 59, 999000))),
    composed("unix_timestamp", "dates", "unix_timestamp(t); unix_timestamp(s, pattern); to_unix_timestamp(…); unix_timestamp()", "Seconds from 1970-01-01 of a timestamp, of text by a pattern, or of the run's clock.",
       ("unix_timestamp('2024-01-01', 'yyyy-MM-dd')", 1704067200), ("unix_timestamp(DATE'2024-01-01')", 1704067200)),
    composed("from_unixtime", "dates", "from_unixtime(n); from_unixtime(n, pattern)", "Seconds from 1970-01-01 as text, `yyyy-MM-dd HH:mm:ss` unless a pattern is given.",
       ("from_unixtime(0)", "1970-01-01 00:00:00"), ("from_unixtime(-1, 'HH:mm')", "23:59")),
    # zones
    scalar("to_zone", "dates", "t AT TIME ZONE 'zone'", "An instant as the clock of a zone (timestamp_ntz). Zones are constants: IANA names or offsets.",
       ("TIMESTAMP'2024-07-01 10:00:00Z' AT TIME ZONE 'Europe/Paris'", _clock(2024, 7, 1, 12)), ("TIMESTAMP'2024-01-01 10:00:00Z' AT TIME ZONE 'America/New_York'", _clock(2024, 1, 1, 5)),
       ("TIMESTAMP'2024-01-01 10:00:00Z' AT TIME ZONE '+05:30'", _clock(2024, 1, 1, 15, 30))),
    scalar("from_zone", "dates", "c AT TIME ZONE 'zone'", "The instant at which a zone's clock shows c (timestamp_ntz). A time shown twice is the first one; one that is skipped is moved forward by what was skipped.",
       ("TIMESTAMP_NTZ'2024-07-01 12:00:00' AT TIME ZONE 'Europe/Paris'", _utc(2024, 7, 1, 10)), ("TIMESTAMP_NTZ'2024-10-27 02:30:00' AT TIME ZONE 'Europe/Paris'", _utc(2024, 10, 27, 0, 30)),
       ("TIMESTAMP_NTZ'2024-03-31 02:30:00' AT TIME ZONE 'Europe/Paris'", _utc(2024, 3, 31, 1, 30))),
    composed("from_utc_timestamp", "dates", "from_utc_timestamp(t, 'zone')", "The clock of a zone at an instant, as a timestamp.",
       ("from_utc_timestamp(TIMESTAMP'2024-07-01 10:00:00Z', 'Asia/Tokyo')", _utc(2024, 7, 1, 19))),
    composed("to_utc_timestamp", "dates", "to_utc_timestamp(t, 'zone')", "The instant at which a zone's clock shows t.",
       ("to_utc_timestamp(TIMESTAMP'2024-07-01 19:00:00Z', 'Asia/Tokyo')", _utc(2024, 7, 1, 10))),
    composed("convert_timezone", "dates", "convert_timezone(from, to, c); convert_timezone(to, c)", "The clock of one zone when another's shows c, as timestamp_ntz; `from` is UTC unless given.",
       ("convert_timezone('Europe/Paris', 'America/New_York', TIMESTAMP_NTZ'2024-03-20 12:00:00')", _clock(2024, 3, 20, 7))),
    # made by the plan, or by the ways of writing above
    internal("add_micros", "timestamp or timestamp_ntz, bigint: so many microseconds later; NULL outside the years 1 to 9999."),
    scalar("date_sequence", "dates", "sequence(start, end, INTERVAL n unit)", "Dates or timestamps from start to end, both included, as an array; months are counted from the start. NULL when start is after end.",
       ("sequence(DATE'2024-01-31', DATE'2024-03-31', INTERVAL 1 MONTH)", [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31)]),
       ("sequence(DATE'2024-01-31', DATE'2024-01-01', INTERVAL 1 DAY)", None),
       ("sequence(TIMESTAMP_NTZ'2024-01-01 00:00:00', TIMESTAMP_NTZ'2024-01-01 02:00:00', INTERVAL 90 MINUTES)", [_clock(2024, 1, 1), _clock(2024, 1, 1, 1, 30)])),
)  # fmt: skip


def _days_between(a: Args) -> Expression:
    return Call("days_between", (day(a[0], "datediff"), day(a[1], "datediff")), INT)


def _date_part(a: Args) -> Expression:
    return calls.field(str(constant_text(a[0], "date_part's part").value), a[1])


def _from_utc(a: Args) -> Expression:
    return convert(calls.to_zone(a), TIMESTAMP)


_TO_DATE = (1, 2, calls.parsed(DATE, "to_date"))
_TO_TIMESTAMP = (1, 2, calls.parsed(TIMESTAMP, "to_timestamp"))

SIGNATURES: Signatures = {
    **{
        name: (1, 1, calls.part(name))
        for name in ("year", "quarter", "month", "day", "hour", "minute", "second", "week", "weekday")
    },
    "dayofmonth": (1, 1, calls.part("day")),
    "weekofyear": (1, 1, calls.part("week")),
    "dayofweek": (1, 1, calls.part("day_of_week")),
    "dayofyear": (1, 1, calls.part("day_of_year")),
    "dayname": (1, 1, calls.part("day_name")),
    "monthname": (1, 1, calls.part("month_name")),
    "date_part": (2, 2, _date_part),
    "datepart": (2, 2, _date_part),
    "datediff": (2, 2, _days_between),
    "date_diff": (2, 2, _days_between),
    "date_add": (2, 2, calls.date_add(1)),
    "dateadd": (2, 2, calls.date_add(1)),
    "date_sub": (2, 2, calls.date_add(-1)),
    "add_months": (2, 2, calls.add_months),
    "last_day": (1, 1, calls.simple("last_day", day, DATE)),
    "next_day": (2, 2, calls.next_day),
    "date_trunc": (2, 2, calls.date_trunc),
    "trunc": (2, 2, calls.trunc),
    "months_between": (2, 3, calls.months_between),
    "make_date": (3, 3, calls.make_date),
    "make_timestamp": (6, 7, calls.make_timestamp(TIMESTAMP)),
    "make_timestamp_ltz": (6, 7, calls.make_timestamp(TIMESTAMP)),
    "make_timestamp_ntz": (6, 6, calls.make_timestamp(TIMESTAMP_NTZ)),
    "try_make_timestamp": (6, 7, calls.make_timestamp(TIMESTAMP)),
    "try_make_timestamp_ltz": (6, 7, calls.make_timestamp(TIMESTAMP)),
    "try_make_timestamp_ntz": (6, 6, calls.make_timestamp(TIMESTAMP_NTZ)),
    "to_date": _TO_DATE,
    "try_to_date": _TO_DATE,
    "to_timestamp": _TO_TIMESTAMP,
    "try_to_timestamp": _TO_TIMESTAMP,
    "to_timestamp_ltz": _TO_TIMESTAMP,
    "to_timestamp_ntz": (1, 2, calls.parsed(TIMESTAMP_NTZ, "to_timestamp_ntz")),
    "date_format": (2, 2, calls.formatted("date_format")),
    "to_char": (2, 2, calls.formatted("to_char")),
    "to_varchar": (2, 2, calls.formatted("to_varchar")),
    "unix_date": (1, 1, calls.simple("unix_date", day, INT)),
    "date_from_unix_date": (
        1,
        1,
        calls.simple("date_from_unix_date", lambda value, what: convert(number(value, what), INT), DATE),
    ),
    **{name: (1, 1, calls.unix_part(name)) for name in ("unix_seconds", "unix_millis", "unix_micros")},
    "timestamp_seconds": (1, 1, calls.timestamp_of(1_000_000, "timestamp_seconds")),
    "timestamp_millis": (1, 1, calls.timestamp_of(1000, "timestamp_millis")),
    "timestamp_micros": (1, 1, calls.timestamp_of(1, "timestamp_micros")),
    "unix_timestamp": (1, 2, calls.unix_timestamp),
    "to_unix_timestamp": (1, 2, calls.unix_timestamp),
    "from_unixtime": (1, 2, calls.from_unixtime),
    "from_utc_timestamp": (2, 2, _from_utc),
    "to_utc_timestamp": (2, 2, calls.from_zone),
    "convert_timezone": (2, 3, calls.convert_timezone),
    "current_timezone": (0, 0, lambda _a: text("UTC")),
}
