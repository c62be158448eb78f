"""Text → days and moments, on whole columns: parts are cut out by position, rare forms only looked for where they are.

A single pattern with groups would do the same at five times the cost.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from lakelogic.sql.times.units import DAY, FIRST_DAY, LAST_DAY, SECOND
from lakelogic.sql.times.zones import Steps

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_COMPACT = r"\A[0-9]{8}\z"
_CLOCK = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_COMPACT_MOMENT = r"\A[0-9]{8}T[0-9]{4}(?:[0-9]{2}|[.Z+-]|\z)"
_OFFSET = "(?:Z|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|18(?::?00)?))?"


def days(texts: pl.Series) -> pl.Series:
    """Days from 1970 for real calendar days of the years 1 to 9999, NULL for anything else. No blanks around."""
    dates = _dashed(_only(texts, texts.str.contains(rf"\A{_DATE}\z")))
    compact = texts.str.contains(_COMPACT)
    if not compact.any():
        return dates
    return _first(dates, _dashed_from(_only(texts, compact), "%Y%m%d"))


def moments(with_offset: bool) -> Callable[[pl.Series], pl.Series]:
    """Microseconds from 1970 in UTC; text with an offset is NULL unless it may have one."""
    shape = rf"\A{_DATE}{_CLOCK}{_OFFSET if with_offset else ''}\z"

    def parse(texts: pl.Series) -> pl.Series:
        is_timed = texts.str.contains(shape)
        timed = _only(texts, is_timed)
        tail = timed.str.slice(16)  # seconds, fraction, offset
        seconds = _part(timed, 11) * 3600 + _part(timed, 14) * 60
        seconds = seconds + _part(_only(timed, tail.str.starts_with(":")), 17)
        moment = _dashed(timed.str.slice(0, 10)).cast(pl.Int64) * DAY + seconds * SECOND
        if tail.str.contains(".", literal=True).any():
            # What is finer than microseconds is cut off.
            fraction = tail.str.extract(r"\.([0-9]{1,6})").str.pad_end(6, "0").cast(pl.Int64)
            moment = moment + fraction.fill_null(0)
        if with_offset and tail.str.contains("[+-]").any():
            moment = moment - _offset(tail) * SECOND
        if (compact := texts.str.contains(_COMPACT_MOMENT)).any():
            moment = _first(moment, parse(_with_signs(_only(texts, compact))))
        if not is_timed.all():
            moment = _first(moment, days(_only(texts, ~is_timed)).cast(pl.Int64) * DAY)
        return _only(moment, moment.is_between(FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)).alias(texts.name)

    return parse


def _with_signs(texts: pl.Series) -> pl.Series:
    """`20240105T100000Z` as `2024-01-05T10:00:00Z`."""
    texts = texts.str.replace(r"\A(....)(..)(..)T(..)(..)", "${1}-${2}-${3}T${4}:${5}")
    return texts.str.replace(r"\A(.{16})([0-9]{2})", "${1}:${2}")


def month_length(year: int, month: int) -> int:
    """Days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def offsets(steps: Steps) -> Callable[[pl.Series], pl.Series]:
    """The offset of a time zone that holds at each moment."""
    thresholds = pl.Series(steps.thresholds, dtype=pl.Int64)
    values = pl.Series(steps.offsets, dtype=pl.Int64)
    years = pl.Series(steps.years, dtype=pl.Int64)

    def find(moments: pl.Series) -> pl.Series:
        inside = moments
        if steps.settled is not None and (beyond := moments >= steps.settled).any():
            late = moments.filter(beyond).cast(pl.Datetime("us"))
            year = late.dt.year()
            start = late.dt.truncate("1y").cast(pl.Int64) // DAY
            leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
            same = years.gather(leap.cast(pl.Int64) * 7 + start % 7)
            inside = moments.scatter(beyond.arg_true(), moments.filter(beyond) + (same - start) * DAY)
        places = thresholds.search_sorted(inside.fill_null(0), side="right")
        return _only(values.gather(places), moments.is_not_null()).alias(moments.name)

    return find


def _offset(tail: pl.Series) -> pl.Series:
    """Seconds east of UTC."""
    sign = tail.str.contains("-", literal=True).fill_null(False)
    hours = tail.str.extract("[+-]([0-9]{2})").cast(pl.Int64).fill_null(0)
    minutes = tail.str.extract("[+-][0-9]{2}:?([0-9]{2})").cast(pl.Int64).fill_null(0)
    east = hours * 3600 + minutes * 60
    return pl.select(pl.when(sign).then(-east).otherwise(east)).to_series()


def _part(texts: pl.Series, start: int) -> pl.Series:
    """Two digits at a place, 0 where there is no text."""
    return texts.str.slice(start, 2).cast(pl.Int64).fill_null(0)


def _dashed(texts: pl.Series) -> pl.Series:
    return _dashed_from(texts, "%Y-%m-%d")


def _dashed_from(texts: pl.Series, form: str) -> pl.Series:
    dates = texts.str.to_date(form, strict=False).cast(pl.Int32)
    return _only(dates, dates.is_between(FIRST_DAY, LAST_DAY))


def _only(values: pl.Series, condition: pl.Series) -> pl.Series:
    """The values where the condition is TRUE, else NULL."""
    if condition.all(ignore_nulls=True) and not condition.null_count():
        return values
    return pl.select(pl.when(condition).then(values)).to_series().alias(values.name)


def _first(left: pl.Series, right: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(left, right)).to_series().alias(left.name)
