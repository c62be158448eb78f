"""The ledger: what is asked of it and what it is told, each as one transaction."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from lakelogic import clock
from lakelogic.errors import Blocked, LedgerError, NotFound, UsageError
from lakelogic.ledger import input_files, migrations
from lakelogic.ledger.database import Connection, Database, MissingTable, open_database
from lakelogic.ledger.records import (
    PUBLISHED,
    RUN_COLUMNS,
    Act,
    Held,
    InputFile,
    Intent,
    Json,
    Lease,
    LogLine,
    RunRecord,
)

_PUBLISHED = "status IN (" + ", ".join(f"'{status}'" for status in sorted(PUBLISHED)) + ")"
_NEWEST_FIRST = "ORDER BY started_at DESC, runs.run_id DESC"
# A batch that is finished and was not withheld is in the table, also where its run broke a promise and failed.
_IN_TABLE = "batches.status <> 'gated'"
_PUBLISHED_TO = (
    f"FROM batches JOIN runs ON runs.run_id = batches.run_id WHERE batches.dataset = :dataset AND {_IN_TABLE}"
)


def open_ledger(place: str | os.PathLike[str]) -> Ledger:
    """Open the ledger at a database URL, or in a SQLite file given as a `Path`; makes or upgrades it as needed."""
    database = open_database(place)
    # Asked before the file is opened: another process may make it in the meantime.
    was_there = database.file is None or database.file.exists()
    try:
        with database.read() as connection:
            current = migrations.version(connection)
    except LedgerError as error:
        # A SQLite file in a folder that is not there yet cannot be opened; `create` says why if it is worse.
        if was_there and not isinstance(error, MissingTable):
            raise
        database.create()
        current = 0
    migrations.check(current, database.name)
    if current < migrations.NEWEST:
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

    @property
    def id(self) -> str:
        """What tells this ledger from every other: the moment in which it was made. A copy of it is the same one."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT min(applied_at) AS at FROM lakelogic_migrations WHERE number = 1")
        return str(rows[0]["at"])

    @property
    def database(self) -> Database:
        """Where the ledger is kept, for the other things that are remembered there (`work.py`, `access.py`)."""
        return self._database

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
            rows = connection.rows("SELECT last_n FROM sequences WHERE dataset = :dataset", dataset=dataset)
            if not rows:
                connection.run(_insert("sequences", "dataset", "last_n"), dataset=dataset, last_n=at_least)
                return at_least
            n: int = max(rows[0]["last_n"] + 1, at_least)
            connection.run("UPDATE sequences SET last_n = :last_n WHERE dataset = :dataset", dataset=dataset, last_n=n)
            return n

    def last_n(self, dataset: str) -> int:
        """The newest number of a commit that this ledger has given out, or has heard of; 0 where it knows none."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT last_n FROM sequences WHERE dataset = :dataset", dataset=dataset)
        return int(rows[0]["last_n"]) if rows else 0

    def head(self, progress: str) -> str | None:
        """The newest commit to the table, by its batch, up to which the ledger is known to hold all of them."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT head FROM sequences WHERE dataset = :dataset", dataset=progress)
        return rows[0]["head"] if rows else None

    def compared(self, progress: str, batch_id: str | None) -> None:
        """The ledger holds every commit of the table up to this batch."""
        with self._database.write(f"dataset:{progress}") as connection:
            self._put_head(connection, progress, batch_id)

    def begin(self, intent: Intent) -> Intent:
        """Write down what is about to be done. Older open intents of the dataset that staged nothing are abandoned.

        The caller holds the lease of the target and has dealt with `open_intents` before.
        """
        begun = replace(intent, created_at=clock.now(), state="open")
        with self._database.write(f"dataset:{intent.dataset}") as connection:
            connection.run(
                "UPDATE intents SET state = 'abandoned' "
                "WHERE dataset = :dataset AND target = :target AND state = 'open' AND staged IS NULL",
                dataset=intent.dataset,
                target=intent.target,
            )
            connection.run(_insert("intents", *_names(Intent)), **_values(begun))
        return begun

    def open_intent(self, dataset: str) -> Intent | None:
        """What a run of this dataset began and no run has finished: a crash, to be rolled forward."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT * FROM intents WHERE dataset = :dataset AND state = 'open' ORDER BY n DESC LIMIT 1",
                dataset=dataset,
            )
        return Intent(**rows[0]) if rows else None

    def open_intents(self, dataset: str, target: str) -> list[Intent]:
        """What runs of this dataset began for a target and no run has finished, the oldest first."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT * FROM intents WHERE dataset = :dataset AND target = :target AND state = 'open' ORDER BY n",
                dataset=dataset,
                target=target,
            )
        return [Intent(**row) for row in rows]

    def intent_of(self, progress: str, batch_id: str) -> Intent | None:
        """The newest intent of a batch, whatever became of it."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT * FROM intents WHERE dataset = :dataset AND batch_id = :batch_id ORDER BY n DESC LIMIT 1",
                dataset=progress,
                batch_id=batch_id,
            )
        return Intent(**rows[0]) if rows else None

    def intents_with_files(self) -> list[Intent]:
        """Every open intent: what it has staged, or is staging, nobody may delete."""
        with self._database.read() as connection:
            return [Intent(**row) for row in connection.rows("SELECT * FROM intents WHERE state = 'open'")]

    def stage(self, dataset: str, n: int, staged: Json) -> None:
        """Put the staged record beside its intent; `Blocked` where another run has given the intent up meanwhile."""
        with self._database.write(f"dataset:{dataset}") as connection:
            changed = connection.run(
                "UPDATE intents SET staged = :staged WHERE dataset = :dataset AND n = :n AND state = 'open'",
                staged=staged,
                dataset=dataset,
                n=n,
            )
        if not changed:
            raise Blocked(
                f"Another run of `{dataset}` has taken over while this one worked.",
                hint="Nothing was published by this one. Run again: what is still new will be read.",
            )

    def abandon(self, intent: Intent) -> None:
        """Nothing of this intent was committed and nobody will finish it."""
        with self._database.write(f"dataset:{intent.dataset}") as connection:
            connection.run(
                "UPDATE intents SET state = 'abandoned' WHERE dataset = :dataset AND n = :n AND state = 'open'",
                dataset=intent.dataset,
                n=intent.n,
            )

    # What a run did

    def finish(
        self,
        record: RunRecord,
        inputs: Sequence[InputFile],
        batch_id: str,
        progress: str | None = None,
        *,
        replaced: Collection[str] | None = (),
    ) -> None:
        """The run, the files it read, its batch and the end of its intent: all or nothing.

        `replaced` are files that the table holds no row of any more, None for all that are not among `inputs`.

        The run may be `gated`: then pass no inputs, so that they are read again. Telling it twice changes nothing.
        `progress` is the key under which the dataset's memory towards its target is kept, else the dataset's name.
        """
        key = record.dataset if progress is None else progress
        if record.batch_id not in (None, batch_id):
            raise ValueError("the run record belongs to another batch")
        at = clock.now()
        with self._database.write(f"dataset:{key}") as connection:
            self._put_run(connection, replace(record, batch_id=batch_id))
            input_files.forget(connection, key, inputs, replaced)
            input_files.put(connection, key, inputs, batch_id, at)
            connection.run(
                "DELETE FROM batches WHERE dataset = :dataset AND batch_id = :batch_id", dataset=key, batch_id=batch_id
            )
            connection.run(
                _insert("batches", "batch_id", "dataset", "contract_fingerprint", "finished_at", "run_id", "status"),
                batch_id=batch_id,
                dataset=key,
                contract_fingerprint=record.contract_fingerprint,
                finished_at=record.finished_at or at,
                run_id=record.run_id,
                status=record.status,
            )
            self._close_intents(connection, key, "done", batch_id)
            if record.status != "gated":
                self._put_head(connection, key, batch_id)

    def remember_input(self, progress: str, file: InputFile, batch_id: str) -> None:
        """That a batch which is known has read a file, where only that was forgotten."""
        with self._database.write(f"dataset:{progress}") as connection:
            input_files.put(connection, progress, (file,), batch_id, clock.now())

    def record(self, run: RunRecord) -> None:
        """A run that committed nothing: failed, skipped, held back, no new data. Telling it twice keeps the last.

        A run that is known to have published stays so: only the answer to that was lost.
        """
        with self._database.write(f"dataset:{run.dataset}") as connection:
            rows = connection.rows("SELECT status FROM runs WHERE run_id = :run_id", run_id=run.run_id)
            if not rows or rows[0]["status"] not in PUBLISHED:
                self._put_run(connection, run)

    def keep_log(self, run_id: str, lines: Sequence[LogLine]) -> None:
        """What a run said, line by line; telling it twice keeps the last."""
        with self._database.write("run_log") as connection:
            connection.run("DELETE FROM run_log WHERE run_id = :run_id", run_id=run_id)
            for seq, line in enumerate(lines, 1):
                connection.run(
                    _insert("run_log", "run_id", "seq", "at", "kind", "body"),
                    run_id=run_id,
                    seq=seq,
                    at=line.at,
                    kind=line.kind,
                    body=line.body,
                )

    def log_of(self, run_id: str) -> list[LogLine]:
        """What a run said, in order."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT at, kind, body FROM run_log WHERE run_id = :run_id ORDER BY seq", run_id=run_id
            )
        return [LogLine(**row) for row in rows]

    # What was done before

    def seen(self, dataset: str) -> set[tuple[str, int, int]]:
        """The files that finished batches have read: path, size and modification time in nanoseconds."""
        files = (file for file in self.inputs(dataset).values() if not file.is_table and file.same_as is None)
        return {(file.path, file.size, file.mtime_ns) for file in files}

    def inputs(self, dataset: str) -> dict[str, InputFile]:
        """What finished batches have read, by path: of a file that was read several times, the last one."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT path, size, mtime_ns, content, batch_id, same_as FROM inputs WHERE dataset = :dataset "
                "ORDER BY recorded_at",
                dataset=dataset,
            )
        return {file["path"]: InputFile(**file) for file in rows}

    def learn(self, progress: str, files: Sequence[InputFile]) -> None:
        """What a file that was read before is called now, or when it was written again as it was."""
        with self._database.write(f"dataset:{progress}") as connection:
            input_files.learn(connection, progress, files, clock.now())

    def batch_inputs(self, *names: str) -> dict[str, Any]:
        """What each finished batch was about to read when it began, by batch; under any of these names."""
        with self._database.read() as connection:
            rows = [
                row
                for name in names
                for row in connection.rows(
                    "SELECT batch_id, input FROM intents WHERE dataset = :dataset AND state = 'done'", dataset=name
                )
            ]
        return {row["batch_id"]: row["input"] or {} for row in rows}

    def files_of(self, dataset: str) -> set[str]:
        """The files that finished batches of a dataset have read, towards whichever target."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT path FROM inputs WHERE dataset = :dataset OR substr(dataset, 1, :length) = :lead",
                dataset=dataset,
                lead=f"{dataset}@",
                length=len(dataset) + 1,
            )
        return {file["path"] for file in rows}

    def forget(self, progress: str, target: str) -> int:
        """Let the next run of a dataset towards a target read everything again; how many files that are.

        Files, batches and open intents are forgotten, and a batch that waits for a decision is given up. Runs stay,
        and so does the count of commits: a number is never given out twice.
        """
        with self._database.write(f"dataset:{progress}") as connection:
            paths = connection.rows("SELECT path FROM inputs WHERE dataset = :dataset", dataset=progress)
            connection.run("DELETE FROM inputs WHERE dataset = :dataset", dataset=progress)
            connection.run("DELETE FROM batches WHERE dataset = :dataset", dataset=progress)
            connection.run("UPDATE sequences SET head = NULL WHERE dataset = :dataset", dataset=progress)
            self._close_intents(connection, progress, "abandoned")
            connection.run(
                "UPDATE held SET state = 'discarded', decided_at = :decided_at, why = 'reset' "
                "WHERE target = :target AND state = 'waiting'",
                decided_at=clock.now(),
                target=target,
            )
        return len(paths)

    def batch_done(self, batch_id: str, progress: str) -> bool:
        """Whether the good rows of this batch have been published to the target of a progress."""
        with self._database.read() as connection:
            return bool(
                connection.rows(
                    f"SELECT run_id FROM batches WHERE dataset = :dataset AND batch_id = :batch_id AND {_IN_TABLE}",
                    dataset=progress,
                    batch_id=batch_id,
                )
            )

    def batches_done(self, progress: str) -> set[str]:
        """The batches whose good rows have been published to the target of a progress."""
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT batch_id FROM batches WHERE dataset = :dataset AND {_IN_TABLE}", dataset=progress
            )
        return {row["batch_id"] for row in rows}

    def published_batches(self, progress: str) -> list[tuple[int | None, RunRecord]]:
        """The runs that published good rows to the target of a progress, newest first, with the numbers of commits."""
        with self._database.read() as connection:
            rows = connection.rows(f"SELECT runs.* {_PUBLISHED_TO} {_NEWEST_FIRST}", dataset=progress)
            numbers = {
                row["batch_id"]: int(row["n"])
                for row in connection.rows(
                    "SELECT batch_id, n FROM intents WHERE dataset = :dataset AND state = 'done' ORDER BY n",
                    dataset=progress,
                )
            }
        return [(numbers.get(row["batch_id"]), RunRecord(**row)) for row in rows]

    def last_published(self, dataset: str, *, with_rows: bool = False) -> RunRecord | None:
        """The newest run of the dataset that published its good rows; `with_rows`, one that had some."""
        some = "AND counts_good > 0 " if with_rows else ""
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT * FROM runs WHERE dataset = :dataset AND {_PUBLISHED} {some}{_NEWEST_FIRST} LIMIT 1",
                dataset=dataset,
            )
        return RunRecord(**rows[0]) if rows else None

    def published(self, progress: str, *, with_rows: bool = False) -> RunRecord | None:
        """The newest run that published good rows of a dataset to a target; `with_rows`, one that had some."""
        some = "AND counts_good > 0 " if with_rows else ""
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT runs.* {_PUBLISHED_TO} {some}{_NEWEST_FIRST} LIMIT 1",
                dataset=progress,
            )
        return RunRecord(**rows[0]) if rows else None

    def watermark(self, progress: str) -> str | None:
        """The highest point that published runs have reached, as the newest of them that had one says."""
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT runs.watermark AS watermark {_PUBLISHED_TO} AND runs.watermark IS NOT NULL "
                f"{_NEWEST_FIRST} LIMIT 1",
                dataset=progress,
            )
        return rows[0]["watermark"] if rows else None

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
        chosen = {"dataset": dataset, "status": status, "layer": layer, "started_at": before}
        values: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        wanted = [f"{name} {'<' if name == 'started_at' else '='} :{name}" for name in values]
        query = f"SELECT * FROM runs {'WHERE ' if wanted else ''}{' AND '.join(wanted)} {_NEWEST_FIRST}"
        if limit is not None:
            query, values = f"{query} LIMIT :limit", values | {"limit": limit}
        with self._database.read() as connection:
            return [RunRecord(**row) for row in connection.rows(query, **values)]

    def run(self, run_id: str) -> RunRecord:
        """One run, by its id or the beginning of it where only one run begins so."""
        with self._database.read() as connection:
            exact = connection.rows("SELECT * FROM runs WHERE run_id = :run_id", run_id=run_id)
            # Not LIKE: it has signs of its own, and SQLite's does not mind case.
            rows = exact or connection.rows(
                "SELECT * FROM runs WHERE substr(run_id, 1, :length) = :run_id ORDER BY run_id LIMIT 6",
                run_id=run_id,
                length=len(run_id),
            )
        if not run_id or not rows:
            raise NotFound(
                f"There is no run `{run_id}` in the ledger {self.name}.", hint="`lakelogic runs` lists the newest."
            )
        if len(rows) > 1:
            names = ", ".join(row["run_id"] for row in rows[:5]) + (", …" if len(rows) > 5 else "")
            raise UsageError(f"Several runs begin with `{run_id}`: {names}.", hint="Type more of the id.")
        return RunRecord(**rows[0])

    # What people decide

    def tell(self, act: Act) -> Act:
        """Remember what a person did, and when."""
        now = clock.now()
        done = replace(act, act_id=f"act-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}", done_at=now)
        with self._database.write("acts") as connection:
            connection.run(_insert("acts", *_names(Act)), **_values(done))
        return done

    def acts(self, dataset: str | None = None, *, limit: int = 50) -> list[Act]:
        """What people did, newest first."""
        chosen = "" if dataset is None else "WHERE dataset = :dataset "
        values: dict[str, Any] = {"limit": limit} | ({} if dataset is None else {"dataset": dataset})
        query = f"SELECT * FROM acts {chosen}ORDER BY done_at DESC, act_id DESC LIMIT :limit"
        with self._database.read() as connection:
            return [Act(**row) for row in connection.rows(query, **values)]

    def hold(self, held: Held, followed: Sequence[str] = ()) -> None:
        """Keep a batch for a decision. Those of the runs that are `followed` are given up: this one has their rows."""
        with self._database.write(f"dataset:{held.dataset}") as connection:
            connection.run("DELETE FROM held WHERE run_id = :run_id", run_id=held.run_id)
            for run_id in followed:
                connection.run(
                    "UPDATE held SET state = 'discarded', decided_at = :decided_at, why = :why "
                    "WHERE run_id = :run_id AND state = 'waiting'",
                    decided_at=held.held_at,
                    why=f"followed by {held.run_id}",
                    run_id=run_id,
                )
            connection.run(_insert("held", *_names(Held)), **_values(held))

    def held(self, run_id: str) -> Held | None:
        """The batch that a run left behind a closed gate; None where it left none."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT * FROM held WHERE run_id = :run_id", run_id=run_id)
        return Held(**rows[0]) if rows else None

    def waiting(self) -> list[Held]:
        """The batches that wait for a decision, newest first."""
        with self._database.read() as connection:
            return [
                Held(**row)
                for row in connection.rows("SELECT * FROM held WHERE state = 'waiting' ORDER BY held_at DESC")
            ]

    def decide(self, held: Held) -> None:
        """Write down what became of a held batch, or what stands against it while it waits on."""
        with self._database.write(f"dataset:{held.dataset}") as connection:
            connection.run(
                "UPDATE held SET facts = :facts, state = :state, decided_at = :decided_at, person = :person, "
                "why = :why WHERE run_id = :run_id",
                facts=held.facts,
                state=held.state,
                decided_at=None if held.state == "waiting" else held.decided_at or clock.now(),
                person=held.person,
                why=held.why,
                run_id=held.run_id,
            )

    # Who may write to a target

    def acquire(self, target: str, owner: str, ttl: timedelta) -> Lease:
        """The right to write to a target for `ttl`; somebody else's that has not expired is `Blocked`."""
        with self._database.write(f"target:{target}") as connection:
            now = clock.now()  # after the wait for other writers
            lease = Lease(target, owner, secrets.token_hex(16), now, now + ttl)
            held = self._lease(connection, target)
            if held is not None and held.expires_at > now:
                raise _blocked(held)
            connection.run("DELETE FROM leases WHERE target = :target", target=target)
            connection.run(_insert("leases", *_names(Lease)), **_values(lease))
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
            connection.run(
                "UPDATE leases SET expires_at = :expires_at WHERE target = :target",
                expires_at=renewed.expires_at,
                target=lease.target,
            )
        return renewed

    def release(self, lease: Lease) -> bool:
        """Give the lease back; False where it was no longer ours, and then nothing changes."""
        with self._database.write(f"target:{lease.target}") as connection:
            held = self._lease(connection, lease.target)
            if held is None or held.token != lease.token:
                return False
            connection.run("DELETE FROM leases WHERE target = :target", target=lease.target)
        return True

    def lease(self, target: str) -> Lease | None:
        """Who holds a target, expired or not."""
        with self._database.read() as connection:
            return self._lease(connection, target)

    # Parts of a transaction

    @staticmethod
    def _put_run(connection: Connection, run: RunRecord) -> None:
        connection.run("DELETE FROM runs WHERE run_id = :run_id", run_id=run.run_id)
        connection.run(_insert("runs", *RUN_COLUMNS), **_values(run))

    @staticmethod
    def _put_head(connection: Connection, progress: str, batch_id: str | None) -> None:
        put = "UPDATE sequences SET head = :head WHERE dataset = :dataset"
        if not connection.run(put, head=batch_id, dataset=progress):
            connection.run(_insert("sequences", "dataset", "last_n", "head"), dataset=progress, last_n=0, head=batch_id)

    @staticmethod
    def _close_intents(connection: Connection, dataset: str, state: str, batch_id: str | None = None) -> None:
        close = "UPDATE intents SET state = :state WHERE dataset = :dataset AND state = 'open'"
        if batch_id is None:
            connection.run(close, state=state, dataset=dataset)
        else:
            connection.run(f"{close} AND batch_id = :batch_id", state=state, dataset=dataset, batch_id=batch_id)

    @staticmethod
    def _lease(connection: Connection, target: str) -> Lease | None:
        rows = connection.rows("SELECT * FROM leases WHERE target = :target", target=target)
        return Lease(**rows[0]) if rows else None


def _insert(table: str, *columns: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"


def _names(record: type[Intent | Lease | Act | Held]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record))


def _values(record: RunRecord | Intent | Lease | InputFile | Act | Held) -> dict[str, Any]:
    # Not asdict: it would copy the JSON values, which may be any mapping.
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _blocked(held: Lease) -> Blocked:
    return Blocked(
        f"`{held.target}` is being written by {held.owner} since {_at(held.acquired_at)}.",
        hint=f"Wait for it and run again. If it has died, its lease expires at {_at(held.expires_at)}.",
    )


def _at(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"
