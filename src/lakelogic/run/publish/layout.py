"""How the target is laid out: partitions, clustering and properties, as the contract says and the table has them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lakelogic.contract.document import Contract
from lakelogic.contract.materialization import Scd2
from lakelogic.engines.base import AS_IT_COMES, DataFile, Order
from lakelogic.errors import CommitConflict, UsageError
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.tables.base import CommitInfo, Committed, Layout, RowTables, StagedFile, TableFormat, TableState

_ATTEMPTS = 5


def layout_of(contract: Contract, columns: Sequence[str], state: TableState | None) -> Layout:
    """The layout in the spelling of the columns; a table that is there and a contract that says nothing agree."""
    settings = contract.materialization
    said = _spelled(settings.partition_by, columns, "partition_by")
    parted = said or (state.partition_by if state is not None else ())
    if settings.overwrite_scope == "partitions" and (not parted or settings.strategy != "overwrite"):
        raise UsageError(
            "overwrite_scope: partitions needs strategy: overwrite and a table with partitions.",
            where="materialization.overwrite_scope",
            hint="Say partition_by and strategy: overwrite, or leave overwrite_scope out.",
        )
    return Layout(
        partition_by=parted,
        cluster_by=_spelled(settings.cluster_by, columns, "cluster_by"),
        properties={key: _text(value) for key, value in settings.table_properties.items()},
    )


def refuse_other_kind(contract: Contract, strategy: Strategy, stored: Sequence[str], table: str) -> None:
    """A table without versions is no history, and a history holds several rows of a key."""
    known = {name.lower() for name in stored}
    history = strategy.history or Scd2.model_validate({})
    marks = [history.effective_from_field, history.effective_to_field, history.version_column]
    is_history = all(name.lower() in known for name in marks)
    if strategy.keeps_history and not is_history:
        lacks = ", ".join(f"`{name}`" for name in marks if name.lower() not in known)
        raise UsageError(
            f"{table} holds no versions: it has no column {lacks}.",
            where="materialization.strategy",
            hint="Write the history to a new target_path, or start over with `lakelogic reset`.",
        )
    declared = {field.name.lower() for field in contract.model.fields}
    is_undeclared = not declared.intersection(name.lower() for name in marks)
    if strategy.is_keyed and not strategy.keeps_history and is_history and is_undeclared:
        raise UsageError(
            f"{table} is a history: it holds several rows of a key, and merge keeps one.",
            where="materialization.strategy",
            hint="Keep `strategy: scd2`, write to a new target_path, or start over with `lakelogic reset`.",
        )


def order_of(layout: Layout, columns: Sequence[str]) -> Order:
    """How rows with these columns are staged; columns that only the table has are left to when it is met."""
    if not set(layout.partition_by) <= set(columns):
        return AS_IT_COMES
    return Order(layout.partition_by, tuple(name for name in layout.cluster_by if name in columns))


def staged_files(files: Sequence[DataFile]) -> list[StagedFile]:
    """Staged files as tables take them."""
    return [StagedFile(file.path, file.rows, file.size, file.partition) for file in files]


def replace_partitions(
    tables: TableFormat,
    location: str,
    files: Sequence[StagedFile],
    schema: pa.Schema,
    commit: CommitInfo,
    layout: Layout,
) -> Committed:
    """Put the staged files in place of all rows of the partitions that they belong to; other partitions stay."""
    touched = [file.partition for file in files]
    conflict: CommitConflict | None = None
    for _ in range(_ATTEMPTS):
        state = tables.state(location)
        if state is not None and state.own:
            assert isinstance(tables, RowTables)
            return tables.replace_partitions(location, files, schema, commit)
        removed = [path for path, part in state.parts.items() if part in touched] if state is not None else []
        based_on = None if state is None else state.version
        try:
            return tables.replace(location, removed, files, schema, commit, based_on=based_on, layout=layout)
        except CommitConflict as lost:
            conflict = lost
    assert conflict is not None
    raise conflict


def keeps(state: TableState | None, strategy: Strategy) -> bool:
    """Whether a batch without a good row leaves the columns of its table as they are.

    Not where rows of the table are worked out anew for it, nor where Spark's own Delta writes.
    """
    if state is None or state.own:
        return False
    if not strategy.looks_at_the_table:
        return True
    return strategy.is_keyed and strategy.part is None and strategy.reconcile is None and strategy.unknown is None


def known_columns(schema: pa.Schema, state: TableState) -> pa.Schema:
    """The columns of a batch that its table has, in the types that they have there."""
    return pa.schema([state.schema.field(name) for name in schema.names if name in state.schema.names])


def _spelled(names: Sequence[str], columns: Sequence[str], key: str) -> tuple[str, ...]:
    spelled = {column.lower(): column for column in columns}
    missing = [name for name in names if name.lower() not in spelled]
    if missing:
        raise UsageError(
            f"There is no column `{missing[0]}` to publish.",
            where=f"materialization.{key}",
            hint=f"Choose among: {', '.join(columns)}.",
        )
    return tuple(spelled[name.lower()] for name in names)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
