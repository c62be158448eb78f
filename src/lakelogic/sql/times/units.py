"""Units of time as SQL writes them, and intervals, which are constants only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

SECOND = 1_000_000
DAY = 86_400 * SECOND
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days from 1970
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1

# Units of a fixed length, in microseconds; no time zone changes its clocks here, so a day has 24 hours.
LENGTHS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3600 * SECOND,
    "day": DAY,
    "week": 7 * DAY,
}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*LENGTHS, *MONTHS)

_SHORT = {
    "us": "microsecond", "usec": "microsecond", "ms": "millisecond", "msec": "millisecond", "sec": "second",
    "secs": "second", "min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour", "dd": "day", "mon": "month",
    "mons": "month", "mm": "month", "yyyy": "year", "yy": "year", "yr": "year", "yrs": "year",
}  # fmt: skip
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]{0,6})?|\.[0-9]{1,6})"
_PIECE = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]+)\s*")
_YEARS_MONTHS = re.compile(r"([+-]?)([0-9]{1,5})-([0-9]{1,2})")
_CLOCK_PARTS = ("day", "hour", "minute", "second")


def unit(word: str) -> str | None:
    """The unit that a word names (`MONTHS`, `mon`, `month`), or None."""
    low = word.strip().lower()
    low = _SHORT.get(low, low)
    if low not in UNITS and low.endswith("s"):
        low = low[:-1]
    return low if low in UNITS else None


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time: calendar months first, then microseconds. `timed` when a unit below a day was written."""

    months: int = 0
    micros: int = 0
    timed: bool = False

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.months + other.months, self.micros + other.micros, self.timed or other.timed)

    def times(self, factor: int) -> Interval:
        """So many times the span."""
        return Interval(self.months * factor, self.micros * factor, self.timed)


def of(number: str, word: str) -> Interval:
    """`3` and `DAYS`; raises ValueError with what is wrong."""
    unit_name = unit(word)
    if unit_name is None:
        raise ValueError(f"`{word}` is no unit of time")
    if not re.fullmatch(_NUMBER, number.strip()):
        raise ValueError(f"`{number}` is not a number of {unit_name}s")
    size = Decimal(number.strip())
    if size != size.to_integral_value() and unit_name != "second":
        raise ValueError(f"`{number}` is not a whole number of {unit_name}s")
    if unit_name in MONTHS:
        return Interval(months=int(size) * MONTHS[unit_name])
    return Interval(micros=int(size * LENGTHS[unit_name]), timed=LENGTHS[unit_name] < DAY)


def read_interval(text: str) -> Interval:
    """`1 year 2 months`, `-3 days`, `1.5 seconds`; raises ValueError with what is wrong."""
    rest = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    total, place = Interval(), 0
    while place < len(rest):
        match = _PIECE.match(rest, place)
        if match is None:
            raise ValueError(f"`{text}` is not an interval")
        total, place = total + of(match[1], match[2]), match.end()
    if not place:
        raise ValueError("the interval is empty")
    return total


def read_span(text: str, first: str, last: str) -> Interval:
    """`'1-2' YEAR TO MONTH`, `'1 02:03:04.5' DAY TO SECOND`; raises ValueError with what is wrong."""
    from_unit, to_unit = unit(first), unit(last)
    written = text.strip()
    if (from_unit, to_unit) == ("year", "month"):
        match = _YEARS_MONTHS.fullmatch(written)
        if match is None or int(match[3]) > 11:
            raise ValueError(f"`{text}` is not years-months, such as 1-2")
        months = int(match[2]) * 12 + int(match[3])
        return Interval(months=-months if match[1] == "-" else months)
    if (
        from_unit not in _CLOCK_PARTS
        or to_unit not in _CLOCK_PARTS
        or _CLOCK_PARTS.index(from_unit) >= _CLOCK_PARTS.index(to_unit)
    ):
        raise ValueError(f"`{first} TO {last}` is no span of units")
    names = _CLOCK_PARTS[_CLOCK_PARTS.index(from_unit) : _CLOCK_PARTS.index(to_unit) + 1]
    sign = -1 if written.startswith("-") else 1
    pieces = re.split(r"[ :]", written.lstrip("+-"))
    if len(pieces) != len(names) or not all(re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", piece) for piece in pieces):
        raise ValueError(f"`{text}` is not {' '.join(names)}")
    total = Interval()
    for piece, name in zip(pieces, names, strict=True):
        total += of(piece, name)
    return total.times(sign)
