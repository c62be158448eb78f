"""Leases: of processes that cannot come back for them, and renewed while a long phase goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor, clock
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import Blocked, LedgerError
from lakelogic.ledger.records import Lease
from lakelogic.ledger.store import Ledger, open_ledger
from lakelogic.run import faults
from lakelogic.run.state import heartbeat, leases
from lakelogic.tables.kinds import kind_of


def test_a_process_that_could_not_give_its_lease_back_is_not_kept_out_by_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        with pytest.raises(Blocked):
            leases.acquire(ledger, "a.b.c", "run-2")

        def full(_: object) -> None:
            raise LedgerError("The ledger cannot be used: disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(type(ledger), "release", lambda self, held: full(held))
            with pytest.raises(LedgerError):
                leases.release(ledger, lease)
        lease = leases.acquire(ledger, "a.b.c", "run-3")
        assert lease.owner.startswith("run-3@")
        leases.release(ledger, lease)


def test_a_process_of_another_container_with_the_same_name_and_number_is_not_taken_for_dead(workspace: Path) -> None:
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        leases.release(ledger, lease)
        name, _, mark = lease.owner.rpartition(":")
        boot, _, _ = name.rpartition(":")
        assert not leases.is_dead(f"{boot}:4026531999:{mark}")  # counts its processes apart from us
        assert leases.is_dead(lease.owner)  # our own, which nobody works under any more
        assert leases.is_dead(f"{name}:1")  # began at another time: this number is another process now
        assert not leases.is_dead(f"run-1@{socket.gethostname()}:{os.getpid()}")  # of a version that told no more


class _Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """Time that passes where the test says so, and a heart that beats every few milliseconds of real time."""
    moved = _Clock()
    monkeypatch.setattr(clock, "now", moved)
    monkeypatch.setattr(leases, "BEAT", timedelta(milliseconds=5))
    return moved


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def _beating(target: str = "a.b.c") -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"lease of {target}"]


@pytest.mark.parametrize("place", ["sqlite:///{}/ledger.db", "sqlite://"])
def test_a_phase_that_takes_longer_than_a_lease_keeps_it(workspace: Path, moved: _Clock, place: str) -> None:
    with open_ledger(place.format(workspace)) as ledger:
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        for _ in range(3):  # 27 minutes within one phase
            moved.at += timedelta(minutes=9)
            _until(lambda: _expires(ledger) == moved.at + leases.LEASE_TIME)
        with pytest.raises(Blocked, match="is being written by run-1@"):
            ledger.acquire("a.b.c", "run-2@elsewhere", leases.LEASE_TIME)
        leases.release(ledger, lease)
        assert ledger.lease("a.b.c") is None


def _expires(ledger: Ledger, target: str = "a.b.c") -> datetime | None:
    held = ledger.lease(target)
    return held.expires_at if held else None


def test_a_lease_that_was_lost_meanwhile_stops_the_run_also_when_nobody_holds_it_any_more(
    workspace: Path, moved: _Clock
) -> None:
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        keep = leases.keeper(ledger, lease)
        keep()
        assert len(_beating()) == 1
        with ledger.database.write("target:a.b.c") as connection:  # as if this machine had stood still for long
            connection.run("UPDATE leases SET owner = 'run-2@elsewhere', token = 'another'")
        _until(lambda: not _beating())
        other = ledger.lease("a.b.c")
        assert other is not None
        assert ledger.release(other)
        for _ in range(2):
            with pytest.raises(Blocked, match=r"The lease on `a.b.c` is lost: run-2@elsewhere has held it since"):
                keep()
        leases.release(ledger, lease)


def test_the_heartbeat_ends_with_the_lease(workspace: Path, moved: _Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        for n in range(3):
            lease = leases.acquire(ledger, "a.b.c", f"run-{n}")
            (thread,) = _beating()
            assert thread.daemon
            leases.release(ledger, lease)
            assert not _beating()
        with monkeypatch.context() as patch:
            patch.setattr(leases.Heartbeat, "start", _refused)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                leases.acquire(ledger, "a.b.c", "run-3")
        assert ledger.lease("a.b.c") is None  # nobody would renew it, and nobody could give it back


def _refused(_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_ledger_that_is_away_for_a_while_ends_no_heartbeat_and_is_told(
    workspace: Path, moved: _Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    errors: list[Exception] = [LedgerError("The ledger cannot be used: disk I/O error"), OSError("too many open files")]
    monkeypatch.setattr(heartbeat.log, "warning", lambda text, *values: told.append(text % values))
    renew = Ledger.renew

    def at_times(self: Ledger, lease: Lease, ttl: timedelta) -> Lease:
        if errors:
            raise errors.pop(0)
        return renew(self, lease, ttl)

    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        monkeypatch.setattr(Ledger, "renew", at_times)
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        moved.at += timedelta(minutes=9)
        _until(lambda: _expires(ledger) == moved.at + leases.LEASE_TIME)
        leases.keeper(ledger, lease)()
        leases.release(ledger, lease)
    assert told == [
        "The lease on `a.b.c` could not be renewed, which is tried again: The ledger cannot be used: disk I/O error",
        "The lease on `a.b.c` could not be renewed, which is tried again: too many open files",
    ]


_PROGRAM = """
import os, sys, threading
from datetime import timedelta
from lakelogic import signals
from lakelogic.ledger.store import open_ledger
from lakelogic.run.state import leases

