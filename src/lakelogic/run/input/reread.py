"""Rows of the queue that a run reads again from their source: bad once more, they are one row; good, they leave."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.plan.source.days import Days, days_of, plain_day
from lakelogic.plan.source.watermarks import Bound, bound_told
from lakelogic.quarantine.queue import (
    ACTIVE,
    DISCARDED,
    LEFT_OUT,
    PART,
    REPLAYED,
    SUPERSEDED,
    Queue,
    claim_of,
    may_hold,
    put,
    settle,
)
from lakelogic.run.input.tracked import FORMER, OVER
from lakelogic.run.state.progress import Progress, application, applications
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.facts import CommitFacts, CommitRecord

AGAIN = "its source was read again"
GONE = "its source was read again and has changed since: the row may stand there no more"
MAYBE_LEFT_OUT = "its source was read again, and steps left rows out: it may be one of them"
LEFT_OUT_NOW = "a step leaves it out now: it was not published"


def sources_of(facts: CommitFacts) -> dict[str, Any]:
    """What a commit read, by the name that rows carry, and what tells that it has not changed since."""
    read = facts.input
    found: dict[str, Any] = {path: [size, changed] for path, size, changed in read.get("files", ())}
    # Rows that were read under an earlier name of a file carry that name.
    earlier = (*read.get(FORMER, {}).items(), *read.get(OVER, {}).items())
    found |= {name: found[path] for path, name in earlier if name not in found and path in found}
    if "table" in read:
        found[str(facts.source)] = read.get("version")
    return found


@dataclass(slots=True)
class Reread:
    """Which rows of a queue stood in what a batch reads.

    A row is the same when its source is: a file that changed may hold other rows, however much they look alike. Where
    the batch takes the place of the whole table, rows of its sources belong to it or to nothing any more.
    """

    queue: Queue
    app_ids: Sequence[str]  # whose commits tell what earlier batches read
    batch_id: str
    facts: CommitFacts
    foreign: Container[str] = frozenset()  # batches of other targets that are not marked as such
    sources: Mapping[str, Any] = field(init=False)
    window: tuple[str, Days] | None = field(init=False)  # only rows of these days were read, by this column
    bound: tuple[str, Bound] | None = field(init=False)  # or only rows from here on
    _before: dict[str, dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        self.sources = sources_of(self.facts)
        read = self.facts.input
        days, bound = read.get("days") or {}, bound_told(read)
        self.window = (self._spelled(days["field"]), days_of(days)) if days.get("field") else None
        self.bound = (self._spelled(bound.field), bound) if bound is not None and not bound.is_open else None

    def _spelled(self, name: str) -> str:
        """The column of the queue that has this name in any case."""
        state = self.queue.state()
        return next((one for one in (state.schema.names if state else ()) if one.lower() == name.lower()), name)

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether the row was read again."""
        source = row[self.queue.stamped.source]
        if source not in self.sources:
            return False
        batch = row[names.BATCH_ID]
        if batch == self.batch_id:
            return True
        if self.window is not None:
            day = plain_day(row.get(self.window[0]))
            if day is None or day not in self.window[1]:
                return False
        if self.bound is not None and not self.bound[1].takes(row.get(self.bound[0])):
            return False
        before = self._batches().get(batch)
        if before is None or batch in self.foreign:
            return False  # somebody else's, or so old that nobody knows what it was read from
        return self.facts.replaces or before.get(source) == self.sources[source]

    def is_as_it_was(self, row: Mapping[str, Any]) -> bool:
        """Whether what the row was read from has not changed since."""
        source, batch = row[self.queue.stamped.source], row[names.BATCH_ID]
        return batch == self.batch_id or self._batches().get(batch, {}).get(source) == self.sources.get(source)

    def met(self, row: Mapping[str, Any]) -> bool:
        """Whether a row with the same identity is this one: it came from the same place, whatever changed there since.

        An identity is made of the place, what landed, and the number among equal ones: a new version of a table, or of
        a file, that still holds the row gives the same.
        """
        source, batch = row[self.queue.stamped.source], row[names.BATCH_ID]
        return source in self.sources and (batch == self.batch_id or self._batches().get(batch) is not None)

    def _batches(self) -> dict[str, dict[str, Any]]:
        if self._before is None:
            commits = self.queue.commits(self.app_ids)
            self._before = {str(commit.batch_id): sources_of(commit.facts) for commit in commits}
        return self._before

    def looked_at(self) -> tuple[str, ...]:
        """The columns that the choice needs."""
        stamped = self.queue.stamped
        placed = tuple(found[0] for found in (self.window, self.bound) if found is not None)
        return (names.ROW_ID, names.STATE, names.BATCH_ID, names.CLAIM, stamped.source, *placed)


