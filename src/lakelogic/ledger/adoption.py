"""What a ledger remembers of a dataset from the time when all of its targets shared one progress: whose is it?

A batch belongs to the target that holds it, or that its intent names; where neither tells, to the target that its run
named. What belongs to no target stays where it is, and is never taken for something that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lakelogic.ledger.database import Connection
from lakelogic.ledger.records import InputFile
from lakelogic.ledger.store import Ledger


def adopt(
    ledger: Ledger,
    key: str,
    before: Sequence[str],
    *,
    target: str,
    written: str,
    held: Mapping[str, Sequence[InputFile]],
    files_of_input: Callable[[Any], Iterable[InputFile]],
) -> int:
    """Give a progress what it is owed, once; how many batches those are.

    `held` are the batches of its table, with what they read; `files_of_input` makes that
    of the input that an intent names.
    """
    names = [name for name in before if name != key]
    with ledger.database.read() as connection:
        if connection.rows("SELECT last_n FROM sequences WHERE dataset = :dataset", dataset=key):
            return 0
        last = [_last_n(connection, name) for name in names]
    if not any(last):
        return 0
    with ledger.database.write(*(f"dataset:{name}" for name in sorted({key, *names}))) as connection:
        adopted = 0
        for name in names:
            for batch in _batches(connection, name):
                batch_id = batch["batch_id"]
                if batch_id in held or _is_owed(connection, name, batch, target, written):
                    begun = _begun(connection, name, batch_id, target)
                    files = [*(file for intent in begun for file in files_of_input(intent)), *held.get(batch_id, ())]
                    _move(connection, name, key, batch_id, files)
                    adopted += 1
            connection.run(
                "UPDATE intents SET dataset = :dataset WHERE dataset = :was AND target = :target AND state = 'open'",
                dataset=key,
                was=name,
                target=target,
            )
        # A number is never given out twice, whoever had it.
        connection.run(
            "INSERT INTO sequences (dataset, last_n) VALUES (:dataset, :last_n)", dataset=key, last_n=max(last)
        )
    return adopted


def batches_towards(ledger: Ledger, before: Sequence[str], target: str) -> frozenset[str]:
    """The batches that were begun for a target while all targets of a dataset shared one progress."""
    return frozenset(batch for batch, place in _intents(ledger, before) if place == target)


def batches_elsewhere(ledger: Ledger | None, before: Sequence[str], target: str) -> frozenset[str]:
    """The batches that were begun then for other targets, and for these alone."""
    if ledger is None:
        return frozenset()
    begun = _intents(ledger, before)
    return frozenset(batch for batch, _ in begun) - {batch for batch, place in begun if place == target}


def _intents(ledger: Ledger, before: Sequence[str]) -> set[tuple[str, str]]:
    with ledger.database.read() as connection:
        return {
            (row["batch_id"], row["target"])
            for name in before
            for row in connection.rows("SELECT batch_id, target FROM intents WHERE dataset = :dataset", dataset=name)
        }


def _last_n(connection: Connection, name: str) -> int:
    rows = connection.rows("SELECT last_n FROM sequences WHERE dataset = :dataset", dataset=name)
    return int(rows[0]["last_n"]) if rows else 0


def _batches(connection: Connection, name: str) -> list[dict[str, Any]]:
    return connection.rows(
        "SELECT batches.batch_id AS batch_id, runs.target AS target FROM batches "
        "LEFT JOIN runs ON runs.run_id = batches.run_id WHERE batches.dataset = :dataset",
        dataset=name,
    )


def _is_owed(connection: Connection, name: str, batch: dict[str, Any], target: str, written: str) -> bool:
    intents = connection.rows(
        "SELECT target FROM intents WHERE dataset = :dataset AND batch_id = :batch_id AND state = 'done'",
        dataset=name,
        batch_id=batch["batch_id"],
    )
    if intents:
        return any(intent["target"] == target for intent in intents)
    return bool(batch["target"] == written)


def _begun(connection: Connection, name: str, batch_id: str, target: str) -> list[Any]:
    """The input of a batch as its intent says."""
    rows = connection.rows(
        "SELECT input FROM intents WHERE dataset = :dataset AND batch_id = :batch_id AND target = :target",
        dataset=name,
        batch_id=batch_id,
        target=target,
    )
    return [row["input"] or {} for row in rows]


def _move(connection: Connection, was: str, key: str, batch_id: str, files: Iterable[InputFile]) -> None:
    """A batch and what it read. A file that another target has read since is listed under that batch alone."""
    values = {"was": was, "batch_id": batch_id}
    listed = connection.rows(
        "SELECT path, size, mtime_ns, content FROM inputs WHERE dataset = :was AND batch_id = :batch_id", **values
    )
    at = connection.rows("SELECT finished_at FROM batches WHERE dataset = :was AND batch_id = :batch_id", **values)
    every = {(file.path, file.size, file.mtime_ns): file for file in (*files, *(InputFile(**row) for row in listed))}
    there = {
        (row["path"], row["size"], row["mtime_ns"])
        for row in connection.rows("SELECT path, size, mtime_ns FROM inputs WHERE dataset = :dataset", dataset=key)
    }
    connection.many(
        "INSERT INTO inputs (dataset, path, size, mtime_ns, content, batch_id, recorded_at) "
        "VALUES (:dataset, :path, :size, :mtime_ns, :content, :batch_id, :recorded_at)",
        [
            {
                "dataset": key,
                "path": file.path,
                "size": file.size,
                "mtime_ns": file.mtime_ns,
                "content": file.content,
                "batch_id": batch_id,
                "recorded_at": at[0]["finished_at"],
            }
            for exact, file in every.items()
            if exact not in there
        ],
    )
    connection.run("DELETE FROM inputs WHERE dataset = :was AND batch_id = :batch_id", **values)
    connection.run(
        "UPDATE batches SET dataset = :dataset WHERE dataset = :was AND batch_id = :batch_id", dataset=key, **values
    )
