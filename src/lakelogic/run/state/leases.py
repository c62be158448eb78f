"""The right to write to a target: taken, kept while a run goes on, and taken over from the dead."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from lakelogic.ledger.records import Lease
from lakelogic.ledger.store import Ledger
from lakelogic.run.state import in_use
from lakelogic.run.state.heartbeat import Heartbeat

LEASE_TIME = timedelta(minutes=10)
BEAT = LEASE_TIME / 5  # how often it is renewed: several times may fail before it expires
# What this process holds. A lease of its own that is not among them could not be given back, and nobody works under it.
_held: set[str] = set()
_beating: dict[str, Heartbeat] = {}  # by the token of the lease
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_beating.clear)  # threads stay with the parent, and so do the leases


def acquire(ledger: Ledger, target: str, run_id: str) -> Lease:
    """Take the lease of a target, and renew it until it is given back.

    One whose owner is gone from this machine is taken over.
    """
    held = ledger.lease(target)
    if held is not None and is_dead(held.owner):
        ledger.release(held)
    lease = ledger.acquire(target, owner(run_id), LEASE_TIME)
    _held.add(lease.owner)
    try:
        _beating[lease.token] = Heartbeat(ledger, lease, LEASE_TIME, BEAT)
        _beating[lease.token].start()
    except BaseException:  # whoever asked will never hear of it, and could not give it back
        release(ledger, lease)
        raise
    return lease


def release(ledger: Ledger, lease: Lease) -> None:
    """Give a lease back."""
    _held.discard(lease.owner)
    if (heart := _beating.pop(lease.token, None)) is not None:
        heart.stop()
    try:
        in_use.tell_again(ledger, lease.target)
    finally:
        ledger.release(lease)


def owner(run_id: str) -> str:
    """How a lease, and whatever else outlives a process, names who holds it."""
    return f"{run_id}@{socket.gethostname()}:{os.getpid()}:{_mark(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Whether the owner of a lease was a process of this machine that is gone.

    Containers may share a name and count their processes from 1: only a process that counts as this one does, since
    the same start of the machine, can be told to be gone. Whoever cannot be told keeps the lease until it expires.
    """
    place = owner.rpartition("@")[2]
    host, _, process = place.partition(":")
    number, _, mark = process.partition(":")
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid() and mark in ("", _mark(os.getpid())):
        return bool(mark) and owner not in _held
    if mark and mark.rpartition(":")[0] != _world():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's, and alive
    return bool(mark) and mark != _mark(int(number))  # another process has its number now


def _world() -> str:
    """In which count of processes, since which start of the machine, a number means a process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # a system without such a place
        return "-:-"


def _mark(process: int) -> str:
    """What tells a process from every other that has, or had, its number."""
    try:
        began = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        began = "-"
    return f"{_world()}:{began}"


def keeper(ledger: Ledger, lease: Lease) -> Callable[[], None]:
    """A function that makes the lease last longer; `Blocked` where it was lost. Called between the phases of a run."""
    heart = _beating.get(lease.token)

    def keep() -> None:
        if heart is not None:
            heart.check()
        ledger.renew(lease, LEASE_TIME)

    return keep
