"""Settle a batch with its table: look, count what will happen, stage what changes, commit it in one piece.

Two passes of the run's own engine over the staged good rows and the data files that have a part in it. The first counts
effects by file; the second stages the new rows and the files in which something changes. Files that stay as they are
are not written again. What was worked out holds only for the version that was looked at: when somebody else was
faster, it is worked out again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.engines.base import DataFile, Engine, Frame, Pinned
from lakelogic.errors import CommitConflict, GateClosed, Overtaken, ReconcileError, TableError
from lakelogic.plan.nodes import Assignment, Landed, Link, Read, Rollup
from lakelogic.plan.strategies.frames import (
    BROKEN,
    CHANGE,
    COMPARED,
    COUNT,
    EFFECT,
    HELD,
    INCOMING,
    STAYS,
    STOOD,
    WAS,
    WRITTEN,
    Settlement,
    finding,
)
from lakelogic.privacy.keys import Keys
from lakelogic.run.publish.layout import order_of, staged_files
from lakelogic.sql.expressions import TRUE, Column
from lakelogic.sql.types import Type, to_arrow
from lakelogic.storage import fresh
from lakelogic.tables.base import (
    PLAIN,
    CommitInfo,
    Committed,
    Layout,
    RowChange,
    RowTables,
    StagedFile,
    TableFormat,
    TableState,
)

ATTEMPTS = 5
_DEFECT = "Nothing was published. This is a defect: keep the input and the table and report it."


@dataclass(frozen=True, slots=True)
class Batch:
    """The staged rows of a run, and where files for the table may be staged."""

    good: tuple[DataFile, ...]
    bad: tuple[DataFile, ...]
    place: str

    @property
    def rows(self) -> int:
        """How many good rows there are."""
        return sum(file.rows for file in self.good)


@dataclass(frozen=True, slots=True)
class Worked:
    """What was worked out against one version of the table."""

    removed: tuple[str, ...] = ()
    files: tuple[StagedFile, ...] = ()
    applied: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extra:
    """A file that goes into the table beside the batch, and its rows."""

    file: StagedFile
    name: str


@dataclass(slots=True)
class Settling:
    """One batch and one table, with what is needed to bring them together."""

    engine: Engine
    tables: TableFormat
    location: str
    batch: Batch
    settlement: Callable[[TableState | None], Settlement]  # how they meet, given the table as it is
    keys: tuple[str, ...] = ()
    layout: Layout = PLAIN
    refuse: Callable[[Counted], str | None] | None = None  # why it must not be published
    part: Callable[[Mapping[str, Any]], bool] | None = None  # whether files of a partition have a part in it
    extra: Callable[[TableState | None, Settlement, str], Extra | None] | None = None
    anew: bool = False  # the table's rows have no part in it: all of them go

    def commit(self, info: Callable[[Mapping[str, int]], CommitInfo]) -> tuple[Committed, Mapping[str, int]]:
        """Work it out and commit, again where the table has moved on; the application transaction makes it once."""
        conflict: CommitConflict | None = None
        for _ in range(ATTEMPTS):
            state = self.tables.state(self.location)
            blank = info({})
            if state is not None and state.transactions.get(blank.app_id, 0) >= blank.n:
                return Committed(state.version, skipped=True), {}
            settlement = self.settlement(state)
            place = f"{self.batch.place}-table-{fresh.name()}"
            worked = self.work_out(None if self.anew else state, settlement, place)
            if self.anew and state is not None:
                gone = dict.fromkeys(("gone", "removed_rows"), state.rows or 0)
                worked = replace(worked, removed=state.files, applied={**worked.applied, **gone})
            try:
                done = self._commit(state, settlement, worked, info(worked.applied))
            except Overtaken:
                raise
            except CommitConflict as lost:
                conflict = lost
                continue
            return done, worked.applied
        assert conflict is not None
        raise conflict

    def _commit(self, state: TableState | None, settlement: Settlement, worked: Worked, info: CommitInfo) -> Committed:
        if state is not None and state.own:
            assert isinstance(self.tables, RowTables)
            staged = pa.schema([(column.name, to_arrow(column.type)) for column in settlement.changed])
            # What neither the batch nor the strategy has is left to the table: it may compute it.
            columns = tuple(n for n in settlement.columns if n in settlement.incoming or n in settlement.own)
            was = {name: WAS + name for name in settlement.identity}
            change = RowChange(columns, was, STOOD, STAYS, settlement.in_groups)
            return self.tables.replace_rows(self.location, worked.files, staged, change, info, based_on=state.version)
        schema = pa.schema([(name, to_arrow(type_)) for name, type_ in settlement.columns.items()])
        return self.tables.replace(
            self.location,
            worked.removed,
            worked.files,
            schema,
            info,
            based_on=None if state is None else state.version,
            layout=self.layout,
        )

    def work_out(self, state: TableState | None, settlement: Settlement, place: str) -> Worked:
        """Both passes over one version of the table; raises before anything is visible when rows do not add up."""
        files = self._files(state, settlement)
        counted = self._count(files, state, settlement)
        applied = counted.applied(self.batch.rows)
        self._refuse(counted, files, state, settlement)
        if self.refuse is not None and (reason := self.refuse(counted)):
            raise GateClosed(reason)
        staged: tuple[StagedFile, ...] = ()
        by_row = state is not None and state.own
        expected = counted.changing if by_row else counted.expected
        if expected:
            frame = self._open(files, state, settlement)
            account = settlement.changing() if by_row else settlement.staging(counted.changed)
            lowered = self.engine.lower(frame, (account,), self._links(settlement))
            made = self.engine.stage(
                lowered,
                settlement.changed if by_row else settlement.published,
                (),
                Keys(),
                place,
                order_of(self.layout, tuple(settlement.columns)),
            )
            staged = tuple(staged_files(made.good))
            if (rows := sum(file.rows for file in staged)) != expected:
                raise ReconcileError(f"{expected} rows were to be staged for the table, and {rows} were.", hint=_DEFECT)
        more = self.extra(state, settlement, place) if self.extra is not None else None
        if more is not None:
            staged = (*staged, more.file)
            applied = {**applied, more.name: more.file.rows}
        return Worked(counted.changed, staged, applied)

    def _files(self, state: TableState | None, settlement: Settlement) -> tuple[str, ...]:
        """The data files of the table that have a part in it: those that hold a key of the batch."""
        if state is None or not state.files:
            return ()
        if self.part is not None and state.parts and not state.own:
            return tuple(file for file in state.files if self.part(state.parts.get(file, {})))
        if not settlement.keys or len(state.files) == 1:
            return state.files
        if not self.batch.rows:
            return ()
        keys = {key: settlement.columns[key] for key in settlement.keys}
        frame = self.engine.scan(self._read("current", keys, state), pinned(state))
        incoming = self._link(INCOMING, keys, self.batch.good, distinct=True)
        found = self.engine.collect(self.engine.lower(frame, (finding(keys),), {INCOMING: incoming}))
        holding = set(found.column(names.FILE).to_pylist())
        return tuple(file for file in state.files if file in holding)

    def _read(self, name: str, columns: Mapping[str, Type], state: TableState | None = None) -> Read:
        parts = {"constants": state.parts} if state is not None and state.parts else {}
        return Read(name, "parquet", tuple(Landed(column, type_) for column, type_ in columns.items()), parts)

    def _open(self, files: Sequence[str], state: TableState | None, settlement: Settlement) -> Frame:
        where = Pinned(tuple(files)) if state is None else pinned(state, files)
        return self.engine.scan(self._read("current", settlement.columns, state), where)

    def _link(
        self, name: str, columns: Mapping[str, Type], files: Sequence[DataFile], *, distinct: bool = False
    ) -> Frame:
        rollup = Rollup("distinct", TRUE, tuple(Assignment(c, Column(c, type_)) for c, type_ in columns.items()), ())
        link = Link(self._read(name, columns), (rollup,) if distinct else (), None)
        return self.engine.link(link, Pinned(tuple(file.path for file in files)))

    def _links(self, settlement: Settlement) -> dict[str, Frame]:
        links = {INCOMING: self._link(INCOMING, settlement.incoming, self.batch.good)}
        for name, columns in settlement.beside.items():
            kinds = {column: settlement.columns[column] for column in columns}
            files = self.batch.bad if name == HELD else self.batch.good
            links[name] = self._link(name, kinds, files, distinct=True)
        return links

    def _count(self, files: Sequence[str], state: TableState | None, settlement: Settlement) -> Counted:
        frame = self._open(files, state, settlement)
        lowered = self.engine.lower(frame, (settlement.counting(),), self._links(settlement))
        return Counted([row for row in self.engine.collect(lowered).to_pylist() if row[COUNT]])

    def _refuse(self, counted: Counted, files: Sequence[str], state: TableState | None, settlement: Settlement) -> None:
        """Every row of the batch has one effect, every row of the files is there once; otherwise nothing is done."""
        read, there = counted.by_file(), self._rows_of(files, state)
        differing = [file for file in files if read.get(file, 0) != there.get(file, 0)]
        if counted.incoming != self.batch.rows or differing:
            if self.keys and (repeated := self._repeated(files, state, settlement)):
                raise TableError(
                    f"The table holds {repeated} key{'s' if repeated != 1 else ''} of ({', '.join(self.keys)}) more "
                    "than once; rows of the batch would not find theirs.",
                    where=self.location,
                    hint="Nothing was published. Remove the duplicates, or write to a new target_path.",
                )
            told = f"; {len(differing)} files of the table were not read as they are" if differing else ""
            raise ReconcileError(
                f"{self.batch.rows} good rows met the table, and {counted.incoming} are accounted for{told}.",
                hint=_DEFECT,
            )
        if counted.wrong:
            raise ReconcileError(
                f"{counted.wrong} rows of the table would not fit together: versions of one key overlap, or more than "
                "one is current.",
                where=self.location,
                hint="Nothing was published. Look for versions that overlap in the table as it is.",
            )

    def _rows_of(self, files: Sequence[str], state: TableState | None) -> Mapping[str, int]:
        if state is not None and state.own:
            assert isinstance(self.tables, RowTables)
            return self.tables.rows_by_file(self.location, state.version)
        return {file: pq.read_metadata(file).num_rows for file in files}

    def _repeated(self, files: Sequence[str], state: TableState | None, settlement: Settlement) -> int:
        if not files:
            return 0
        keys = {key: settlement.columns[key] for key in self.keys}
        if state is not None and state.own:
            frame = self.engine.scan(self._read("current", keys, state), pinned(state, files))
            return self.engine.duplicates(frame, self.keys)
        named = [(key, to_arrow(type_)) for key, type_ in keys.items()]
        return self.engine.duplicates(self.engine.open(files, named), self.keys)


def pinned(state: TableState, files: Sequence[str] | None = None) -> Pinned:
    """The rows of a table as it was looked at, or of some of its files."""
    chosen = state.files if files is None else tuple(files)
    if not state.own:
        return Pinned(chosen)
    return Pinned(chosen, state.location, state.version, own=True, part=len(chosen) < len(state.files))


@dataclass(frozen=True, slots=True)
class Counted:
    """What the first pass found: so many rows of each file, effect and change."""

    rows: Sequence[Mapping[str, Any]]

    @property
    def incoming(self) -> int:
        """Rows of the batch that have an effect."""
        return sum(row[COUNT] for row in self.rows if row[EFFECT] is not None)

    @property
    def compared(self) -> int:
        """Live rows of the table that a snapshot was compared with."""
        return sum(row[COUNT] for row in self.rows if row[COMPARED])

    @property
    def missing(self) -> int:
        """Rows of the table that a snapshot lacks."""
        return sum(row[COUNT] for row in self.rows if row[CHANGE] == "deleted" and row[EFFECT] is None)

    @property
    def gone(self) -> int:
        """Rows that a table gave before, and does not have any more: removed, or in a history closed."""
        lost = ("replaced", "ended")
        return sum(r[COUNT] for r in self.rows if r[COMPARED] and r[CHANGE] in lost and r[EFFECT] is None)

    @property
    def wrong(self) -> int:
        """Rows that would break what the strategy promises."""
        return sum(row[COUNT] for row in self.rows if row[BROKEN])

    @property
    def changed(self) -> tuple[str, ...]:
        """Files in which something changes."""
        return tuple(sorted({row[names.FILE] for row in self.rows if row[CHANGE] is not None}))

    @property
    def expected(self) -> int:
        """Rows that the second pass must stage."""
        changed = set(self.changed)
        return sum(
            row[COUNT] for row in self.rows if row[WRITTEN] and (row[names.FILE] is None or row[names.FILE] in changed)
        )

    @property
    def changing(self) -> int:
        """Rows that the second pass must stage where single rows are changed."""
        return sum(
            row[COUNT] for row in self.rows if row[CHANGE] is not None or (row[WRITTEN] and row[names.FILE] is None)
        )

    def by_file(self) -> Counter[str]:
        """Rows of each file of the table."""
        found: Counter[str] = Counter()
        for row in self.rows:
            if row[names.FILE] is not None:
                found[row[names.FILE]] += row[COUNT]
        return found

    def applied(self, rows: int) -> dict[str, int]:
        """What becomes of the rows of the batch, by effect, and of the table: files and rows that come and go."""
        effects: Counter[str] = Counter()
        for row in self.rows:
            if row[EFFECT] is not None:
                effects[row[EFFECT]] += row[COUNT]
        told = {name: effects[name] for name in EFFECTS if effects[name]}
        closed = sum(row[COUNT] for row in self.rows if row[CHANGE] in ("closed", "ended"))
        table = {
            "rows": rows,
            "added_rows": sum(r[COUNT] for r in self.rows if r[WRITTEN] and r[names.FILE] is None),
            "removed_rows": sum(r[COUNT] for r in self.rows if not r[WRITTEN] and r[names.FILE] is not None),
            "rewritten_files": len(self.changed),
        }
        more = (("closed", closed), ("missing", self.missing), ("gone", self.gone))
        told |= {name: count for name, count in more if count}
        return {**told, **table}


EFFECTS = ("inserted", "updated", "unchanged", "deleted", "stale", "ignored", "replaced")
