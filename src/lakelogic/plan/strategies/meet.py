"""A strategy over the columns of a batch and its table: which query brings them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.errors import Defect
from lakelogic.plan.columns.stamps import attempt_columns, first_columns
from lakelogic.plan.nodes import Plan
from lakelogic.plan.strategies import merge, part, periodic, scd2
from lakelogic.plan.strategies.frames import Behind, MergeSides, Settlement
from lakelogic.plan.strategies.settings import KINDS, Kind, Strategy
from lakelogic.sql.types import Type, from_arrow, to_arrow


def good_types(plan: Plan) -> dict[str, Type]:
    """The columns of the good rows, in the types that tables tell."""
    chosen = (column for column in plan.columns if column.on_good and not column.name.startswith(names.INTERNAL))
    return {column.name: from_arrow(to_arrow(column.type)) for column in chosen}


@dataclass(frozen=True, slots=True)
class StrategyQueries:
    """The queries of one kind of strategy, and the columns that its table has beside those of the good rows."""

    settle: Callable[[Strategy, MergeSides], Settlement]
    own_columns: Callable[[Strategy, Mapping[str, Type]], dict[str, Type]] = lambda _strategy, _incoming: {}


QUERIES: dict[Kind, StrategyQueries] = {
    "append": StrategyQueries(merge.settle),
    "overwrite": StrategyQueries(merge.settle),
    "merge": StrategyQueries(merge.settle, merge.own_columns),
    "scd2": StrategyQueries(scd2.settle, lambda strategy, _incoming: scd2.own_columns(strategy)),
    "periodic": StrategyQueries(periodic.settle),
    "part": StrategyQueries(part.settle),
}
if QUERIES.keys() != KINDS.keys():
    raise Defect(f"These strategies are not whole: {sorted(QUERIES.keys() ^ KINDS.keys())}.")


def own_columns(strategy: Strategy, incoming: Mapping[str, Type]) -> dict[str, Type]:
    """The columns that the table has beside those of the good rows."""
    return QUERIES[strategy.kind].own_columns(strategy, incoming)


def meet(
    contract: Contract,
    strategy: Strategy,
    plan: Plan,
    stored: Mapping[str, Type],
    now: datetime,
    newer: frozenset[str] = frozenset(),
    behind: Behind = (),
) -> Settlement:
    """How the good rows of a plan meet a table with these columns; `newer` are runs whose rows came later.

    `behind` are files of the batch that other files were read after, where that alone tells which row is newer.
    """
    incoming = good_types(plan)
    spelled = {name.lower(): name for name in incoming}
    lineage = contract.lineage
    sides = MergeSides(
        stored,
        incoming,
        tuple(spelled[key.lower()] for key in strategy.keys) if strategy.is_keyed else (),
        frozenset(name.lower() for name in attempt_columns(contract)),
        frozenset(name.lower() for name in first_columns(contract)),
        now,
        any(column.name == names.DELETE for column in plan.columns),
        newer,
        _stored(stored, lineage.run_id_column_name),
        _stored(stored, lineage.timestamp_column_name),
        behind,
        _stored(stored, lineage.source_path_column_name),
        absent_columns(plan, incoming),
    )
    return QUERIES[strategy.kind].settle(strategy, sides)


def absent_columns(plan: Plan, incoming: Mapping[str, Type]) -> tuple[str, ...]:
    """The columns of which staged rows say whether they landed."""
    marks = [column.name for column in plan.columns if column.name.startswith(names.ABSENT)]
    absent = {mark.removeprefix(names.ABSENT).lower() for mark in marks}
    return tuple(name for name in incoming if name.lower() in absent)


def _stored(columns: Mapping[str, Type], wanted: str) -> str | None:
    return next((name for name in columns if name.lower() == wanted.lower()), None)
