"""Good rows into a table that is looked at first: merge, history, changes, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine, Staged
from lakelogic.plan.nodes import (
    Account,
    Aggregate,
    Assignment,
    Landed,
    Measure,
    Plan,
    Publish,
    Published,
    Read,
    Rollup,
)
from lakelogic.plan.strategies.frames import STAYS, STOOD, Behind, Settlement
from lakelogic.plan.strategies.meet import absent_columns, good_types, meet, own_columns
from lakelogic.plan.strategies.replaced import Part, Sources
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.plan.strategies.unknown import is_there, member
from lakelogic.run.publish.layout import staged_files
from lakelogic.run.publish.settle import Batch, Counted, Extra, Settling, pinned
from lakelogic.sql.expressions import Column, Expression, Literal, text
from lakelogic.sql.types import BIGINT, INT, Type, from_arrow, to_arrow
from lakelogic.storage import fresh
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, StagedFile, TableFormat, TableState

Info = Callable[[Mapping[str, int]], CommitInfo]


def settle_good(
    engine: Engine,
    tables: TableFormat,
    location: str,
    contract: Contract,
    strategy: Strategy,
    plan: Plan,
    staged: Staged,
    place: str,
    now: datetime,
    info: Info,
    layout: Layout = PLAIN,
    newer: frozenset[str] = frozenset(),
    behind: Behind = (),
) -> tuple[Committed, Mapping[str, int]]:
    """Commit the good rows by a strategy that depends on what the table holds; what it did, by effect."""
    incoming = good_types(plan)
    if _needs_no_query(strategy, plan, incoming) and tables.state(location) is None:
        return _first(tables, location, incoming, staged, info, layout)

    def settlement(state: TableState | None) -> Settlement:
        stored = {field.name: from_arrow(field.type) for field in state.schema} if state is not None else {}
        return meet(contract, strategy, plan, stored, now, newer, behind)

    keys = tuple(name for key in strategy.keys for name in incoming if name.lower() == key.lower())
    settling = Settling(
        engine,
        tables,
        location,
        Batch(staged.good, staged.bad, place),
        settlement,
        keys if strategy.is_keyed else (),
        layout,
        refuse=lambda counted: _too_many(strategy, counted),
    )
    settling.anew = strategy.begins_anew and strategy.keeps_history
    if strategy.kind == "part" and strategy.part is not None:
        settling.part = partial(_may_hold, *strategy.part)
    if strategy.unknown is not None:
        settling.extra = _Member(settling, contract, strategy, now)
    return settling.commit(info)


def _may_hold(column: str, replaced: Part, partition: Mapping[str, Any]) -> bool:
    """Whether a partition of the table can hold rows that are replaced."""
    name = next((known for known in partition if known.lower() == column.lower()), None)
    return True if name is None else replaced.may_hold(partition[name])


def _too_many(strategy: Strategy, counted: Counted) -> str | None:
    """Why so many rows must not be deleted at once; a bound that is met exactly holds."""
    if strategy.unbounded:
        return None
    if strategy.follows_source and strategy.part is not None and isinstance(strategy.part[1], Sources):
        return strategy.part[1].too_many(counted.gone, counted.compared)
    if strategy.reconcile is None or not counted.compared:
        return None
    bound, share = float(strategy.reconcile.max_delete_ratio), counted.missing / counted.compared
    if share <= bound:
        return None
    return (
        f"{counted.missing} of {counted.compared} rows of the table are not in the snapshot ({share:.1%}), at most "
        f"{bound:.1%} may be deleted"
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """Adds the unknown member to a table that does not have it."""

    settling: Settling
    contract: Contract
    strategy: Strategy
    now: datetime

    def __call__(self, state: TableState | None, settlement: Settlement, place: str) -> Extra | None:
        lineage, keys, columns = self.contract.lineage, self.settling.keys, settlement.columns
        stamps = {
            lineage.timestamp_column_name: self.now,
            lineage.created_at_column_name: self.now,
            lineage.created_by_column_name: "lakelogic",
        }
        row = member(self.strategy, keys, columns, stamps)
        files = [file.path for file in self.settling.batch.good]
        batch = {name: type_ for name, type_ in settlement.incoming.items() if name in keys}
        if self._holds(files, batch, is_there(replace(self.strategy, surrogate=None), keys, row, columns)):
            return None
        if state is not None:
            known = {field.name: from_arrow(field.type) for field in state.schema}
            # A column that the contract has gained is no reason to add it again; a new surrogate key is none either.
            own = self.strategy.surrogate
            told = self.strategy if own is None or own.column in known else replace(self.strategy, surrogate=None)
            if set(keys) <= set(known) and self._table_holds(state, known, is_there(told, keys, row, columns)):
                return None
        path = Path(f"{place}-unknown/part-00000.parquet")
        kinds = dict(columns)
        if state is not None and state.own:
            kinds = {column.name: column.type for column in settlement.changed}
            row = {**row, STOOD: False, STAYS: True}
        schema = pa.schema([(name, to_arrow(type_)) for name, type_ in kinds.items()])
        fresh.write_table(pa.Table.from_pylist([row], schema=schema), path)
        partition = {name: row[name] for name in self.settling.layout.partition_by}
        return Extra(StagedFile(str(path), 1, path.stat().st_size, partition), "unknown_member")

    def _table_holds(self, state: TableState, columns: Mapping[str, Type], condition: Expression) -> bool:
        if not state.own:
            return self._holds(state.files, columns, condition)
        read = Read("current", "parquet", tuple(Landed(name, type_) for name, type_ in columns.items()))
        engine = self.settling.engine
        found = Rollup("members", condition, (), (Aggregate("members", "count_all", None, BIGINT),))
        shown = (Assignment("members", Column("members", BIGINT)),)
        account = Account(None, (found,), Publish(shown, Literal(0, INT), text(names.GOOD_SIDE)))
        counted = engine.collect(engine.lower(engine.scan(read, pinned(state)), (account,), {}))
        return bool(counted.column("members")[0].as_py())

    def _holds(self, files: Sequence[str], columns: Mapping[str, Type], condition: Expression) -> bool:
        if not files:
            return False
        read = [Published(name, type_, True, False) for name, type_ in columns.items()]
        found = self.settling.engine.measure(files, read, [Measure("members", "count_all", None, condition)])
        return bool(found["members"])


def _needs_no_query(strategy: Strategy, plan: Plan, incoming: Mapping[str, Type]) -> bool:
    """Into no table, such rows go as they were staged."""
    plain = strategy.kind == "merge" and strategy.operation is None and strategy.unknown is None
    return plain and not absent_columns(plan, incoming) and not own_columns(strategy, incoming)


def _first(
    tables: TableFormat, location: str, incoming: Mapping[str, Type], staged: Staged, info: Info, layout: Layout
) -> tuple[Committed, Mapping[str, int]]:
    schema = pa.schema([(name, to_arrow(type_)) for name, type_ in incoming.items()])
    files = staged_files(staged.good)
    rows = sum(file.rows for file in files)
    applied = {"inserted": rows, "rows": rows, "added_rows": rows, "removed_rows": 0, "rewritten_files": 0}
    done = tables.replace(location, (), files, schema, info(applied), based_on=None, layout=layout)
    return done, {} if done.skipped else applied
