"""The quarantine as a queue: which rows wait in it, and how their state changes in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.errors import CommitConflict
from lakelogic.plan.columns import growth
from lakelogic.quarantine import first_seen
from lakelogic.sql.arrays import flags
from lakelogic.sql.types import from_arrow, to_arrow
from lakelogic.storage import fresh, parquet
from lakelogic.tables.base import CommitInfo, Committed, StagedFile, TableFormat, TableState
from lakelogic.tables.facts import CommitRecord, records

# Published by a replay or by a run that read it again; given up by a person; left aside by a run that read its source
# again, in which it stands no more or may have been left out by a step.
ACTIVE, REPLAYED, DISCARDED, SUPERSEDED = "active", "replayed", "discarded", "superseded"
STATES = (ACTIVE, REPLAYED, DISCARDED, SUPERSEDED)

_INSTANT = pa.timestamp("us", tz="UTC")
# Who took a row out of the queue, when and why. A table gets these columns with the first row that leaves it.
SETTLED = pa.schema(
    [
        (names.SETTLED_BY, pa.string()),
        (names.SETTLED_AT, _INSTANT),
        (names.SETTLED_WHY, pa.string()),
        (names.CLAIM, pa.string()),
    ]
)
ROWS_TOGETHER = 8_192  # in one group of a file: whoever looks at one row reads its group
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Stamped:
    """What the columns are called that tell where a row came from, by which run and when."""

    source: str = names.SOURCE
    run_id: str = names.RUN_ID
    at: str = names.PROCESSED_AT

    @classmethod
    def by(cls, contract: Contract) -> Stamped:
        """As a contract calls them."""
        lineage = contract.lineage
        return cls(lineage.source_path_column_name, lineage.run_id_column_name, lineage.timestamp_column_name)

    @property
    def light(self) -> tuple[str, ...]:
        """The columns that a choice looks at."""
        settled = (names.SETTLED_BY, names.SETTLED_AT, names.SETTLED_WHY, names.CLAIM)
        about = (names.ROW_ID, names.STATE, names.RULES, names.CATEGORIES, names.ERRORS, names.BATCH_ID, names.LINE)
        seen = (names.CONTRACT_NAME, names.FIRST_SEEN, names.SEEN_RUNS)
        return (*about, self.source, self.run_id, self.at, *settled, *seen)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which rows of a queue are meant; what is empty or None does not narrow the choice."""

    rules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    run: str | None = None  # an id, or the beginning of one
    rows: tuple[str, ...] = ()  # ids, or beginnings of ids
    older_than: timedelta | None = None
    states: tuple[str, ...] = ()
    batch: str | None = None  # the one that the rows came with

    def keeps(self, row: Mapping[str, Any], stamped: Stamped, now: datetime) -> bool:
        """Whether a row is meant."""
        if self.states and row[names.STATE] not in self.states:
            return False
        if self.rules and not set(self.rules) & set(row[names.RULES] or ()):
            return False
        if self.categories and not set(self.categories) & set(row[names.CATEGORIES] or ()):
            return False
        if self.run and not str(row.get(stamped.run_id) or "").startswith(self.run):
            return False
        if self.batch and row[names.BATCH_ID] != self.batch:
            return False
        if self.rows and not any(str(row[names.ROW_ID]).startswith(wanted) for wanted in self.rows):
            return False
        if self.older_than is not None:
            at = row.get(stamped.at)
            return at is not None and now - at > self.older_than
        return True


