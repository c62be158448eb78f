"""What of its input an append takes: what is new, and changed files in place of the rows their earlier version gave.

The table is then as after one run over everything that lies there. Where that cannot be had (rows without stamps, rows
that are made of several files), the run stops and says what to do; it never takes a row twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine
from lakelogic.errors import DataError, UnsupportedError
from lakelogic.ledger.records import InputFile
from lakelogic.plan.crossing import crossing
from lakelogic.plan.nodes import Account, Aggregate, Assignment, Landed, Plan, Publish, Read, Rollup
from lakelogic.plan.source.watermarks import INPUT
from lakelogic.plan.strategies.replaced import INSTEAD, Sources
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.run.input.pin import Slice, pin_files
from lakelogic.run.publish.settle import pinned
from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BIGINT, INT, STRING
from lakelogic.storage.local import FileInfo
from lakelogic.tables.base import TableState

DIGESTS = "digests"  # in what a commit tells of its input: what its files held, in short
FORMER = "former"  # the names under which files were read before that are called otherwise by now
OVER = "over"  # the names of files that were moved over the name of another one that was read
AGAIN = "again"  # that everything was asked for although nothing was new
PART_OF = "part_of"  # in what a commit tells of its input: files of which it read only some rows
HOW_TO_BEGIN_AGAIN = "`lakelogic reload` reads everything again and replaces the table's rows in one commit"


def tracks(strategy: Strategy) -> bool:
    """Whether the contract adds to its table: then nothing may be taken twice, whatever `load_mode` says."""
    return strategy.only_adds


@dataclass(frozen=True, slots=True)
class News:
    """The files of a source, held against those that were read before."""

    new: tuple[FileInfo, ...]
    changed: tuple[FileInfo, ...]
    same: tuple[FileInfo, ...]
    gone: tuple[str, ...]
    stamps: tuple[str, ...] = ()  # of changed files: the names that their rows carry
    over: tuple[tuple[str, str], ...] = ()  # changed files that are another one which was read under that name

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """What is to be read, by path."""
        return tuple(sorted((*self.new, *self.changed)))


def news(source: Slice, known: Mapping[str, InputFile], over: Mapping[str, str] | None = None) -> News:
    """Which files are new, changed, the same, or gone; `known` by the names that files have now (`recognised.py`).

    `over` tells of files that were moved over another one: rows of both are those of a changed file.
    """
    new, changed, same, stamps = [], [], [], set[str]()
    for file in source.files:
        before = known.get(file.path)
        if before is None:
            new.append(file)
        elif before.version == (file.size, file.mtime_ns):
            same.append(file)
        else:
            changed.append(file)
            stamps |= {before.path, before.stamp}
    listed = {file.path for file in source.files}
    gone = sorted(path for path, file in known.items() if path not in listed and not file.is_table)
    both = moved_over(changed, over or {})
    stamps |= {*both.values()}
    return News(tuple(new), tuple(changed), tuple(same), tuple(gone), tuple(sorted(stamps)), tuple(both.items()))


def moved_over(files: Sequence[FileInfo], over: Mapping[str, str]) -> dict[str, str]:
    """Of files that are read, those that were read under another name and took the name of one that was read too."""
    return {file.path: over[file.path] for file in files if file.path in over}


def named_otherwise(files: Sequence[FileInfo], known: Mapping[str, InputFile]) -> dict[str, str]:
    """Of files that are read, the names that their earlier rows carry, where these are other ones."""
    found = ((file.path, known.get(file.path)) for file in files)
    return {path: before.same_as for path, before in found if before is not None and before.same_as is not None}


@dataclass(frozen=True, slots=True)
class Taken:
    """What the run reads, whose rows in the table that takes the place of, and what to tell people."""

    source: Slice
    instead: Sources | None = None
    after: tuple[str, ...] = ()  # the batches whose rows are replaced: they make this one another batch
    told: tuple[str, ...] = ()


def take_files(
    contract: Contract, source: Slice, found: News, known: Mapping[str, InputFile], plan: Plan | None
) -> Taken:
    """The part of `source` to read; `plan` is that of the contract over it, where some of it was read before."""
    files = replace_files(source, found.files)
    across = crossing(plan) if plan is not None else None
    if across is None or not known or not found.files:
        if not found.changed:
            return Taken(files, told=_stay(found.gone))
        return Taken(
            files,
            Sources(found.stamps),
            _batches(found.changed, known),
            (_instead(found), *_both(found), *_stay(found.gone)),
        )
    if contract.source.load_mode != "full":  # every batch is made of its own files: that is what was asked for
        if not found.changed:
            return Taken(files, told=_stay(found.gone))
        raise DataError(
            f"{_named([file.path for file in found.changed])} changed since it was read, and `{across}` makes rows of "
            "several files: which rows came of it cannot be told.",
            hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}; or leave `load_mode: incremental` out, and every run "
            "replaces what the source gave before.",
        )
    if found.gone:
        raise DataError(
            f"`{across}` makes rows of several files, so all of them are read again, and {_named(found.gone)} "
            "that was read before is gone: its rows would go with it.",
            hint="Nothing was read. Bring it back; or write `load_mode: incremental`, and every batch is made of its "
            f"own files; or, where the rows shall go, {HOW_TO_BEGIN_AGAIN}.",
        )
    stamps = (file.stamp for file in known.values())
    paths = tuple(sorted({source.described, *(file.path for file in source.files), *known, *stamps, *found.stamps}))
    told = (
        f"`{across}` makes rows of several files: all {len(source.files)} are read, in place of what they gave before"
    )
    return Taken(source, Sources(paths), _batches(source.files, known), (told,))


def replace_files(source: Slice, files: Sequence[FileInfo]) -> Slice:
    """The same source with other files."""
    return replace(pin_files(tuple(files), source.format, source.described), contents=source.contents)


def stamp_of(contract: Contract, state: TableState) -> str | None:
    """The column of the table that tells where its rows came from; None where the contract does not stamp rows."""
    lineage = contract.lineage
    wanted = lineage.source_path_column_name
    found: str | None = next((name for name in state.schema.names if name.lower() == wanted.lower()), None)
    return found if lineage.enabled and lineage.capture_source_path else None


def stamp_column(contract: Contract, state: TableState, where: str, why: str) -> str:
    """The column of the table that tells where its rows came from; without one the run stops."""
    found = stamp_of(contract, state)
    if found is not None:
        return found
    raise DataError(
        f"{why}, and no column of {where} tells which of its rows came from there.",
        where="lineage",
        hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}; with `lineage.capture_source_path` (the default) such rows "
        "are replaced by themselves.",
    )


def unstamped(engine: Engine, state: TableState, column: str) -> int:
    """How many rows of a table do not tell where they came from."""
    read = Read("current", "parquet", (Landed(column, STRING),), {"constants": state.parts} if state.parts else {})
    silent = Rollup(
        "unstamped", call("is_null", Column(column, STRING)), (), (Aggregate("rows", "count_all", None, BIGINT),)
    )
    shown = (Assignment("rows", Column("rows", BIGINT)),)
    account = Account(None, (silent,), Publish(shown, Literal(0, INT), text("good")))
    counted = engine.collect(engine.lower(engine.scan(read, pinned(state)), (account,), {})) if state.files else None
    return int(counted.column("rows")[0].as_py()) if counted is not None else 0


def refuse_unstamped(engine: Engine, state: TableState, column: str, where: str, why: str) -> None:
    """Rows that were written without a stamp may be of a changed file: replaced or kept, it would be a guess."""
    if rows := unstamped(engine, state, column):
        raise DataError(
            f"{why}, and {rows} rows of {where} do not tell where they came from (`{column}` is NULL).",
            hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}.",
        )


def refuse_secondary(others: Collection[object], why: str) -> None:
    """Another place that only receives rows cannot give any back."""
    if others:
        raise UnsupportedError(
            f"{why}, and secondary targets only receive rows: there the earlier ones would stay beside the new.",
            where="materialization.secondary_targets",
            hint="Nothing was read. `lakelogic reset` the dataset, remove the secondary table, and run.",
        )


def in_part(source: Slice, known: Mapping[str, InputFile]) -> dict[str, list[str]]:
    """Files of which only some rows are read, unless they were read as they are: a later run must see to the rest."""
    whole = {file.path for file in source.inputs if (one := known.get(file.path)) and one.version == file.version}
    return {PART_OF: sorted(file.path for file in source.inputs if file.path not in whole)}


def without_copies(source: Slice) -> Slice:
    """The source without files that hold what another one holds, where content makes a file."""
    firsts = {content: path for path, content in sorted(source.contents.items(), reverse=True)}
    copies = {path for path, content in source.contents.items() if firsts[content] != path}
    return replace_files(source, [file for file in source.files if file.path not in copies]) if copies else source


def is_part(told: Mapping[str, Any]) -> bool:
    """Whether a batch read only some rows of what it names, from what its commit tells of its input."""
    return bool((told.get("days") or {}).get("field") or (told.get(INPUT) or {}).get("after"))


def inputs_told(told: Mapping[str, Any]) -> list[InputFile]:
    """What was read, as the ledger remembers it, from what a commit tells of its input."""
    if "table" in told:
        if is_part(told):
            return []  # some of its rows: a run without a window still has to see to the others
        own = InputFile.TABLE + str(told.get("id") or "")
        return [InputFile(told["table"], told.get("version") or 0, told.get("mark") or 0, own)]
    files = [InputFile(path, size, changed) for path, size, changed in told.get("files", ())]
    contents = {**told.get(DIGESTS, {}), **told.get("contents", {})}
    if is_part(told):
        parts = set(told.get(PART_OF, [file.path for file in files]))
        return [InputFile(file.path, -1, -1, contents.get(file.path)) for file in files if file.path in parts]
    return [replace(file, content=contents.get(file.path)) for file in files]


def replaced_inputs(told: Mapping[str, Any], *, whole: bool = False) -> set[str] | None:
    """Files of which the table holds no row any more, from what a commit tells of its input; None for all others.

    `whole`: the batch took the place of the whole table. Only where everything was read again, files that were not
    read have lost their rows: otherwise each of them has been replaced by those after it.
    """
    if whole and AGAIN in told and not told.get("days") and not told.get(INSTEAD):
        return None
    if (told.get(INSTEAD) or {}).get("everything"):
        return None
    stamps = (told.get(INSTEAD) or {}).get("sources", ())
    return {*told.get(FORMER, {}).values(), *told.get(OVER, {}).values(), *stamps} - {
        path for path, *_ in told.get("files", ())
    }


def _batches(files: Sequence[FileInfo], known: Mapping[str, InputFile]) -> tuple[str, ...]:
    return tuple(sorted({known[file.path].batch_id or "" for file in files if file.path in known}))


def _instead(found: News) -> str:
    return f"{_named([file.path for file in found.changed])} changed since it was read: its rows are replaced"


def _both(found: News) -> tuple[str, ...]:
    return tuple(
        f"{path} is {stamp} that was read before, moved over the file that was read as {path}: the rows of both are "
        "replaced"
        for path, stamp in found.over
    )


def _stay(gone: Sequence[str]) -> tuple[str, ...]:
    return (f"{_named(gone)} was read before and is gone; its rows stay",) if gone else ()


def _named(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"each of {len(paths)} files ({paths[0]}, …)"
