"""What a portable pattern of dates and times may hold, and how anything else is refused."""

from datetime import UTC, date, datetime

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Literal
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.times.patterns import PatternError, read_pattern
from lakelogic.sql.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ


@pytest.mark.parametrize(
    ("pattern", "says", "hint"),
    [
        ("", "is empty", "yyyy-MM-dd"),
        ("YYYY-MM-dd", "`YYYY` in the pattern", "the calendar year is `yyyy`"),
        ("y-MM-dd", "`y` in the pattern", "write `yyyy`"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "`SSSSSSSSS` in the pattern", "at most 6 digits"),
        ("yyyy-MM-ddTHH:mm", "`T` in the pattern", "put plain text in quotes"),
        ("yyyy-MM-dd z", "`z` in the pattern", "names of zones"),
        ("yyyy[-MM]", "`[` in the pattern", "optional parts"),
        ("yyyy-MM-dd 'at", "has no end", None),
        ("%Y-%U", "`%U` in the pattern", "portable are %Y"),
        ("%Y-%", "`%` in the pattern", "portable are %Y"),
        ("yyyyMd", "stands next to another number", "MM, dd, HH"),
        ("HH:mm", "has no year", "yyyy"),
        ("yyyy dd", "a day but no month", None),
        ("yyyy MM MMM", "says the month twice", None),
        ("yyyy DDD MM", "says the day in two ways", None),
        ("yyyy-MM-dd hh:mm", "both an hour of 1 to 12 and AM or PM", "HH alone"),
        ("yyyy-MM-dd HH a", "both an hour of 1 to 12 and AM or PM", "HH alone"),
        ("yyyy-MM-dd mm", "a minute but no hour", None),
        ("'only text'", "no part of a date", None),
    ],
)
def test_a_pattern_that_cannot_be_read_everywhere_is_refused_by_name(pattern, says, hint):
    with pytest.raises(PatternError) as caught:
        read_pattern(pattern, "parse")
    assert says in str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


def test_times_alone_can_be_written_but_not_read():
    assert read_pattern("HH:mm", "format").java == "HH':'mm"
    assert read_pattern("hh 'h'", "format").java == "hh' h'"


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("to_date(s, s)", "to_date's pattern must be a constant"),
        ("date_format(t, s)", "date_format's pattern must be a constant"),
        ("to_timestamp_ntz(s, 'yyyy-MM-dd XXX')", "a wall clock does not have"),
        ("date_format(c, 'HH XXX')", "a wall clock does not have"),
        ("date_format(d, 'Z')", "a wall clock does not have"),
        ("to_char(1, 'yyyy')", "to_char needs a date or a timestamp"),
        ("to_date(1, 'yyyy')", "to_date needs text"),
        ("date_trunc('fortnight', t)", "date_trunc has no unit `fortnight`"),
        ("trunc(d, 'hour')", "trunc has no unit `hour`"),
        ("next_day(d, 'noday')", "`noday` is no weekday"),
        ("extract(EPOCH FROM t)", "`EPOCH` is no part of a date"),
        ("timestampdiff(1, t, t)", "first argument is a unit"),
        ("timestampdiff(FORTNIGHT, t, t)", "has no unit `FORTNIGHT`"),
        ("hour(1)", "hour needs a timestamp or a date, not int"),
    ],
)
def test_arguments_that_functions_of_times_do_not_take(sql, says):
    with pytest.raises(SqlProblems) as caught:
        bind(sql, {"s": STRING, "t": TIMESTAMP, "d": DATE, "c": TIMESTAMP_NTZ})
    assert any(says in problem.message for problem in caught.value.problems), caught.value.problems


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("DATE'2024-02-30'", "`2024-02-30` is no date"),
        ("d = DATE'05/03/2024'", "`05/03/2024` is no date"),
        ("TIMESTAMP'2024-02-29 24:00:00'", "is no timestamp"),
        ("TIMESTAMP_NTZ'2024-02-29 10:00:00Z'", "is no timestamp_ntz"),
    ],
)
def test_a_constant_that_is_no_time_is_told_before_anything_is_read(sql, says):
    with pytest.raises(SqlProblems) as caught:
        bind(sql, {"d": DATE})
    [problem] = caught.value.problems
    assert says in problem.message
    assert "DATE'2024-02-29'" in (problem.hint or "")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("DATE'20240229'", date(2024, 2, 29)),
        ("CAST('2024-02-30' AS DATE)", None),
        ("TIMESTAMP'2024-02-29'", datetime(2024, 2, 29, tzinfo=UTC)),
        ("TIMESTAMP'2024-02-29T10:30:00.5+0130'", datetime(2024, 2, 29, 9, 0, 0, 500000, tzinfo=UTC)),
        ("TIMESTAMP_LTZ'0001-01-01 00:00'", datetime(1, 1, 1, tzinfo=UTC)),
        ("CAST('0001-01-01T00:00:00+01:00' AS TIMESTAMP)", None),
        ("CAST('2024-02-29T10:00:00+18:01' AS TIMESTAMP)", None),
        ("CAST('2024-02-29T10:00:00+02:60' AS TIMESTAMP)", None),
        ("TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'", datetime(9999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
    ],
)
def test_constants_are_read_while_binding(sql, value):
    bound = bind(sql, {})
    assert isinstance(bound, Literal)
    assert bound.value == value


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("strftime(t, '%Y')", "date_format"),
        ("strptime(s, '%Y')", "to_timestamp"),
        ("age(t)", "timestampdiff"),
        ("window(t, '1 hour')", "date_trunc"),
        ("current_time()", "date_format(now()"),
    ],
)
def test_functions_of_other_dialects_are_refused_with_the_nearest_portable_form(sql, hint):
    with pytest.raises(SqlProblems) as caught:
        bind(sql, {"t": TIMESTAMP, "s": STRING})
    assert caught.value.problems[0].code == "LL-C204"
    assert hint in (caught.value.problems[0].hint or "")
