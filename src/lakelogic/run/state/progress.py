"""Whose progress it is: that of a dataset towards one target. Another target of the same dataset has its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from lakelogic.run.places import Places
from lakelogic.tables import chain
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitRecord, records


@dataclass(frozen=True, slots=True)
class Progress:
    """A dataset and the table that it is published to.

    What was read, numbers, intents and batches belong to both: the same contract towards another place (`--env`,
    `--set materialization.target_path=…`, a result that is sent elsewhere) has read nothing yet.
    """

    dataset: str
    target: str  # the location of the table
    quarantine: str  # the location of its bad rows, which other targets may share
    written: str  # what the target is called by whoever wrote it down
    label: str  # what people call the dataset's runs towards this target

    @property
    def key(self) -> str:
        """The name under which the ledger keeps it."""
        return f"{self.dataset}@{self.target}"

    @property
    def identity(self) -> str:
        """What tells it from every other that shares its quarantine; the same when a whole warehouse is moved."""
        return f"{self.dataset}@{_way(self.target, self.quarantine)}"

    @property
    def before(self) -> tuple[str, ...]:
        """The names under which ledgers and tables knew it while a dataset had one progress for all of its targets."""
        return (self.dataset, f"{self.dataset}@{self.written}")

    def __str__(self) -> str:
        return self.label


def progress_of(dataset: str, where: Places, sent_to: str | None = None) -> Progress:
    """The progress of a dataset towards its places; `sent_to` is a target that the contract does not name."""
    label = f"{dataset}@{sent_to}" if sent_to else dataset
    return Progress(dataset, where.target_location, where.quarantine_location, where.target, label)


def nowhere(dataset: str) -> Progress:
    """The progress of rows that are only judged: towards no table, and nobody remembers it."""
    return Progress(dataset, "", "", "", dataset)


def application(progress: Progress, side: str) -> str:
    """The name under which a table remembers our commits. A quarantine, which targets may share, knows the target too.

    The target itself needs no such mark: its commits are its own wherever it lies.
    """
    return f"lakelogic:{progress.dataset if side == 'good' else progress.identity}:{side}"


def applications(progress: Progress, side: str) -> tuple[str, ...]:
    """All names under which our commits may stand in a table, newest first: earlier versions wrote other ones."""
    older = (f"lakelogic:{name}:{side}" for name in progress.before)
    return tuple(dict.fromkeys((application(progress, side), *older)))


def elsewhere(progress: Progress, location: str) -> str:
    """The name under which a secondary target, which others may write to as well, remembers our commits."""
    return f"lakelogic:{progress.dataset}@{_way(progress.target, location)}:secondary"


@dataclass(frozen=True, slots=True)
class History:
    """Commits of good rows, newest first, and whether any are missing before the oldest of them."""

    commits: tuple[CommitRecord, ...]
    is_whole: bool
    trouble: str | None = None  # of a chain that should tell more: what is missing


def history(tables: TableFormat, progress: Progress, until: str | None = None) -> History:
    """What the commits of good rows say, newest first; `until` a batch is met, before which nothing is looked at.

    The table's log tells, as far back as it reaches; for what is older, the chain of entries beside it.
    """
    found = records(tables, progress.target, *applications(progress, "good"), until=until)
    if found and until is not None and found[-1].batch_id == until:
        return History(tuple(found), is_whole=True)
    if tables.is_whole(progress.target):
        return History(tuple(found), is_whole=True)
    past, trouble = _past(tables, progress, found)
    if past is None:
        return History(tuple(found), is_whole=False, trouble=trouble)
    there = {(commit.n, commit.batch_id) for commit in found}
    for commit in map(CommitRecord, past.commits):
        if (commit.n, commit.batch_id) in there:
            continue
        found.append(commit)
        if until is not None and commit.batch_id == until:
            return History(tuple(found), is_whole=True)
    return History(tuple(found), past.complete)


def _past(
    tables: TableFormat, progress: Progress, found: Sequence[CommitRecord]
) -> tuple[chain.Past | None, str | None]:
    """The chain, by the newest commit whose entry leads to the beginning: newer ones are in the log."""
    app_id, trouble = application(progress, "good"), None
    entries = [commit.entry for commit in found if commit.entry is not None]
    state = tables.state(progress.target)
    newest = state.transactions.get(app_id, 0) if state is not None else 0
    if (name := chain.named(progress.target, app_id, newest, found[0].texts if found else None)) is not None:
        entries.insert(0, name)
    for name in dict.fromkeys(entries):
        try:
            return chain.walk(progress.target, app_id, name), None
        except chain.BrokenChain as broken:
            trouble = trouble or str(broken)
    return None, trouble


def good_commits(tables: TableFormat, progress: Progress, until: str | None = None) -> list[CommitRecord]:
    """What the commits of good rows say, newest first, as far back as log and chain reach; `until` a batch is met."""
    return list(history(tables, progress, until).commits)


def _way(target: str, other: str) -> str:
    return os.path.relpath(target, other)
