"""Canonical expressions → Polars expressions: functions of dates and times, by whole numbers of microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import reduce
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.functions import by_time
from lakelogic.engines.polars.functions.calendar import (
    DAY_OF_MONTH,
    MONTH,
    TO_DAYS,
    YEAR,
    as_date,
    as_time,
    calendar,
    days_of,
    micros_of,
    moment,
    month_length,
    number,
    staged,
    toward_zero,
)  # fmt: skip
from lakelogic.engines.polars.functions.time_texts import form, parse
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.units import DAY, LAST_DAY, LAST_MOMENT, LENGTHS, MONTHS, SECOND
from lakelogic.sql.types import Type

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]


def _part(name: str) -> Builder:
    return lambda call, args: getattr(args[0].dt, name)().cast(dtype(call.type))


# moving


def _date_add(_call: Call, args: Args) -> pl.Expr:
    return as_date(days_of(args[0]) + number(args[1]))


def _add_months(call: Call, args: Args) -> pl.Expr:
    source, value = call.args[0].type, pl.col("value")
    count = pl.col("year") * 12 + pl.col("month") - 1 + pl.col("months")
    stages = (
        {**calendar(value), "clock": micros_of(value, source) % DAY},
        {"year": count // 12, "month": count % 12 + 1},
        {"day": pl.min_horizontal(DAY_OF_MONTH, month_length(YEAR, MONTH))},
        *TO_DAYS,
        {"found": as_time(pl.col("days"), pl.col("clock"), call.type)},
    )
    return staged({"value": args[0], "months": number(args[1])}, stages, dtype(call.type))


def _add_micros(call: Call, args: Args) -> pl.Expr:
    moved = args[0].cast(pl.Int128) + args[1].cast(pl.Int128)
    return moment(moved.cast(pl.Int64, strict=False), call.type)


def _next_day(call: Call, args: Args) -> pl.Expr:
    wanted = int(str(call.constant(1)))
    return as_date(days_of(args[0]) + (wanted + 7 - number(args[0].dt.weekday())) % 7 + 1)


def _date_trunc(call: Call, args: Args) -> pl.Expr:
    return _truncated(args[1], str(call.constant(0)), call.args[1].type)


def _truncated(value: pl.Expr, unit: str, source: Type) -> pl.Expr:
    if unit in LENGTHS and unit != "week" and source.kind != "date":
        micros = value.cast(pl.Int64)
        return moment(micros - micros % LENGTHS[unit], source)
    plain = value if source.kind == "date" else value.cast(pl.Int64).cast(pl.Datetime("us"))
    truncated = plain.dt.truncate({"week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}[unit])
    return truncated if source.kind == "date" else truncated.cast(pl.Int64).cast(dtype(source))


# differences


def _days_between(call: Call, args: Args) -> pl.Expr:
    end, start = (value.cast(pl.Int32) for value in args)
    return (end - start).cast(dtype(call.type))


def _packed(day: pl.Expr) -> pl.Expr:
    return (number(day.dt.year()) * 12 + number(day.dt.month())) * 32 + number(day.dt.day())


def _units_between(call: Call, args: Args) -> pl.Expr:
    unit, source = str(call.constant(0)), call.args[1].type
    start, end = micros_of(args[1], source), micros_of(args[2], source)
    if unit in LENGTHS:
        return toward_zero(end - start, LENGTHS[unit])
    # A month is whole when its day and its time of day are reached: the end is where the whole days lead to.
    first = start // DAY
    last = first + toward_zero(end - start, DAY)
    first_day, last_day = (_packed(days.cast(pl.Int32).cast(pl.Date)) for days in (first, last))
    return toward_zero(toward_zero(last_day - first_day, 32), MONTHS[unit])


def _months_between(_call: Call, args: Args) -> pl.Expr:
    end, start = pl.col("end"), pl.col("start")

    def parts(value: pl.Expr, name: str) -> dict[str, pl.Expr]:
        fields = calendar(value)
        return {
            f"{name}_months": fields["year"] * 12 + fields["month"],
            f"{name}_day": fields["day"],
            f"{name}_last": number(value.dt.month_end().dt.day()),
            f"{name}_seconds": fields["day"] * 86400 + value.cast(pl.Int64) % DAY // SECOND,
        }

    c = pl.col
    is_level = (c("end_day") == c("start_day")) | (
        (c("end_day") == c("end_last")) & (c("start_day") == c("start_last"))
    )
    stages = (
        {**parts(end, "end"), **parts(start, "start")},
        {
            "whole": (c("end_months") - c("start_months")).cast(pl.Float64),
            "rest": (c("end_seconds") - c("start_seconds")).cast(pl.Float64),
        },
        # By a column and not by a constant, which Polars would multiply by its reciprocal.
        {"month": c("rest") * 0.0 + 2678400.0},
        {"found": pl.when(is_level).then(c("whole")).otherwise(c("whole") + c("rest") / c("month"))},
    )
    return staged({"end": args[0], "start": args[1]}, stages, pl.Float64)


def _date_sequence(call: Call, args: Args) -> pl.Expr:
    start, end, n, unit = args[0], args[1], int(str(call.constant(2))), str(call.constant(3))
    kind = call.args[0].type
    if unit in MONTHS:
        pair = pl.struct(start.alias("start"), end.alias("end"))
        return by_batch(pair, _months_listed(n * MONTHS[unit], dtype(kind)), dtype(call.type))
    if kind.kind == "date":
        first, last, step = days_of(start), days_of(end), n * LENGTHS[unit] // DAY
        listed = pl.int_ranges(first, last + 1, min(step, LAST_DAY * 2)).cast(pl.List(pl.Int32))
    else:
        first, last = start.cast(pl.Int64), end.cast(pl.Int64)
        listed = pl.int_ranges(first, last + 1, min(n * LENGTHS[unit], LAST_MOMENT * 2))
    return pl.when(start <= end).then(listed.cast(dtype(call.type)))


def _months_listed(months: int, to: Any) -> Callable[[pl.Series], pl.Series]:
    def months_of(row: dict[str, Any]) -> list[date | datetime] | None:
        start, end = row["start"], row["end"]
        if start is None or end is None or start > end:
            return None
        moments, index = [], start.year * 12 + start.month - 1
        for count in range(index, end.year * 12 + end.month, months):
            year, month = divmod(count, 12)
            moved = start.replace(year=year, month=month + 1, day=min(start.day, by_time.month_length(year, month + 1)))
            if moved <= end:
                moments.append(moved)
        return moments

    return lambda rows: pl.Series(rows.name, [months_of(row) for row in rows.to_list()], dtype=pl.List(to))


# making


def _make_date(_call: Call, args: Args) -> pl.Expr:
    inputs = {name: number(value) for name, value in zip(("year", "month", "day"), args, strict=True)}
    return staged(inputs, (*TO_DAYS, {"found": as_date(pl.col("days"))}), pl.Date)


def _make_timestamp(call: Call, args: Args) -> pl.Expr:
    names = ("year", "month", "day", "hour", "minute", "micros")
    inputs = {name: number(value) for name, value in zip(names, args, strict=True)}
    hour, minute, micros = pl.col("hour"), pl.col("minute"), pl.col("micros")
    fits = hour.is_between(0, 23) & minute.is_between(0, 59) & micros.is_between(0, 60 * SECOND - 1)
    clock = (hour * 60 + minute) * (60 * SECOND) + micros
    made_moment = pl.when(fits).then(moment(pl.col("days") * DAY + clock, call.type))
    return staged(inputs, (*TO_DAYS, {"found": made_moment}), dtype(call.type))


# zones


def _zone(sign: int, table: Callable[[str], time_zones.Steps]) -> Builder:
    def build(call: Call, args: Args) -> pl.Expr:
        micros = args[0].cast(pl.Int64)
        offset = by_batch(micros, by_time.offsets(table(str(call.constant(1)))), pl.Int64)
        return moment(micros + offset * sign, call.type)

    return build


def _named_part(form: str) -> Builder:
    return lambda call, args: micros_of(args[0], call.args[0].type).cast(pl.Datetime("us")).dt.strftime(form)


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
    "parse_date": parse,
    "parse_timestamp": parse,
    "parse_timestamp_ntz": parse,
    "format_time": form,
    "unix_date": lambda _call, args: args[0].cast(pl.Int32),
    "date_from_unix_date": lambda _call, args: as_date(number(args[0])),
    "unix_seconds": _floor_part(SECOND),
    "unix_millis": _floor_part(1000),
    "unix_micros": _floor_part(1),
    "timestamp_micros": lambda call, args: moment(number(args[0]), call.type),
    "to_zone": _zone(1, time_zones.by_instant),
    "from_zone": _zone(-1, time_zones.by_clock),
    "date_sequence": _date_sequence,
}
