"""A piece of work on Spark: the jobs of one thread, in a fair pool of their own, under a tag that stops them."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from lakelogic.engines.spark import session as sessions
from lakelogic.errors import EngineError

POOL = "spark.scheduler.pool"


class Work:
    """Jobs of the thread that made it. Tags and pools belong to threads, so it marks only its own."""

    def __init__(self, label: str) -> None:
        self._label, self._tag = label, f"lakelogic-{uuid.uuid4().hex}"
        self._thread = threading.get_ident()
        self._alone = threading.Lock()
        self._marked: Any = None  # the session whose jobs carry the tag
        self._stopped = False

    def mark(self, session: Any) -> None:
        """Let what this thread asks of a session from now on belong to the work; once is enough."""
        if threading.get_ident() != self._thread:
            return
        with self._alone:
            if self._stopped:
                raise EngineError("The work was stopped from outside.")
            if self._marked is session:
                return
            if sessions.is_connect(session):
                session.addTag(self._tag)
            else:
                # On the context: the sessions for small inputs and for Delta's own writer share it.
                session._sc.addJobTag(self._tag)
                session._sc.setLocalProperty(POOL, self._label)
            self._marked = session

    def stop(self) -> None:
        """Cancel the jobs of the work, those that run and, as it is called again, those that come."""
        with self._alone:
            self._stopped = True
            session = self._marked
        if session is None:
            return
        if sessions.is_connect(session):
            session.interruptTag(self._tag)
        elif session._sc._jsc is not None:
            session._sc.cancelJobsWithTag(self._tag)

    def end(self) -> None:
        """Let the thread go on without tag and pool."""
        session = self._marked
        if session is None:
            return
        if sessions.is_connect(session):
            session.removeTag(self._tag)
        elif session._sc._jsc is not None:
            session._sc.removeJobTag(self._tag)
            session._sc.setLocalProperty(POOL, None)
