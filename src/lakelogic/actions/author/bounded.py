"""Work on a stranger's text, done in a process of its own with a bound on time and memory, and killed there.

The process knows nothing of this machine's variables, answers one question after the other, and is replaced when it
ends. What it cannot answer in time is a usage error: the service goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from lakelogic.errors import ContractError, Defect, LakeLogicError, LoadError, UsageError

SECONDS = 10.0  # for one text
BYTES = 768 << 20  # beyond what the process needs before the first one
START_SECONDS = 60.0
MOST_ANSWER = 32 << 20
# What a Python needs to find its packages; nothing else is handed on.
_PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT")
_LENGTH = struct.Struct(">Q")
_TOO_MUCH = "Looking at the contract takes more {what} than one contract may have."
_SMALLER = "Make it smaller, or look at it with `lakelogic validate` on a machine of your own."


class Gone(Exception):
    """The process ended, or did not answer in time."""


class Bounded:
    """A process that answers questions about texts; it begins with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def ask(self, task: str, text: str) -> Any:
        """What a task (`module:function`) makes of a text; its errors are raised here."""
        try:
            kind, reply = self._asked(task, text)
        except Gone as gone:
            self.end()
            raise UsageError(str(gone), hint=_SMALLER) from None
        match kind:
            case "done":
                return reply
            case "contract":
                raise LoadError(reply)
            case "usage":
                raise UsageError(reply[0], hint=reply[1])
            case "memory":
                self.end()  # what is left of it is in pieces
                raise UsageError(_TOO_MUCH.format(what="memory"), hint=_SMALLER)
        raise Defect(f"A posted contract could not be looked at: {reply}.")

    def _asked(self, task: str, text: str) -> tuple[str, Any]:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (task, text))
        except OSError:
            raise Gone("Looking at the contract ended too early.") from None
        return _received(process.stdout, time.monotonic() + SECONDS)  # type: ignore[no-any-return]

    def end(self) -> None:
        """End the process; the next question begins another."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.kill()
        process.wait()


def _started() -> subprocess.Popen[bytes]:
    passed = {
        name: value for name, value in os.environ.items() if name in _PASSED or name.startswith(("LC_", "PYTHON"))
    }
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=passed,
        start_new_session=True,  # Ctrl-C is for the service
    )
    assert process.stdout is not None
    try:
        _received(process.stdout, time.monotonic() + START_SECONDS)
    except Gone:
        process.kill()
        process.wait()
        raise Defect("The process that looks at posted contracts does not start.") from None
    return process


def _send(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _received(stream: IO[bytes], until: float) -> Any:
    (size,) = _LENGTH.unpack(_bytes(stream, _LENGTH.size, until))
    if size > MOST_ANSWER:
        raise Gone("What there is to say about the contract is too long.")
    # It comes from our own code, which has run nothing of the text.
    return pickle.loads(_bytes(stream, size, until))


def _bytes(stream: IO[bytes], count: int, until: float) -> bytes:
    content = bytearray()
    number = stream.fileno()
    while len(content) < count:
        ready, _, _ = select.select([number], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise Gone(_TOO_MUCH.format(what="time"))
        piece = os.read(number, count - len(content))
        if not piece:
            raise Gone("Looking at the contract ended too early.")
        content += piece
    return bytes(content)


# The other side.


def _limit() -> None:
    """No more memory than a bound, no traces of it on the disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError, StopIteration):  # where there is no /proc, time is the bound
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
        used = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + BYTES, used + BYTES))


def _answer(tasks: Mapping[str, Callable[[str], Any]], task: str, text: str) -> tuple[str, Any]:
    try:
        return "done", tasks[task](text)
    except ContractError as error:
        return "contract", error.diagnostics
    except RecursionError:
        return "usage", ("The contract is too deeply nested.", _SMALLER)
    except (MemoryError, SystemError):  # compiled code that gets no memory may forget to say so, which is the second
        return "memory", None
    except LakeLogicError as error:
        return "usage", (error.message, error.hint)
    except Exception as error:  # noqa: BLE001  told as a defect on the other side, without its words
        return "defect", type(error).__name__


def main() -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from lakelogic.actions.author.posted import TASKS

    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not answer
    _limit()
    _send(out, "ready")
    source = sys.stdin.buffer
    while head := source.read(_LENGTH.size):
        task, text = pickle.loads(source.read(_LENGTH.unpack(head)[0]))
        answer = _answer(TASKS, task, text)
        try:
            _send(out, answer)
        except MemoryError:
            _send(out, ("memory", None))


class Pool:
    """A few such processes: a large contract holds a processor for seconds."""

    def __init__(self, count: int) -> None:
        self._free = [Bounded() for _ in range(count)]
        self._lock = threading.Lock()

    def ask(self, task: str, text: str) -> Any:
        """Ask one that is free; whoever comes here has been counted before."""
        with self._lock:
            process = self._free.pop()
        try:
            return process.ask(task, text)
        finally:
            with self._lock:
                self._free.append(process)


if __name__ == "__main__":
    main()
