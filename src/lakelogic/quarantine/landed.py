"""Quarantined rows as they landed: the text that was kept of each becomes a row of the source once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.contract import formats
from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine
from lakelogic.engines.readers.columns import folder_values
from lakelogic.engines.readers.json_lines import batch_of_texts, shapes_of_texts
from lakelogic.engines.readers.text_reader import columns_of
from lakelogic.plan.columns.absence import Lacks
from lakelogic.plan.compile import SourceColumns
from lakelogic.plan.nodes import Account, Assignment, Landed, Pairs, Plan, Publish, Read, Rollup, Stack
from lakelogic.privacy.keys import Keys
from lakelogic.privacy.masks import reveal_text
from lakelogic.quarantine.queue import Queue
from lakelogic.quarantine.rows import ReplayOrigin
from lakelogic.sql.arrays import integers, strings
from lakelogic.sql.expressions import Column, Expression, Literal, convert, text
from lakelogic.sql.types import BIGINT, INT, STRING, Type, parse_type

# Beside the landed columns: where a row came from first, and which of the rows it is. No landed column is called so.
ORIGIN, PLACE, LACKS = "ll origin", "ll place", "ll lacks"
SEALED = "enc:"

NO_RAW = "the row as it landed was not kept"
BROKEN_LINE = "its line could not be read: mend the file and run again"
NO_KEY = "the key that opens the landed row is not here"
UNKNOWN_TYPES = "nothing tells in which types it landed"
BYTES = "it landed with bytes, which are not kept exactly"


def landed_facts(plan: Plan, source: SourceColumns, seen: Sequence[str] = ()) -> dict[str, Any]:
    """What a commit says about the columns that landed, so that its rows can be made again.

    `lacks` are files without some of the columns; `seen` are keys of JSON that landed so far.
    """
    lacking = {file: sorted(columns) for file, columns in source.lacks.by.items() if columns}
    return {
        "format": plan.read.format,
        "columns": [[column.name, str(column.type)] for column in plan.read.columns],
        **({"lacks": lacking} if lacking else {}),
        **({"seen": list(seen)} if seen else {}),
        **({"kinds": {name: str(kind) for name, kind in source.kinds.items()}} if source.kinds else {}),
    }


@dataclass(slots=True)
class LandedRows:
    """Rows to be judged again, and why others cannot be."""

    table: pa.Table
    source: SourceColumns
    origins: list[ReplayOrigin]
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _LandedRow:
    origin: ReplayOrigin
    clear: str
    source: str | None
    kept: Mapping[str, Any]  # upstream stamps that stand beside the row


def landed_rows(
    contract: Contract,
    queue: Queue,
    app_ids: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    keys: Keys,
    engine: Engine,
) -> LandedRows:
    """Make rows of the source from rows of the quarantine; `app_ids` are whose commits tell how they landed."""
    left_out: Counter[str] = Counter()
    chosen = [landed for row in rows if (landed := _row(contract, queue, row, keys, left_out)) is not None]
    facts_by_batch = {str(commit.batch_id): commit.facts.landed for commit in queue.commits(app_ids)}
    columns: dict[str, Landed] = {}
    file_format: str = (
        contract.source.resolved_format or (contract.server.format if contract.server else None) or "parquet"
    )
    usable: list[_LandedRow] = []
    types: dict[str, dict[str, Type]] = {}
    for row in chosen:
        batch = row.origin.batch_id or ""
        if batch not in types:
            types[batch] = _types(facts_by_batch.get(batch), file_format)
            for name, type_ in types[batch].items():
                columns.setdefault(name.lower(), Landed(name, type_))
        if not types[batch] and not formats.is_text(file_format):
            left_out[UNKNOWN_TYPES] += 1
        elif any("binary" in str(type_) for type_ in types[batch].values()):
            left_out[BYTES] += 1
        else:
            usable.append(row)
    told = next((facts for batch in types if (facts := facts_by_batch.get(batch))), None)
    file_format = str(told["format"]) if told else file_format
    if not columns:
        columns = _by_keys(usable)
    if not formats.has_header(file_format):
        looked = columns_of(shapes_of_texts([row.clear for row in usable]).items())
        shapes = {column.name.lower(): column.shape for column in looked}
        columns = {name: replace(column, shape=shapes.get(name)) for name, column in columns.items()}
    source = SourceColumns(file_format, tuple(columns.values()))
    lacking = [_lacking(row, facts_by_batch.get(row.origin.batch_id or ""), columns) for row in usable]
    labels = {lacked: f"{at}" for at, lacked in enumerate(dict.fromkeys(lacking))}
    if any(lacking) and formats.has_header(file_format):
        source = replace(source, lacks=Lacks({label: lacked for lacked, label in labels.items()}, LACKS))
    table = _table(contract, source, usable, engine, [labels[name] for name in lacking])
    return LandedRows(table, source, [row.origin for row in usable], left_out)


def _row(
    contract: Contract, queue: Queue, row: Mapping[str, Any], keys: Keys, left_out: Counter[str]
) -> _LandedRow | None:
    raw, line = row.get(names.RAW), row.get(names.LINE)
    clear = reveal_text(raw, keys) if raw is not None else ""
    why = NO_RAW if raw is None else BROKEN_LINE if line is not None else NO_KEY if clear.startswith(SEALED) else None
    if why is not None:
        left_out[why] += 1
        return None
    prefix = contract.lineage.upstream_prefix
    preserved = {name.lower(): f"{prefix}{'' if name.startswith('_') else '_'}{name}" for name in _preserved(contract)}
    kept = {name: row[stored] for name, stored in preserved.items() if row.get(stored) is not None}
    origin = ReplayOrigin(row[names.ROW_ID], raw, row.get(names.BATCH_ID), line)
    return _LandedRow(origin, clear, row.get(queue.stamped.source), kept)


def _preserved(contract: Contract) -> Sequence[str]:
    return contract.lineage.preserve_upstream


def _types(landed: Mapping[str, Any] | None, file_format: str) -> dict[str, Type]:
    if landed is None:
        return {}
    types = {name: parse_type(written) for name, written in landed["columns"]}
    return dict.fromkeys(types, STRING) if formats.is_text(file_format) else types


def _lacking(row: _LandedRow, landed: Mapping[str, Any] | None, columns: Mapping[str, Landed]) -> frozenset[str]:
    """The columns of the other rows that the input of a row did not have."""
    if not landed:
        return frozenset()
    had = {name.lower() for name, _ in landed["columns"]} - set(landed.get("lacks", {}).get(row.source or "", ()))
    return frozenset(columns.keys() - had)


def _by_keys(rows: Sequence[_LandedRow]) -> dict[str, Landed]:
    """Where no commit tells the columns any more, the rows themselves do: text has keys."""
    import json

    columns: dict[str, Landed] = {}
    for row in rows:
        for name in json.loads(row.clear):
            columns.setdefault(name.lower(), Landed(name, STRING))
    return columns


def _table(
    contract: Contract, source: SourceColumns, rows: Sequence[_LandedRow], engine: Engine, lacking: Sequence[str]
) -> pa.Table:
    """The landed columns in their types, then where each row came from and its place."""
    read = Read("source", "ndjson", tuple(replace(column, type=STRING) for column in source.columns))
    batch = batch_of_texts(read, [row.clear for row in rows])
    declared = [declared.name for declared in contract.model.fields]
    files = sorted({row.source for row in rows if row.source and source.format != "delta"})
    folders = folder_values(files, declared) if files else {}
    columns: dict[str, Any] = {}
    for column in source.columns:
        values = batch.column(column.name).to_pylist()
        for at, row in enumerate(rows):
            held = folders.get(row.source or "", {})
            if column.name in held:
                values[at] = held[column.name]
            elif column.name.lower() in row.kept:
                values[at] = str(row.kept[column.name.lower()])
        columns[column.name] = strings(values)
    columns[ORIGIN] = strings([row.source for row in rows])
    columns[PLACE] = integers(range(1, len(rows) + 1))
    columns[LACKS] = strings(list(lacking))
    table = pa.table(columns)
    if all(column.type == STRING for column in source.columns) or not rows:
        return table
    return _typed(table, source, engine)


def _typed(table: pa.Table, source: SourceColumns, engine: Engine) -> pa.Table:
    """Text in the types in which it landed, by the engine's own reading of text."""
    frame, _ = engine.adopt(table, Read("source", "parquet", ()))
    values: list[Assignment] = [
        Assignment(column.name, convert(Column(column.name, STRING), column.type)) for column in source.columns
    ]
    values += [Assignment(name, Column(name, STRING)) for name in (ORIGIN, LACKS)]
    values.append(Assignment(PLACE, Column(PLACE, BIGINT)))
    account = Account(None, (), Publish(tuple(values), Literal(0, INT), text(names.GOOD_SIDE)))
    answer = engine.collect(engine.lower(frame, (account,), {}))
    return answer.select(table.column_names).sort_by(PLACE)


def lead_back(plan: Plan, source_column: str) -> Plan:
    """The plan with the rows' first place in their lineage, and their place among the rows as their number."""
    accounts = []
    for account in plan.accounts:
        values = tuple(
            Assignment(assignment.name, source) if (source := _led(assignment, source_column)) else assignment
            for assignment in account.publish.values
        )
        accounts.append(replace(account, publish=replace(account.publish, values=values)))
    return replace(plan, accounts=tuple(accounts))


def _led(assignment: Assignment, source_column: str) -> Expression | None:
    if assignment.name == names.FILE or assignment.name.lower() == source_column.lower():
        return Column(ORIGIN, STRING)
    return Column(PLACE, BIGINT) if assignment.name == names.NUMBER else None


def gathers(plan: Plan) -> str | None:
    """The step that makes one row of several, if there is one: a part of its rows would make other rows."""
    for account in plan.accounts:
        if isinstance(account.opening, Rollup | Stack):
            return account.opening.label
    assert all(account.opening is None or isinstance(account.opening, Pairs) for account in plan.accounts)
    return None
