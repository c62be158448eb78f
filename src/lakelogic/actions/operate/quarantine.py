"""Work with the quarantine: what waits in it, rows as they failed, copies of them."""

from __future__ import annotations

import csv
import getpass
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.actions.visibility.owners import refuse_rows_in_clear
from lakelogic.catalogs.table_names import is_path
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.errors import UsageError
from lakelogic.ledger.records import Act
from lakelogic.plan.compile import compile_contract, load_checked
from lakelogic.privacy.keys import load_keys
from lakelogic.privacy.masks import reveal_text
from lakelogic.quarantine.first_seen import TOLD, key_of
from lakelogic.quarantine.queue import ACTIVE, STATES, Chosen, Queue, Stamped
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.run.surroundings import Surroundings
from lakelogic.storage import fresh
from lakelogic.tables.kinds import kind_of, table_around
from lakelogic.tables.registry import load as load_tables

_CONTRACTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Request:
    """Whose quarantine (a contract's file, a dataset, a table), and which of its rows."""

    what: str
    chosen: Chosen = field(default_factory=Chosen)
    env: str | None = None
    overrides: tuple[str, ...] = ()
    packs: PackChoice = field(default_factory=PackChoice)


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A quarantine that was found: the dataset it belongs to, its name, and the contract where one was given."""

    dataset: str
    name: str
    queue: Queue
    loaded: Loaded | None = None


def person() -> str:
    """Who is doing this, for the ledger."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process without a user has no name
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def find(around: Surroundings, request: Request) -> QueuePlace:
    """The quarantine that somebody means by a contract's file, the name of a dataset, or the name of a table."""
    if request.what.endswith(_CONTRACTS) or Path(request.what).is_file():
        loaded = load_checked(request.what, env=request.env, overrides=request.overrides, packs=request.packs)
        contract = loaded.contract
        where = places(contract, around.catalog)
        queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
        return QueuePlace(contract.dataset_name, where.quarantine, queue, loaded)
    run = next((run for run in around.ledger.runs(request.what, limit=20) if run.quarantine_target), None)
    name = str(run.quarantine_target) if run is not None else request.what
    if run is None and not is_path(name) and "." not in name:
        raise UsageError(
            f"`{request.what}` is no contract's file, and the ledger knows no run of a dataset of that name.",
            hint="Name a contract, a dataset as `lakelogic runs` shows it, or a quarantine table.",
        )
    location = around.catalog.resolve(name)
    kind = kind_of(location)
    if kind is None and run is None:
        raise UsageError(f"There is no table `{name}` at {location}.", hint="Check the name, or LAKELOGIC_WAREHOUSE.")
    return QueuePlace(run.dataset if run else name, name, Queue(load_tables(kind or "delta"), location))


def refuse_clear(around: Surroundings, place: QueuePlace) -> None:
    """Refuse to show rows that were put away before the contract masked what it masks now."""
    refuse_rows_in_clear(around, place.queue.location, place.loaded)


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """How many rows of one dataset are in which state, and since when the oldest waits."""

    dataset: str
    table: str
    counts: Mapping[str, int]
    oldest: datetime | None
    rules: Mapping[str, int]  # of the rows that wait

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "dataset": self.dataset,
            "table": self.table,
            **{state: self.counts.get(state, 0) for state in STATES},
            "oldest": self.oldest.isoformat() if self.oldest else None,
            "rules": dict(self.rules),
        }


def overview(around: Surroundings) -> list[QueueSummary]:
    """Every quarantine that the ledger knows of."""
    datasets: dict[str, str] = {}
    for run in around.ledger.runs(limit=None):
        if run.quarantine_target:
            datasets.setdefault(str(run.quarantine_target), run.dataset)
    summaries = []
    for table, dataset in sorted(datasets.items(), key=lambda item: item[1]):
        location = around.catalog.resolve(table)
        if (kind := kind_of(location)) is not None:
            summaries.append(_summary(QueuePlace(dataset, table, Queue(load_tables(kind), location))))
    return summaries


def _summary(place: QueuePlace) -> QueueSummary:
    states: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    waiting: list[datetime] = []
    for row in place.queue.entries():
        states[row[names.STATE]] += 1
        if row[names.STATE] == ACTIVE:
            rules.update(row[names.RULES] or ())
            waiting += [row["first_seen"]] if row["first_seen"] is not None else []
    return QueueSummary(place.dataset, place.name, states, min(waiting, default=None), dict(rules.most_common()))


@dataclass(frozen=True, slots=True)
class QueueRows:
    """The rows of a choice, newest first, in short; `total` is how many there are."""

    dataset: str
    table: str
    total: int
    rows: tuple[dict[str, Any], ...]


