"""The days of a window: which values fall on them, as an expression and as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from lakelogic.plan.predicates import both, holds
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.types import DATE, STRING, TIMESTAMP

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Days:
    """From the first to the last day, both included. Days are those of UTC."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1))

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"

    @property
    def start(self) -> datetime:
        """The instant at which the first day begins."""
        return datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The instant at which the last day is over."""
        return datetime(self.last.year, self.last.month, self.last.day, tzinfo=UTC) + ONE_DAY

    def reaching_back(self, by: timedelta) -> Days:
        """The same days and those before them: a part of a day is a day."""
        return Days(self.first - timedelta(days=-(-by // ONE_DAY)), self.last)

    def hold(self, value: Expression) -> Expression:
        """TRUE for rows whose value falls on one of the days, otherwise FALSE; what is no date falls on none."""
        day = day_of(value)
        return both(holds(call("ge", day, Literal(self.first, DATE))), holds(call("le", day, Literal(self.last, DATE))))

    def meets(self, other: Days) -> bool:
        """Whether they have a day in common."""
        return self.first <= other.last and other.first <= self.last

    def may_hold(self, value: Any) -> bool:
        """Whether a plain value falls on one of the days."""
        day = plain_day(value)
        return day is not None and day in self

    def as_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"first": self.first.isoformat(), "last": self.last.isoformat()}


def days_of(document: Mapping[str, Any]) -> Days:
    """The days that `as_dict` told."""
    return Days(date.fromisoformat(document["first"]), date.fromisoformat(document["last"]))


def day_of(value: Expression) -> Expression:
    """The day of a date, of an instant (in UTC), or of a text that is one of both; NULL for anything else."""
    if value.type in (DATE, TIMESTAMP) or str(value.type) == "timestamp_ntz":
        return convert(value, DATE)
    written = convert(value, STRING)
    return Call("coalesce", (convert(written, DATE), convert(convert(written, TIMESTAMP), DATE)), DATE)


def plain_day(value: Any) -> date | None:
    """The same of a plain value."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value).strip()[:10])
    except ValueError:
        return None
