"""The heartbeat of a lease: a thread that renews it while a phase takes long, and remembers that it was lost."""

from __future__ import annotations

import logging
import signal
import threading
from datetime import timedelta

from lakelogic import printable
from lakelogic.errors import Blocked, LakeLogicError
from lakelogic.ledger.records import Lease
from lakelogic.ledger.store import Ledger
from lakelogic.run.state import in_use

log = logging.getLogger("lakelogic")
# After trouble it is tried more often than it beats: several times before the lease expires.
_SOONER = 6
# How long whoever gives a lease back waits for a renewal that is under way; one that comes later changes nothing.
_FAREWELL = 1.0


class Heartbeat:
    """Renews one lease until it is stopped, or lost. It keeps no process alive, and hears no signals."""

    def __init__(self, ledger: Ledger, lease: Lease, lasts: timedelta, every: timedelta) -> None:
        self._ledger, self._lease, self._lasts, self._every = ledger, lease, lasts, every.total_seconds()
        self._stopped = threading.Event()
        self._lost: Blocked | None = None
        self._thread = threading.Thread(target=self._beat, name=f"lease of {lease.target}", daemon=True)

    def start(self) -> None:
        """From now on the lease lasts as long as this process is at work."""
        self._thread.start()

    def stop(self) -> None:
        """Renew no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_FAREWELL)

    def check(self) -> None:
        """Raise what the renewal has said, where the lease is lost."""
        if self._lost is not None:
            raise self._lost

    def _beat(self) -> None:
        _leave_signals_to_others()
        wait = self._every
        while not self._stopped.wait(wait):
            wait = self._every
            try:
                self._ledger.renew(self._lease, self._lasts)
                in_use.touch(self._lease.target)
            except Blocked as lost:
                self._lost = lost
                return
            except Exception as error:  # noqa: BLE001  told, and tried again: the run itself may never need the ledger now
                if self._stopped.is_set():
                    return
                wait = self._every / _SOONER
                log.warning(
                    "The lease on `%s` could not be renewed, which is tried again: %s",
                    self._lease.target,
                    printable.line(error.message if isinstance(error, LakeLogicError) else str(error)),
                )


def _leave_signals_to_others() -> None:
    """A signal that reached this thread would not wake the one that has to hear it."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
