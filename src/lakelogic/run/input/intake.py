"""Which part of what lies there a run takes, given what its table holds already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lakelogic.errors import DataError, UnsupportedError
from lakelogic.ledger.records import InputFile
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.crossing import crossing
from lakelogic.plan.nodes import Plan
from lakelogic.plan.strategies.replaced import INSTEAD, Sources
from lakelogic.run.events.types import Caution, Note
from lakelogic.run.formats import tables_of
from lakelogic.run.input import days as cuts
from lakelogic.run.input import pin as window
from lakelogic.run.input import recognised, tracked
from lakelogic.run.input import tables as tables_read
from lakelogic.run.input.behind import settle_order
from lakelogic.run.input.file_digests import remembered
from lakelogic.run.input.pin import Slice
from lakelogic.run.input.recognised import Listing
from lakelogic.run.phases import ListedRun, OpenedRun
from lakelogic.run.places import Places
from lakelogic.run.state.known import Known
from lakelogic.run.state.progress import good_commits
from lakelogic.storage.local import source_root
from lakelogic.tables.base import TableState


def recognise(run_: OpenedRun, source: Slice, known: Known) -> Known:
    """What was read before by the names that files have now; what is found out about them is said and remembered."""
    job, contract = run_.job, run_.job.loaded.contract
    run_.digests.put(remembered(source.files, known.files))
    is_asked = tracked.tracks(run_.strategy) or contract.source.load_mode != "full" or run_.cut is not None
    by_content = contract.source.identity == "content"
    if not source.files or not is_asked or not (known.files or by_content):
        return known
    listing = Listing(
        source.files,
        source_root(window.source_path(contract), job.catalog.base),
        run_.digests.of,
        [field.name for field in contract.model.fields],
        by_content,
    )
    found = recognised.recognise(listing, known.files)
    if found.learned and job.ledger is not None:
        job.ledger.learn(run_.progress.key, found.learned)
    if contract.source.bounded_by is None:  # otherwise rows are left out, and no file is
        recognised.refuse_alike(found, known.files, appends=tracked.tracks(run_.strategy))
        for line in recognised.notes(found):
            run_.events.tell(Note(line))
        for line in recognised.warnings(found):
            run_.events.tell(Caution(line))
    tables = {path: file for path, file in known.inputs.items() if file.is_table}
    return replace(known, inputs={**tables, **found.known}, over=found.over)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """What is read of a source that was listed."""

    source: Slice
    instead: Mapping[str, Any] = field(default_factory=dict)  # what makes the batch another one than its files tell
    looked: SourceColumns | None = None  # the columns of the source, where they were looked at for that


def choose(run_: ListedRun, source: Slice) -> SourcePart:
    """Which part of what lies there is read, given what the table holds."""
    contract, cut, known = run_.job.loaded.contract, run_.cut, run_.recovery
    if source.files and contract.source.identity == "content":
        source = replace(source, contents={file.path: run_.digests.of(file.path) for file in source.files})
    anew = _anew(run_) if run_.job.anew else {}
    if run_.bound is not None:
        source = tracked.without_copies(source)
        parts = tracked.in_part(source, known.files) if source.files and not run_.bound.is_open else {}
        return SourcePart(source, {**parts, **anew})
    if run_.job.anew:
        return SourcePart(source, anew)
    if cut is not None and cut.by == "rows":
        return SourcePart(source, tracked.in_part(source, known.files) if source.files else {})
    if cut is not None and (cut.again or cut.column is not None):
        # Days that are replaced are replaced by all of their files, by a column of the table or else by the stamps.
        if (
            cut.column is not None
            or not source.files
            or not known.table_exists
            or not cuts.takes_back(contract, run_.strategy)
        ):
            return SourcePart(source)
        told = f"the table has no column for days: rows of the {len(source.files)} files of {cut.days} are replaced"
        names = {file.path for file in source.files} | {*tracked.named_otherwise(source.files, known.files).values()}
        names |= {*tracked.moved_over(source.files, known.over).values()}
        return SourcePart(source, _in_place(run_, tracked.Taken(source, Sources(tuple(sorted(names))), told=(told,))))
    if source.pinned.table is not None:
        return SourcePart(*(_table(run_, source) if _follows(run_) else _whole(run_, source)))
    if not tracked.tracks(run_.strategy):
        if contract.source.load_mode == "full":
            return SourcePart(source)
        found = tracked.news(source, known.files)
        return SourcePart(tracked.replace_files(source, found.files), settle_order(run_, found.changed, known.files))
    return _append(run_, source)


def moved_over(run_: ListedRun, source: Slice) -> dict[str, str]:
    """Files that are read whole and were moved over another one: their earlier names stand for no row any more."""
    if run_.bound is not None or (run_.cut is not None and run_.cut.by == "rows"):
        return {}
    return tracked.moved_over(source.files, run_.recovery.over)


def _anew(run_: ListedRun) -> dict[str, Any]:
    """What a batch says that takes the place of all rows; where they are not only ours, it is refused."""
    contract, where = run_.job.loaded.contract, run_.places
    strategy = run_.strategy
    if where is None or not run_.recovery.table_exists:
        return {}
    if others := [other.name for other in where.others if other.strategy == "append"]:
        raise UnsupportedError(
            f"The table is loaded anew, and {', '.join(others)} only receives rows: all would stand there twice.",
            where="materialization.secondary_targets",
            hint="Nothing was read. `lakelogic reset` the dataset, which removes secondary tables too, and run.",
        )
    state = tables_of(contract.materialization.format, run_.job.engine).state(where.target_location)
    if state is None:
        return {}
    if other := tables_read.another_writer(state, run_.progress):
        raise DataError(
            f"{where.target} is loaded anew, and `{other}` writes to it too: its rows would be lost.",
            hint="Nothing was read. Give each dataset a target_path of its own.",
        )
    if strategy.history is not None and state.own:
        raise UnsupportedError(
            f"{where.target} is written by Spark's own Delta: its history cannot be replaced in one commit.",
            hint="Nothing was read. `lakelogic reset` the dataset and run.",
        )
    if strategy.replaces or strategy.reconcile is not None:
        return {}  # it is replaced anyway; or what the snapshot lacks is marked as deleted
    return {INSTEAD: {"column": state.schema.names[0], "everything": True}}


def _follows(run_: ListedRun) -> bool:
    """Whether a table is read from the last version on; to append its rows once more is never asked for."""
    contract = run_.job.loaded.contract
    return tables_read.follows(contract, run_.strategy) and (not run_.job.again or tracked.tracks(run_.strategy))


def _append(run_: ListedRun, source: Slice) -> SourcePart:
    contract, where, known = run_.job.loaded.contract, run_.places, run_.recovery
    before, looked, plan = known.files, None, None
    if run_.cut is not None:
        before = {path: file for path, file in before.items() if path in {one.path for one in source.files}}
    found = tracked.news(source, before, known.over)
    if before and where and found.files:
        plan, looked = _plan(run_, tracked.replace_files(source, found.files))
    taken = tracked.take_files(contract, source, found, before, plan)
    for line in taken.told if taken.source.files else ():
        run_.events.tell(Note(line))
    return SourcePart(taken.source, _in_place(run_, taken), looked if taken.source.files == found.files else None)


def _table(run_: ListedRun, source: Slice) -> tuple[Slice, dict[str, Any]]:
    """A table from the last version on, where it was read before."""
    contract, where = run_.job.loaded.contract, run_.places
    if where is None or not run_.recovery.table_exists:
        return source, {}
    before, stamps = _read_before(run_, source, where)
    if before is None:
        return source, {}
    across = crossing(_plan(run_, source)[0]) if tracked.tracks(run_.strategy) else None
    taken = tables_read.take_table(contract, run_.strategy, source, before, stamps, run_.job.engine, across)
    for line in taken.told:
        run_.events.tell(Note(line))
    return taken.source, _in_place(run_, taken)


def _whole(run_: ListedRun, source: Slice) -> tuple[Slice, dict[str, Any]]:
    """A table of which all is read every time: rows that it gave before and does not have any more go."""
    contract, where = run_.job.loaded.contract, run_.places
    if where is None or not run_.recovery.table_exists or not tables_read.removes(contract, run_.strategy):
        return source, {}
    before, stamps = _read_before(run_, source, where)
    if before is None:
        return source, {}
    if contract.materialization.deletion is None and tables_read.was_replaced(source, run_.job.engine):
        run_.events.tell(
            Note(
                f"Rows of {where.target} that {source.described} does not have any more stay: it is written anew as a "
                "whole. `materialization.deletion: {strategy: follow_source}` removes them, `keep` says that they stay"
            )
        )
        return source, {}
    instead = _in_place(run_, tables_read.whole(contract, run_.strategy, source, stamps))
    for told in instead.values():
        told.pop("after")  # the same version of the table is the same batch
    return source, instead


def _read_before(run_: ListedRun, source: Slice, where: Places) -> tuple[InputFile | None, tuple[str, ...]]:
    """Up to where the table was read, and under which names its rows stand in the target.

    The commits of the target tell both. The ledger is asked first: it has the last word where a commit is not there
    any more.
    """
    location = str(source.pinned.table)
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    found, stamps = run_.recovery.inputs.get(location), set[str]()
    for commit in good_commits(tables, run_.progress):
        facts, told = commit.facts, commit.facts.input
        if not _is_of(told, source, facts.target, where.target_location):
            continue
        is_newest = not stamps
        stamps.add(str(facts.source))
        batch = str(commit.batch_id)
        if tracked.is_part(told):  # after some days of it, nobody can tell which rows are left
            found = InputFile(location, -1, -1, InputFile.TABLE, batch) if is_newest else found
        else:
            found = found or replace(tracked.inputs_told(told)[0], path=location, batch_id=batch)
    return found, tuple(sorted(stamps))


def _is_of(told: Mapping[str, Any], source: Slice, was: str | None, target: str) -> bool:
    """Whether a commit read this table: where it lies now, or where it lay before it was moved.

    A table keeps its id when it is moved, and when it is copied: a copy that lies elsewhere may have gone its own way,
    so it counts only where it came along with the target, or where the other place is gone or the same folder.
    """
    location, place = str(source.pinned.table), told.get("table")
    if place is None or place == location:
        return place == location
    if not source.id or told.get("id") != source.id:
        return False
    if recognised.moved_place(place, was, target) == location or not Path(place).exists():
        return True
    return Path(location).exists() and Path(place).samefile(location)


def _in_place(run_: ListedRun, taken: tracked.Taken) -> dict[str, Any]:
    """What the batch says of the rows that it takes the place of."""
    contract, where = run_.job.loaded.contract, run_.places
    if taken.instead is None or where is None:
        return {}
    state = tables_of(contract.materialization.format, run_.job.engine).state(where.target_location)
    if state is None:
        return {}
    if taken.instead.whole:
        return _gone(run_, taken, taken.instead, where, state)
    why = taken.told[0]
    tracked.refuse_secondary(where.others, why)
    column = tracked.stamp_column(contract, state, where.target, why)
    tracked.refuse_unstamped(run_.job.engine, state, column, where.target, why)
    tables = tables_of(contract.materialization.format, run_.job.engine)
    if other := tables_read.fed_by_others(tables, state, run_.progress, taken.instead):
        raise DataError(
            f"{why}, and `{other}` writes rows that came from there to {where.target} too: they would be lost.",
            hint="Nothing was read. Give each dataset a target_path of its own.",
        )
    return {INSTEAD: {"column": column, **taken.instead.as_dict(), "after": list(taken.after)}}


def _gone(run_: ListedRun, taken: tracked.Taken, part: Sources, where: Places, state: TableState) -> dict[str, Any]:
    """What a batch says that holds all of a table: rows that came from there and are not in it go, by their key."""
    contract, described = run_.job.loaded.contract, taken.source.described
    tables = tables_of(contract.materialization.format, run_.job.engine)
    if why := tables_read.why_rows_stay(contract, tables, state, run_.progress, part):
        told = f"rows of {where.target} that {described} does not have any more stay: {why}"
        if run_.strategy.keeps_history and contract.source.load_mode == "incremental":
            raise DataError(
                f"{taken.told[0] if taken.told else described}; a history cannot tell which of them were deleted: "
                f"{why}.",
                where="lineage",
                hint="Nothing was read. Leave `load_mode: incremental` out: changed rows become versions, deleted ones "
                "stay; or land the changes and read them with `load_mode: cdc`.",
            )
        run_.events.tell(Caution(told))
        return {}
    column = tracked.stamp_column(contract, state, where.target, described)
    if where.others:
        run_.events.tell(Note(f"Secondary targets only receive rows: what {described} lost stays there"))
    return {INSTEAD: {"column": column, **part.as_dict(), "after": list(taken.after)}}


def _plan(run_: ListedRun, source: Slice) -> tuple[Plan, SourceColumns]:
    """The plan over what is new, whose steps may bring rows of several files together; and its columns."""
    job = run_.job
    looked = window.look(job.loaded.contract, source, job.engine)
    return compile_contract(job.loaded, looked, window.look_at_links(run_.links, job.engine)).plan, looked
