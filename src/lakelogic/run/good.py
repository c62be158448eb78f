"""Good rows into a table that is looked at first: merge, history, changes, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import pyarrow as pa

from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine, Staged
from lakelogic.plan.nodes import Plan
from lakelogic.plan.strategies.frames import Settlement
from lakelogic.plan.strategies.meet import good_types, meet, own_columns
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.run.settle import Batch, Settling
from lakelogic.sql.types import Type, from_arrow, to_arrow
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
) -> tuple[Committed, Mapping[str, int]]:
    """Commit the good rows by a strategy that depends on what the table holds; what it did, by effect."""
    incoming = good_types(plan)
    if _needs_no_query(strategy, incoming) and tables.state(location) is None:
        return _first(tables, location, incoming, staged, info, layout)

    def settlement(state: TableState | None) -> Settlement:
        stored = {field.name: from_arrow(field.type) for field in state.schema} if state is not None else {}
        return meet(contract, strategy, plan, stored, now)

    settling = Settling(
        engine,
        tables,
        location,
        Batch(staged.good, staged.bad, place),
        settlement,
        tuple(name for key in strategy.keys for name in incoming if name.lower() == key.lower()),
        layout,
    )
    return settling.commit(info)


def _needs_no_query(strategy: Strategy, incoming: Mapping[str, Type]) -> bool:
    """Into no table, such rows go as they were staged."""
    plain = strategy.kind == "merge" and strategy.operation is None and strategy.unknown is None
    return plain and not own_columns(strategy, incoming)


def _first(
    tables: TableFormat, location: str, incoming: Mapping[str, Type], staged: Staged, info: Info, layout: Layout
) -> tuple[Committed, Mapping[str, int]]:
    schema = pa.schema([(name, to_arrow(type_)) for name, type_ in incoming.items()])
    files = [StagedFile(file.path, file.rows, file.size) for file in staged.good]
    rows = sum(file.rows for file in files)
    applied = {"inserted": rows, "rows": rows, "added_rows": rows, "removed_rows": 0, "rewritten_files": 0}
    done = tables.replace(location, (), files, schema, info(applied), based_on=None, layout=layout)
    return done, {} if done.skipped else applied
