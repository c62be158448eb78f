"""Page through a quarantine: counts by facet, rows newest first, one row with its values as they are kept.

What a choice looks at is read once per version of a table and kept, so that many readers cost one look. Values are
read from the one file that holds the row, and stay masked: the landed row is never handed out.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.actions.operate.quarantine import QueuePlace
from lakelogic.catalogs.base import Catalog
from lakelogic.driver.registry import Member
from lakelogic.errors import NotFound
from lakelogic.quarantine import first_seen
from lakelogic.quarantine.queue import STATES, Queue, Stamped
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.sql.arrays import integers
from lakelogic.storage import parquet
from lakelogic.tables.kinds import commit_mark
from lakelogic.tables.registry import load as load_tables

T = TypeVar("T")
_KEPT = 4  # quarantines whose index is kept in memory
_CHOICES = 64  # answers to choices that are kept beside an index
_STRIDE = 4_096
_FILE, _ROW = "~file", "~row"
_MOST_COUNTS = 200
_LISTS = ("rules", "categories")
_AND = "\x1f"  # between the rules of a row; no name holds it
_HIDDEN = frozenset({names.RAW, names.CLAIM})


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which rows; several values of one facet mean any of them. `after` is the last row of the page before."""

    states: tuple[str, ...] = ("active",)
    rules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    run_id: str | None = None
    source: str | None = None
    after: tuple[datetime | None, str] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some rows of a queue in short, how many there are of them, and of which version of the table."""

    dataset: str
    table: str
    version: int | None
    total: int
    rows: tuple[dict[str, Any], ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Facets:
    """How many of the chosen rows have which value."""

    dataset: str
    table: str
    version: int | None
    total: int
    oldest: datetime | None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


class _Index:
    """What a choice looks at, of one version of a table, newest first; answers to choices are kept beside it."""

    def __init__(self, version: int, files: tuple[str, ...], rows: pa.Table, mark: str | None = None) -> None:
        self.version = version
        self.mark = mark  # of the newest commit, as it was before the table was looked at
        self.files = files
        self.rows = rows
        self._lock = threading.Lock()
        self._columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        self._masks: OrderedDict[QueueFilter, tuple[pa.BooleanArray, int]] = OrderedDict()
        self._counted: OrderedDict[QueueFilter, tuple[int, datetime | None, dict[str, dict[str, int]]]] = OrderedDict()

    def mask(self, wanted: QueueFilter) -> tuple[pa.BooleanArray, int]:
        """Which rows are meant, and how many these are."""
        wanted = replace(wanted, after=None, limit=0)
        mask = self._masks.get(wanted)
        if mask is not None:
            return mask
        flags = pa.repeat(pa.scalar(True), self.rows.num_rows)
        for part in self._parts(wanted):
            flags = pc.and_(flags, part)
        return self._remember(self._masks, wanted, (flags, pc.sum(flags).as_py() or 0))

    def counted(self, wanted: QueueFilter) -> tuple[int, datetime | None, dict[str, dict[str, int]]]:
        """How many rows are meant, since when the oldest waits, and counts by facet; states over all states."""
        wanted = replace(wanted, after=None, limit=0)
        count = self._counted.get(wanted)
        if count is not None:
            return count
        any_state = self.mask(replace(wanted, states=()))[0]
        mask, total = self.mask(wanted)
        counts = {
            "state": {**dict.fromkeys(STATES, 0), **self._count("state", any_state)},
            "rule": self._count("rules", mask),
            "category": self._count("categories", mask),
            "run_id": self._count("run_id", mask),
            "source": self._count("source", mask),
        }
        oldest = pc.min(self._columns["first_seen"].filter(mask)).as_py() if total else None
        return self._remember(self._counted, wanted, (total, oldest, counts))

    def _count(self, name: str, mask: pa.BooleanArray) -> dict[str, int]:
        """How many of the rows have which value; the most frequent ones."""
        column = self._columns[name]
        counted = pc.value_counts(column.indices.filter(mask))
        if name not in _LISTS and len(counted) > _MOST_COUNTS:
            counted = counted.take(pc.array_sort_indices(counted.field("counts"), "descending").slice(0, _MOST_COUNTS))
        counter = Counter[str]()
        for group in counted.to_pylist():
            if group["values"] is not None:
                value = column.dictionary[group["values"]].as_py()
                for part in value.split(_AND) if name in _LISTS else (value,):
                    counter[part] += group["counts"]
        counter.pop("", None)
        return dict(counter.most_common(_MOST_COUNTS))

    def _remember(self, kept: OrderedDict[QueueFilter, T], wanted: QueueFilter, value: T) -> T:
        with self._lock:
            kept[wanted] = value
            while len(kept) > _CHOICES:
                kept.popitem(last=False)
        return value

    def page(self, wanted: QueueFilter) -> tuple[list[dict[str, Any]], int, bool]:
        """The rows of one page, how many there are in all, and whether more come."""
        mask, total = self.mask(wanted)
        start = 0 if wanted.after is None else self._behind(*wanted.after)
        step = _STRIDE
        places: list[int] = []
        while start < len(mask) and len(places) <= wanted.limit:
            hits = pc.indices_nonzero(mask.slice(start, step)).slice(0, wanted.limit + 1 - len(places))
            places += [start + hit for hit in hits.to_pylist()]
            start, step = start + step, step * 4
        rows = self.rows.take(pa.array(places[: wanted.limit], pa.int64())).to_pylist()
        return rows, total, len(places) > wanted.limit

    def _parts(self, wanted: QueueFilter) -> Iterator[pa.BooleanArray]:
        chosen = {
            "state": wanted.states, "run_id": _one(wanted.run_id), "source": _one(wanted.source),
            "rules": wanted.rules, "categories": wanted.categories,
        }  # fmt: skip
        for name, values in chosen.items():
            if values:
                column = self._columns[name]
                values_known = column.dictionary.to_pylist()
                if name in _LISTS:
                    codes = [
                        at for at, value in enumerate(values_known) if not set(values).isdisjoint(value.split(_AND))
                    ]
                else:
                    codes = [at for at, value in enumerate(values_known) if value in values]
                yield pc.is_in(column.indices, pa.array(codes, column.indices.type))

    def _behind(self, at: datetime | None, row_id: str) -> int:
        """The place of the first row behind one, in the order of the list; rows without a time come last."""
        moments, ids = self._columns["at"], self._columns["row_id"]

        def is_behind(place: int) -> bool:
            moment = moments[place].as_py()
            if at is None or moment is None:
                return moment is None and (at is not None or ids[place].as_py() < row_id)
            return bool(moment < at or (moment == at and ids[place].as_py() < row_id))

        return bisect_left(range(len(ids)), True, key=is_behind)


class QueuePages:
    """The quarantines of an estate, for many readers."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Index] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}

    def page(self, member: Member, wanted: QueueFilter) -> QueuePage:
        """The rows of one page, newest first."""
        place, index = self._look(member)
        if index is None:
            return QueuePage(place.dataset, place.name, None, 0, ())
        rows, total, more = index.page(wanted)
        shown = tuple(_light(row) for row in rows)
        return QueuePage(place.dataset, place.name, index.version, total, shown, more)

    def facets(self, member: Member, wanted: QueueFilter) -> Facets:
        """Counts of the chosen rows by state, rule, category, run and source; states are counted over all states."""
        place, index = self._look(member)
        if index is None:
            return Facets(place.dataset, place.name, None, 0, None, {"state": dict.fromkeys(STATES, 0)})
        total, oldest, counts = index.counted(wanted)
        return Facets(place.dataset, place.name, index.version, total, oldest, counts)

    def row(self, member: Member, row_id: str) -> dict[str, Any]:
        """One row with its values, masked as they are kept."""
        place, index = self._look(member)
        matching = None if index is None else index.rows.filter(pc.equal(index.rows.column("row_id"), row_id))
        if index is None or matching is None or not matching.num_rows:
            raise NotFound(f"There is no row `{row_id}` in {place.name}.", hint="The list of rows shows ids.")
        light = matching.slice(0, 1).to_pylist()[0]
        values = _values(index.files[light[_FILE]], light[_ROW])
        own = {name: value for name, value in values.items() if not name.startswith("_lakelogic_")}
        own.pop(names.STATE, None)
        original = dict(values.get(names.ORIGINAL) or {})
        return {**_light(light), "table": place.name, "values": own, "original": original}

    def _look(self, member: Member) -> tuple[QueuePlace, _Index | None]:
        contract = member.loaded.contract
        where = places(contract, self._catalog)
        queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
        place = QueuePlace(contract.dataset_name, where.quarantine, queue, member.loaded)
        # As long as nothing was committed, the table need not be opened.
        mark = commit_mark(where.quarantine_location)
        with self._lock:
            index = self._kept.get(where.quarantine_location)
            if index is not None and mark is not None and index.mark == mark:
                self._kept.move_to_end(where.quarantine_location)
                return place, index
        state = place.queue.state()
        if state is None:
            return place, None
        # Whoever comes while one is being made waits for it, instead of making it too; those of others do not wait.
        kept = where.quarantine_location
        with self._lock:
            alone = self._making.setdefault(kept, threading.Lock())
        with alone:
            index = self._kept.get(kept)
            if index is not None and index.version == state.version:
                index.mark = mark
                return place, index
            fresh_index = _Index(state.version, state.files, _read(place, state.files), mark)
            with self._lock:
                self._kept[kept] = fresh_index
                self._kept.move_to_end(kept)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return place, fresh_index


