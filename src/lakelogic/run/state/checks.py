"""What the commits of a target, the entries beside it and the ledger say of its progress: do they agree?

The table is the truth. What the ledger lacks it can be told; rows that are in the table twice, or not at all, and
entries that are gone, are for a person to look at, with what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lakelogic.errors import LakeLogicError, ReconcileError
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.events.hub import Events
from lakelogic.run.places import Places
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import entries as memory
from lakelogic.run.state import evidence, restored_table
from lakelogic.run.state.progress import History, Progress, application, history, progress_of
from lakelogic.run.state.recover import adopt, recover
from lakelogic.tables import chain
from lakelogic.tables.base import TableFormat, TableState

Level = Literal["sound", "mended", "look", "wrong"]
_RELOAD = "`lakelogic reload` replaces the rows by everything that lies in the source"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: as it should be, mended now, for a person to look at, or wrong in the tables."""

    level: Level
    what: str
    found: str
    do: str | None = None  # what to do about it


@dataclass(frozen=True, slots=True)
class Checked:
    """A target and what is known of it, to be compared."""

    job: ContractRequest
    where: Places
    progress: Progress
    tables: TableFormat
    state: TableState
    past: History

    @property
    def newest(self) -> int:
        """The number of the newest good commit."""
        return self.state.transactions.get(application(self.progress, "good"), 0)


def check_progress(job: ContractRequest, where: Places, tables: TableFormat, *, mend: bool) -> Iterator[Finding]:
    """Table, ledger, memory and rows of one target."""
    progress = progress_of(job.loaded.contract.dataset_name, where)
    state = tables.state(where.target_location)
    if state is None:
        seen = len(job.memory.seen(progress.key))
        told = f"there is no table yet; the next run reads everything ({seen} files are known from before)"
        yield Finding("look" if seen else "sound", "table", told, "run the contract" if seen else None)
        return
    rows = f"{state.rows} rows in " if state.rows is not None else ""
    yield Finding("sound", "table", f"version {state.version}, {rows}{len(state.files)} files")
    adopt(job.memory, progress, tables)
    checked = Checked(job, where, progress, tables, state, _history(tables, progress))
    yield from _ledger(checked, mend=mend)
    yield from _memory(checked, mend=mend)
    yield from _twice(checked)
    yield from _rows(checked)


def _history(tables: TableFormat, progress: Progress) -> History:
    found = history(tables, progress)
    return History(
        tuple(commit for commit in found.commits if commit.batch_id is not None), found.is_whole, found.trouble
    )


def _ledger(checked: Checked, *, mend: bool) -> Iterator[Finding]:
    ledger, key, commits = checked.job.memory, checked.progress.key, checked.past.commits
    yield from _put_back(checked, mend=mend)
    known = ledger.batches_done(key)
    unknown = [commit for commit in commits if commit.batch_id not in known]
    intent = ledger.open_intent(key)
    if mend and (unknown or intent is not None):
        before = len(ledger.seen(key))
        ledger.compared(key, None)  # every commit is looked at again
        try:
            recover(checked.job, checked.where, checked.progress, Events(checked.progress.dataset, ()))
        except LakeLogicError as error:
            yield Finding("wrong", "ledger", error.message, error.hint)
            return
        learned = len(ledger.seen(key)) - before
        yield Finding("mended", "ledger", f"{len(unknown)} commits and {learned} files were read back from the table")
    elif unknown:
        told = f"it does not know {len(unknown)} of {len(commits)} commits to the table"
        yield Finding("look", "ledger", told, "`lakelogic state doctor` without --dry-run, or any run, tells it")
    else:
        yield from _inputs(checked, mend=mend)
    if (still := ledger.open_intent(key)) is not None:
        told = "a run was begun and never ended" if still.staged is None else "a run had staged its rows and stopped"
        yield Finding("look", "intent", f"{told}; the next one finishes it", "run the contract")


def _inputs(checked: Checked, *, mend: bool) -> Iterator[Finding]:
    """Every input that the commits tell of must be known to the ledger: what it does not know is read again."""
    ledger, key = checked.job.memory, checked.progress.key
    known = ledger.inputs(key)
    called = {*known, *(file.stamp for file in known.values())}  # under the name of then, or of now
    missing = {path: told for path, told in evidence.inputs_read(checked.past.commits).items() if path not in called}
    if not missing:
        commits, files = len(checked.past.commits), len(ledger.seen(key))
        yield Finding("sound", "ledger", f"it knows all {commits} commits to the table, and {files} files")
        return
    told = f"it does not know {len(missing)} inputs that the table was made of ({next(iter(missing))})"
    if not mend:
        yield Finding("look", "ledger", told, "`lakelogic state doctor` without --dry-run tells it")
        return
    for batch, file in missing.values():
        ledger.remember_input(key, file, batch)
    yield Finding("mended", "ledger", f"{told}; they were read back")


