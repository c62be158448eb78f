"""Functions over windows: bound ones become nodes, and expressions read the columns that these make."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.plan.nodes import Bounds, Order, Rank, Window, WindowFunction
from lakelogic.plan.predicates import ordered
from lakelogic.plan.state import State
from lakelogic.sql.catalogue.windows import WINDOWS
from lakelogic.sql.expressions import TRUE, Column, Expression, Literal, call, replace_columns
from lakelogic.sql.scope import BoundWindow
from lakelogic.sql.types import BIGINT

# These say the same for rows of equal order; all others need an order without ties.
_OF_PEERS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
# These tell nothing of the value itself, so a mask does not go along.
_COUNTING = frozenset({"row_number", "ntile", *_OF_PEERS})


def computed(state: State, windows: Sequence[BoundWindow], values: Sequence[Expression]) -> list[Expression]:
    """The values, with the columns that hold the windows' results; only rows that are alive see one another."""
    if not windows:
        return list(values)
    columns: dict[str, Expression] = {}
    groups: dict[tuple[tuple[Expression, ...], tuple[Order, ...]], list[WindowFunction]] = {}
    for window in windows:
        name = state.fresh(f"~over.{window.function}")
        groups.setdefault(_frame(state, window), []).append(
            WindowFunction(name, window.function, window.args, window.type, _bounds(window), window.distinct)
        )
        columns[window.name] = Column(name, window.type)
        if window.function not in _COUNTING and not window.function.startswith("count"):
            for argument in window.args:
                state.inherit(name, argument, copied=False)
    for (partition, order), functions in groups.items():
        state.nodes.append(Window("window", partition, order, tuple(functions), _detail(functions)))
    return [replace_columns(value, columns) for value in values]


def _frame(state: State, window: BoundWindow) -> tuple[tuple[Expression, ...], tuple[Order, ...]]:
    partition = window.partition if state.alive == TRUE else (*window.partition, state.alive)
    order = tuple(Order(value, descending, first) for value, descending, first in window.order)
    if order and _needs_ties(window):
        order += ties(state)
    return partition, order


def ties(state: State) -> tuple[Order, ...]:
    """The whole row, ascending: the order that is left when two rows are equal in every other."""
    return tuple(Order(ordered(value)) for value in state.visible.values())


def ranked(state: State, label: str, partition: tuple[Expression, ...], order: tuple[Order, ...] = ()) -> Column:
    """The number of each row that is alive among its equals; the whole row breaks ties."""
    if state.alive != TRUE:
        partition = (*partition, state.alive)
    output = state.fresh("~rank")
    state.nodes.append(Rank(label, partition, (*order, *ties(state)), output))
    return Column(output, BIGINT)


def keep_once(state: State, step: str) -> None:
    """Of rows that are equal in every column one stays; the others are counted as deduplicated."""
    rank = ranked(state, "distinct", tuple(state.visible.values()))
    state.lose("deduplicated", step, call("gt", rank, Literal(1, BIGINT)), ("distinct",))


def _needs_ties(window: BoundWindow) -> bool:
    if window.function in _OF_PEERS:
        return False
    by_rows = window.bounds is not None and window.bounds[0]
    return (
        by_rows
        or window.function in {function for function, _, _ in WINDOWS.values()}
        or window.function.endswith("_present")
    )


def _bounds(window: BoundWindow) -> Bounds | None:
    return Bounds(*window.bounds) if window.bounds is not None else None


def _detail(functions: Sequence[WindowFunction]) -> tuple[str, ...]:
    return tuple(f"{function.name} = {function.function}" for function in functions)
