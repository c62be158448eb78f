"""Settings of a strategy that do not fit together, told with their lines before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakelogic.contract import codes
from lakelogic.contract.document import Contract
from lakelogic.names import INTERNAL
from lakelogic.plan.codes import BAD_STEP
from lakelogic.plan.state import State, Trouble
from lakelogic.plan.strategies.batch import order_path
from lakelogic.plan.strategies.meet import own_columns
from lakelogic.plan.strategies.scd2 import instant
from lakelogic.plan.strategies.settings import Strategy, implied_by_fact, reconciles
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import NO_COLUMN, NOT_YET, nearest_or_all
from lakelogic.sql.types import Type

_TIMES = ("date", "timestamp", "timestamp_ntz")
Found = Iterator[tuple[str, str, str, str | None]]  # code, message, path, hint


def check(contract: Contract, strategy: Strategy, trouble: Trouble) -> None:
    """What is wrong with the settings alone."""
    for problems in (_key, _changes, _everything_again, _deletions, _history, _facts, _marks, _members):
        for code, message, path, hint in problems(contract, strategy):
            trouble.add(code, message, path, hint)
    _warn_of_newest_only(contract, trouble)


def _warn_of_newest_only(contract: Contract, trouble: Trouble) -> None:
    """Files that each are everything there is can be meant; then `overwrite_scope: table` says so."""
    settings, source = contract.materialization, contract.source
    if settings.strategy != "overwrite" or source.load_mode != "incremental" or settings.fact is not None:
        return
    if settings.overwrite_scope is None and settings.target_path is not None:
        message = "The table is replaced by every run, and a run reads only new files: rows of older files are erased."
        hint = (
            "Leave `load_mode` out to read everything; or keep older rows with `strategy: append`, with `merge` and a "
            "`primary_key`, or with `partition_by` and `overwrite_scope: partitions`; or write "
            "`overwrite_scope: table` where the newest files are all there is."
        )
        trouble.add(codes.ERASES, message, "materialization.strategy", hint, warning=True)


def check_columns(state: State, contract: Contract, good: Mapping[str, Expression]) -> None:
    """What is wrong with the columns that a strategy names or adds."""
    strategy = state.strategy
    if strategy.keeps_history:
        for name in own_columns(strategy, {}):
            if any(name.lower() == column.lower() for column in good):
                message = f"`{name}` is a column of the rows and one that the history adds."
                state.trouble.add(BAD_STEP, message, "materialization.scd2", "give one of them another name")
        time = state.column(strategy.order, order_path(contract, strategy)) if strategy.order else None
        if time is not None and not (time.type.is_text or time.type.kind in _TIMES):
            message = f"`{strategy.order}` is {time.type}, and a history is ordered by a date or an instant."
            path, hint = order_path(contract, strategy), "name a date or timestamp as timestamp_field"
            state.trouble.add(BAD_STEP, message, path, hint)
        assert strategy.history is not None
        for index, name in enumerate(strategy.history.track_columns):
            state.column(name, f"materialization.scd2.track_columns[{index}]")
    if strategy.operation is not None:
        state.column(strategy.operation, "source.cdc_op_field")
        if strategy.deleted_at is not None:
            state.column(strategy.deleted_at, "source.cdc_timestamp_field")
    if strategy.reconcile is not None:
        for index, name in enumerate(strategy.reconcile.scope):
            state.column(name, f"materialization.deletion.scope[{index}]")
    for name in strategy.scope:
        state.column(name, "materialization.partition_by")
    for index, name in enumerate(strategy.milestones):
        state.column(name, f"materialization.fact.milestone_dates[{index}]")


def check_layout(contract: Contract, strategy: Strategy, published: Mapping[str, Type], trouble: Trouble) -> None:
    """Partitions and clusters need columns that the table will have."""
    own = own_columns(strategy, published)
    columns = [name for name in (*published, *own) if not name.startswith(INTERNAL)]
    for key in ("partition_by", "cluster_by"):
        for index, name in enumerate(getattr(contract.materialization, key)):
            if not any(name.lower() == column.lower() for column in columns):
                message = f"There is no column `{name}` in the published rows."
                path, unsure = f"materialization.{key}[{index}]", not trouble.landed_is_known
                trouble.add(NO_COLUMN, message, path, nearest_or_all(name, columns), warning=unsure)


def _key(contract: Contract, strategy: Strategy) -> Found:
    written = "strategy" in contract.materialization.model_fields_set
    if strategy.is_keyed and not strategy.keys and not (written and contract.materialization.fact is None):
        hint = "Add `primary_key: [<field>]` under `materialization`."
        yield codes.NO_KEY, "Rows find theirs in the table by a primary key.", "materialization", hint


def _changes(contract: Contract, strategy: Strategy) -> Found:
    if contract.source.load_mode == "cdc" and strategy.is_keyed and contract.source.cdc_op_field is None:
        hint = "Name the field that says insert, update or delete: `cdc_op_field: op`."
        yield codes.ONE_NEEDED, "`load_mode: cdc` needs `cdc_op_field`.", "source.load_mode", hint


def _everything_again(contract: Contract, strategy: Strategy) -> Found:
    source = contract.source
    if contract.materialization.target_path is None:
        return  # its rows are only judged
    if strategy.only_adds and source.load_mode == "full" and "load_mode" in source.model_fields_set:
        message = "`load_mode: full` beside `append` would add everything again with every run."
        hint = (
            "Leave it out or write `load_mode: incremental` to add what is new; or replace the table with "
            "`strategy: overwrite`; or let rows find theirs with `strategy: merge` and a `primary_key`."
        )
        yield codes.CONTRADICTION, message, "source.load_mode", hint


def _deletions(contract: Contract, strategy: Strategy) -> Found:
    settings = contract.materialization
    path = "materialization.deletion" if settings.deletion is not None else "materialization.strategy"
    if strategy.reconcile is None:
        deletion = settings.deletion
        if deletion is not None and not (strategy.is_keyed and not reconciles(contract)):
            hint = "Use `strategy: merge` with it."
            yield codes.NO_EFFECT, f"`deletion` has no effect with {strategy.kind}.", path, hint
        elif deletion is not None and settings.strategy == "snapshot_reconcile":
            message = f"`strategy: snapshot_reconcile` beside `deletion: {{strategy: {deletion.strategy}}}`."
            yield codes.CONTRADICTION, message, f"{path}.strategy", "Keep one of them."
        elif deletion is not None and deletion.scope:
            message = f"`scope` has no effect with `{deletion.strategy}`."
            yield codes.NO_EFFECT, message, f"{path}.scope", "It bounds `snapshot_reconcile`."
        return
    if strategy.keeps_history:
        hint = "Land deletions as changes: `load_mode: cdc`."
        yield NOT_YET, "snapshot_reconcile for a history is not available yet.", path, hint
    if contract.source.load_mode != "full":
        message = "snapshot_reconcile compares with everything there is, and this source reads only what is new."
        yield codes.CONTRADICTION, message, path, "Read the full snapshot: leave `load_mode` out."
    if not 0 <= float(strategy.reconcile.max_delete_ratio) <= 1:
        yield codes.BAD_BOUNDS, "`max_delete_ratio` is a share, from 0 to 1.", f"{path}.max_delete_ratio", None


# The keys of `scd2` that name columns of the history.
_OWN = (
    "surrogate_key", "effective_from_field", "effective_to_field", "current_flag_field", "version_column",
    "change_reason_column", "last_seen_field",
)  # fmt: skip


def _history(contract: Contract, strategy: Strategy) -> Found:
    settings, history = contract.materialization, strategy.history
    if history is None:
        if settings.scd2 is not None:
            yield codes.NO_EFFECT, "`scd2` has an effect only with `strategy: scd2`.", "materialization.scd2", None
        return
    if settings.scd1 is not None:
        yield codes.NO_EFFECT, "`scd1` has no effect with `strategy: scd2`.", "materialization.scd1", None
    for name in ("effective_from_default", "effective_to_default"):
        if instant(getattr(history, name)) is None:
            message = f"`{getattr(history, name)}` is no date and no instant."
            yield codes.BAD_BOUNDS, message, f"materialization.scd2.{name}", "Write it as 1900-01-01."
    names = [getattr(history, key).lower() for key in _OWN if getattr(history, key)]
    if len(set(names)) < len(names):
        yield codes.CONTRADICTION, "Two columns of the history have one name.", "materialization.scd2", None
    for name in (*strategy.keys, *((strategy.order,) if strategy.order else ()), *history.track_columns):
        if name.lower() in names:
            message = f"`{name}` is made by the history itself: rows cannot bring it."
            yield codes.CONTRADICTION, message, "materialization.scd2", "Give the column of the history another name."


def _facts(contract: Contract, strategy: Strategy) -> Found:
    settings = contract.materialization
    if settings.fact is None:
        return
    implied = implied_by_fact(contract)
    if "strategy" in settings.model_fields_set and settings.strategy != implied:
        message = f"A fact of type `{settings.fact.type}` is not written by `{settings.strategy}`."
        yield codes.CONTRADICTION, message, "materialization.strategy", "Leave `strategy` out: the fact tells."
    if strategy.kind == "periodic" and not strategy.scope:
        hint = "Add `partition_by: [snapshot_date]`."
        message = "A periodic snapshot needs the column that tells one snapshot from the others."
        yield codes.ONE_NEEDED, message, "materialization.fact", hint
    if settings.fact.milestone_dates and settings.fact.type != "accumulating_snapshot":
        path = "materialization.fact.milestone_dates"
        yield codes.NO_EFFECT, "Milestones have an effect only in an accumulating_snapshot.", path, None


_MARKS = ("soft_delete_column", "soft_delete_value", "soft_delete_time_column", "soft_delete_reason_column")


def _marks(contract: Contract, strategy: Strategy) -> Found:
    settings, root = contract.materialization, contract.soft_deletes
    written = [name for name in _MARKS if getattr(settings, name) is not None]
    deletes = strategy.may_delete and strategy.kind == "merge"
    if not deletes:
        for name in written:
            message = f"`{name}` has no effect: nothing deletes rows here."
            if strategy.keeps_history:
                message = f"`{name}` has no effect: in a history a deletion closes the version."
            hint = "Use `load_mode: cdc` or `deletion`, or remove it."
            yield codes.NO_EFFECT, message, f"materialization.{name}", hint
        if root is not None:
            message = "`soft_deletes` has no effect: nothing marks rows as deleted here."
            yield codes.NO_EFFECT, message, "soft_deletes", "Use `load_mode: cdc` or `deletion`, or remove it."
        return
    if root is None:
        return
    if not root.enabled and written:
        message = f"`soft_deletes.enabled` is false, and `{written[0]}` marks rows."
        yield codes.CONTRADICTION, message, f"materialization.{written[0]}", "Keep one of them."
    for name in ("column", "time_column", "reason_column"):
        here, there = getattr(settings, f"soft_delete_{name}"), getattr(root, name)
        if here and there and here != there:
            message = f"`soft_delete_{name}` is `{here}`, and `soft_deletes.{name}` is `{there}`."
            yield codes.CONTRADICTION, message, f"soft_deletes.{name}", "They are one setting: keep one."


def _members(contract: Contract, strategy: Strategy) -> Found:
    settings = contract.materialization
    if settings.unknown_member is not None and not strategy.is_keyed:
        path = "materialization.unknown_member"
        yield codes.NO_EFFECT, "`unknown_member` has an effect only with merge and scd2.", path, None
    if settings.scd1 is not None and not strategy.is_keyed:
        message = f"`scd1` has no effect with `strategy: {strategy.kind}`."
        yield codes.NO_EFFECT, message, "materialization.scd1", "Leave `strategy` out, or write `merge`."
