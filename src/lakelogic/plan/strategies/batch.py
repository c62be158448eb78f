"""What a strategy asks of the rows of a batch: keys and times that must be there, duplicates, deletions, milestones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.plan.nodes import Order
from lakelogic.plan.predicates import both, grouped, holds, present
from lakelogic.plan.query.windows import ranked
from lakelogic.plan.state import Flag, State
from lakelogic.plan.steps import kinds as steps
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, STRING, TIMESTAMP


def demanded(strategy: Strategy) -> tuple[str, ...]:
    """Columns without which a row cannot find its place in the table: it is bad."""
    if strategy.kind == "periodic":
        return strategy.scope
    if not strategy.is_keyed:
        return ()
    needs_time = strategy.order is not None and (strategy.keeps_history or strategy.operation is not None)
    return (*strategy.keys, *((strategy.order,) if needs_time and strategy.order not in strategy.keys else ()))


def settled_keys(strategy: Strategy) -> tuple[str, ...]:
    """The key, where rows of one key are settled by the strategy and not by a rule."""
    return strategy.keys if strategy.is_keyed else ()


def flags(state: State, contract: Contract) -> list[Flag]:
    """What can be wrong with a row that no field and no rule tells."""
    strategy = state.strategy
    flags: list[Flag] = []
    if strategy.keeps_history and strategy.order and (name := state.spelled(strategy.order)):
        value = state.scope[name]
        if value.type.is_text:
            failed = both(present(value), call("is_null", convert(value, TIMESTAMP)))
            message = f"Type mismatch: {name} cannot be cast to timestamp"
            flags.append(Flag(failed, message, "schema", f"{name}_type"))
    return [*flags, *_milestones(state, strategy), *_partitions(state, contract)]


def _partitions(state: State, contract: Contract) -> list[Flag]:
    """An empty text names no partition: logs and folders of tables have no word for it but the one for NULL."""
    flags: list[Flag] = []
    for written in contract.materialization.partition_by:
        name = state.spelled(written)
        if name is None or name.lower() in state.masked or not state.scope[name].type.is_text:
            continue
        message = f"Rule failed: {name}_partition (an empty text cannot name a partition: readers take it for NULL)"
        failed = holds(call("eq", state.scope[name], text("")))
        flags.append(Flag(failed, message, "validity", f"{name}_partition"))
    return flags


def _milestones(state: State, strategy: Strategy) -> list[Flag]:
    """Milestones that were reached came one after the other."""
    flags: list[Flag] = []
    names = [name for written in strategy.milestones if (name := state.spelled(written)) is not None]
    for at, earlier in enumerate(names):
        for later in names[at + 1 :]:
            # Times of different types are compared as instants.
            first, second = (convert(state.scope[name], TIMESTAMP) for name in (earlier, later))
            message = f"Rule failed: milestone_order ({earlier} <= {later})"
            flags.append(Flag(holds(call("gt", first, second)), message, "consistency", "milestone_order"))
    return flags


def is_deletion(state: State) -> Expression | None:
    """TRUE for a row that asks for a deletion, never NULL; None where rows ask for no such thing."""
    strategy = state.strategy
    spelled = state.spelled(strategy.operation) if strategy.operation else None
    if spelled is None:
        return None
    operation = convert(state.scope[spelled], STRING)
    return holds(Call("in", (operation, *(text(value) for value in strategy.delete_values)), BOOLEAN))


def spare_deletions(state: State, flags: Sequence[Flag]) -> list[Flag]:
    """A deletion is judged by its key and its time: the rest of such a row is often empty, and is never published."""
    deletion = is_deletion(state)
    if deletion is None:
        return list(flags)
    needed = {name.lower() for name in demanded(state.strategy)}
    kept = {f"{name}_{kind}" for name in needed for kind in ("required", "type")}
    return [
        flag if flag.rule.lower() in kept or flag.rule == "unreadable" else replace(
            flag, failed=both(call("not", deletion), flag.failed)
        )
        for flag in flags
    ]  # fmt: skip


def mark_deletions(state: State, contract: Contract, good: dict[str, Expression]) -> None:
    """Staged rows say whether they ask for a deletion; the operation itself is no column of the table by itself."""
    deletion = is_deletion(state)
    if deletion is None:
        return
    operation = state.spelled(state.strategy.operation or "")
    if operation is not None and contract.model.field(operation) is None:
        good.pop(operation, None)
    good[names.DELETE] = deletion


def settle_duplicates(state: State, contract: Contract) -> None:
    """merge: the newest row of a key wins within a batch; without an order only identical rows collapse.

    In a history all rows of a key count, one for each instant.
    """
    strategy = state.strategy
    if not strategy.is_keyed:
        return
    keys = [spelled for key in strategy.keys if (spelled := state.spelled(key)) is not None]
    if len(keys) != len(strategy.keys):
        return
    order = None
    if strategy.order:
        order = state.column(strategy.order, order_path(contract, strategy))
        path, decides = order_path(contract, strategy), "which row is newer"
        if order is None or (not strategy.keeps_history and not state.may_decide([order], path, decides)):
            return
    name = "scd2" if strategy.keeps_history else "merge"
    if order is not None and strategy.keeps_history:
        # One instant can be written in two ways.
        rank = ranked(state, name, (*(grouped(state.scope[key]) for key in keys), convert(order, TIMESTAMP)))
        detail = (f"one of {', '.join(keys)} for each {strategy.order}",)
    elif order is not None:
        newest = [Order(order, descending=True)]
        rank = steps.rank_rows(state, keys, newest, name, (f"newest by {strategy.order}",))
        detail = (f"newest of {', '.join(keys)} by {strategy.order}",)
    else:
        everything = [n for n in state.scope if not n.startswith("~")]
        rank = steps.rank_rows(state, everything, [], name, ("identical rows",))
        detail = ("identical rows",)
    state.lose("deduplicated", name, call("gt", rank, Literal(1, BIGINT)), detail)


def order_path(contract: Contract, strategy: Strategy) -> str:
    """The key of the contract that names the column by which rows are newer or older."""
    settings = contract.materialization
    if strategy.history is not None and strategy.history.timestamp_field:
        return "materialization.scd2.timestamp_field"
    if settings.sequence_by:
        return "materialization.sequence_by"
    return "source.watermark_field" if contract.source.follows_target else "source.cdc_timestamp_field"