def list_rows(around: Surroundings, request: Request, limit: int = 20) -> QueueRows:
    """What waits in a quarantine, and what has left it."""
    place = find(around, request)
    now, stamped = clock.now(), place.queue.stamped
    chosen_rows = [row for row in place.queue.entries() if request.chosen.keeps(row, stamped, now)]
    chosen_rows.sort(key=lambda row: (row[stamped.at] is not None, row[stamped.at], row[names.ROW_ID]), reverse=True)
    rows = tuple(
        {
            "row_id": row[names.ROW_ID],
            "state": row[names.STATE],
            "at": row[stamped.at],
            **{name: row[name] for name in TOLD},
            "run_id": row[stamped.run_id],
            "rules": row[names.RULES] or [],
            "categories": row[names.CATEGORIES] or [],
            "errors": row[names.ERRORS] or [],
            "source": row[stamped.source],
            "settled_by": row[names.SETTLED_BY],
            "settled_at": row[names.SETTLED_AT],
            "settled_why": row[names.SETTLED_WHY],
        }
        for row in chosen_rows[:limit]
    )
    return QueueRows(place.dataset, place.name, len(chosen_rows), rows)


@dataclass(frozen=True, slots=True)
class Shown:
    """Rows with all their values; `revealed` names the columns that are shown in clear."""

    dataset: str
    table: str
    rows: tuple[dict[str, Any], ...]
    revealed: tuple[str, ...] = ()
    seen: tuple[dict[str, Any], ...] = ()  # of each row: when it was seen first and last, and in how many runs


def show_rows(
    around: Surroundings, request: Request, limit: int = 20, *, reveal: bool = False, why: str | None = None
) -> Shown:
    """Rows as they failed. With `reveal`, reversibly masked values are in clear, and the ledger remembers who asked."""
    place = find(around, request)
    refuse_clear(around, place)
    now = clock.now()
    table = place.queue.rows(lambda row: request.chosen.keeps(row, place.queue.stamped, now), limit)
    rows = [_plain(row) for row in table.to_pylist()]
    spans = place.queue.seen(row[names.ROW_ID] for row in rows)
    seen = tuple(spans[key_of(row)] for row in rows)
    if not reveal:
        return Shown(place.dataset, place.name, tuple(_without_raw(row) for row in rows), seen=seen)
    masked, landed_too = _may_reveal(around, place, why)
    keys = load_keys({"encrypt"}, around.environ)
    facts = {"table": place.name, "rows": [row[names.ROW_ID] for row in rows], "columns": sorted(masked)}
    around.ledger.tell(Act("reveal", place.dataset, person(), why, facts))
    for row in rows:
        for name in masked & set(row):
            row[name] = reveal_text(row[name], keys) if isinstance(row[name], str) else row[name]
        original = row.get(names.ORIGINAL) or {}
        row[names.ORIGINAL] = {k: reveal_text(v, keys) if k in masked and v else v for k, v in original.items()}
        # The row as it landed holds every value: it stays sealed where one of them is masked for good.
        if landed_too and row.get(names.RAW):
            row[names.RAW] = reveal_text(row[names.RAW], keys)
    return Shown(place.dataset, place.name, tuple(rows), tuple(sorted(masked)), seen)


def _may_reveal(around: Surroundings, place: QueuePlace, why: str | None) -> tuple[set[str], bool]:
    """The columns that a key opens, and whether it may open the landed row too.

    Refused without a reason, without the contract, or where it is turned off.
    """
    if not why or not why.strip():
        raise UsageError("To reveal values a reason is needed.", hint="Add --why 'ticket 4711: …'; it is recorded.")
    if around.environ.get("LAKELOGIC_REVEAL", "").lower() == "never":
        raise UsageError("Values are never revealed here: LAKELOGIC_REVEAL is never.")
    if place.loaded is None:
        raise UsageError(
            "Only the contract says which columns are masked.", hint="Name the contract's file instead of the dataset."
        )
    masks = compile_contract(place.loaded).plan.masks
    opened = {mask.column.removeprefix("~bad:") for mask in masks if mask.strategy.startswith("encrypt")}
    for_good = any(f.masking and not f.masking.startswith("encrypt") for f in place.loaded.contract.model.fields)
    return opened, not for_good and all(mask.strategy.startswith("encrypt") for mask in masks)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if name == names.ORIGINAL and value else value for name, value in row.items()}


