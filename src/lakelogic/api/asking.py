"""Query parameters that several routes share, and pages made of what the ledger answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime

from lakelogic.api.answers import cursor, in_utc, plain
from lakelogic.ledger.work import Happening

Limit = Annotated[int, Query(ge=1, le=200, description="Rows of one page.")]
Cursor = Annotated[str | None, Query(max_length=1_000, description="`next` of the page before.")]
Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
Since = Annotated[Moment | None, Query(description="An instant with its time zone.")]
LOG_LINES = 500


def pages_of(rows: Sequence[dict[str, Any]], limit: int, sort: str, identity: str) -> dict[str, Any]:
    """A page of what was asked for with one row too many."""
    shown = list(rows[:limit])
    more = len(rows) > limit
    return {"items": shown, "next": cursor(plain(shown[-1][sort]), shown[-1][identity]) if more else None}


def log_data(work_id: str | None, lines: Sequence[Happening]) -> dict[str, Any]:
    """The lines of a log."""
    return {
        "job_id": work_id,
        "lines": [
            {"seq": line.seq, "at": line.at, "topic": line.topic, "kind": line.kind, "text": line.body}
            for line in lines
        ],
        "next": lines[-1].seq if len(lines) >= LOG_LINES else None,
    }
