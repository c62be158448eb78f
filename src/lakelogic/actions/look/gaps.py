"""Days that no run has processed, between those that runs have: what the ledger knows of windows and of dated files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from lakelogic.errors import UsageError
from lakelogic.ledger.records import PUBLISHED, RunRecord
from lakelogic.plan.source.days import ONE_DAY, Days
from lakelogic.run.surroundings import Surroundings
from lakelogic.storage.dates import days_of_file


@dataclass(frozen=True, slots=True)
class GapsRequest:
    """Which datasets (none: all), and from when to when; by default from the first day processed to the last."""

    datasets: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Processed:
    """The days of one dataset, and those in between that nobody has processed."""

    dataset: str
    days: Days
    processed: int
    gaps: tuple[Days, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        gaps = [{**gap.as_dict(), "days": (gap.last - gap.first).days + 1} for gap in self.gaps]
        return {"dataset": self.dataset, **self.days.as_dict(), "processed": self.processed, "gaps": gaps}


def gaps(around: Surroundings, request: GapsRequest) -> list[Processed]:
    """The gaps of every dataset that has days at all, by name."""
    first, last = (_day(written) for written in (request.first, request.last))
    processed = []
    runs: dict[str, list[RunRecord]] = {}
    for run in around.ledger.runs(limit=None):
        runs.setdefault(run.dataset, []).append(run)
    if unknown := sorted(set(request.datasets) - set(runs)):
        raise UsageError(f"The ledger knows no run of `{unknown[0]}`.", hint="`lakelogic runs` lists what it knows.")
    for dataset in sorted(request.datasets or runs):
        spans = [dates for path in around.ledger.files_of(dataset) if (dates := days_of_file(path)) is not None]
        files = {day for span in spans for day in Days(*span)}
        days = files | windows_of(runs[dataset])
        if not days:
            continue
        span = Days(first or min(days), last or max(days))
        whole = None if files else everything_until(runs[dataset])
        open_ = [day for day in span if day not in days and (whole is None or day > whole)]
        covered = sum(1 for _ in span) - len(open_)
        processed.append(Processed(dataset, span, covered, tuple(together(open_))))
    return processed


def windows_of(runs: Iterable[RunRecord]) -> set[date]:
    """The days of windows that were run: those that had nothing new are processed too."""
    days: set[date] = set()
    for run in runs:
        if run.window_start and run.window_end and run.status in (*PUBLISHED, "no_new_data"):
            days |= set(Days(run.window_start.date(), (run.window_end - ONE_DAY).date()))
    return days


def everything_until(runs: Iterable[RunRecord]) -> date | None:
    """The day of the last run that read a whole table: nothing before it is missing."""
    whole = [run.started_at.date() for run in runs if run.window_end is None and run.status in PUBLISHED]
    return max(whole, default=None)


def together(days: Iterable[date]) -> list[Days]:
    """Days that follow one another, as one."""
    spans: list[Days] = []
    for day in sorted(days):
        if spans and day - spans[-1].last == timedelta(days=1):
            spans[-1] = Days(spans[-1].first, day)
        else:
            spans.append(Days(day, day))
    return spans


def _day(written: str | None) -> date | None:
    try:
        return date.fromisoformat(written) if written else None
    except ValueError as error:
        raise UsageError(f"{written} is no date.", hint="Write it as 2026-02-01.") from error
