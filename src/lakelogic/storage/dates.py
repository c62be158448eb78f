"""The days that the name of a file tells, or else the folders it lies in: one day, a week or a month."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import PurePosixPath

_DATED = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_WEEK = re.compile(r"(?<![\dA-Za-z])(\d{4})-?[Ww](\d{2})(?![\d])")
_MONTH = re.compile(r"(?<![\d.])(\d{4})[-_](\d{2})(?![\d])(?![-_.]\d)")
_MONTH_PARTS = re.compile(r"(?:^|/)(?:year=)?(\d{4})/(?:month=)?(\d{1,2})$")
_PARTS = re.compile(r"(?:year=)?(\d{4})/(?:month=)?(\d{1,2})/(?:day=)?(\d{1,2})$")


def days_of_file(path: str) -> tuple[date, date] | None:
    """The first and the last day that a file is about: `flights_2013-01.csv` is a month, `2013-W05` a week.

    The file's own name comes first, then the nearest folder, as for one day.
    """
    parts = PurePosixPath(path.replace("\\", "/"))
    for name in (parts.name, *(folder.name for folder in parts.parents)):
        if found := _last(_DATED.findall(name)):
            return found, found
        if found_ := _week(name) or _month(_MONTH.findall(name)):
            return found_
    if day := day_of_file(path):
        return day, day
    for folder in parts.parents:
        if (match := _MONTH_PARTS.search(str(folder))) and (month := _month([match.groups()])):
            return month
    return None


def _week(name: str) -> tuple[date, date] | None:
    for year, week in reversed(_WEEK.findall(name)):
        try:
            first = date.fromisocalendar(int(year), int(week), 1)
        except ValueError:
            continue
        return first, first + timedelta(days=6)
    return None


def _month(matches: Iterable[tuple[str, ...]]) -> tuple[date, date] | None:
    for year, month in reversed(list(matches)):
        if (first := _day(year, month, "1")) and 1900 <= first.year < 2200:
            return first, (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return None


def day_of_file(path: str) -> date | None:
    """`claims_2026-02-03.csv`, `claims_20260203.csv`, `day=2026-02-03/…`, `2026/02/03/…`; None where nothing tells.

    The file's own name comes first, then the nearest folder; of several dates in one name, the last.
    """
    parts = PurePosixPath(path.replace("\\", "/"))
    for name in (parts.name, *(folder.name for folder in parts.parents)):
        if day := _last(_DATED.findall(name)):
            return day
    for folder in parts.parents:
        if (match := _PARTS.search(str(folder))) and (day := _day(*match.groups())):
            return day
    return None


def _last(matches: Iterable[tuple[str, ...]]) -> date | None:
    days = [_day(year, month, day) for year, _, month, day in matches]
    return next((day for day in reversed(days) if day is not None), None)


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
