"""Counts that come along with the one pass: observed on the way, read with a time-out, evidence and not truth."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakelogic.engines.base import Frame
from lakelogic.engines.spark.session import functions_of, observation_for

SCANNED = "scanned"
# A plan that Spark empties while it runs never reports; nobody waits for it longer than this.
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Notes:
    """What is known about a frame beside its rows: what the scan sees, the fates and copies its rows can have."""

    scan: Any = None  # a number that is known before, or the counter that the rows pass
    fates: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    empty: bool = False  # the scan had no files
    small: bool = False  # a few rows, on the session for small inputs
    size: int | None = None  # bytes of the Parquet files that it reads, where it does little else


def noted(frame: Frame, notes: Notes) -> Frame:
    """The frame with notes pinned to it."""
    frame._lakelogic_notes = notes
    return frame


def notes_of(frame: Frame) -> Notes:
    """The notes of a frame; empty ones where nobody pinned any."""
    notes = frame.__dict__.get("_lakelogic_notes")
    return notes if isinstance(notes, Notes) else Notes()


def counted(frame: Frame) -> tuple[Frame, Any]:
    """The frame with a counter of its rows, and the counter; the frame as it is where the number is known."""
    if notes_of(frame).empty:
        return frame, 0
    if isinstance(notes_of(frame).scan, int):
        return frame, notes_of(frame).scan
    counter = observation_for(frame)
    return frame.observe(counter, functions_of(frame).expr(f"count(1) AS {SCANNED}")), counter


def read(counter: Any, seconds: float = PATIENCE) -> Mapping[str, Any] | None:
    """What a counter saw, or None where it does not say in time."""
    box: list[Mapping[str, Any]] = []

    def ask() -> None:
        try:
            box.append(counter.get)
        except Exception:  # noqa: BLE001 - a counter that cannot answer is one that does not know
            return

    thread = threading.Thread(target=ask, name="lakelogic-counter", daemon=True)
    thread.start()
    thread.join(seconds)
    return dict(box[0]) if box else None


def scanned(counter: Any) -> int | None:
    """Rows that the scan saw; None where it cannot be told."""
    if counter is None or isinstance(counter, int):
        return counter
    seen = read(counter)
    value = None if seen is None else seen.get(SCANNED)
    return None if value is None else int(value)
