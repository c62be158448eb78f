"""Times as engines that speak SQL write them: put together from the pieces of a text, and the offset of a zone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lakelogic.engines.sql.dialect import SqlDialect
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.patterns import MONTHS, WEEKDAYS, Part, Pattern
from lakelogic.sql.times.units import SECOND
from lakelogic.sql.types import Type

# For each field of a pattern: how it is written, and the SQL of its piece of the text.
Pieces: TypeAlias = Mapping[str, tuple[Part, str]]

_SHORT = 60  # text that may stand twice


@dataclass(frozen=True, slots=True)
class TimeSql:
    """The words of an engine for dates; all of them take and give SQL."""

    dialect: SqlDialect
    number: str  # the type of a piece that is a number
    once: Callable[[str, str, str], str]  # value, name, body: the body reads the value by its name
    date: Callable[[str, str, str], str]  # year, month, day
    weekday: Callable[[str], str]  # 1 is Monday
    position: Callable[[Sequence[str], str], str]  # of a value in a list of constants, from 1
    days_after: Callable[[str, str], str]
    day_micros: Callable[[str], str]  # microseconds from 1970 to the start of a day

    def let(self, value: str, body: Callable[[str], str], *, always: bool = False, name: str = "ll_v") -> str:
        """A body that mentions a value several times, which is computed once.

        Inside a body that reads a value of this kind from around it, another name is needed.
        """
        if len(value) <= _SHORT and not always:
            return body(value)
        return self.once(value, name, body(name))

    def moment(self, pattern: Pattern, pieces: Pieces, to: Type) -> str:
        """The date that the pieces of a text make, or the microseconds."""
        day = self._day(pattern, pieces)
        if "weekday_name" in pieces:
            wanted = self._position_of_name(pieces["weekday_name"], WEEKDAYS)
            day = self.let(day, lambda d: f"CASE WHEN {self.weekday(d)} = {wanted} THEN {d} END", name="ll_d")
        if to.kind == "date" and "offset" not in pieces:
            return day
        return f"({self.day_micros(day)} + {self._clock_micros(pieces)})"

    def _number(self, pieces: Pieces, field: str, default: str) -> str:
        return self.dialect.try_cast(pieces[field][1], self.number) if field in pieces else default

    def _position_of_name(self, piece: tuple[Part, str], names: Sequence[str]) -> str:
        short = [self.dialect.text(name[: piece[0].size or None].lower()) for name in names]
        return self.position(short, f"lower({piece[1]})")

    def _day(self, pattern: Pattern, pieces: Pieces) -> str:
        year = self._number(pieces, "year", "")
        if "short_year" in pieces:
            two = self._number(pieces, "short_year", "")
            year = f"(CASE WHEN {two} < {pattern.century_from} THEN 2000 ELSE 1900 END + {two})"
        if "day_of_year" in pieces:
            first, ordinal = self.date(year, "1", "1"), self._number(pieces, "day_of_year", "")
            longest = f"CASE WHEN day(last_day({self.date(year, '2', '1')})) = 29 THEN 366 ELSE 365 END"
            return f"CASE WHEN {ordinal} BETWEEN 1 AND {longest} THEN {self.days_after(first, f'{ordinal} - 1')} END"
        month = self._number(pieces, "month", "1")
        if "month_name" in pieces:
            month = self._position_of_name(pieces["month_name"], MONTHS)
        return self.date(year, month, self._number(pieces, "day", "1"))

    def _clock_micros(self, pieces: Pieces) -> str:
        """Microseconds of the day, less the offset."""
        whole, try_cast = self.dialect.whole, self.dialect.try_cast
        hour = self._number(pieces, "hour", "0")
        if "hour12" in pieces:
            late = f"CASE WHEN lower({pieces['half'][1]}) = 'pm' THEN 12 ELSE 0 END"
            hour = f"({self._number(pieces, 'hour12', '')} % 12 + {late})"
        minute, second = self._number(pieces, "minute", "0"), self._number(pieces, "second", "0")
        total = f"CAST((({hour} * 60 + {minute}) * 60 + {second}) AS BIGINT) * {whole(SECOND)}"
        if "fraction" in pieces:
            fraction = f"rpad({pieces['fraction'][1]}, 6, '0')"
            total += f" + {try_cast(fraction, 'BIGINT')}"
        if "offset" in pieces:
            zone = pieces["offset"][1]
            hours, rest = try_cast(f"substr({zone}, 2, 2)", "BIGINT"), try_cast(f"right({zone}, 2)", "BIGINT")
            sign = f"CASE WHEN left({zone}, 1) = '-' THEN -1 ELSE 1 END"
            offset = f"({hours} * 60 + {rest}) * {sign} * {whole(60 * SECOND)}"
            total += f" - CASE WHEN {zone} = 'Z' THEN {whole(0)} ELSE {offset} END"
        return total

    def offset(self, moment: str, steps: time_zones.Steps) -> str:
        """The offset that holds at a moment, found by halving."""
        whole = self.dialect.whole

        def tree(low: int, high: int) -> str:
            if low == high:
                return whole(steps.offsets[low])
            middle = (low + high) // 2
            earlier, later = tree(low, middle), tree(middle + 1, high)
            return f"CASE WHEN {{0}} < {whole(steps.thresholds[middle])} THEN {earlier} ELSE {later} END"

        body = tree(0, len(steps.thresholds))
        if not steps.thresholds:
            return body
        return self.let(moment, lambda m: body.replace("{0}", m), always=True)
