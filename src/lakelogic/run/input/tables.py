"""What is read of a table that is a source: the rows that came since, all of it, or nothing; and what that replaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine
from lakelogic.errors import DataError
from lakelogic.ledger.records import InputFile
from lakelogic.plan.strategies.replaced import INSTEAD, Sources
from lakelogic.plan.strategies.settings import Strategy, may_go_at_once
from lakelogic.run.formats import tables_of
from lakelogic.run.input.pin import Slice
from lakelogic.run.input.reread import sources_of
from lakelogic.run.input.tracked import HOW_TO_BEGIN_AGAIN, Taken, stamp_of
from lakelogic.run.state.progress import Progress, applications
from lakelogic.tables.base import TableFormat, TableState
from lakelogic.tables.facts import records
from lakelogic.tables.kinds import kind_of

Way = Literal["nothing", "added", "all"]


def follows(contract: Contract, strategy: Strategy) -> bool:
    """Whether a table is read from the last version on: to add to a table, or because the contract says so."""
    return strategy.only_adds or contract.source.load_mode == "incremental"


def take_table(
    contract: Contract,
    strategy: Strategy,
    source: Slice,
    before: InputFile,
    stamps: tuple[str, ...],
    engine: Engine,
    across: str | None,
) -> Taken:
    """The part of a table to read that was read before; `stamps` are the names under which its rows were written.

    `across` is a step that brings rows together: where batches are not asked for, all of the table is read for it.
    """
    assert source.pinned.version is not None
    since = before.size
    what = f"`{source.described}`"
    former = (before.content or "").removeprefix(InputFile.TABLE)
    if since < 0:
        return _all(contract, strategy, source, stamps, before, f"only some days of {what} were read the last time")
    if former and source.id and former != source.id:
        return _all(contract, strategy, source, stamps, before, f"{what} was made anew since it was read")
    if not former and source.pinned.version < since:  # of a time when ids were not remembered
        return _all(contract, strategy, source, stamps, before, f"{what} was made anew since it was read")
    location = str(source.pinned.table)
    tables = tables_of(kind_of(location) or "delta", engine, reads=True)
    another = before.mtime_ns > 0 and tables.mark(location, since) not in (None, before.mtime_ns)
    if source.pinned.version < since or another:
        return _all(
            contract, strategy, source, stamps, before, f"{what} was put back to an earlier state since it was read"
        )
    if source.pinned.version == since:
        return Taken(replace(source, pinned=replace(source.pinned, files=()), since=since))
    changes = tables.changes(location, since)
    if changes is None:
        return _all(
            contract, strategy, source, stamps, before, f"the history of {what} does not reach back to version {since}"
        )
    if changes.removed:
        told = f"rows of {what} were changed or deleted since version {since}"
        return _all(contract, strategy, source, stamps, before, told)
    missing = [path for path in changes.added if not Path(path).is_file()]
    if missing or (source.pinned.own and not set(changes.added) <= set(source.pinned.files)):
        told = f"data files that {what} got since version {since} are not there any more"
        return _all(contract, strategy, source, stamps, before, told)
    if across is not None and changes.added and contract.source.load_mode == "full":
        return _all(contract, strategy, source, stamps, before, f"`{across}` makes rows of several rows of {what}")
    pinned = replace(source.pinned, files=changes.added, part=source.pinned.own)
    parts = {path: changes.parts[path] for path in changes.added if path in changes.parts}
    return Taken(replace(source, pinned=pinned, parts=parts, since=since))


def _all(
    contract: Contract, strategy: Strategy, source: Slice, stamps: tuple[str, ...], before: InputFile, why: str
) -> Taken:
    """All of the table, in place of what it gave before; where each batch stands for itself, that is not asked for."""
    if strategy.only_adds and contract.source.load_mode == "incremental":
        raise DataError(
            f"{why[0].upper()}{why[1:]}, and a target that rows are appended to cannot take that.",
            where="source.load_mode",
            hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}; or leave `load_mode: incremental` out, and such rows are "
            "read again in place of what they gave; or use `strategy: merge` with a `primary_key`.",
        )
    told = f"{why}: all of it is read, in place of the rows it gave before"
    if strategy.is_keyed:
        return replace(whole(contract, strategy, source, stamps), after=(before.batch_id or "",), told=(told,))
    return Taken(source, Sources(tuple(sorted({source.described, *stamps}))), (before.batch_id or "",), (told,))


def removes(contract: Contract, strategy: Strategy) -> bool:
    """Whether rows go that a table gave before and does not have any more: keys tell which. Snapshots see to it."""
    return strategy.is_keyed and strategy.reconcile is None and may_go_at_once(contract) is not None


def whole(contract: Contract, strategy: Strategy, source: Slice, stamps: tuple[str, ...]) -> Taken:
    """All of a table, in place of the rows that it gave before; others of the target stay."""
    if not removes(contract, strategy):
        return Taken(source)
    paths = tuple(sorted({source.described, *stamps}))
    return Taken(source, Sources(paths, whole=True, at_most=may_go_at_once(contract)))


def was_replaced(source: Slice, engine: Engine) -> bool:
    """Whether a table as source was written anew as a whole, or by somebody whose commits do not tell.

    What it lacks then may have been deleted, or may just not be among what is new: only its owner knows.
    """
    location = str(source.pinned.table)
    tables = tables_of(kind_of(location) or "delta", engine, reads=True)
    state = tables.state(location)
    apps = [app for app in (state.transactions if state is not None else ()) if app.endswith(":good")]
    newest = next(iter(records(tables, location, *apps)), None) if apps else None
    if newest is None:
        return True
    return newest.facts.replaces and INSTEAD not in newest.facts.input


def why_rows_stay(
    contract: Contract, tables: TableFormat, state: TableState, progress: Progress, part: Sources
) -> str | None:
    """Why rows that a table does not have any more cannot be told from others of the target; None where they can."""
    column = stamp_of(contract, state)
    if column is None:
        return "no column tells which rows came from there (`lineage.capture_source_path` is switched off)"
    if other := fed_by_others(tables, state, progress, part):
        return f"`{other}` writes rows that came from there to the same table"
    return None


def another_writer(state: TableState, progress: Progress) -> str | None:
    """Another dataset that has written to the table; None where it is only ours."""
    own = applications(progress, "good")
    others = (app for app in state.transactions if app.startswith("lakelogic:") and app not in own)
    return next((_dataset(app) for app in others if app.endswith((":good", ":secondary"))), None)


def _dataset(app: str) -> str:
    return app.removeprefix("lakelogic:").rpartition(":")[0]


def fed_by_others(tables: TableFormat, state: TableState, progress: Progress, part: Sources) -> str | None:
    """Another dataset whose rows in the same table carry the same stamps; None where there is none."""
    own = (*applications(progress, "good"), *applications(progress, "secondary"))
    for app in state.transactions:
        if app in own or not app.startswith("lakelogic:"):
            continue
        name = _dataset(app)
        if app.endswith(":secondary"):
            return name  # its commits do not tell what they were made of
        if app.endswith(":good"):
            commits = records(tables, state.location, app)
            if any(part.may_hold(source) for commit in commits for source in sources_of(commit.facts)):
                return name
    return None
