"""Work that somebody asked for and a worker does: a queue in the ledger's database, and what happens meanwhile.

A worker takes a piece for a while (`expires_at`) and keeps renewing it; a worker that dies lets it expire, and another
one takes it up again. Doing a piece twice is harmless: runs and replays are idempotent by batch.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, get_args

from lakelogic import clock
from lakelogic.errors import CommitConflict, NotFound
from lakelogic.ledger.database import Connection, Database
from lakelogic.ledger.records import Json

WorkState: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]
WORK_STATES: Final[tuple[str, ...]] = get_args(WorkState)
ENDED: Final = frozenset({"done", "failed", "cancelled"})
MOST_ATTEMPTS: Final = 3  # a piece that takes its worker down every time is given up


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One piece of work: what, on which dataset, who asked and why; `facts` is the request, `outcome` its report."""

    kind: str
    dataset: str
    person: str
    domain: str | None = None
    why: str | None = None
    facts: Json = None
    once: str | None = None  # asked again with the same word, it is the same piece
    work_id: str = ""  # from here on set by the queue
    state: WorkState = "waiting"
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    owner: str | None = None
    attempts: int = 0
    cancel_asked: int = 0
    outcome: Json = None


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened, in the order of `seq`: for logs, and for those who watch."""

    seq: int
    at: datetime
    topic: str  # work, run, quarantine, approvals
    kind: str
    work_id: str | None = None
    dataset: str | None = None
    body: str | None = None
    facts: Json = None


class WorkQueue:
    """The pieces of work of one ledger, safe between processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, work: QueuedJob) -> QueuedJob:
        """Put a piece of work into the queue; with the `once` of an earlier piece, that piece comes back instead."""
        now = clock.now()
        job = replace(
            work, work_id=f"job-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}", state="waiting", created_at=now, attempts=0
        )
        with self._database.write("happenings", "work") as connection:
            if work.once is not None:
                rows = connection.rows("SELECT * FROM work WHERE once = :once", once=work.once)
                if rows:
                    return _same(QueuedJob(**rows[0]), work)
            names = [field.name for field in fields(QueuedJob)]
            connection.run(
                f"INSERT INTO work ({', '.join(names)}) VALUES (:{', :'.join(names)})",
                **{name: getattr(job, name) for name in names},
            )
            _tell(connection, "work", "waiting", job)
        return job

    def take(self, owner: str, lasts: timedelta) -> QueuedJob | None:
        """The oldest piece that waits, or that a worker left behind; it is this worker's until it expires."""
        with self._database.write("happenings", "work") as connection:
            now = clock.now()
            rows = connection.rows(
                "SELECT * FROM work WHERE state = 'waiting' OR (state = 'running' AND expires_at < :expires_at) "
                "ORDER BY created_at, work_id LIMIT 1",
                expires_at=now,
            )
            if not rows:
                return None
            work = QueuedJob(**rows[0])
            if work.cancel_asked or work.attempts >= MOST_ATTEMPTS:
                state: WorkState = "cancelled" if work.cancel_asked else "failed"
                why = None if work.cancel_asked else {"error": {"message": "Its worker ended every time."}}
                self._end(connection, work, state, why)
                return None
            taken = replace(
                work, state="running", owner=owner, started_at=work.started_at or now, expires_at=now + lasts,
                attempts=work.attempts + 1,
            )  # fmt: skip
            connection.run(
                "UPDATE work SET state = 'running', owner = :owner, started_at = :started_at, "
                "expires_at = :expires_at, attempts = :attempts WHERE work_id = :work_id",
                owner=owner,
                started_at=taken.started_at,
                expires_at=taken.expires_at,
                attempts=taken.attempts,
                work_id=work.work_id,
            )
            _tell(connection, "work", "running", taken)
        return taken

    def renew(self, work: QueuedJob, lasts: timedelta) -> bool:
        """Keep a piece for longer; False where it was lost, or where somebody wants it to stop."""
        with self._database.write("happenings", "work") as connection:
            changed = connection.run(
                "UPDATE work SET expires_at = :expires_at WHERE work_id = :work_id AND owner = :owner "
                "AND state = 'running' AND cancel_asked = 0",
                expires_at=clock.now() + lasts,
                work_id=work.work_id,
                owner=work.owner,
            )
        return changed == 1

    def end(self, work: QueuedJob, state: WorkState, outcome: Json) -> bool:
        """Write down how a piece ended; False where another worker has taken it up meanwhile."""
        with self._database.write("happenings", "work") as connection:
            now = connection.rows("SELECT owner, state FROM work WHERE work_id = :work_id", work_id=work.work_id)
            if not now or now[0]["owner"] != work.owner or now[0]["state"] != "running":
                return False
            self._end(connection, work, state, outcome)
        return True

    def cancel(self, work_id: str) -> QueuedJob:
        """Ask for a piece to stop: one that waits never begins, one that runs is told at its next sign of life."""
        with self._database.write("happenings", "work") as connection:
            work = self._row(connection, work_id)
            if work.state in ENDED:
                raise CommitConflict(f"`{work_id}` has ended already ({work.state}).", hint="There is nothing to stop.")
            if work.state == "waiting":
                self._end(connection, work, "cancelled", None)
            else:
                connection.run("UPDATE work SET cancel_asked = 1 WHERE work_id = :work_id", work_id=work_id)
                _tell(connection, "work", "cancel_asked", work)
            return self._row(connection, work_id)

    def drop(self, person: str) -> tuple[list[QueuedJob], list[QueuedJob]]:
        """Cancel what somebody asked for and has not begun; these, and what of theirs is running."""
        with self._database.write("happenings", "work") as connection:
            rows = connection.rows(
                "SELECT * FROM work WHERE person = :person AND state IN ('waiting', 'running') "
                "ORDER BY created_at, work_id",
                person=person,
            )
            asked = [QueuedJob(**row) for row in rows]
            waiting = [work for work in asked if work.state == "waiting"]
            for work in waiting:
                self._end(connection, work, "cancelled", None)
        return waiting, [work for work in asked if work.state == "running"]

    def get(self, work_id: str) -> QueuedJob:
        """One piece of work."""
        with self._database.read() as connection:
            return self._row(connection, work_id)

    def happened(self, work: QueuedJob | None, topic: str, kind: str, body: str, facts: Json = None) -> None:
        """Remember something that happened."""
        with self._database.write("happenings") as connection:
            _tell(connection, topic, kind, work, body, facts)

    def happenings(self, after: int = 0, work_id: str | None = None, limit: int = 500) -> list[Happening]:
        """What happened after a number, oldest first; of one piece of work, or of all."""
        chosen = "" if work_id is None else "AND work_id = :work_id "
        values: dict[str, Any] = {"seq": after, "limit": limit} | ({} if work_id is None else {"work_id": work_id})
        query = f"SELECT * FROM happenings WHERE seq > :seq {chosen}ORDER BY seq LIMIT :limit"
        with self._database.read() as connection:
            return [Happening(**row) for row in connection.rows(query, **values)]

    def last_seq(self) -> int:
        """The number of the newest happening; 0 where nothing happened."""
        with self._database.read() as connection:
            return int(connection.rows("SELECT max(seq) AS seq FROM happenings")[0]["seq"] or 0)

    @staticmethod
    def _row(connection: Connection, work_id: str) -> QueuedJob:
        rows = connection.rows("SELECT * FROM work WHERE work_id = :work_id", work_id=work_id)
        if not rows:
            raise NotFound(f"There is no job `{work_id}`.", hint="GET /api/v1/jobs lists them.")
        return QueuedJob(**rows[0])

    @staticmethod
    def _end(connection: Connection, work: QueuedJob, state: WorkState, outcome: Json) -> None:
        connection.run(
            "UPDATE work SET state = :state, outcome = :outcome, finished_at = :finished_at, expires_at = NULL "
            "WHERE work_id = :work_id",
            state=state,
            outcome=outcome,
            finished_at=clock.now(),
            work_id=work.work_id,
        )
        _tell(connection, "work", state, work)


def _same(first: QueuedJob, asked: QueuedJob) -> QueuedJob:
    """The earlier piece, where it was asked by the same person for the same; anything else is a mistake."""
    ours, theirs = (
        (work.kind, work.dataset, work.person, json.dumps(work.facts, sort_keys=True, default=str))
        for work in (first, asked)
    )  # fmt: skip
    if ours != theirs:
        raise CommitConflict(
            "This idempotency key belongs to another request.", hint="Make a new key for every request."
        )
    return first


def _tell(
    connection: Connection, topic: str, kind: str, work: QueuedJob | None, body: str | None = None, facts: Json = None
) -> None:
    seq = int(connection.rows("SELECT max(seq) AS seq FROM happenings")[0]["seq"] or 0) + 1
    connection.run(
        "INSERT INTO happenings (seq, at, topic, work_id, dataset, kind, body, facts) "
        "VALUES (:seq, :at, :topic, :work_id, :dataset, :kind, :body, :facts)",
        seq=seq,
        at=clock.now(),
        topic=topic,
        work_id=work.work_id if work else None,
        dataset=work.dataset if work else None,
        kind=kind,
        body=body,
        facts=facts,
    )
