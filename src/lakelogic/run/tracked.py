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
from lakelogic.plan.sources import Sources
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.settle import pinned
from lakelogic.run.window import Slice, pin_files
from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BIGINT, INT, STRING
from lakelogic.storage.local import FileInfo, digest, known_as
from lakelogic.tables.base import TableState

PART_OF = "part_of"  # in what a commit tells of its input: files of which it read only some rows
HOW_TO_BEGIN_AGAIN = "`lakelogic reload` reads everything again and replaces the table's rows in one commit"


def tracks(contract: Contract) -> bool:
    """Whether the contract adds to its table: then nothing may be taken twice, whatever `load_mode` says."""
    return strategy_of(contract).kind == "append"


@dataclass(frozen=True, slots=True)
class News:
    """The files of a source, held against those that were read before."""

    new: tuple[FileInfo, ...]
    changed: tuple[FileInfo, ...]
    same: tuple[FileInfo, ...]
    gone: tuple[str, ...]
    stamps: tuple[str, ...] = ()  # of changed files: the names that their rows carry

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """What is to be read, by path."""
        return tuple(sorted((*self.new, *self.changed)))


def news(source: Slice, known: Mapping[str, InputFile], *, by_content: bool) -> News:
    """Which files are new, changed, the same, or gone."""
    new, changed, same, stamps = [], [], [], list[str]()
    listed = {file.path for file in source.files}
    # A file that is still there under the name it was read by, and is listed by another: one file, by whatever link.
    unlisted = [path for path, file in known.items() if path not in listed and not file.is_table]
    renamed = {key: path for path in unlisted if (key := known_as(path)) is not None}
    met = set[str]()
    for file in source.files:
        before = known.get(file.path)
        if before is None and renamed and (name := renamed.get(known_as(file.path) or (0, 0))) is not None:
            before = known[name]
            met.add(name)
        if before is None:
            new.append(file)
        elif before.version == (file.size, file.mtime_ns) or (by_content and before.content == source.content(file)):
            same.append(file)
        else:
            changed.append(file)
            stamps.append(before.path)
    gone = sorted(set(unlisted) - met)
    return News(tuple(new), tuple(changed), tuple(same), tuple(gone), tuple(stamps))


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
            files, Sources(found.stamps), _batches(found.changed, known), (_instead(found), *_stay(found.gone))
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
    paths = tuple(sorted({source.described, *(file.path for file in source.files), *known}))
    told = (
        f"`{across}` makes rows of several files: all {len(source.files)} are read, in place of what they gave before"
    )
    return Taken(source, Sources(paths), _batches(source.files, known), (told,))


def replace_files(source: Slice, files: Sequence[FileInfo]) -> Slice:
    """The same source with other files."""
    return replace(pin_files(tuple(files), source.format, source.described), contents=source.contents)


def stamp_column(contract: Contract, state: TableState, where: str, why: str) -> str:
    """The column of the table that tells where its rows came from; without one the run stops."""
    lineage = contract.lineage
    wanted = lineage.source_path_column_name
    found: str | None = next((name for name in state.schema.names if name.lower() == wanted.lower()), None)
    if found is not None and lineage.enabled and lineage.capture_source_path:
        return found
    raise DataError(
        f"{why}, and no column of {where} tells which of its rows came from there.",
        where="lineage",
        hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}; with `lineage.capture_source_path` (the default) such rows "
        "are replaced by themselves.",
    )


def refuse_unstamped(engine: Engine, state: TableState, column: str, where: str, why: str) -> None:
    """Rows that were written without a stamp may be of a changed file: replaced or kept, it would be a guess."""
    read = Read("current", "parquet", (Landed(column, STRING),), {"constants": state.parts} if state.parts else {})
    silent = Rollup(
        "unstamped", call("is_null", Column(column, STRING)), (), (Aggregate("rows", "count_all", None, BIGINT),)
    )
    shown = (Assignment("rows", Column("rows", BIGINT)),)
    account = Account(None, (silent,), Publish(shown, Literal(0, INT), text("good")))
    counted = engine.collect(engine.lower(engine.scan(read, pinned(state)), (account,), {})) if state.files else None
    rows = int(counted.column("rows")[0].as_py()) if counted is not None else 0
    if rows:
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


def inputs_told(told: Mapping[str, Any]) -> list[InputFile]:
    """What was read, as the ledger remembers it, from what a commit tells of its input."""
    if "table" in told:
        if (told.get("days") or {}).get("field"):
            return []  # some of its rows: a run without a window still has to see to the others
        return [InputFile(told["table"], told.get("version") or 0, 0, InputFile.TABLE + str(told.get("id") or ""))]
    files = [InputFile(path, size, changed) for path, size, changed in told.get("files", ())]
    if (told.get("days") or {}).get("field"):
        parts = set(told.get(PART_OF, [file.path for file in files]))
        return [InputFile(file.path, -1, -1) for file in files if file.path in parts]
    contents = told.get("contents", {})
    return [replace(file, content=contents.get(file.path)) for file in files]


def content_of(files: Sequence[FileInfo], known: Mapping[str, InputFile]) -> dict[str, str]:
    """A digest of each file; one that is listed as it was read before is not read for it."""
    found = {}
    for file in files:
        before = known.get(file.path)
        is_same = before is not None and before.content is not None and before.version == (file.size, file.mtime_ns)
        found[file.path] = before.content if is_same and before and before.content else digest(file.path)
    return found


def _batches(files: Sequence[FileInfo], known: Mapping[str, InputFile]) -> tuple[str, ...]:
    return tuple(sorted({known[file.path].batch_id or "" for file in files if file.path in known}))


def _instead(found: News) -> str:
    return f"{_named([file.path for file in found.changed])} changed since it was read: its rows are replaced"


def _stay(gone: Sequence[str]) -> tuple[str, ...]:
    return (f"{_named(gone)} was read before and is gone; its rows stay",) if gone else ()


def _named(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"each of {len(paths)} files ({paths[0]}, …)"
