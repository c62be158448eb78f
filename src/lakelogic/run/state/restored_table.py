"""A table that was put back from an older copy: what the ledger believes to be in it, and it lacks, is taken again.

The table is the truth. The newest batch that the ledger knows must be among its commits; where it is not, the ledger is
brought back to what the table holds, and the next reading takes what is missing. Where that would not bring every row
back, or would bring some twice, the run stops before it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic import clock, names
from lakelogic.contract.document import Contract
from lakelogic.errors import ReconcileError
from lakelogic.ledger.records import InputFile, RunRecord
from lakelogic.ledger.standing import take_back
from lakelogic.ledger.store import Ledger
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.quarantine.queue import ACTIVE, REPLAYED, Queue, Stamped, put
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.publish import secondary
from lakelogic.run.state import evidence
from lakelogic.run.state.progress import History, Progress, application
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.registry import load as load_tables

_NAMED = 3  # so many inputs are named in a message


@dataclass(frozen=True, slots=True)
class PutBack:
    """What the ledger believes to be in a table, and the table does not hold."""

    batches: tuple[str, ...]
    runs: tuple[RunRecord, ...]  # of these batches, newest first
    out_of_reach: tuple[str, ...] = ()  # what no run can read again
    twice: tuple[str, ...] = ()  # secondary targets that hold these batches

    @property
    def told(self) -> str:
        """What happened, for people."""
        several = len(self.batches) != 1
        return f"{len(self.batches)} {'batches' if several else 'batch'} that the ledger knows to be published"


def is_put_back(head: str | None, ledger: Ledger, progress: Progress, past: History, newest: int) -> bool:
    """Whether the table lacks `head`, the batch that the ledger knows to be its newest.

    The ledger was asked for it before `past` was read from the table, and a batch is in the table before it is in the
    ledger. Where not all commits are known, numbers tell: those of a table only grow.
    """
    if head is None or any(commit.batch_id == head for commit in past.commits):
        return False
    if past.is_whole:
        return True
    intent = ledger.intent_of(progress.key, head)
    return intent is not None and intent.state == "done" and intent.n > newest


def look(ledger: Ledger, contract: Contract, where: Places, progress: Progress, past: History) -> PutBack:
    """What is missing, and whether it can be read again."""
    there = {commit.batch_id for commit in past.commits}
    published = [run for _, run in ledger.published_batches(progress.key) if run.batch_id not in there]
    # Batches from before the table's first commit went to one that was here before it.
    later = {*evidence.batches_since(past.commits, [(str(run.batch_id), run.started_at) for run in published])}
    runs = [run for run in published if not past.commits or run.batch_id in later]
    missing = tuple(str(run.batch_id) for run in published)
    lost = [str(run.batch_id) for run in runs]
    gone = _out_of_reach(ledger, contract, progress, runs)
    return PutBack(missing, tuple(runs), gone, _holders(where, progress, lost))


def _out_of_reach(ledger: Ledger, contract: Contract, progress: Progress, runs: Sequence[RunRecord]) -> tuple[str, ...]:
    if strategy_of(contract).replaces and contract.source.load_mode != "incremental":
        return ()  # the table is made of what lies there, whatever it was made of before
    begun = ledger.batch_inputs(progress.key, *progress.before)
    known = ledger.inputs(progress.key)
    found: list[str] = []
    for run in runs:
        read = begun.get(str(run.batch_id)) or {}
        files = [path for path, *_ in read.get("files", ())] or [
            file.path for file in known.values() if file.batch_id == run.batch_id and not file.is_table
        ]
        tables = "table" in read or any(file.is_table and file.batch_id == run.batch_id for file in known.values())
        if read.get("days"):
            found.append(f"the window that {run.run_id} read")
        elif files:
            found += [path for path in files if not _lies_there(path, known)]
        elif "replay" not in read and not tables:
            found.append(f"the rows that were handed to {run.run_id}")
    return tuple(dict.fromkeys(found))


def _lies_there(path: str, known: Mapping[str, InputFile]) -> bool:
    """Whether a file can be read again, under its name or one that it was given since."""
    return Path(path).exists() or any(file.stamp == path and Path(file.path).exists() for file in known.values())


def _holders(where: Places, progress: Progress, lost: Sequence[str]) -> tuple[str, ...]:
    """Secondary targets that rows are added to, and that hold some of these batches."""
    return tuple(
        other.name
        for other in where.others
        if other.strategy == "append" and not {*lost}.isdisjoint(secondary.batches(other, progress))
    )


def refuse(found: PutBack, where: Places, *, accepted: bool = False) -> None:
    """Stop where rows would stay away, or come twice. `accepted`: a person takes what cannot be read again as gone."""
    lead = f"{where.target} was put back to an earlier state: {found.told} are not in it"
    if found.twice:
        raise ReconcileError(
            f"{lead}, and {', '.join(found.twice)} still holds them: read again, they would be there twice.",
            where=where.target_location,
            hint="Nothing was read. Put both back to the same time: from copies, or to nothing by `lakelogic reset`.",
        )
    if found.out_of_reach and not accepted:
        more = f" and {len(found.out_of_reach) - _NAMED} more" if len(found.out_of_reach) > _NAMED else ""
        raise ReconcileError(
            f"{lead}, and not all they were made of can be read: {', '.join(found.out_of_reach[:_NAMED])}{more}.",
            where=where.target_location,
            hint="Nothing was read. Put the files, or a newer copy of the table, in their place and run. To go on "
            "without these rows: `lakelogic state doctor`, and then run; hand rows in, and name windows, once more.",
        )


def bring_back(
    ledger: Ledger, contract: Contract, where: Places, progress: Progress, past: History, found: PutBack
) -> list[str]:
    """Let the ledger, and the queue of bad rows, know what the table holds; what happened, for people."""
    waiting = _wait_again(contract, where, progress, found)
    head = past.commits[0].batch_id if past.commits else None
    take_back(ledger, progress.key, found.batches, head)
    known = ledger.inputs(progress.key)
    called = {*known, *(file.stamp for file in known.values())}
    for path, (batch, file) in evidence.inputs_read(past.commits).items():
        if path not in called:
            ledger.remember_input(progress.key, file, batch)
    lead = f"{where.target} was put back to an earlier state: {found.told} are not in it"
    told = [f"{lead}; what they read is read again"]
    if waiting:
        told.append(f"{waiting} rows of {where.quarantine} that a replay had published wait again")
    return told


def _wait_again(contract: Contract, where: Places, progress: Progress, found: PutBack) -> int:
    """Rows that a replay took out of the queue, and whose place in the table is gone."""
    queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
    runs = {run.run_id for run in found.runs}
    state = queue.state()
    if state is None or not runs:
        return 0
    app_id = application(progress, "put-back")
    info = CommitInfo(app_id, state.transactions.get(app_id, 0) + 1, {"why": "their table was put back"})

    def meant(row: Mapping[str, Any]) -> bool:
        return row[names.STATE] == REPLAYED and row[names.SETTLED_BY] in runs

    nobody = dict.fromkeys((names.SETTLED_BY, names.SETTLED_AT, names.SETTLED_WHY, names.CLAIM))
    _, count = queue.change(
        info,
        where.act_staging(names.new_run_id(clock.now()).replace("run-", "put-back-")),
        meant,
        put({names.STATE: ACTIVE, **nobody}),
        looks_at=(names.STATE, names.SETTLED_BY),
    )
    return count