def is_known(row: Mapping[str, Any], ids: Container[str], reread: Reread) -> bool:
    """Whether a row that failed just now is this one, which waits already or has left."""
    return row[names.STATE] != DISCARDED and row[names.ROW_ID] in ids and reread.met(row)


def discarded(queue: Queue, reread: Reread) -> frozenset[str]:
    """Rows that were read again and that a person has taken out for good."""
    state = queue.state()
    if state is None or not reread.sources:
        return frozenset()
    files = [path for path in state.files if may_hold(path, names.STATE, (DISCARDED,))]
    rows = queue.light(files, reread.looked_at(), reread.sources)
    return frozenset(row[names.ROW_ID] for row in rows if row[names.STATE] == DISCARDED and reread.met(row))


def met_before(queue: Queue, reread: Reread) -> frozenset[str]:
    """The identities that rows of what is read again were given before, whatever became of them."""
    state = queue.state()
    if state is None or not reread.sources:
        return frozenset()
    rows = queue.light(state.files, reread.looked_at(), reread.sources)
    return frozenset(row[names.ROW_ID] for row in rows if reread.met(row))


def let_go(
    queue: Queue,
    progress: Progress,
    commit: CommitRecord,
    n: int,
    place: str,
    foreign: Container[str] = frozenset(),
) -> int:
    """Take the rows out of the queue that a good commit has published, or taken the place of; how many.

    These are the rows that it claimed, and those that it read again and did not find bad: what the commit says of
    itself is enough, so whoever comes after a crash can do this too. Doing it twice changes nothing.
    """
    facts, batch_id = commit.facts, str(commit.batch_id)
    reread = Reread(queue, applications(progress, "bad"), batch_id, facts, foreign)
    mark = claim_of(batch_id, n)
    is_replay = facts.replay

    def meant(row: Mapping[str, Any]) -> bool:
        if row[names.STATE] != ACTIVE:
            return False
        if is_replay:
            return row[names.CLAIM] in (mark, PART + mark, LEFT_OUT + mark)
        return row[names.BATCH_ID] != batch_id and reread.holds(row)

    run_id = str(facts.run_id)
    said = {"batch_id": batch_id, "facts": CommitFacts(run_id=run_id).to_text()}
    info = CommitInfo(application(progress, "queue"), n, said)
    fate = _fate(reread, facts, mark)
    now = clock.now()

    def edit(table: pa.Table, chosen: list[bool]) -> pa.Table:
        looked = table.select([name for name in reread.looked_at() if name in table.column_names]).to_pylist()
        fates = [fate(row) if one else None for one, row in zip(chosen, looked, strict=True)]
        for state, why in sorted({one for one in fates if one is not None and one[0]}, key=str):
            table = settle(state, run_id, now, why)(table, [one == (state, why) for one in fates])
        return put({names.CLAIM: None})(table, [one == _PART_LEFT for one in fates])

    # A replay looks at the rows that it claimed, a run at what earlier batches left.
    only, besides = (None, None) if is_replay else (reread.sources, batch_id)
    _, count = queue.change(info, place, meant, edit, looks_at=reread.looked_at(), only=only, besides=besides)
    return count


_PART_LEFT = ("", None)  # the row as a whole has left; this part of it waits on


def _fate(reread: Reread, facts: CommitFacts, mark: str) -> Callable[[Mapping[str, Any]], tuple[str, str | None]]:
    """What became of a row that leaves, and why: called `replayed` only where it was published for certain."""
    left_out = any(sum(facts.counts.get(kind, {}).values()) for kind in ("filtered", "deduplicated"))

    def of_replay(row: Mapping[str, Any]) -> tuple[str, str | None]:
        if row[names.CLAIM] == PART + mark:
            return _PART_LEFT
        return (SUPERSEDED, LEFT_OUT_NOW) if row[names.CLAIM] == LEFT_OUT + mark else (REPLAYED, None)

    def of_run(row: Mapping[str, Any]) -> tuple[str, str | None]:
        if not reread.is_as_it_was(row):
            return SUPERSEDED, GONE
        return (SUPERSEDED, MAYBE_LEFT_OUT) if left_out else (REPLAYED, AGAIN)

    return of_replay if facts.replay else of_run
