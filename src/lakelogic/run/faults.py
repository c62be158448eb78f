"""Named points of the commit protocol at which a test can kill, fail or stall the process.

`LAKELOGIC_FAULT=after_quarantine_commit:kill` makes a run die there. Kinds: `kill` (SIGKILL), `raise` (an error that
nobody expects), `lose` (what was asked for happened, and the answer never came), `stall`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lakelogic.errors import TableError

POINTS = (
    "after_lease",
    "after_intent",
    "after_stage",
    "after_quarantine_stage",
    "after_gates",
    "after_staged_record",
    "after_quarantine_commit",
    "after_progress_entry",
    "after_good_commit",
    "after_settling",
    "after_ledger",
)
KINDS = ("kill", "raise", "lose", "stall")
# Where somebody else was asked to do something, and the answer can get lost.
ANSWERS = ("after_staged_record", "after_quarantine_commit", "after_good_commit", "after_settling", "after_ledger")

Watcher = Callable[[str], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class InjectedFault(RuntimeError):
    """Raised on purpose at a fault point."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with the name of each point that runs of this thread come to; it may raise, or wait."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def reach(point: str) -> None:
    """Say that the run has come this far."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(point)
    wanted = os.environ.get("LAKELOGIC_FAULT")
    if not wanted:
        return
    name, _, kind = wanted.partition(":")
    if name == point:
        strike(point, kind)


def strike(point: str, kind: str) -> None:
    """Do what a fault of this kind does."""
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "stall":
        time.sleep(float(os.environ.get("LAKELOGIC_FAULT_SECONDS", "30")))
        return
    if kind == "lose":
        raise TableError(f"The answer was lost at {point}.", hint="A fault that a test injected; run again.")
    raise InjectedFault(f"Fault injected at {point}.")
