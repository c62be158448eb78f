"""What a target remembers of the batches it was made of, beyond its log: the entries beside it are written here.

A good commit names its entry, which is written before it (`tables/chain.py`). Where the newest commit has none, because
it is of an earlier version or because entries were lost, one is made of what ledger and log still tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakelogic.ledger.records import InputFile
from lakelogic.ledger.store import Ledger
from lakelogic.run import faults
from lakelogic.run.input.tracked import DIGESTS, inputs_told
from lakelogic.run.state.progress import Progress, application, history
from lakelogic.tables import chain
from lakelogic.tables.base import CommitInfo, TableFormat, TableState
from lakelogic.tables.chain import ChainEntry, Said
from lakelogic.tables.facts import CommitFacts, CommitRecord


def remember(tables: TableFormat, progress: Progress, info: CommitInfo) -> CommitInfo:
    """Write the entry of a good commit that is about to happen; the commit as it names it."""
    location = progress.target
    state = tables.state(location)
    table_id = state.id if state is not None else None
    previous = None if state is None else entry_of(tables, progress, info.after or 0)
    entry = ChainEntry(info.app_id, info.n, info.metadata, previous, table_id=table_id)
    if state is None:
        entry = replace(entry, earlier=())
    elif previous is None:
        past = history(tables, progress)
        entry = replace(entry, earlier=_kept(past.commits), complete=past.is_whole)
    elif info.n // chain.EVERY != chain.number_of(previous) // chain.EVERY:
        entry = _with_everything(tables, progress, entry)
    name = chain.write(location, entry)
    faults.reach("after_progress_entry")
    return replace(info, metadata={**info.metadata, chain.NAMED: name})


def _with_everything(tables: TableFormat, progress: Progress, entry: ChainEntry) -> ChainEntry:
    assert entry.previous is not None
    try:
        past = chain.walk(progress.target, entry.app_id, entry.previous)
    except chain.BrokenChain:
        found = history(tables, progress)
        return replace(entry, earlier=_kept(found.commits), complete=found.is_whole)
    return replace(entry, earlier=_kept([*map(CommitRecord, past.commits)]), complete=past.complete)


def rows_before(state: TableState | None) -> int | None:
    """How many rows a table has that a commit is about to change; of one that others have filled, too."""
    return 0 if state is None else state.rows


def settle(progress: Progress, said: Said | None) -> None:
    """A good commit has happened: what others wrote under its number is void, and would only raise doubts later."""
    name = (said or {}).get(chain.NAMED)
    app_id = application(progress, "good")
    if name is not None and chain.is_sound(progress.target, app_id, name):
        chain.drop_rivals(progress.target, app_id, name)


def entry_of(tables: TableFormat, progress: Progress, n: int) -> str | None:
    """The entry of a good commit by its number; None where it has none that is as it was."""
    return _entry_at(tables, progress.target, application(progress, "good"), n)


def head_of(tables: TableFormat, location: str, app_id: str) -> str | None:
    """The entry of the newest commit under a name; None where it has none that is as it was."""
    state = tables.state(location)
    return None if state is None else _entry_at(tables, location, app_id, state.transactions.get(app_id, 0))


def _entry_at(tables: TableFormat, location: str, app_id: str, n: int) -> str | None:
    if n == 0:
        return None
    return chain.named(location, app_id, n, tables.find_commit(location, app_id, n))


def ensure(ledger: Ledger, tables: TableFormat, progress: Progress, newest: int, *, complete: bool) -> bool:
    """Give the newest good commit an entry where it has none, of log and ledger; whether one was made."""
    app_id = application(progress, "good")
    said = tables.find_commit(progress.target, app_id, newest) if newest else None
    if newest == 0 or chain.named(progress.target, app_id, newest, said) is not None:
        settle(progress, said)
        return False
    return make_anew(ledger, tables, progress, newest, complete=complete)


def make_anew(ledger: Ledger, tables: TableFormat, progress: Progress, newest: int, *, complete: bool) -> bool:
    """Make an entry of the newest good commit that needs no other; whether anything is known to make it of."""
    commits = [commit for commit in history(tables, progress).commits if commit.batch_id is not None]
    there = {commit.batch_id for commit in commits}
    older = [commit for commit in told_by(ledger, progress) if commit.batch_id not in there]
    found = [*commits, *older]
    if not found:
        return False
    state = tables.state(progress.target)
    own = next((commit for commit in found if commit.n == newest), found[0])
    earlier = _kept([commit for commit in found if commit is not own])
    table_id = state.id if state is not None else None
    app_id = application(progress, "good")
    entry = ChainEntry(app_id, newest, own.plain(), None, earlier, complete, table_id, later=True)
    chain.write(progress.target, entry)
    return True


def told_by(ledger: Ledger, progress: Progress) -> list[CommitRecord]:
    """The batches that a ledger knows to be in the target, newest first, as commits would tell of them."""
    read = ledger.batch_inputs(progress.key, *progress.before)
    inputs: dict[str, list[InputFile]] = {}
    for file in ledger.inputs(progress.key).values():
        inputs.setdefault(str(file.batch_id), []).append(file)
    found: list[CommitRecord] = []
    for n, record in ledger.published_batches(progress.key):
        account: Any = record.account if isinstance(record.account, Mapping) else {}
        counts = {name: value for name, value in account.items() if name not in ("read", "applied", "digests")}
        batch = str(record.batch_id)
        facts = CommitFacts(
            run_id=record.run_id,
            at=record.started_at,
            counts={"source": record.counts_source, "good": record.counts_good, **counts},
            digests=account.get("digests") or {},
            applied=account.get("applied") or {},
            contract_version=record.contract_version,
            engine=record.engine,
            watermark=record.watermark,
            target=progress.target,
            input=read.get(batch) or _input(inputs.get(batch, ())),
            from_ledger=True,
        )
        said = {"batch_id": batch, "n": str(n or 0), "fingerprint": str(record.contract_fingerprint)}
        found.append(CommitRecord({**said, "facts": facts.to_text()}))
    return found


def _input(files: Sequence[InputFile]) -> dict[str, Any]:
    """What was read, as a commit would tell of it."""
    table = next((file for file in files if file.is_table), None)
    if table is not None:
        own = (table.content or "").removeprefix(InputFile.TABLE)
        mark = {"mark": table.mtime_ns} if table.mtime_ns > 0 else {}
        return {"table": table.path, "version": table.size, **({"id": own} if own else {}), **mark}
    held = {file.stamp: file.content for file in files if file.content is not None}
    listed = {file.stamp: [file.stamp, file.size, file.mtime_ns] for file in files}
    return {"files": list(listed.values()), **({DIGESTS: held} if held else {})} if listed else {}


def _kept(commits: Sequence[CommitRecord]) -> tuple[Said, ...]:
    """Commits, newest first, as an entry keeps them: oldest first, without what later ones have made void.

    A file that was read again in another version is known by the later one. The same version in two commits is kept in
    both: rows that were added twice can then be found.
    """
    read: dict[str, tuple[int, int]] = {}
    kept = []
    for commit in commits:
        # Only of the newest commit anybody asks for these.
        facts = replace(commit.facts, landed=None, masks=None, secondary=None)
        told = facts.input
        if told.get("files"):
            adds = "added_rows" not in facts.applied and not facts.replaces
            void = {
                path for path, *rest in told["files"] if path in read and (read[path] != tuple(rest[:2]) or not adds)
            }
            files = [file for file in told["files"] if file[0] not in void]
            by_file = {
                name: {path: one for path, one in told[name].items() if path not in void}
                for name in ("contents", DIGESTS)
                if name in told
            }
            facts = replace(facts, input={**told, "files": files, **by_file})
        for file in inputs_told(told):
            if not file.is_table:
                read.setdefault(file.path, file.version)
        kept.append({**commit.plain(), "facts": facts.to_text()})
    return chain.oldest_first(kept)
