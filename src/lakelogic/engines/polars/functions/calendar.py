"""The calendar in Polars, by whole numbers of days and microseconds: nothing here can be out of range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.times.units import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from lakelogic.sql.types import Type


def whole(value: int) -> pl.Expr:
    """A whole number of 64 bits."""
    return pl.lit(value, dtype=pl.Int64)


def micros_of(value: pl.Expr, source: Type) -> pl.Expr:
    """Microseconds from 1970."""
    return days_of(value) * DAY if source.kind == "date" else value.cast(pl.Int64)


def days_of(value: pl.Expr) -> pl.Expr:
    """Days from 1970 of a date."""
    return value.cast(pl.Int32).cast(pl.Int64)


def moment(micros: pl.Expr, to: Type) -> pl.Expr:
    """Microseconds from 1970 as a timestamp of the years 1 to 9999."""
    return pl.when(micros.is_between(FIRST_MOMENT, LAST_MOMENT)).then(micros).cast(dtype(to))


def as_date(days: pl.Expr) -> pl.Expr:
    """Days from 1970 as a date of the years 1 to 9999."""
    return pl.when(days.is_between(FIRST_DAY, LAST_DAY)).then(days).cast(pl.Int32).cast(pl.Date)


def as_time(days: pl.Expr, clock: pl.Expr, to: Type) -> pl.Expr:
    """A day and the microseconds since its beginning."""
    return as_date(days) if to.kind == "date" else moment(days * DAY + clock, to)


def toward_zero(value: pl.Expr, size: int) -> pl.Expr:
    """A division that drops the remainder."""
    down = value.abs() // size
    return pl.when(value < 0).then(-down).otherwise(down)


def number(value: pl.Expr) -> pl.Expr:
    """A value as a whole number of 64 bits."""
    return value.cast(pl.Int64)


def staged(inputs: Mapping[str, pl.Expr], stages: Sequence[Mapping[str, pl.Expr]], to: Any) -> pl.Expr:
    """Values that are computed one after another, each once; the last stage makes the column `found`."""

    def compute(rows: pl.Series) -> pl.Series:
        frame = rows.struct.unnest()
        for stage in stages:
            frame = frame.with_columns(**stage)
        return frame["found"].alias(rows.name)

    return by_batch(pl.struct(value.alias(name) for name, value in inputs.items()), compute, to)


def calendar(value: pl.Expr) -> dict[str, pl.Expr]:
    """Year, month and day of a column."""
    return {
        "year": number(value.dt.year()),
        "month": number(value.dt.month()),
        "day": number(value.dt.day()),
    }


def is_leap(year: pl.Expr) -> pl.Expr:
    """Whether a year has 366 days."""
    return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))


def month_length(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    """Days of a month."""
    february = pl.when(is_leap(year)).then(whole(29)).otherwise(whole(28))
    short = pl.when(month.is_in([4, 6, 9, 11])).then(whole(30)).otherwise(whole(31))
    return pl.when(month == 2).then(february).otherwise(short)


# From the columns `year`, `month` and `day`, days from 1970; NULL where there is no such day in the years 1 to 9999.
YEAR, MONTH, DAY_OF_MONTH = pl.col("year"), pl.col("month"), pl.col("day")
TO_DAYS: tuple[dict[str, pl.Expr], ...] = (
    # years that begin in March end with the leap day
    {"shifted": YEAR - (MONTH <= 2).cast(pl.Int64), "of_year": (153 * ((MONTH + 9) % 12) + 2) // 5 + DAY_OF_MONTH - 1},
    {"age": pl.col("shifted") // 400, "of_age": pl.col("shifted") % 400},
    {
        "days": pl.when(
            YEAR.is_between(1, 9999)
            & MONTH.is_between(1, 12)
            & (DAY_OF_MONTH >= 1)
            & (month_length(YEAR, MONTH) >= DAY_OF_MONTH)
        ).then(
            pl.col("age") * 146097
            + pl.col("of_age") * 365
            + pl.col("of_age") // 4
            - pl.col("of_age") // 100
            + pl.col("of_year")
            - 719468
        )
    },
)
