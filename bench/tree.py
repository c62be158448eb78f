"""What a tree of processes costs: CPU seconds, memory and bytes, with children that have ended."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
EVERY = 0.1
Samples = list[tuple[float, dict[str, int]]]  # memory by kind of process, at moments


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters of a tree at a moment: they only grow, so that two moments can be subtracted."""

    cpu: float
    read: int
    written: int
    at: float

    def since(self, before: Snapshot) -> dict[str, float]:
        """What was spent between two moments."""
        return {
            "cpu": round(self.cpu - before.cpu, 3),
            "wall": round(self.at - before.at, 3),
            "bytes_read": self.read - before.read,
            "bytes_written": self.written - before.written,
        }


def descendants(root: int) -> list[int]:
    """The living processes of a tree, the root first."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                waiting += [child for child in children if not _is_being_started(child, pid)]
        except OSError:
            continue
    return found


def _is_being_started(child: int, parent: int) -> bool:
    """Whether a child still stands in the memory of a parent that starts a program: Java does so for every `chmod`.

    It has the command line of its parent and the name of a thread of it; counted, all memory would stand there twice.
    """
    try:
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (child, parent)]
        names = [Path(f"/proc/{pid}/comm").read_text() for pid in (child, parent)]
    except OSError:  # one of them has just ended
        return True
    return lines[0] == lines[1] and names[0] != names[1]


def snapshot(root: int | None = None) -> Snapshot:
    """The counters of a tree now. A parent's counters hold those of children that it waited for."""
    cpu, read, written = 0.0, 0, 0
    for pid in descendants(root or os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            told = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        except OSError:
            continue
        cpu += sum(int(one) for one in fields[11:15]) / TICKS
        read, written = read + int(told["rchar"]), written + int(told["wchar"])
    return Snapshot(cpu, read, written, time.perf_counter())


def memory(root: int) -> dict[str, int]:
    """Resident bytes of a tree now, by the kind of process (`java`, `python`)."""
    now: dict[str, int] = {}
    for pid in descendants(root):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
        kind = "java" if name == "java" else "python" if name.startswith("python") else name
        now[kind] = now.get(kind, 0) + pages * PAGE
    return now


def private(root: int) -> int:
    """Bytes of a tree that stand for nothing on disk: what a machine without room for them cannot give."""
    total = 0
    for pid in descendants(root):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
    return total


def peak(samples: Samples, start: float = 0.0, end: float = float("inf")) -> dict[str, int]:
    """The most that was held at one time between two moments: in all, and by kind of process."""
    seen = [now for at, now in samples if start <= at <= end]
    kinds = sorted({kind for now in seen for kind in now})
    most = {kind: max(now.get(kind, 0) for now in seen) for kind in kinds}
    return {"total": max((sum(now.values()) for now in seen), default=0), **most}


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command cost from its start until its last child had ended."""

    code: int
    cpu: float
    wall: float
    samples: Samples
    load: float


def spend(
    command: list[str], log: Path, *, env: dict[str, str] | None = None, seconds: int = 3600, limit_mb: int = 0
) -> Spent:
    """Run a command and measure its whole tree; a keeper process adopts what the command leaves behind.

    What the command prints goes to `log`. A tree that runs for too long, or holds more private memory than its limit,
    is ended, as a machine without more memory would end it. The command finds the package `bench`, whatever its own
    environment is.
    """
    load = os.getloadavg()[0]
    keeper = [sys.executable, __file__, str(seconds), str(limit_mb), *command]
    told = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    with log.open("wb") as said:
        done = subprocess.run(keeper, env=told, cwd=log.parent, stdout=subprocess.PIPE, stderr=said, check=True)
    answer = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return Spent(**answer, load=round(load, 2))


def _keep(seconds: int, limit_mb: int, command: list[str]) -> None:
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    began = time.perf_counter()
    started = subprocess.Popen(command, stdout=sys.stderr)
    samples: Samples = []
    code = -1
    waiting = True
    while waiting:
        samples.append((round(time.time(), 2), memory(started.pid)))
        time.sleep(EVERY)
        too_much = limit_mb and private(started.pid) > limit_mb << 20
        if too_much:
            print(f"ended: more than {limit_mb} MB of private memory", file=sys.stderr)
        if too_much or time.perf_counter() - began > seconds:
            for pid in descendants(os.getpid())[1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                waiting = False
                break
            if pid == 0:
                break
            if pid == started.pid:
                code = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = {"code": code, "cpu": round(used.ru_utime + used.ru_stime, 3), "wall": round(wall, 3)}
    print(json.dumps({**told, "samples": samples}))


if __name__ == "__main__":
    _keep(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