@dataclass(slots=True)
class Queue:
    """A quarantine table and how its rows are told apart."""

    tables: TableFormat
    location: str
    stamped: Stamped = field(default_factory=Stamped)

    def state(self) -> TableState | None:
        """The table as it is now; None where no row was ever bad."""
        return self.tables.state(self.location)

    def light(
        self,
        files: Sequence[str] | None = None,
        wanted: Sequence[str] | None = None,
        only: Iterable[str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Every row, with the columns that a choice looks at; files without a row of `only` sources are passed by."""
        if files is None:
            state = self.state()
            files = state.files if state else ()
        if only is not None:
            files = [path for path in files if may_hold(path, self.stamped.source, only)]
        wanted = wanted or self.stamped.light
        for batch in parquet.batches(files, wanted):
            missing = dict.fromkeys(name for name in wanted if name not in batch.schema.names)
            for row in batch.to_pylist():
                yield {**missing, **row}

    def entries(self) -> list[dict[str, Any]]:
        """Every row once, however often it was read, with `first_seen`, `last_seen` and `runs`."""
        return first_seen.folded(self.light(), self.stamped.at)

    def seen(self, row_ids: Iterable[str]) -> dict[tuple[Any, Any], dict[str, Any]]:
        """When some rows were seen first and last, and in how many runs, by what makes entries one row."""
        from pyarrow import compute

        state, wanted = self.state(), pa.array(sorted(set(row_ids)), pa.string())
        rows: list[dict[str, Any]] = []
        for batch in parquet.batches(state.files if state else (), self.stamped.light):
            meant = compute.is_in(batch.column(batch.schema.get_field_index(names.ROW_ID)), value_set=wanted)
            rows += batch.filter(meant).to_pylist()
        entries = first_seen.folded(rows, self.stamped.at)
        return {first_seen.key_of(row): {name: row[name] for name in first_seen.TOLD} for row in entries}

    def commits(self, app_ids: Sequence[str]) -> list[CommitRecord]:
        """What the commits under several names say, newest first: earlier versions wrote under other names."""
        return records(self.tables, self.location, *app_ids)

    def of_dataset(self, dataset: str) -> tuple[str, ...]:
        """The names under which a dataset has put rows here, towards whichever target."""
        state = self.state()
        lead = (f"lakelogic:{dataset}:", f"lakelogic:{dataset}@")
        return tuple(
            name for name in (state.transactions if state else ()) if name.startswith(lead) and name.endswith(":bad")
        )

    def of_others(self, app_ids: Sequence[str]) -> frozenset[str]:
        """The batches that other datasets or targets have put here: a quarantine may be shared."""
        state = self.state()
        others = [other for other in (state.transactions if state else ()) if other.endswith(":bad")]
        others = [other for other in others if other not in app_ids]
        return frozenset(str(commit.batch_id) for other in others for commit in self.commits((other,)))

    def rows(self, keeps: Callable[[Mapping[str, Any]], bool], limit: int | None = None) -> pa.Table:
        """The rows that are kept, each once, with all columns of the table."""
        state = self.state()
        if state is None:
            return pa.schema([(names.ROW_ID, pa.string())]).empty_table()
        tables: list[pa.Table] = []
        count = start = 0
        first = first_seen.winners(self.light(state.files), self.stamped.at) if self._has_twins(state.files) else None
        for path in state.files:
            if limit is not None and count >= limit:
                break
            chosen = [
                (first is None or start + at in first) and keeps(row) for at, row in enumerate(self.light([path]))
            ]
            start += len(chosen)
            if any(chosen):
                whole = parquet.reader([path], state.schema).read_all()
                tables.append(whole.filter(flags(chosen)))
                count += tables[-1].num_rows
        table = pa.concat_tables(tables) if tables else state.schema.empty_table()
        return table if limit is None else table.slice(0, limit)

    @staticmethod
    def _has_twins(files: Sequence[str]) -> bool:
        """Whether a row has several entries, as tables from before have."""
        ids: set[str] = set()
        rows = 0
        for batch in parquet.batches(files, (names.ROW_ID,)):
            ids.update(batch.column(0).to_pylist())
            rows += batch.num_rows
        return len(ids) < rows

    def change(
        self,
        info: CommitInfo,
        place: str,
        meant: Callable[[Mapping[str, Any]], bool],
        edit: Callable[[pa.Table, list[bool]], pa.Table],
        added: Sequence[StagedFile] = (),
        schema: pa.Schema | None = None,
        *,
        looks_at: Sequence[str] | None = None,
        only: Iterable[str] | None = None,
        besides: str | None = None,
        finish: Callable[[pa.Table], pa.Table] | None = None,
    ) -> tuple[Committed | None, int]:
        """Edit the rows that are meant and put staged files beside them, in one commit; how many rows were edited.

        Files without such rows stay as they are. Where somebody else commits first, the table is looked at again.
        Each try stages under a name of its own in `place`. `looks_at` are the columns that tell which rows are meant,
        `only` the sources that they can have, `besides` the batch of which they cannot be, `finish` is a last edit of
        the added rows.
        """
        conflict: CommitConflict | None = None
        for _ in range(_TRIES):
            state = self.state()
            if state is None:
                if not added:
                    return None, 0
                assert schema is not None
                return self.tables.append(self.location, added, schema, info), 0
            folder = f"{place}/{fresh.name()}"
            try:
                state = self._widened(state, schema, info)
                whole = _united(_united(_united(state.schema, schema or pa.schema([])), SETTLED), first_seen.SEEN)
                rewritten = self._rewritten(state, folder, meant, edit, whole, looks_at, only, besides)
                if not rewritten.removed:
                    if not added:
                        return None, 0
                    assert schema is not None
                    files, fitting = _fitting(added, schema, whole, folder)
                    return self.tables.append(self.location, files, fitting, info), 0
                self.tables.check(self.location, removes=True)
                if added:
                    beside = parquet.reader([file.path for file in added], whole).read_all()
                    beside = finish(beside) if finish is not None else beside
                    rewritten.put(beside, Path(folder) / "added.parquet")
                done = self.tables.replace(
                    self.location,
                    rewritten.removed,
                    rewritten.files,
                    whole,
                    info,
                    based_on=state.version,
                )
            except CommitConflict as lost:
                conflict = lost
                continue
            return done, rewritten.rows
        assert conflict is not None
        raise conflict

    def _widened(self, state: TableState, schema: pa.Schema | None, info: CommitInfo) -> TableState:
        """The table with types that hold the values of new rows too; a commit that it has seen changes nothing."""
        if schema is None or state.transactions.get(info.app_id, 0) >= info.n:
            return state
        there = {field.name: from_arrow(field.type) for field in state.schema}
        wider = {
            field.name: to_arrow(held)
            for field in schema
            if (kind := there.get(field.name)) is not None
            and (held := growth.union(kind, from_arrow(field.type))) not in (None, kind)
        }
        if not wider:
            return state
        self.tables.widen(self.location, wider, {"lakelogic": f"wider types for batch {info.metadata.get('batch_id')}"})
        widened = self.state()
        assert widened is not None
        return widened

    def _rewritten(
        self,
        state: TableState,
        place: str,
        meant: Callable[[Mapping[str, Any]], bool],
        edit: Callable[[pa.Table, list[bool]], pa.Table],
        schema: pa.Schema,
        looks_at: Sequence[str] | None,
        only: Iterable[str] | None,
        besides: str | None,
    ) -> _Rewritten:
        rewritten = _Rewritten()
        for number, path in enumerate(state.files):
            if only is not None and not may_hold(path, self.stamped.source, only):
                continue
            if besides is not None and holds_only(path, names.BATCH_ID, besides):
                continue
            chosen = [meant(row) for row in self.light([path], looks_at)]
            if not any(chosen):
                continue
            rewritten.rows += chosen.count(True)
            rewritten.removed.append(path)
            edited = edit(parquet.reader([path], schema).read_all(), chosen)
            rewritten.put(edited, Path(place) / f"part-{number:05}.parquet")
        return rewritten


@dataclass(slots=True)
class _Rewritten:
    removed: list[str] = field(default_factory=list)
    files: list[StagedFile] = field(default_factory=list)
    rows: int = 0

    def put(self, table: pa.Table, file: Path) -> None:
        if table.num_rows:
            fresh.write_table(table, file, compression="zstd", row_group_size=ROWS_TOGETHER)
            self.files.append(StagedFile(str(file), table.num_rows, file.stat().st_size))


def may_hold(path: str, column: str, values: Iterable[str]) -> bool:
    """Whether a file can hold one of the values, as far as its footer tells."""
    return any(
        bounds is None or any(bounds[0] <= value <= bounds[1] for value in values) for bounds in _bounds(path, column)
    )


def holds_only(path: str, column: str, value: str) -> bool:
    """Whether all rows of a file have this value or none at all, as far as its footer tells."""
    bounds = _bounds(path, column)
    return bool(bounds) and all(bound == (value, value) for bound in bounds)


@lru_cache(maxsize=4096)  # a data file never changes
def _bounds(path: str, column: str) -> tuple[tuple[str, str] | None, ...]:
    """The smallest and the largest value of a column in each row group; None where the footer does not tell."""
    metadata = pq.read_metadata(path)
    bounds: list[tuple[str, str] | None] = []
    for group in range(metadata.num_row_groups):
        leaves = metadata.row_group(group)
        for leaf in map(leaves.column, range(leaves.num_columns)):
            if leaf.path_in_schema == column:
                statistics = leaf.statistics
                bounds.append(
                    (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else None
                )
    return tuple(bounds)


def _fitting(
    added: Sequence[StagedFile], schema: pa.Schema, whole: pa.Schema, folder: str
) -> tuple[Sequence[StagedFile], pa.Schema]:
    """Staged files in the types of the table, which somebody may have given wider ones since they were staged."""
    kinds = {field.name: field.type for field in whole}
    fitting = pa.schema([pa.field(field.name, kinds[field.name]) for field in schema])
    if fitting == schema or not added:
        return added, schema
    again = _Rewritten()
    again.put(parquet.reader([file.path for file in added], fitting).read_all(), Path(folder) / "added.parquet")
    return again.files, fitting


def _united(kept: pa.Schema, new: pa.Schema) -> pa.Schema:
    there = {name.lower() for name in kept.names}
    return pa.schema([*kept, *(field_ for field_ in new if field_.name.lower() not in there)])


def drop(table: pa.Table, chosen: list[bool]) -> pa.Table:
    """Without the rows that are meant: their new version comes beside them."""
    return table.filter(flags([not is_chosen for is_chosen in chosen]))


def settle(state: str, by: str, at: datetime, why: str | None) -> Callable[[pa.Table, list[bool]], pa.Table]:
    """An edit that gives rows a state, and says who did it, when and why."""
    return put({names.STATE: state, names.SETTLED_BY: by, names.SETTLED_AT: at, names.SETTLED_WHY: why})


def claim(batch_id: str) -> Callable[[pa.Table, list[bool]], pa.Table]:
    """An edit that says which batch is about to publish rows."""
    return put({names.CLAIM: batch_id})


def put(values: Mapping[str, Any]) -> Callable[[pa.Table, list[bool]], pa.Table]:
    """An edit that gives columns a value in the rows that are meant."""

    def edit(table: pa.Table, chosen: list[bool]) -> pa.Table:
        for name, value in values.items():
            at = table.schema.get_field_index(name)
            kind = table.schema.field(at).type
            old = table.column(at).to_pylist()
            new = pa.array([value if is_chosen else kept for is_chosen, kept in zip(chosen, old, strict=True)], kind)
            table = table.set_column(at, table.schema.field(at), new)
        return table

    return edit


PART = "part of "
LEFT_OUT = "left out by "  # of a replay whose steps leave the row out


def is_void(row: Mapping[str, Any]) -> bool:
    """A part that a replay put here before it published the others, and never did: what it is of waits as a whole."""
    return str(row[names.CLAIM] or "").startswith(PART)


def claim_of(batch_id: str, n: int) -> str:
    """What stands on rows that a batch is about to publish under its number."""
    return f"{batch_id}:{n}"
