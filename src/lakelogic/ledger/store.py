"""The ledger: what is asked of it and what it is told, each as one transaction."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from lakelogic import clock
from lakelogic.errors import Blocked, LedgerError, UsageError
from lakelogic.ledger import migrations, tables
from lakelogic.ledger.database import Database, is_missing_table
from lakelogic.ledger.records import PUBLISHED, RUN_COLUMNS, InputFile, Intent, Lease, RunRecord


def open_ledger(place: str | os.PathLike[str]) -> Ledger:
    """Open the ledger at a database URL, or in a SQLite file given as a `Path`; makes or upgrades it as needed."""
    database = Database(place)
    try:
        with database.read() as connection:
            found = migrations.version(connection)
    except LedgerError as error:
        # A SQLite file in a folder that is not there yet cannot be opened; `create` says why if it is worse.
        if not is_missing_table(error) and (database.file is None or database.file.exists()):
            raise
        database.create()
        found = 0
    migrations.check(found, database.name)
    if found < migrations.NEWEST:
        with database.write("migrations") as connection:
            migrations.migrate(connection, database.name)
    return Ledger(database)


class Ledger:
    """Memory of runs, safe between processes. Every method is one transaction; none is held open in between."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        """Where the ledger is, for people; never with a password."""
        return self._database.name

    def close(self) -> None:
        """Give back connections."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a run is about to do

    def next_n(self, dataset: str, at_least: int = 1) -> int:
        """The number of the next commit: larger than every one given out before, and at least `at_least`.

        The tables know the numbers they have seen; `at_least` carries that knowledge to a ledger that was lost.
        """
        with self._database.write(f"dataset:{dataset}") as connection:
            last: int | None = connection.scalar(
                select(tables.sequences.c.last_n).where(tables.sequences.c.dataset == dataset)
            )
            if last is None:
                connection.execute(insert(tables.sequences).values(dataset=dataset, last_n=at_least))
                return at_least
            n = max(last + 1, at_least)
            connection.execute(update(tables.sequences).where(tables.sequences.c.dataset == dataset).values(last_n=n))
            return n

    def begin(self, intent: Intent) -> Intent:
        """Write down what is about to be done. Older open intents of the dataset are abandoned.

        The caller holds the lease of the target and has dealt with `open_intent` before.
        """
        begun = replace(intent, created_at=clock.now(), state="open")
        with self._database.write(f"dataset:{intent.dataset}") as connection:
            self._close_intents(connection, intent.dataset, "abandoned")
            connection.execute(insert(tables.intents).values(asdict(begun)))
        return begun

    def open_intent(self, dataset: str) -> Intent | None:
        """What a run of this dataset began and no run has finished: a crash, to be rolled forward."""
        query = (
            select(tables.intents)
            .where(tables.intents.c.dataset == dataset, tables.intents.c.state == "open")
            .order_by(tables.intents.c.n.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else Intent(**row._asdict())

    def abandon(self, intent: Intent) -> None:
        """Nothing of this intent was committed and nobody will finish it."""
        with self._database.write(f"dataset:{intent.dataset}") as connection:
            connection.execute(
                update(tables.intents)
                .where(
                    tables.intents.c.dataset == intent.dataset,
                    tables.intents.c.n == intent.n,
                    tables.intents.c.state == "open",
                )
                .values(state="abandoned")
            )

    # What a run did

    def finish(self, record: RunRecord, inputs: Sequence[InputFile], batch_id: str) -> None:
        """The run, the files it read, its batch and the end of its intent: all or nothing.

        The run may be `gated`: then pass no inputs, so that they are read again. Telling it twice changes nothing.
        """
        if record.batch_id not in (None, batch_id):
            raise ValueError("the run record belongs to another batch")
        at = clock.now()
        with self._database.write(f"dataset:{record.dataset}") as connection:
            self._put_run(connection, replace(record, batch_id=batch_id))
            self._put_inputs(connection, record.dataset, inputs, batch_id, at)
            connection.execute(delete(tables.batches).where(tables.batches.c.batch_id == batch_id))
            connection.execute(
                insert(tables.batches).values(
                    batch_id=batch_id,
                    dataset=record.dataset,
                    contract_fingerprint=record.contract_fingerprint,
                    finished_at=record.finished_at or at,
                    run_id=record.run_id,
                    status=record.status,
                )
            )
            self._close_intents(connection, record.dataset, "done", batch_id)

    def record(self, run: RunRecord) -> None:
        """A run that committed nothing: failed, skipped, held back, no new data. Telling it twice keeps the last."""
        with self._database.write(f"dataset:{run.dataset}") as connection:
            self._put_run(connection, run)

    # What was done before

    def seen(self, dataset: str) -> set[tuple[str, int, int]]:
        """The files that finished batches have read: path, size and modification time in nanoseconds."""
        columns = tables.inputs.c
        with self._database.read() as connection:
            rows = connection.execute(
                select(columns.path, columns.size, columns.mtime_ns).where(columns.dataset == dataset)
            )
            return {(path, size, mtime_ns) for path, size, mtime_ns in rows}

    def batch_done(self, batch_id: str) -> bool:
        """Whether the good rows of this batch have been published."""
        query = select(tables.batches.c.status).where(tables.batches.c.batch_id == batch_id)
        with self._database.read() as connection:
            return connection.scalar(query) in PUBLISHED

    def last_published(self, dataset: str) -> RunRecord | None:
        """The newest run of the dataset that published its good rows."""
        columns = tables.runs.c
        query = (
            select(tables.runs)
            .where(columns.dataset == dataset, columns.status.in_(sorted(PUBLISHED)))
            .order_by(columns.started_at.desc(), columns.run_id.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else _run(row)

    def watermark(self, dataset: str) -> str | None:
        """The highest point that published runs have reached, as the newest of them that had one says."""
        columns = tables.runs.c
        query = (
            select(columns.watermark)
            .where(
                columns.dataset == dataset,
                columns.status.in_(sorted(PUBLISHED)),
                columns.watermark.is_not(None),
            )
            .order_by(columns.started_at.desc(), columns.run_id.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            found: str | None = connection.scalar(query)
        return found

    def runs(
        self,
        dataset: str | None = None,
        status: str | None = None,
        layer: str | None = None,
        *,
        limit: int | None = 50,
        before: datetime | None = None,
    ) -> list[RunRecord]:
        """Runs, newest first; `before` leaves out what started at that instant or later. No limit gives all."""
        columns = tables.runs.c
        query = select(tables.runs).order_by(columns.started_at.desc(), columns.run_id.desc()).limit(limit)
        for column, wanted in ((columns.dataset, dataset), (columns.status, status), (columns.layer, layer)):
            if wanted is not None:
                query = query.where(column == wanted)
        if before is not None:
            query = query.where(columns.started_at < before)
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def run(self, run_id: str) -> RunRecord:
        """One run, by its id or the beginning of it where only one run begins so."""
        column = tables.runs.c.run_id
        with self._database.read() as connection:
            exact = connection.execute(select(tables.runs).where(column == run_id)).first()
            if exact is not None:
                return _run(exact)
            # Not LIKE: it has signs of its own, and SQLite's does not mind case.
            begins = func.substr(column, 1, len(run_id)) == run_id
            found = connection.execute(select(tables.runs).where(begins).order_by(column).limit(6)).all()
        if not run_id or not found:
            raise UsageError(
                f"There is no run `{run_id}` in the ledger {self.name}.", hint="`lakelogic runs` lists the newest."
            )
        if len(found) > 1:
            names = ", ".join(row.run_id for row in found[:5]) + (", …" if len(found) > 5 else "")
            raise UsageError(f"Several runs begin with `{run_id}`: {names}.", hint="Type more of the id.")
        return _run(found[0])

    # Who may write to a target

    def acquire(self, target: str, owner: str, ttl: timedelta) -> Lease:
        """The right to write to a target for `ttl`; somebody else's that has not expired is `Blocked`."""
        with self._database.write(f"target:{target}") as connection:
            now = clock.now()  # after the wait for other writers
            lease = Lease(target, owner, secrets.token_hex(16), now, now + ttl)
            held = self._lease(connection, target)
            if held is not None and held.expires_at > now:
                raise _blocked(held)
            connection.execute(delete(tables.leases).where(tables.leases.c.target == target))
            connection.execute(insert(tables.leases).values(asdict(lease)))
        return lease

    def renew(self, lease: Lease, ttl: timedelta) -> Lease:
        """The same lease for longer, counted from now; `Blocked` where somebody has taken it over."""
        with self._database.write(f"target:{lease.target}") as connection:
            renewed = replace(lease, expires_at=clock.now() + ttl)
            held = self._lease(connection, lease.target)
            if held is None or held.token != lease.token:
                raise Blocked(
                    f"The lease on `{lease.target}` is lost: "
                    + (f"{held.owner} has held it since {_at(held.acquired_at)}." if held else "it was released."),
                    hint="It expired before it was renewed. Run again; what is committed is not repeated.",
                )
            connection.execute(
                update(tables.leases)
                .where(tables.leases.c.target == lease.target)
                .values(expires_at=renewed.expires_at)
            )
        return renewed

    def release(self, lease: Lease) -> bool:
        """Give the lease back; False where it was no longer ours, and then nothing changes."""
        with self._database.write(f"target:{lease.target}") as connection:
            held = self._lease(connection, lease.target)
            if held is None or held.token != lease.token:
                return False
            connection.execute(delete(tables.leases).where(tables.leases.c.target == lease.target))
        return True

    def lease(self, target: str) -> Lease | None:
        """Who holds a target, expired or not."""
        with self._database.read() as connection:
            return self._lease(connection, target)

    # Parts of a transaction

    @staticmethod
    def _put_run(connection: Connection, run: RunRecord) -> None:
        connection.execute(delete(tables.runs).where(tables.runs.c.run_id == run.run_id))
        connection.execute(insert(tables.runs).values({name: getattr(run, name) for name in RUN_COLUMNS}))

    @staticmethod
    def _put_inputs(
        connection: Connection, dataset: str, inputs: Sequence[InputFile], batch_id: str, at: datetime
    ) -> None:
        if not inputs:
            return
        columns = tables.inputs.c
        files = [asdict(file) for file in dict.fromkeys(inputs)]
        # A file may have been read before (a full load reads all again): the newest batch counts.
        again = delete(tables.inputs).where(
            columns.dataset == dataset,
            columns.path == bindparam("path"),
            columns.size == bindparam("size"),
            columns.mtime_ns == bindparam("mtime_ns"),
        )
        connection.execute(again, files)
        about = {"dataset": dataset, "batch_id": batch_id, "recorded_at": at}
        connection.execute(insert(tables.inputs), [{**about, **file} for file in files])

    @staticmethod
    def _close_intents(connection: Connection, dataset: str, state: str, batch_id: str | None = None) -> None:
        columns = tables.intents.c
        close = update(tables.intents).where(columns.dataset == dataset, columns.state == "open").values(state=state)
        connection.execute(close if batch_id is None else close.where(columns.batch_id == batch_id))

    @staticmethod
    def _lease(connection: Connection, target: str) -> Lease | None:
        row = connection.execute(select(tables.leases).where(tables.leases.c.target == target)).first()
        return None if row is None else Lease(**row._asdict())


def _run(row: Row[Any]) -> RunRecord:
    return RunRecord(**row._asdict())


def _blocked(held: Lease) -> Blocked:
    return Blocked(
        f"`{held.target}` is being written by {held.owner} since {_at(held.acquired_at)}.",
        hint=f"Wait for it and run again. If it has died, its lease expires at {_at(held.expires_at)}.",
    )


def _at(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"
