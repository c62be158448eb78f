"""Canonical expressions → Polars expressions: functions of dates and times, by whole numbers of microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import reduce
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.polars import by_time
from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql import time_zones
from lakelogic.sql.expressions import Call
from lakelogic.sql.time_patterns import MONTHS as MONTH_NAMES
from lakelogic.sql.time_patterns import WEEKDAYS, Part, Pattern, read_pattern, strftime_pieces
from lakelogic.sql.time_units import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, LENGTHS, MONTHS, SECOND
from lakelogic.sql.types import Type

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]

_BLANKS = " \t\r\n"


def _whole(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.Int64)


def _micros(value: pl.Expr, source: Type) -> pl.Expr:
    """Microseconds from 1970."""
    return _days(value) * DAY if source.kind == "date" else value.cast(pl.Int64)


def _days(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int32).cast(pl.Int64)


def _moment(micros: pl.Expr, to: Type) -> pl.Expr:
    return pl.when(micros.is_between(FIRST_MOMENT, LAST_MOMENT)).then(micros).cast(dtype(to))


def _date(days: pl.Expr) -> pl.Expr:
    return pl.when(days.is_between(FIRST_DAY, LAST_DAY)).then(days).cast(pl.Int32).cast(pl.Date)


def _as(days: pl.Expr, clock: pl.Expr, to: Type) -> pl.Expr:
    """A day and the microseconds since its beginning."""
    return _date(days) if to.kind == "date" else _moment(days * DAY + clock, to)


def _toward_zero(value: pl.Expr, size: int) -> pl.Expr:
    down = value.abs() // size
    return pl.when(value < 0).then(-down).otherwise(down)


def _part(name: str) -> Builder:
    return lambda call, args: getattr(args[0].dt, name)().cast(dtype(call.type))


def _number(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int64)


# the calendar, by whole numbers: nothing here can be out of range


def _is_leap(year: pl.Expr) -> pl.Expr:
    return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))


def _month_length(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    february = pl.when(_is_leap(year)).then(_whole(29)).otherwise(_whole(28))
    short = pl.when(month.is_in([4, 6, 9, 11])).then(_whole(30)).otherwise(_whole(31))
    return pl.when(month == 2).then(february).otherwise(short)


def _days_of(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Days from 1970 of a day in the years 1 to 9999; NULL when there is no such day."""
    shifted = year - (month <= 2).cast(pl.Int64)  # years that begin in March end with the leap day
    age = shifted // 400
    of_age = shifted - age * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    found = age * 146097 + of_age * 365 + of_age // 4 - of_age // 100 + of_year - 719468
    fits = year.is_between(1, 9999) & month.is_between(1, 12) & (day >= 1) & (day <= _month_length(year, month))
    return pl.when(fits).then(found)


# moving


def _date_add(_call: Call, args: Args) -> pl.Expr:
    return _date(_days(args[0]) + _number(args[1]))


def _months_later(value: pl.Expr, months: pl.Expr, source: Type) -> tuple[pl.Expr, pl.Expr]:
    """The day so many months later, and the time of day."""
    micros = _micros(value, source)
    clock = micros % DAY
    count = _number(value.dt.year()) * 12 + _number(value.dt.month()) - 1 + months
    year, month = count // 12, count % 12 + 1
    day = pl.min_horizontal(_number(value.dt.day()), _month_length(year, month))
    return _days_of(year, month, day), clock


def _add_months(call: Call, args: Args) -> pl.Expr:
    days, clock = _months_later(args[0], _number(args[1]), call.args[0].type)
    return _as(days, clock, call.type)


def _add_micros(call: Call, args: Args) -> pl.Expr:
    moved = args[0].cast(pl.Int128) + args[1].cast(pl.Int128)
    return _moment(moved.cast(pl.Int64, strict=False), call.type)


def _next_day(call: Call, args: Args) -> pl.Expr:
    wanted = int(str(call.constant(1)))
    return _date(_days(args[0]) + (wanted + 7 - _number(args[0].dt.weekday())) % 7 + 1)


