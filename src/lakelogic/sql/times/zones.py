"""Time zones as tables: from which moment on which offset holds, so that every engine computes the same clock.

The engines bring time zone databases of their own, of different years, and cut them off at different ends. One
database is asked here (the `tzdata` package, else the system's), and engines get plain numbers from it.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from importlib import resources
from io import BytesIO
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

from lakelogic.sql.times.units import DAY, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIXED = re.compile(r"(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_SETTLED = 2038  # every database states its last rule by then, but for the few that say more
# Years in which a year begins on every weekday, leap or not; across 2100, which is no leap year, it takes longer.
_CYCLE, _LONG_CYCLE = 28, 40


@dataclass(frozen=True, slots=True)
class Steps:
    """A function of microseconds from 1970: `offsets[0]` before the first threshold, `offsets[i]` from threshold i on.

    When `settled` is given, moments from there on are first moved into a year of the same kind that the thresholds
    cover: `years[7 * is_leap + weekday]` is the first day of that year (in days from 1970, and the weekday is
    that day's number modulo 7).
    """

    thresholds: tuple[int, ...]
    offsets: tuple[int, ...]
    settled: int | None = None
    years: tuple[int, ...] = ()


def is_zone(zone: str) -> bool:
    """Whether a name is a zone: an IANA name, `UTC`, `Z`, or an offset such as `+02:00`."""
    return _fixed(zone) is not None or zone in _names()


def zone_info(zone: str) -> ZoneInfo:
    """Python's own reading of the zone, from the database that the tables are made of."""
    return ZoneInfo.from_file(BytesIO(_file(zone)), key=zone)


def nearest_zones() -> list[str]:
    """The names to choose from."""
    return sorted(_names())


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(name for name in available_timezones() if name not in ("localtime", "Factory"))


@lru_cache(maxsize=64)
def by_instant(zone: str) -> Steps:
    """What to add to an instant to get the clock of the zone."""
    changes, offsets, settled, years = _table(zone)
    return Steps(changes, offsets, settled, years)


@lru_cache(maxsize=64)
def by_clock(zone: str) -> Steps:
    """What to subtract from a clock of the zone to get the instant.

    A clock that was shown twice means the first time. One that was skipped is moved forward by what was skipped:
    in both cases the offset from before the change holds until the clocks agree again.
    """
    changes, offsets, settled, years = _table(zone)
    thresholds = [
        change + max(before, after) for change, before, after in zip(changes, offsets[:-1], offsets[1:], strict=True)
    ]
    # Two changes within hours of one another could cross; what comes later wins.
    for index in range(len(thresholds) - 2, -1, -1):
        thresholds[index] = min(thresholds[index], thresholds[index + 1])
    return Steps(tuple(thresholds), offsets, settled, years)


def _fixed(zone: str) -> int | None:
    if zone in ("UTC", "GMT", "Z", "UT"):
        return 0
    match = _FIXED.fullmatch(zone)
    if match is None:
        return None
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
    if int(match[3] or 0) > 59 or seconds > 18 * 3600:
        return None
    return (-seconds if match[1] == "-" else seconds) * SECOND


@lru_cache(maxsize=64)
def _table(zone: str) -> tuple[tuple[int, ...], tuple[int, ...], int | None, tuple[int, ...]]:
    fixed = _fixed(zone)
    if fixed is not None:
        return (), (fixed,), None, ()
    changes, offsets = _recorded(zone)
    ruled = zone_info(zone)
    last = (_EPOCH + timedelta(seconds=changes[-1])).year if changes else 1970
    first_year = max(_SETTLED, last + 1)
    # The rule after the last recorded change: at most two changes a year, months apart.
    at = datetime(max(last, 1970), 1, 1, tzinfo=UTC) if not changes else _EPOCH + timedelta(seconds=changes[-1])
    end_year = first_year + (_CYCLE if first_year + _CYCLE <= 2100 else _LONG_CYCLE)
    until = datetime(end_year, 1, 1, tzinfo=UTC)
    while at < until:
        later = min(at + timedelta(days=28), until)
        before, after = _offset(ruled, at), _offset(ruled, later)
        if before != after:
            change = _between(ruled, at, later)
            changes.append(change)
            offsets.append(after)
        at = later
    settled = int((until - _EPOCH).total_seconds())
    still = not changes or changes[-1] < int((datetime(first_year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())
    table = tuple(change * SECOND for change in changes), tuple(offset * SECOND for offset in offsets)
    return (*table, None, ()) if still else (*table, settled * SECOND, _kinds(first_year, end_year))


def _kinds(first_year: int, end_year: int) -> tuple[int, ...]:
    """For each kind of year (leap or not, weekday of its first day), the first day of one from `first_year` on."""
    starts = [0] * 14
    for year in range(end_year - 1, first_year - 1, -1):
        start = (date(year, 1, 1) - date(1970, 1, 1)).days
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        starts[7 * leap + start % 7] = start
    if not all(starts):
        raise ValueError(f"The years from {first_year} on do not cover every kind of year.")
    return tuple(starts)


def _offset(zone: ZoneInfo, at: datetime) -> int:
    east = at.astimezone(zone).utcoffset()
    assert east is not None
    return int(east.total_seconds())


def _between(zone: ZoneInfo, low: datetime, high: datetime) -> int:
    """The second, from 1970, at which the offset of `high` begins."""
    early, late = int((low - _EPOCH).total_seconds()), int((high - _EPOCH).total_seconds())
    before = _offset(zone, low)
    while late - early > 1:
        middle = (early + late) // 2
        if _offset(zone, _EPOCH + timedelta(seconds=middle)) == before:
            early = middle
        else:
            late = middle
    return late


def _recorded(zone: str) -> tuple[list[int], list[int]]:
    """The changes that the zone's file lists, in seconds, and the offsets before, between and after them."""
    data = _file(zone)
    version, *counts = struct.unpack(">4xc15x6l", data[:44])
    _, _, leaps, times, kinds, letters = counts
    wide = version >= b"2"
    if wide:
        # The first block is for old readers; the second has moments of 64 bits.
        data = data[44 + times * 5 + kinds * 6 + letters + leaps * 8 + counts[0] + counts[1] :]
        _, *counts = struct.unpack(">4xc15x6l", data[:44])
        _, _, leaps, times, kinds, letters = counts
    body, size = data[44:], 8 if wide else 4
    moments = struct.unpack(f">{times}{'q' if wide else 'l'}", body[: times * size])
    numbers = body[times * size : times * (size + 1)]
    records = body[times * (size + 1) : times * (size + 1) + kinds * 6]
    easts = [struct.unpack(">lbB", records[index * 6 : index * 6 + 6])[0] for index in range(kinds)]
    changes: list[int] = []
    offsets = [easts[0]]
    for moment, number in zip(moments, numbers, strict=True):
        if easts[number] != offsets[-1]:
            # Files may begin with a change at the beginning of time.
            changes.append(moment)
            offsets.append(easts[number])
    start = bisect_right(changes, -(2**40))
    return changes[start:], offsets[start:]


def _file(zone: str) -> bytes:
    try:
        packed = resources.files("tzdata").joinpath("zoneinfo", *zone.split("/"))
        if packed.is_file():
            return packed.read_bytes()
    except ModuleNotFoundError:
        pass  # the system's own database, then
    for folder in TZPATH:
        path = Path(folder, *zone.split("/"))
        if path.is_file():
            return path.read_bytes()
    raise LookupError(f"There is no time zone `{zone}` on this machine.")


__all__ = ["DAY", "Steps", "by_clock", "by_instant", "is_zone", "nearest_zones", "zone_info"]
