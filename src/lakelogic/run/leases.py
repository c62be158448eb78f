"""The right to write to a target: taken, kept while a run goes on, and taken over from the dead."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta

from lakelogic.ledger.records import Lease
from lakelogic.ledger.store import Ledger

LEASE_TIME = timedelta(minutes=10)
# What this process holds. A lease of its own that is not among them could not be given back, and nobody works under it.
_held: set[str] = set()


def acquire(ledger: Ledger, target: str, run_id: str) -> Lease:
    """Take the lease of a target; one whose owner is gone from this machine is taken over."""
    held = ledger.lease(target)
    if held is not None and is_dead(held.owner):
        ledger.release(held)
    lease = ledger.acquire(target, f"{run_id}@{socket.gethostname()}:{os.getpid()}", LEASE_TIME)
    _held.add(lease.owner)
    return lease


def release(ledger: Ledger, lease: Lease) -> None:
    """Give a lease back."""
    _held.discard(lease.owner)
    ledger.release(lease)


def is_dead(owner: str) -> bool:
    """Whether the owner of a lease was a process of this machine that is gone."""
    place = owner.rpartition("@")[2]
    host, _, process = place.rpartition(":")
    if host != socket.gethostname() or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return owner not in _held
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # somebody else's, and alive
    return False


def keeper(ledger: Ledger, lease: Lease) -> Callable[[], None]:
    """A function that makes the lease last longer; called between the phases of a run."""
    held = [lease]

    def keep() -> None:
        held[0] = ledger.renew(held[0], LEASE_TIME)

    return keep
