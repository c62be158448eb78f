"""The windows of a pass: the days that were asked for, cut into days, weeks or months where they are many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, get_args

from lakelogic.errors import UsageError
from lakelogic.plan.source.days import Days
from lakelogic.run.input.days import Asked

Granularity = Literal["day", "week", "month"]
GRANULARITIES: Final[tuple[str, ...]] = get_args(Granularity)


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for, as it was written; dates are `YYYY-MM-DD`, and an end belongs to what it ends."""

    window: str = "none"
    window_start: str | None = None
    window_end: str | None = None
    backfill_start: str | None = None
    backfill_end: str | None = None
    granularity: str | None = None
    reprocess_date: str | None = None
    reprocess_start: str | None = None
    reprocess_end: str | None = None


def windows(wish: Wish, today: date) -> tuple[Asked, ...]:
    """The windows, in the order in which they run; none where every contract reads what is new."""
    backfill = bool(wish.backfill_start or wish.backfill_end or wish.granularity)
    again = bool(wish.reprocess_date or wish.reprocess_start or wish.reprocess_end)
    dated = bool(wish.window_start or wish.window_end)
    asked = [name for name, is_asked in (
        ("--window", wish.window != "none"), ("--backfill-…", backfill), ("--reprocess-…", again),
    ) if is_asked]  # fmt: skip
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} cannot be asked for together.", hint="Run one pass for each.")
    if dated and wish.window != "range":
        raise UsageError("--window-start-date and --window-end-date belong to --window range.")
    if wish.window == "range":
        days = _days("--window-start-date", wish.window_start, "--window-end-date", wish.window_end)
        return (Asked(days, late=True),)
    if wish.window == "yesterday":
        day = today - timedelta(days=1)
        return (Asked(Days(day, day), late=True),)
    if backfill:
        days = _days("--backfill-start-date", wish.backfill_start, "--backfill-end-date", wish.backfill_end)
        return tuple(Asked(part) for part in parts(days, wish.granularity or "day"))
    if again:
        return (Asked(_again(wish), again=True),)
    return ()


def _again(wish: Wish) -> Days:
    if wish.reprocess_date is None:
        return _days("--reprocess-start-date", wish.reprocess_start, "--reprocess-end-date", wish.reprocess_end)
    if wish.reprocess_start or wish.reprocess_end:
        raise UsageError("--reprocess-date is one day; --reprocess-start-date and --reprocess-end-date are several.")
    day = _day("--reprocess-date", wish.reprocess_date)
    return Days(day, day)


def _days(first_flag: str, first: str | None, last_flag: str, last: str | None) -> Days:
    for flag, value in ((first_flag, first), (last_flag, last)):
        if value is None:
            raise UsageError(f"{flag} is missing.", hint=f"Add {flag} 2026-02-01.")
    days = Days(_day(first_flag, str(first)), _day(last_flag, str(last)))
    if days.first > days.last:
        raise UsageError(f"{first_flag} {days.first} lies after {last_flag} {days.last}.", hint="Exchange them.")
    return days


def _day(flag: str, written: str) -> date:
    try:
        return date.fromisoformat(written.strip())
    except ValueError as error:
        raise UsageError(f"{flag} {written} is no date.", hint="Write it as 2026-02-01.") from error


def parts(days: Days, granularity: str) -> tuple[Days, ...]:
    """The days in pieces: single days, weeks from Monday to Sunday, or months; the first and last may be shorter."""
    if granularity not in GRANULARITIES:
        raise UsageError(f"`{granularity}` is no granularity.", hint=f"Choose among: {', '.join(GRANULARITIES)}.")
    months: list[Days] = []
    first = days.first
    while first <= days.last:
        if granularity == "day":
            last = first
        elif granularity == "week":
            last = first + timedelta(days=6 - first.weekday())
        else:
            last = (first.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        months.append(Days(first, min(last, days.last)))
        first = last + timedelta(days=1)
    return tuple(months)
