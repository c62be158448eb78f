"""What a portable pattern of dates and times may hold, and how anything else is refused."""

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.time_patterns import PatternError, read_pattern
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
