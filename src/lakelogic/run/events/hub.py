"""What happened during a run, told to whoever listens; a sink that fails never fails the run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from lakelogic import clock, printable
from lakelogic.run.events.types import EventType

log = logging.getLogger("lakelogic")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, to which dataset and when. `what` has a type of its own; the rest is read off it."""

    what: EventType
    dataset: str
    at: datetime

    @property
    def kind(self) -> str:
        """started, phase, alert, wrote, note, warning, complete, finding or failed."""
        return self.what.kind

    @property
    def text(self) -> str:
        """A line for people."""
        return self.what.text

    @property
    def facts(self) -> Mapping[str, Any]:
        """The same for programs that do not know its type."""
        return self.what.facts()


Sink: TypeAlias = Callable[[Event], None]


class Events:
    """Hands every event to all sinks."""

    def __init__(self, dataset: str, sinks: tuple[Sink, ...] = ()) -> None:
        self._dataset = dataset
        self._sinks = sinks

    def tell(self, what: EventType) -> None:
        """Emit an event."""
        event = Event(what, self._dataset, clock.now())
        for sink in self._sinks:
            try:
                sink(event)
            except Exception as error:  # noqa: BLE001  a listener must never break a run; it is reported instead
                log.warning("A sink failed on `%s`: %s", what.kind, error)


def logging_sink(event: Event) -> None:
    """Log lines as people know them: the alert stands alone, everything else has time and level."""
    text = printable.line(event.text)
    if event.kind == "alert":
        log.warning(text, extra={"plain": True})
    elif event.kind in ("wrote", "complete", "finding", "note"):
        log.info(text)
    elif event.kind == "warning":
        log.warning(text)
    elif event.kind == "failed":
        log.error(text)
    else:
        log.debug(text)
