"""Rows that a table marks as deleted: the table itself tells by which column, so that whoever reads it leaves them out.

Every good commit of a contract that marks rows says so (`deletes` among its facts). Tables from before that say
nothing; there the column has the name that it has by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lakelogic.plan.source.deleted import Deleted
from lakelogic.plan.strategies.settings import IS_DELETED, Strategy
from lakelogic.quarantine.table import facts_of
from lakelogic.tables import chain
from lakelogic.tables.base import TableFormat, TableState

FACT = "deletes"


def as_fact(strategy: Strategy, tables: TableFormat, before: TableState | None) -> dict[str, Any]:
    """What a good commit says about marks: those of its contract, or those that rows of the table already have."""
    if strategy.may_delete and strategy.history is None and strategy.deletes.column is not None:
        return {FACT: {"column": strategy.deletes.column, "value": strategy.deletes.value}}
    known = deleted_of(tables, before) if before is not None else None
    return {FACT: {"column": known.column, "value": known.value}} if known is not None else {}


def deleted_of(tables: TableFormat, state: TableState) -> Deleted | None:
    """How the table marks deleted rows; None where it has no such column."""
    told = _told(tables, state) or {"column": IS_DELETED, "value": True}
    spelled = {name.lower(): name for name in state.schema.names}
    column = spelled.get(str(told["column"]).lower())
    return None if column is None else Deleted(column, told["value"])


def _told(tables: TableFormat, state: TableState) -> Mapping[str, Any] | None:
    facts = facts_of(state.metadata)
    if "run_id" not in facts:  # the newest commit was upkeep
        for app_id in [app for app in state.transactions if app.endswith(":good")]:
            n = state.transactions[app_id]
            found = tables.find_commit(state.location, app_id, n) or chain.told(state.location, app_id, n)
            facts = {**facts, **facts_of(found)}
    found_marks: Mapping[str, Any] | None = facts.get(FACT)
    return found_marks


def without_deleted(batch: pa.RecordBatch, deleted: Deleted | None) -> pa.RecordBatch:
    """The rows of a batch that live; the batch has the column that marks others."""
    return batch if deleted is None else batch.filter(pa.array([not one for one in marks(batch, deleted)]))


def marks(batch: pa.RecordBatch | pa.Table, deleted: Deleted) -> list[bool]:
    """Of each row whether it is marked as deleted."""
    return [deleted.is_mark(value) for value in batch.column(deleted.column).to_pylist()]
