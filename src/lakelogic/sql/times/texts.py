"""ISO dates and times in constants: read as `convert` reads them from a column."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_BLANKS = " \t\r\n"
_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_IS_DAY = re.compile(_DAY)
_IS_COMPACT = re.compile("([0-9]{4})([0-9]{2})([0-9]{2})")
_ZONE = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_IS_MOMENT = re.compile(_DAY + r"[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?" + _ZONE)
_IS_COMPACT_MOMENT = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})(?:([0-9]{2})(?:\.([0-9]{1,9}))?)?" + _ZONE
)
_MOST_EAST = timedelta(hours=18)


def read_date(text: str) -> date | None:
    """A day of the years 1 to 9999, `2024-01-05` or `20240105`."""
    plain = text.strip(_BLANKS)
    match = _IS_DAY.fullmatch(plain) or _IS_COMPACT.fullmatch(plain)
    if match is None:
        return None
    try:
        return date(*(int(part) for part in match.groups()))
    except ValueError:
        return None


def read_wall_clock(text: str) -> datetime | None:
    """A naive moment; text with an offset is none."""
    moment = _moment(text)
    return moment[0] if moment is not None and moment[1] is None else None


def read_instant(text: str) -> datetime | None:
    """An instant in UTC; text without an offset is read as UTC."""
    moment = _moment(text)
    if moment is None:
        return None
    try:
        return (moment[0] - (moment[1] or timedelta())).replace(tzinfo=UTC)
    except OverflowError:
        return None


def _moment(text: str) -> tuple[datetime, timedelta | None] | None:
    day = read_date(text)
    if day is not None:
        return datetime(day.year, day.month, day.day), None  # noqa: DTZ001
    plain = text.strip(_BLANKS)
    match = _IS_MOMENT.fullmatch(plain) or _IS_COMPACT_MOMENT.fullmatch(plain)
    if match is None:
        return None
    year, month, day_, hour, minute, second, fraction, zone = match.groups()
    micros = int((fraction or "0")[:6].ljust(6, "0"))  # what is finer is cut off
    try:
        clock = datetime(  # noqa: DTZ001
            int(year), int(month), int(day_), int(hour), int(minute), int(second or 0), micros
        )
    except ValueError:
        return None
    offset = _offset(zone)
    return None if offset is not None and abs(offset) > _MOST_EAST else (clock, offset)


def _offset(zone: str | None) -> timedelta | None:
    if zone is None:
        return None
    if zone == "Z":
        return timedelta()
    minutes = zone[3:].lstrip(":") or "0"
    if int(minutes) > 59:
        return _MOST_EAST * 2
    east = timedelta(hours=int(zone[1:3]), minutes=int(minutes))
    return -east if zone[0] == "-" else east