def _read(place: QueuePlace, files: Sequence[str]) -> pa.Table:
    """What a choice looks at, of every row, newest first."""
    stamped, text = place.queue.stamped, pa.string()
    few = pa.dictionary(pa.int32(), text)  # values that many rows share
    columns: dict[str, tuple[str, pa.DataType]] = {
        "row_id": (names.ROW_ID, text), "contract": (names.CONTRACT_NAME, few), "state": (names.STATE, few),
        "at": (stamped.at, pa.timestamp("us", tz="UTC")), "run_id": (stamped.run_id, few),
        "rules": (names.RULES, few), "categories": (names.CATEGORIES, few),
        "first_seen": (names.FIRST_SEEN, pa.timestamp("us", tz="UTC")), "runs": (names.SEEN_RUNS, pa.int64()),
        "source": (stamped.source, few), "line": (names.LINE, pa.int64()), "settled_by": (names.SETTLED_BY, few),
        "settled_at": (names.SETTLED_AT, pa.timestamp("us", tz="UTC")), "settled_why": (names.SETTLED_WHY, few),
    }  # fmt: skip
    schema = pa.schema([(name, kind) for name, (_, kind) in columns.items()])
    schema = schema.append(pa.field(_FILE, pa.int32())).append(pa.field(_ROW, pa.int64()))
    tables = []
    for number, path in enumerate(files):
        at = 0
        for batch in parquet.batches([path], [stored for stored, _ in columns.values()]):
            there = set(batch.schema.names)
            arrays = [
                _typed(batch.column(stored), kind) if stored in there else pa.nulls(batch.num_rows, kind)
                for stored, kind in columns.values()
            ]
            arrays += [pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows)]
            arrays += [integers(range(at, at + batch.num_rows))]
            tables.append(pa.Table.from_arrays(arrays, schema=schema))
            at += batch.num_rows
    whole = pa.concat_tables(tables) if tables else schema.empty_table()
    whole = _once(whole.unify_dictionaries().combine_chunks())
    return whole.sort_by([("at", "descending"), ("row_id", "descending")]).combine_chunks()


