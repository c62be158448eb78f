"""Give up a run of a pass: because the pass shall end, or because the time of its dataset is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from lakelogic.engines import registry
from lakelogic.engines.base import CanStop, Engine
from lakelogic.errors import LakeLogicError, TimedOut, UsageError

# An engine is stopped again and again: between two statements there is nothing that could be stopped.
_AGAIN_SECONDS: Final = 0.25
_LONGEST_SECONDS: Final = 3600.0


class Stopped(KeyboardInterrupt):
    """The pass was asked to end, and this run had not published anything yet."""


class Deadline:
    """When the time of a dataset is over, all its tries and the waits between them together."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._at = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left, or None where nobody counts them."""
        return None if self._at is None else max(self._at - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0.0

    def error(self, when: str) -> TimedOut:
        """What is said of a run that had to end."""
        return TimedOut(
            f"It took longer than {self.seconds:g} s and was stopped {when}.",
            hint="Run it again with more time (--entity-timeout), or let it read less.",
        )


class Watch:
    """Watches over one run from a thread of its own, and stops what its engine does when it has to end.

    A pass that shall end waits for a commit that is in hand. A dataset whose time is over is stopped there too: what
    its tables have seen of it then is found out by the next run, as after a crash.
    """

    def __init__(self, stop: threading.Event, deadline: Deadline, stop_work: Callable[[], None] | None) -> None:
        self._stop, self._deadline, self._stop_work = stop, deadline, stop_work
        self._commits, self._ended = False, threading.Event()

    def safe_point(self) -> None:
        """Give the run up if it has to end."""
        if self._stop.is_set():
            raise Stopped
        if self._deadline.is_over:
            raise self._deadline.error("before anything was published")

    def committing(self) -> None:
        """A pass that shall end waits from now on."""
        self._commits = True

    def reason(self, error: LakeLogicError) -> LakeLogicError:
        """Why the engine was stopped, where it was."""
        if self._stop.is_set() and not self._commits:
            raise Stopped from error
        if self._deadline.is_over and not isinstance(error, TimedOut):
            return self._deadline.error("while it was publishing" if self._commits else "before anything was published")
        return error

    def end(self) -> None:
        """The run is over."""
        self._ended.set()

    def look(self) -> None:
        """Wait until the run is over, or has to be."""
        while not self._ended.is_set():
            if self._deadline.is_over or (self._stop.is_set() and not self._commits):
                assert self._stop_work is not None
                self._stop_work()
                self._ended.wait(_AGAIN_SECONDS)
            else:
                left = self._deadline.left
                self._ended.wait(min(_AGAIN_SECONDS, _LONGEST_SECONDS if left is None else left))


def require_stop(names: Iterable[str]) -> None:
    """Refuse to promise an end to work that cannot be stopped; Polars, for one, does not let go of a query."""
    for name in sorted(names):
        engine = registry.load(name)
        try:
            if not isinstance(engine, CanStop):
                raise UsageError(
                    f"--entity-timeout cannot be kept on `{name}`: what it does cannot be stopped from outside.",
                    hint="Choose --engine duckdb or spark, or leave the timeout out.",
                )
        finally:
            engine.close()


@contextmanager
def watched(engine: Engine, label: str, stop: threading.Event, deadline: Deadline) -> Iterator[Watch]:
    """A watch over what this thread does on an engine while the block lasts."""
    with engine.work(label) if isinstance(engine, CanStop) else nullcontext() as stop_work:
        watch = Watch(stop, deadline, stop_work)
        thread = threading.Thread(target=watch.look, name=f"watch {label}", daemon=True)
        if stop_work is not None:
            thread.start()
        try:
            yield watch
        finally:
            watch.end()
            if stop_work is not None:
                thread.join()  # it holds the engine's connection, which must be gone before the process is
