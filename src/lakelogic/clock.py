"""The only reader of the wall clock, so that a test can stop it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The current instant, in UTC, with microseconds."""
    return datetime.now(UTC)