def _date_trunc(call: Call, args: Args) -> pl.Expr:
    return _truncated(args[1], str(call.constant(0)), call.args[1].type)


def _truncated(value: pl.Expr, unit: str, source: Type) -> pl.Expr:
    micros = _micros(value, source)
    if unit == "week":  # 1970 began on a Thursday
        days = micros // DAY
        return _as(days - (days + 3) % 7, _whole(0), source)
    if unit in LENGTHS:
        return _moment(micros - micros % LENGTHS[unit], source)
    year, month = _number(value.dt.year()), _number(value.dt.month())
    first = {"month": month, "quarter": (month - 1) // 3 * 3 + 1, "year": _whole(1)}[unit]
    return _as(_days_of(year, first, _whole(1)), _whole(0), source)


# differences


def _days_between(call: Call, args: Args) -> pl.Expr:
    end, start = (value.cast(pl.Int32) for value in args)
    return (end - start).cast(dtype(call.type))


def _packed(day: pl.Expr) -> pl.Expr:
    return (_number(day.dt.year()) * 12 + _number(day.dt.month())) * 32 + _number(day.dt.day())


def _units_between(call: Call, args: Args) -> pl.Expr:
    unit, source = str(call.constant(0)), call.args[1].type
    start, end = _micros(args[1], source), _micros(args[2], source)
    if unit in LENGTHS:
        return _toward_zero(end - start, LENGTHS[unit])
    # A month is whole when its day and its time of day are reached: the end is where the whole days lead to.
    first = start // DAY
    last = first + _toward_zero(end - start, DAY)
    one, two = (_packed(days.cast(pl.Int32).cast(pl.Date)) for days in (first, last))
    return _toward_zero(_toward_zero(two - one, 32), MONTHS[unit])


def _months_between(_call: Call, args: Args) -> pl.Expr:
    end, start = args

    def months(value: pl.Expr) -> pl.Expr:
        return _number(value.dt.year()) * 12 + _number(value.dt.month())

    def seconds(value: pl.Expr) -> pl.Expr:
        return _number(value.dt.day()) * 86400 + value.cast(pl.Int64) % DAY // SECOND

    def is_last(value: pl.Expr) -> pl.Expr:
        return _number(value.dt.day()) == _month_length(_number(value.dt.year()), _number(value.dt.month()))

    whole = (months(end) - months(start)).cast(pl.Float64)
    # By a column and not by a constant, which Polars would multiply by its reciprocal.
    month = whole * 0.0 + 2678400.0
    fraction = (seconds(end) - seconds(start)).cast(pl.Float64) / month
    level = (end.dt.day() == start.dt.day()) | (is_last(end) & is_last(start))
    return pl.when(level).then(whole).otherwise(whole + fraction)


def _date_sequence(call: Call, args: Args) -> pl.Expr:
    start, end, n, unit = args[0], args[1], int(str(call.constant(2))), str(call.constant(3))
    kind = call.args[0].type
    if unit in MONTHS:
        pair = pl.struct(start.alias("start"), end.alias("end"))
        return by_batch(pair, _months_listed(n * MONTHS[unit], dtype(kind)), dtype(call.type))
    if kind.kind == "date":
        first, last, step = _days(start), _days(end), n * LENGTHS[unit] // DAY
        listed = pl.int_ranges(first, last + 1, min(step, LAST_DAY * 2)).cast(pl.List(pl.Int32))
    else:
        first, last = start.cast(pl.Int64), end.cast(pl.Int64)
        listed = pl.int_ranges(first, last + 1, min(n * LENGTHS[unit], LAST_MOMENT * 2))
    return pl.when(start <= end).then(listed.cast(dtype(call.type)))


def _months_listed(months: int, to: Any) -> Callable[[pl.Series], pl.Series]:
    def one(row: dict[str, Any]) -> list[date | datetime] | None:
        start, end = row["start"], row["end"]
        if start is None or end is None or start > end:
            return None
        found, index = [], start.year * 12 + start.month - 1
        for count in range(index, end.year * 12 + end.month, months):
            year, month = divmod(count, 12)
            moved = start.replace(year=year, month=month + 1, day=min(start.day, by_time.month_length(year, month + 1)))
            if moved <= end:
                found.append(moved)
        return found

    return lambda rows: pl.Series(rows.name, [one(row) for row in rows.to_list()], dtype=pl.List(to))


# making


def _make_date(_call: Call, args: Args) -> pl.Expr:
    return _date(_days_of(*(_number(value) for value in args)))


def _make_timestamp(call: Call, args: Args) -> pl.Expr:
    year, month, day, hour, minute, micros = (_number(value) for value in args)
    fits = hour.is_between(0, 23) & minute.is_between(0, 59) & micros.is_between(0, 60 * SECOND - 1)
    clock = (hour * 60 + minute) * (60 * SECOND) + micros
    return pl.when(fits).then(_moment(_days_of(year, month, day) * DAY + clock, call.type))


# text


def _parse(call: Call, args: Args) -> pl.Expr:
    pattern = read_pattern(str(call.constant(1)), "parse", zoned=call.type.kind != "timestamp_ntz")
    plain = args[0].str.strip_chars(_BLANKS)
    regex = rf"\A(?:{pattern.regex})\z"
    value = pl.when(plain.str.contains(regex)).then(plain)
    pieces: dict[str, tuple[Part, pl.Expr]] = {}
    for index, part in enumerate(pattern.fields):
        if pattern.spans is not None:
            found = value.str.slice(*pattern.spans[index])
        else:
            found = value.str.extract(regex, index + 1)
        pieces[part.field] = (part, found)
    days = _parsed_day(pattern, pieces)
    if "weekday_name" in pieces:
        wanted = _named(pieces["weekday_name"], WEEKDAYS)
        days = pl.when((days + 3) % 7 + 1 == wanted).then(days)
    if call.type.kind == "date" and "offset" not in pieces:
        return _date(days)
    micros = days * DAY + _clock_micros(pieces)
    return _moment(micros, call.type) if call.type.kind != "date" else _date(micros // DAY)


def _read(pieces: dict[str, tuple[Part, pl.Expr]], field: str, default: int = 0) -> pl.Expr:
    return pieces[field][1].cast(pl.Int64, strict=False) if field in pieces else _whole(default)


def _named(piece: tuple[Part, pl.Expr], names: Sequence[str]) -> pl.Expr:
    numbers = {name[: piece[0].size or None].lower(): number for number, name in enumerate(names, 1)}
    return piece[1].str.to_lowercase().replace_strict(numbers, default=None, return_dtype=pl.Int64)


def _parsed_day(pattern: Pattern, pieces: dict[str, tuple[Part, pl.Expr]]) -> pl.Expr:
    year = _read(pieces, "year")
    if "short_year" in pieces:
        two = _read(pieces, "short_year")
        year = two + pl.when(two < pattern.century_from).then(_whole(2000)).otherwise(_whole(1900))
    if "day_of_year" in pieces:
        ordinal = _read(pieces, "day_of_year")
        longest = pl.when(_is_leap(year)).then(_whole(366)).otherwise(_whole(365))
        first = _days_of(year, _whole(1), _whole(1))
        return pl.when((ordinal >= 1) & (ordinal <= longest)).then(first + ordinal - 1)
    month = _named(pieces["month_name"], MONTH_NAMES) if "month_name" in pieces else _read(pieces, "month", 1)
    return _days_of(year, month, _read(pieces, "day", 1))


def _clock_micros(pieces: dict[str, tuple[Part, pl.Expr]]) -> pl.Expr:
    """Microseconds of the day, less the offset."""
    hour = _read(pieces, "hour")
    if "hour12" in pieces:
        late = pieces["half"][1].str.to_lowercase() == "pm"
        hour = _read(pieces, "hour12") % 12 + pl.when(late).then(_whole(12)).otherwise(_whole(0))
    total = ((hour * 60 + _read(pieces, "minute")) * 60 + _read(pieces, "second")) * SECOND
    if "fraction" in pieces:
        total = total + pieces["fraction"][1].str.pad_end(6, "0").cast(pl.Int64, strict=False)
    if "offset" in pieces:
        zone = pieces["offset"][1]
        hours = zone.str.slice(1, 2).cast(pl.Int64, strict=False)
        minutes = hours * 60 + zone.str.tail(2).cast(pl.Int64, strict=False)
        signed = pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes)
        total = total - pl.when(zone == "Z").then(_whole(0)).otherwise(signed * (60 * SECOND))
    return total


def _format(call: Call, args: Args) -> pl.Expr:
    source = call.args[0].type
    pattern = read_pattern(str(call.constant(1)), "format", zoned=source.kind == "timestamp")
    value = _micros(args[0], source).cast(pl.Datetime("us"))
    written = [
        value.dt.strftime("%6f").str.head(piece) if isinstance(piece, int) else value.dt.strftime(piece)
        for piece in strftime_pieces(pattern)
    ]
    return pl.concat_str(written) if len(written) > 1 else written[0]


# zones


def _zone(sign: int, table: Callable[[str], time_zones.Steps]) -> Builder:
    def build(call: Call, args: Args) -> pl.Expr:
        micros = args[0].cast(pl.Int64)
        offset = by_batch(micros, by_time.offsets(table(str(call.constant(1)))), pl.Int64)
        return _moment(micros + offset * sign, call.type)

    return build


def _named_part(form: str) -> Builder:
    return lambda call, args: _micros(args[0], call.args[0].type).cast(pl.Datetime("us")).dt.strftime(form)


def _floor_part(size: int) -> Builder:
    return lambda _call, args: args[0].cast(pl.Int64) // size


def _second_fraction(call: Call, args: Args) -> pl.Expr:
    micros = args[0].cast(pl.Int64) % LENGTHS["minute"]
    digits = [(micros // SECOND).cast(pl.String), (micros % SECOND).cast(pl.String).str.zfill(6)]
    return reduce(lambda left, right: left + "." + right, digits).cast(dtype(call.type))


BUILDERS: dict[str, Builder] = {
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "week": _part("week"),
    "year_of_week": _part("iso_year"),
    "day_of_week": lambda call, args: (args[0].dt.weekday() % 7 + 1).cast(dtype(call.type)),
    "weekday": lambda call, args: (args[0].dt.weekday() - 1).cast(dtype(call.type)),
    "day_of_year": _part("ordinal_day"),
    "day": _part("day"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "second_fraction": _second_fraction,
    "day_name": _named_part("%a"),
    "month_name": _named_part("%b"),
    "date_add": _date_add,
    "add_months": _add_months,
    "add_micros": _add_micros,
    "last_day": lambda _call, args: args[0].dt.month_end(),
    "next_day": _next_day,
    "date_trunc": _date_trunc,
    "trunc_date": lambda call, args: _truncated(args[1], str(call.constant(0)), call.type),
    "days_between": _days_between,
    "units_between": _units_between,
    "months_between": _months_between,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "make_timestamp_ntz": _make_timestamp,
    "parse_date": _parse,
    "parse_timestamp": _parse,
    "parse_timestamp_ntz": _parse,
    "format_time": _format,
    "unix_date": lambda _call, args: args[0].cast(pl.Int32),
    "date_from_unix_date": lambda _call, args: _date(_number(args[0])),
    "unix_seconds": _floor_part(SECOND),
    "unix_millis": _floor_part(1000),
    "unix_micros": _floor_part(1),
    "timestamp_micros": lambda call, args: _moment(_number(args[0]), call.type),
    "to_zone": _zone(1, time_zones.by_instant),
    "from_zone": _zone(-1, time_zones.by_clock),
    "date_sequence": _date_sequence,
}
