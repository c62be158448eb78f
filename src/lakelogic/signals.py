"""Whether this process was asked to end: errors that come after that are a consequence of it, whatever they say.

A signal is heard between two steps of Python. Where a library is at work just then, it may make an error of its own of
it, or swallow it; what was heard is remembered, so that the process ends with 130 or 143 all the same.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

_heard: list[int] = []
_listening = False


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end (SIGTERM)."""


def listen() -> None:
    """From now on SIGINT and SIGTERM are remembered, and raise. For a process that is a program of its own."""
    global _listening  # noqa: PLW0603 - signals belong to the whole process
    _listening = True
    signal.signal(signal.SIGTERM, hear)
    # A process in the background of a shell was told to ignore it.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hear)


def listen_again() -> None:
    """A library has put a handler of its own in place of ours."""
    if _listening and threading.current_thread() is threading.main_thread():
        listen()


def hear(number: int, _: Any = None) -> None:
    """What a process does when it is asked to end: what it holds is given back on the way out."""
    _heard.append(number)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def exit_code() -> int | None:
    """How the process ends because it was asked to; None where nobody has asked."""
    return 128 + _heard[0] if _heard else None


def safe_point() -> None:
    """Raise what a library has swallowed."""
    if _heard:
        raise Terminated if _heard[0] == signal.SIGTERM else KeyboardInterrupt


def forget() -> None:
    """Begin anew, as a process does."""
    _heard.clear()