def _put_back(checked: Checked, *, mend: bool) -> Iterator[Finding]:
    """Batches that the ledger believes published, and the table does not hold: a copy of it was put back."""
    ledger, where, progress, past = checked.job.memory, checked.where, checked.progress, checked.past
    if not restored_table.is_put_back(ledger.head(progress.key), ledger, progress, past, checked.newest):
        return
    contract = checked.job.loaded.contract
    missing = restored_table.look(ledger, contract, where, progress, past)
    told = f"it believes {len(missing.batches)} batches to be in the table that are not there ({missing.batches[0]})"
    try:
        restored_table.refuse(missing, where, accepted=mend)
    except ReconcileError as error:
        yield Finding("wrong", "ledger", f"{told}: {error.message}", error.hint)
        return
    if not mend:
        yield Finding("wrong", "ledger", told, "the next run reads again what they were made of")
        return
    restored_table.bring_back(ledger, contract, where, progress, past, missing)
    yield Finding("mended", "ledger", f"{told}; it believes so no more, and the next run reads what they were made of")
    if missing.out_of_reach:
        gone = f"{len(missing.out_of_reach)} things that they were made of cannot be read ({missing.out_of_reach[0]})"
        yield Finding("look", "rows", f"{gone}: their rows are not in the table", "put the files back, and run")


def _memory(checked: Checked, *, mend: bool) -> Iterator[Finding]:
    """The entries beside the table: linked without a hole, and as they were written."""
    if checked.newest == 0:
        return
    location, app_id = checked.where.target_location, application(checked.progress, "good")
    said = checked.tables.find_commit(location, app_id, checked.newest)
    name = chain.named(location, app_id, checked.newest, said)
    try:
        if name is None:
            known = (said or {}).get(chain.NAMED)
            raise chain.BrokenChain(
                f"the newest commit to the table has no entry{f' ({known} is missing or damaged)' if known else ''}"
            )
        past = chain.walk(location, app_id, name)
    except chain.BrokenChain as broken:
        yield _mended(checked, str(broken), mend=mend)
        return
    if not past.complete:
        told = "what the table was made of at first is not known"
        yield Finding("look", "memory", told, f"keep the ledger; where rows are appended, {_RELOAD}")
        return
    yield from _older(checked, past)
    yield Finding("sound", "memory", f"{len(past.entries)} entries tell of all {len(past.commits)} commits")


def _older(checked: Checked, past: chain.Past) -> Iterator[Finding]:
    """Entries from before the last one that holds everything: nobody needs them, but they should be as they were."""
    location, app_id = checked.where.target_location, application(checked.progress, "good")
    damaged = [path for path in chain.entry_files(location, app_id) if not chain.is_sound_file(path)]
    if damaged:
        told = f"{len(damaged)} older entries are damaged ({damaged[0]}); newer ones hold what they told"
        yield Finding("look", "memory", told, "find out what changes files there; `lakelogic maintain` sweeps")
    there = {said.get("batch_id") for said in past.commits}
    lost = [commit for commit in checked.past.commits if commit.batch_id not in there]
    if lost:
        told = f"{len(lost)} commits of the log are not among its entries (batch {lost[0].batch_id})"
        yield Finding("wrong", "memory", told, "keep the ledger and the log; report this, it is a defect")


def _mended(checked: Checked, broken: str, *, mend: bool) -> Finding:
    """A hole in the entries; log or ledger may still know everything, and one entry is made of that."""
    ledger, progress = checked.job.memory, checked.progress
    head = ledger.head(progress.key)
    log = checked.tables.is_whole(progress.target)
    if not log and (head is None or not ledger.batches_done(progress.key)):
        do = "put it back from a copy, or the ledger that knows the table; " + _RELOAD
        return Finding("wrong", "memory", f"{broken}, and neither ledger nor log know what it told", do)
    if not mend:
        return Finding("look", "memory", broken, "`lakelogic state doctor` without --dry-run mends it")
    memory.make_anew(ledger, checked.tables, progress, checked.newest, complete=True)
    source = "the log" if log else "the ledger"
    return Finding("mended", "memory", f"{broken}; an entry was made of what {source} knows")


def _twice(checked: Checked) -> Iterator[Finding]:
    if not strategy_of(checked.job.loaded.contract).only_adds:
        return
    twice = evidence.read_twice(checked.past.commits)
    if twice:
        one = twice[0]
        told = f"{len(twice)} inputs were published twice: {one.what} by {' and '.join(one.runs)}"
        yield Finding("wrong", "rows", f"{told}; their rows are in the table twice", _RELOAD)


def _rows(checked: Checked) -> Iterator[Finding]:
    """The rows of the table against what its commits say that they put in and took out."""
    state, past = checked.state, checked.past
    others = [app for app in state.transactions if app.endswith((":good", ":secondary"))]
    ours = [app for app in others if app == application(checked.progress, "good")]
    if not past.is_whole or state.rows is None or len(others) > len(ours):
        return
    told = evidence.rows_told(past.commits)
    if told is None or told == state.rows:
        return
    more = state.rows - told
    off = f"{more} too many" if more > 0 else f"{-more} are missing"
    text = f"the table has {state.rows} rows, and its commits tell of {told}: {off}"
    do = f"somebody else has written to it, or put it back to another version; if that was not meant, {_RELOAD}"
    yield Finding("wrong", "rows", text, do)
