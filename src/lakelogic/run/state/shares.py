"""A quarantine that several targets or datasets share: which batches in it came on the way to one target."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from lakelogic import names
from lakelogic.ledger.adoption import batches_towards
from lakelogic.ledger.store import Ledger
from lakelogic.quarantine.queue import Queue, drop
from lakelogic.run.state.progress import Progress, application, applications, good_commits
from lakelogic.tables.base import CommitInfo, TableFormat


@dataclass(frozen=True, slots=True)
class Share:
    """The batches of one target in its quarantine, and whether anybody else has put rows there."""

    batches: frozenset[str]
    is_shared: bool

    def holds(self, row: Any) -> bool:
        """Whether a row of the quarantine came with one of the batches."""
        return row[names.BATCH_ID] in self.batches


def share_of(queue: Queue, progress: Progress, tables: TableFormat, ledger: Ledger) -> Share:
    """What the quarantine, the target and the ledger tell. Batches that nobody can tell are counted as others'."""
    state = queue.state()
    if state is None:
        return Share(frozenset(), is_shared=False)
    own = application(progress, "bad")
    older = tuple(name for name in applications(progress, "bad") if name != own)
    ours = {str(commit.batch_id) for commit in queue.commits((own,))}
    unmarked = {str(commit.batch_id) for commit in queue.commits(older)} - ours
    if unmarked:
        published = {str(commit.batch_id) for commit in good_commits(tables, progress)}
        towards = batches_towards(ledger, (progress.key, *progress.before), progress.target)
        ours |= unmarked & (published | towards)
    strangers = [name for name in state.transactions if name.endswith(":bad") and name not in (own, *older)]
    return Share(frozenset(ours), is_shared=bool(strangers) or not unmarked <= ours)


def remove_share(queue: Queue, progress: Progress, share: Share) -> int:
    """Take the rows of one target out of a quarantine that others share, in one commit; how many."""
    state = queue.state()
    if state is None or not share.batches:
        return 0
    name = application(progress, "reset")
    info = CommitInfo(name, state.transactions.get(name, 0) + 1, {"lakelogic": f"{progress} was reset"})
    place = f"{queue.location}/reset-{uuid.uuid4().hex[:16]}"
    return queue.change(info, place, share.holds, drop, looks_at=(names.BATCH_ID,))[1]
