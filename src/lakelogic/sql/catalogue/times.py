"""Dates, timestamps, intervals and time zones."""

from __future__ import annotations

from datetime import date

from lakelogic.sql.arguments import Args, Builder, Signatures, refuse
from lakelogic.sql.catalogue.row import scalar
from lakelogic.sql.coerce import day, number
from lakelogic.sql.expressions import Call, Expression, convert
from lakelogic.sql.problems import BAD_TYPES
from lakelogic.sql.types import DATE, INT, TIMESTAMP

FUNCTIONS = (
    # dates and times
    scalar("year", "dates", "year(d)", "The year of a date or timestamp (in UTC), as int.", ("year(DATE'2024-02-29')", 2024)),
    scalar("month", "dates", "month(d)", "1 to 12, as int.", ("month(DATE'2024-02-29')", 2)),
    scalar("day", "dates", "day(d); dayofmonth(d)", "1 to 31, as int.", ("day(DATE'2024-02-29')", 29)),
    scalar("hour", "dates", "hour(t)", "0 to 23 (in UTC), as int.", ("hour(TIMESTAMP'2024-01-05 10:30:00Z')", 10)),
    scalar("days_between", "dates", "datediff(end, start)", "Calendar days from start to end, as int.",
       ("datediff(DATE'2024-03-01', DATE'2024-02-28')", 2), ("datediff(DATE'2024-01-01', DATE'2024-01-02')", -1)),
    scalar("date_add", "dates", "date_add(d, n); date_sub(d, n)", "The date n days later.",
       ("date_add(DATE'2024-02-28', 1)", date(2024, 2, 29)), ("date_sub(DATE'2024-03-01', 1)", date(2024, 2, 29))),
)  # fmt: skip


def _date_part(name: str) -> Builder:
    def build(a: Args) -> Expression:
        value = a[0]
        if value.type.is_text or value.type.kind == "null":
            value = convert(value, TIMESTAMP if name == "hour" else DATE)
        elif value.type.kind not in ("date", "timestamp", "timestamp_ntz"):
            raise refuse(BAD_TYPES, f"{name} needs a date or a timestamp, not {value.type}.")
        if name == "hour" and value.type.kind == "date":
            value = convert(value, TIMESTAMP)
        return Call(name, (value,), INT)

    return build


def _days_between(a: Args) -> Expression:
    return Call("days_between", (day(a[0], "datediff"), day(a[1], "datediff")), INT)


def _date_add(sign: int) -> Builder:
    def build(a: Args) -> Expression:
        days = convert(number(a[1], "date_add"), INT)
        if sign < 0:
            days = convert(Call("negate", (days,), INT), INT)
        return Call("date_add", (day(a[0], "date_add"), days), DATE)

    return build


SIGNATURES: Signatures = {
    "year": (1, 1, _date_part("year")),
    "month": (1, 1, _date_part("month")),
    "day": (1, 1, _date_part("day")),
    "dayofmonth": (1, 1, _date_part("day")),
    "hour": (1, 1, _date_part("hour")),
    "datediff": (2, 2, _days_between),
    "date_diff": (2, 2, _days_between),
    "date_add": (2, 2, _date_add(1)),
    "date_sub": (2, 2, _date_add(-1)),
}
