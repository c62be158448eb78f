"""Dates and times from text and as text in Polars, by portable patterns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lakelogic.engines.polars.functions.calendar import (
    TO_DAYS,
    YEAR,
    as_date,
    is_leap,
    micros_of,
    moment,
    staged,
    whole,
)
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call
from lakelogic.sql.times.patterns import MONTHS as MONTH_NAMES
from lakelogic.sql.times.patterns import WEEKDAYS, Field, Pattern, read_pattern, strftime_pieces
from lakelogic.sql.times.units import DAY, SECOND
from lakelogic.sql.types import Type

_BLANKS = " \t\r\n"


def parse(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Text as a date or time; NULL where it does not match entirely."""
    pattern = read_pattern(str(call.constant(1)), "parse", zoned=call.type.kind != "timestamp_ntz")
    stages = [
        *_pieces(pattern),
        _calendar_read(pattern),
        *TO_DAYS,
        *_days_read(pattern),
        {"found": _put_together(pattern, call.type)},
    ]
    return staged({"text": args[0].str.strip_chars(_BLANKS)}, stages, dtype(call.type))


def _pieces(pattern: Pattern) -> list[dict[str, pl.Expr]]:
    """The text of every field, under its name; NULL where the text does not match."""
    regex, text = rf"\A(?:{pattern.regex})\z", pl.col("text")
    names = [f"~{part.field}" for part in pattern.fields]
    if pattern.spans is not None:
        matching = pl.when(text.str.contains(regex)).then(text)
        places = zip(names, pattern.spans, strict=True)
        return [{"text": matching}, {name: text.str.slice(*span) for name, span in places}]
    groups = pl.col("groups").struct
    return [
        {"groups": text.str.extract_groups(regex)},
        {name: groups.field(str(index)) for index, name in enumerate(names, 1)},
    ]


def _read(pattern: Pattern, field: Field, default: int = 0) -> pl.Expr:
    return pl.col(f"~{field}").cast(pl.Int64, strict=False) if pattern.has(field) else whole(default)


def _named(pattern: Pattern, field: Field, names: Sequence[str]) -> pl.Expr:
    size = next(part.size for part in pattern.fields if part.field == field)
    numbers = {name[: size or None].lower(): number for number, name in enumerate(names, 1)}
    return pl.col(f"~{field}").str.to_lowercase().replace_strict(numbers, default=None, return_dtype=pl.Int64)


def _calendar_read(pattern: Pattern) -> dict[str, pl.Expr]:
    year = _read(pattern, "year")
    if pattern.has("short_year"):
        two = _read(pattern, "short_year")
        year = two + pl.when(two < pattern.century_from).then(whole(2000)).otherwise(whole(1900))
    month = _named(pattern, "month_name", MONTH_NAMES) if pattern.has("month_name") else _read(pattern, "month", 1)
    return {"year": year, "month": month, "day": _read(pattern, "day", 1)}


def _days_read(pattern: Pattern) -> list[dict[str, pl.Expr]]:
    stages: list[dict[str, pl.Expr]] = []
    days = pl.col("days")
    if pattern.has("day_of_year"):
        ordinal = _read(pattern, "day_of_year")
        longest = pl.when(is_leap(YEAR)).then(whole(366)).otherwise(whole(365))
        stages.append({"days": pl.when((ordinal >= 1) & (ordinal <= longest)).then(days + ordinal - 1)})
    if pattern.has("weekday_name"):  # 1970 began on a Thursday
        wanted = _named(pattern, "weekday_name", WEEKDAYS)
        stages.append({"days": pl.when((days + 3) % 7 + 1 == wanted).then(days)})
    return stages


def _put_together(pattern: Pattern, to: Type) -> pl.Expr:
    if to.kind == "date" and not pattern.has("offset"):
        return as_date(pl.col("days"))
    micros = pl.col("days") * DAY + _clock_micros(pattern)
    return moment(micros, to) if to.kind != "date" else as_date(micros // DAY)


def _clock_micros(pattern: Pattern) -> pl.Expr:
    """Microseconds of the day, less the offset."""
    hour = _read(pattern, "hour")
    if pattern.has("hour12"):
        late = pl.col("~half").str.to_lowercase() == "pm"
        hour = _read(pattern, "hour12") % 12 + pl.when(late).then(whole(12)).otherwise(whole(0))
    total = ((hour * 60 + _read(pattern, "minute")) * 60 + _read(pattern, "second")) * SECOND
    if pattern.has("fraction"):
        total = total + pl.col("~fraction").str.pad_end(6, "0").cast(pl.Int64, strict=False)
    if pattern.has("offset"):
        zone = pl.col("~offset")
        hours = zone.str.slice(1, 2).cast(pl.Int64, strict=False)
        minutes = hours * 60 + zone.str.tail(2).cast(pl.Int64, strict=False)
        signed = pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes)
        total = total - pl.when(zone == "Z").then(whole(0)).otherwise(signed * (60 * SECOND))
    return total


def form(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """A date or time as text."""
    source = call.args[0].type
    pattern = read_pattern(str(call.constant(1)), "format", zoned=source.kind == "timestamp")
    value = micros_of(args[0], source).cast(pl.Datetime("us"))
    written = [
        value.dt.strftime("%6f").str.head(piece) if isinstance(piece, int) else value.dt.strftime(piece)
        for piece in strftime_pieces(pattern)
    ]
    return pl.concat_str(written) if len(written) > 1 else written[0]