def _once(rows: pa.Table) -> pa.Table:
    """Every row once, however often it was read, with when it was seen first and in how many runs."""
    firsts = pc.coalesce(rows.column("first_seen"), rows.column("at"))
    runs = pc.coalesce(rows.column("runs"), pa.scalar(1, pa.int64()))
    if pc.count_distinct(rows.column("row_id")).as_py() < rows.num_rows:
        wanted = ("row_id", "state", "at", "contract")
        light = rows.select(wanted).rename_columns([names.ROW_ID, names.STATE, names.PROCESSED_AT, names.CONTRACT_NAME])
        seen_rows = light.append_column(names.FIRST_SEEN, firsts).append_column(names.SEEN_RUNS, runs).to_pylist()
        kept = sorted(first_seen.winners(seen_rows, names.PROCESSED_AT))
        by_row = {first_seen.key_of(row): row for row in first_seen.folded(seen_rows, names.PROCESSED_AT)}
        winners = [by_row[first_seen.key_of(seen_rows[place])] for place in kept]
        rows = rows.take(pa.array(kept, pa.int64()))
        firsts = pa.array([row["first_seen"] for row in winners], firsts.type)
        runs = pa.array([row["runs"] for row in winners], pa.int64())
    for name, values in (("first_seen", firsts), ("runs", runs)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows.drop_columns(["contract"])


def _typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(values.type):
        # Few combinations of rules occur: rows with the same one share it.
        return pc.binary_join(values.cast(pa.list_(pa.string())), _AND).dictionary_encode()
    if pa.types.is_dictionary(kind):
        return values.cast(pa.string()).dictionary_encode()
    return values if values.type == kind else values.cast(kind)


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _light(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the list; `rejection_reason` is the first of its reasons, as the lab calls it."""
    lists = {name: [part for part in (row[name] or "").split(_AND) if part] for name in _LISTS}
    shown = {name: value for name, value in row.items() if not name.startswith("~")}
    return {**shown, **lists, "rejection_reason": next(iter(lists["rules"]), None)}


def _values(path: str, at: int) -> dict[str, Any]:
    """The values of one row of a file, by its place in it; only its row group is read."""
    with pq.ParquetFile(path) as file:
        wanted = [name for name in file.schema_arrow.names if name not in _HIDDEN]
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if at < rows:
                for batch in file.iter_batches(_STRIDE, [group], wanted):
                    if at < batch.num_rows:
                        values: dict[str, Any] = batch.slice(at, 1).to_pylist()[0]
                        return values
                    at -= batch.num_rows
            at -= rows
    raise NotFound("The file does not hold that row any more.", hint="Ask for the list again.")