def _without_raw(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != names.RAW}


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the copy is and how many rows it holds."""

    dataset: str
    table: str
    file: str
    rows: int


def export_rows(around: Surroundings, request: Request, file: str, *, raw: bool = False) -> Exported:
    """Copy rows to a file, masked as they are kept: .csv, .json, .ndjson or .parquet.

    People open a .csv in a spreadsheet, which would calculate a cell that begins like a formula: such text gets an
    apostrophe in front, unless the copy shall be `raw`.
    """
    place = find(around, request)
    refuse_clear(around, place)
    suffix = Path(file).suffix.lower()
    if suffix not in (".csv", ".json", ".ndjson", ".parquet"):
        raise UsageError(f"`{file}` does not say in which format.", hint="End it in .csv, .json, .ndjson or .parquet.")
    if (inside := table_around(Path(file).absolute())) is not None:
        raise UsageError(f"`{file}` lies inside the table at {inside}.", hint="Choose a place outside of tables.")
    now = clock.now()
    table = place.queue.rows(lambda row: request.chosen.keeps(row, place.queue.stamped, now))
    with fresh.in_place_of(Path(file)) as sink:
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, sink, compression="zstd")
        else:
            with TextIOWrapper(sink, encoding="utf-8", newline="", write_through=True) as stream:
                _write_text(table, stream, suffix, raw=raw)
    return Exported(place.dataset, place.name, file, table.num_rows)


def _write_text(table: pa.Table, stream: TextIO, suffix: str, *, raw: bool) -> None:
    rows = [_plain(row) for row in table.to_pylist()]
    if suffix == ".csv":
        writer = csv.writer(stream)
        cells = [table.column_names, *([_cell(value) for value in row.values()] for row in rows)]
        writer.writerows(line if raw else [_defused(cell) for cell in line] for line in cells)
    elif suffix == ".json":
        json.dump(rows, stream, ensure_ascii=False, indent=1, default=_text)
    else:
        stream.writelines(json.dumps(row, ensure_ascii=False, default=_text) + "\n" for row in rows)


# What spreadsheets take for the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*", re.ASCII)


def _defused(value: Any) -> Any:
    """Text that a spreadsheet takes for text; a number with its sign stays one."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return _text(value) if value is not None and not isinstance(value, str | int | float) else value


def _text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What became of rows that were judged again."""

    status: str
    exit_code: int
    chosen: int
    passed: int
    failed: int
    left_out: Mapping[str, int]
    reasons: tuple[str, ...]
    report: Mapping[str, Any]


def replay_rows(around: Surroundings, request: Request, engine: str | None = None) -> ReplayReport:
    """Judge rows again, as they landed, by the contract as it is now; publish what passes."""
    from lakelogic.actions.operate.run import EXIT_BY_STATUS
    from lakelogic.run.processor import DataProcessor

    place = find(around, request)
    if place.loaded is None:
        raise UsageError("A replay needs the contract.", hint="Name the contract's file instead of the dataset.")
    with DataProcessor(place.loaded, engine, surroundings=around) as processor:
        done = processor.replay(request.chosen)
    result = done.result
    return ReplayReport(
        done.status,
        EXIT_BY_STATUS[done.status],
        done.chosen,
        done.passed,
        done.failed,
        dict(done.left_out),
        result.reasons if result else (),
        result.report if result else {},
    )


@dataclass(frozen=True, slots=True)
class Discarded:
    """The rows that were taken out of the queue."""

    dataset: str
    table: str
    rows: tuple[str, ...]


def discard_rows(
    around: Surroundings, request: Request, reason: str, *, everything: bool = False, by: str | None = None
) -> Discarded:
    """Take rows out of the queue for good; the reason is kept with each row and in the ledger."""
    from lakelogic.run.replay.discard import discard

    if not reason.strip():
        raise UsageError("To discard rows a reason is needed.", hint="Add --reason 'test data of …'; it is kept.")
    if not everything and request.chosen == Chosen(states=request.chosen.states):
        raise UsageError(
            "That would discard every row that waits.", hint="Choose rows (--rule, --row, …), or say --all."
        )
    place = find(around, request)
    if place.loaded is None:
        raise UsageError("To discard rows the contract is needed.", hint="Name the contract's file.")
    discarded = discard(place.loaded, around.catalog, around.ledger, request.chosen, why=reason, person=by or person())
    if not discarded and request.chosen.rows:
        raise UsageError(
            f"No row that waits in {place.name} begins with {', '.join(request.chosen.rows)}.",
            hint="`lakelogic quarantine list` shows ids; a row that has left the queue stays as it is.",
        )
    return Discarded(place.dataset, place.name, tuple(discarded))
