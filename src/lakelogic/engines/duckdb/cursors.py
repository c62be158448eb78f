"""Cursors of a DuckDB connection, each known to the piece of work that it was made for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lakelogic.errors import EngineError


class _Work:
    """What one thread does at the moment: its cursors, which another thread may interrupt."""

    def __init__(self) -> None:
        self._alone = threading.Lock()
        self._cursors: list[Any] = []
        self._stopped = False

    def add(self, cursor: Any) -> Any:
        with self._alone:
            if self._stopped:
                raise EngineError("The work was stopped from outside.")
            self._cursors.append(cursor)
        return cursor

    def stop(self) -> None:
        with self._alone:
            self._stopped = True
            for cursor in self._cursors:
                cursor.interrupt()


class Cursors:
    """Hands out cursors of a connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._work: ContextVar[_Work | None] = ContextVar("work", default=None)

    def cursor(self) -> Any:
        """A cursor of one's own, which can be interrupted together with the work that it is made in."""
        work = self._work.get()
        cursor = self._connection.cursor()
        return cursor if work is None else work.add(cursor)

    @contextmanager
    def work(self) -> Iterator[Callable[[], None]]:
        """All cursors that this thread makes while the block lasts; what is handed out interrupts them."""
        work = _Work()
        token = self._work.set(work)
        try:
            yield work.stop
        finally:
            self._work.reset(token)
