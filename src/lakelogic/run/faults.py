"""Named points of the commit protocol at which a test can kill, fail or stall the process.

`LAKELOGIC_FAULT=after_quarantine_commit:kill` makes a run die there. Kinds: `kill` (SIGKILL), `raise`, `stall`.
"""

from __future__ import annotations

import os
import signal
import time

POINTS = (
    "after_lease",
    "after_intent",
    "after_stage",
    "after_gates",
    "after_quarantine_stage",
    "after_quarantine_commit",
    "after_good_commit",
    "after_ledger",
)


class InjectedFault(RuntimeError):
    """Raised on purpose at a fault point."""


def reach(point: str) -> None:
    """Say that the run has come this far."""
    wanted = os.environ.get("LAKELOGIC_FAULT")
    if not wanted:
        return
    name, _, kind = wanted.partition(":")
    if name != point:
        return
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "stall":
        time.sleep(float(os.environ.get("LAKELOGIC_FAULT_SECONDS", "30")))
        return
    raise InjectedFault(f"Fault injected at {point}.")
