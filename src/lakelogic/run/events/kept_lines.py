"""What a run says, kept in the ledger under its id: whoever looks later reads what the screen said."""

from __future__ import annotations

from typing import Final

from lakelogic.errors import LedgerError
from lakelogic.ledger.records import LogLine
from lakelogic.ledger.store import Ledger
from lakelogic.printable import line
from lakelogic.run.events.hub import Event, log

_MOST: Final = 1_000  # lines of one run; a run says about ten


class RunLog:
    """A listener that remembers."""

    def __init__(self) -> None:
        self._said: list[LogLine] = []
        self._more = 0

    def __call__(self, event: Event) -> None:
        """Something was said."""
        if len(self._said) < _MOST:
            self._said.append(LogLine(event.at, event.kind, line(event.text)))
        else:
            self._more += 1

    def keep(self, ledger: Ledger | None, run_id: str) -> None:
        """Write it down. Trouble with that changes nothing about the run, and is told."""
        if ledger is None or not self._said:
            return
        said = list(self._said)
        if self._more:
            said.append(LogLine(said[-1].at, "note", f"… and {self._more} more lines"))
        try:
            ledger.keep_log(run_id, said)
        except LedgerError as trouble:
            log.warning("The log of %s could not be kept: %s", run_id, trouble.message)
