"""Rows that a table marks as deleted: the table itself tells by which column, so that whoever reads it leaves them out.

Every good commit of a contract that marks rows says so (`deletes` among its facts). Tables from before that say
nothing; there the column has the name that it has by default.
"""

from __future__ import annotations

import pyarrow as pa

from lakelogic.plan.source.deleted import Deleted
from lakelogic.plan.strategies.settings import IS_DELETED, Strategy
from lakelogic.tables.base import TableFormat, TableState
from lakelogic.tables.facts import CommitFacts, record_kept


def marks_after(strategy: Strategy, tables: TableFormat, before: TableState | None) -> Deleted | None:
    """What a good commit says about marks: those of its contract, or those that rows of the table already have."""
    if strategy.may_delete and strategy.history is None and strategy.deletes.column is not None:
        return Deleted(strategy.deletes.column, strategy.deletes.value)
    return deleted_of(tables, before) if before is not None else None


def deleted_of(tables: TableFormat, state: TableState) -> Deleted | None:
    """How the table marks deleted rows; None where it has no such column."""
    told = _told(tables, state) or Deleted(IS_DELETED, True)
    spelled = {name.lower(): name for name in state.schema.names}
    column = spelled.get(told.column.lower())
    return None if column is None else Deleted(column, told.value)


def _told(tables: TableFormat, state: TableState) -> Deleted | None:
    facts = CommitFacts.of(state.metadata)
    if facts.run_id is not None or facts.deletes is not None:
        return facts.deletes
    marks = None
    for app_id in [app for app in state.transactions if app.endswith(":good")]:  # the newest commit was upkeep
        commit = record_kept(tables, state.location, app_id, state.transactions[app_id])
        marks = (commit.facts.deletes if commit is not None else None) or marks
    return marks


def without_deleted(batch: pa.RecordBatch, deleted: Deleted | None) -> pa.RecordBatch:
    """The rows of a batch that live; the batch has the column that marks others."""
    return batch if deleted is None else batch.filter(pa.array([not one for one in marks(batch, deleted)]))


def marks(batch: pa.RecordBatch | pa.Table, deleted: Deleted) -> list[bool]:
    """Of each row whether it is marked as deleted."""
    return [deleted.is_mark(value) for value in batch.column(deleted.column).to_pylist()]