leases.BEAT = timedelta(milliseconds=1)
signals.listen()
ledger = open_ledger("sqlite:///ledger.db")
lease = leases.acquire(ledger, "a.b.c", "run-1")
child = os.fork()
if child == 0:
    assert threading.active_count() == 1
    sys.exit(7)  # the parent's lease is not the child's to end
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
leases.keeper(ledger, lease)()
if sys.argv[1] == "forget":
    print("ready", flush=True)
    sys.exit(9)
try:
    print("ready", flush=True)
    threading.Event().wait(60)
except BaseException:
    sys.exit(signals.exit_code())
finally:
    leases.release(ledger, lease)
"""


@pytest.mark.parametrize(
    ("how", "sent", "ends"), [("wait", signal.SIGTERM, 143), ("wait", signal.SIGINT, 130), ("forget", None, 9)]
)
def test_a_heartbeat_keeps_no_process_alive_and_hides_no_signal(
    workspace: Path, how: str, sent: signal.Signals | None, ends: int
) -> None:
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, how], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if sent is not None:
                process.send_signal(sent)
            assert process.wait(20) == ends
        finally:
            process.kill()
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        held = ledger.lease("a.b.c")
        assert (held is None) == (sent is not None)
        assert held is None or leases.is_dead(held.owner)


def _run(engine: Any, at_stage: Callable[[], None]) -> str:
    Path("in").mkdir()
    Path("in", "a.csv").write_text("id\n1\n")
    contract = {
        "dataset": "orders",
        "source": {"path": "in/*.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}]},
        "materialization": {"strategy": "append", "target_path": "shop.silver.orders"},
    }
    with faults.watched(lambda point: at_stage() if point == "after_stage" else None):
        return str(DataProcessor(contract, engine).run().status)


def test_nobody_takes_a_target_from_a_run_whose_rows_take_long(
    workspace: Path, moved: _Clock, duckdb_engine: Any
) -> None:
    target = str(workspace / "lakelogic_warehouse/shop/silver/orders")

    def take_long() -> None:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            for _ in range(2):
                moved.at += timedelta(minutes=9)
                _until(lambda: _expires(ledger, target) == moved.at + leases.LEASE_TIME)
            with pytest.raises(Blocked):
                ledger.acquire(target, "run-2@elsewhere", leases.LEASE_TIME)

    assert _run(duckdb_engine, take_long) == "succeeded"
    assert not _beating(target)


def test_a_run_that_lost_its_target_publishes_nothing_though_the_other_is_gone(
    workspace: Path, moved: _Clock, duckdb_engine: Any
) -> None:
    target = str(workspace / "lakelogic_warehouse/shop/silver/orders")

    def lose() -> None:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            with ledger.database.write(f"target:{target}") as connection:
                connection.run("UPDATE leases SET owner = 'run-2@elsewhere', token = 'another'")
            _until(lambda: not _beating(target))
            with ledger.database.write(f"target:{target}") as connection:
                connection.run("DELETE FROM leases")

    with pytest.raises(Blocked, match="is lost: run-2@elsewhere"):
        _run(duckdb_engine, lose)
    assert kind_of(target) is None
