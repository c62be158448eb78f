"""Which strategy a contract means: as written, or as CDC, a kind of fact or a dimension imply it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lakelogic.contract.document import Contract
from lakelogic.contract.materialization import Deletion, Scd2
from lakelogic.plan.strategies.replaced import Everything, Replaced, Sources

Kind = Literal["append", "overwrite", "merge", "scd2", "periodic", "part"]

IS_DELETED = "_lakelogic_is_deleted"
DELETE_VALUES = ("D", "d", "DELETE", "delete")


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """One way to write, and what it means for a run. Its queries stand in the table of `meet.py`."""

    words: tuple[str, ...] = ()  # of `materialization.strategy`
    facts: tuple[str, ...] = ()  # types of facts that are written so
    is_keyed: bool = False  # rows find theirs in the table by key
    looks_at_the_table: bool = False  # what is written depends on what the table holds
    only_adds: bool = False  # rows of the table stay as they are
    replaces: bool = False  # the batch takes the place of what is there
    keeps_history: bool = False  # a change ends a version and begins another
    needs_whole_batches: bool = False  # rows of a batch that came later would take the place of the others
    takes_new_rows: bool = False  # a batch can be what is new in a source, in place of all that it has


KINDS: dict[Kind, StrategyKind] = {
    "append": StrategyKind(("append",), ("transaction", "factless"), only_adds=True, takes_new_rows=True),
    "overwrite": StrategyKind(("overwrite",), replaces=True, needs_whole_batches=True),
    "merge": StrategyKind(
        ("merge", "snapshot_reconcile"), ("accumulating_snapshot", "aggregate"),
        is_keyed=True, looks_at_the_table=True, takes_new_rows=True,
    ),
    "scd2": StrategyKind(
        ("scd2",), is_keyed=True, looks_at_the_table=True, keeps_history=True, takes_new_rows=True
    ),
    "periodic": StrategyKind((), ("periodic_snapshot",), looks_at_the_table=True, needs_whole_batches=True),
    "part": StrategyKind(looks_at_the_table=True),
}  # fmt: skip
_WORDS: dict[str, Kind] = {word: kind for kind, row in KINDS.items() for word in row.words}
_FACTS: dict[str, Kind] = {fact: kind for kind, row in KINDS.items() for fact in row.facts}


@dataclass(frozen=True, slots=True)
class Deletes:
    """How a deleted row shows. Without `column` it is removed; otherwise it stays, and carries the mark."""

    column: str | None = IS_DELETED
    value: Any = True
    time_column: str | None = None
    reason_column: str | None = None


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A key of the table's own, made of the key (and, in a history, of the time of the change)."""

    column: str
    strategy: Literal["hash", "uuid"] = "hash"


@dataclass(frozen=True, slots=True)
class Strategy:
    """How good rows meet their table, with everything settled."""

    kind: Kind
    keys: tuple[str, ...] = ()
    order: str | None = None  # tells the newer of two rows of one key
    operation: str | None = None  # cdc: the column that names the operation
    delete_values: tuple[str, ...] = ()
    deleted_at: str | None = None  # cdc: the column that tells when
    deletes: Deletes = field(default_factory=Deletes)
    reconcile: Deletion | None = None  # rows that a full snapshot lacks are deleted
    surrogate: Surrogate | None = None
    unknown: Mapping[str, Any] | None = None  # values of the row for keys that are not known
    history: Scd2 | None = None
    milestones: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()  # periodic: the columns that tell a snapshot from others
    part: Replaced | None = None  # what the batch takes the place of: a column of the table, and values of it
    in_partitions: bool = False  # overwrite: only those partitions that the batch has rows of
    unbounded: bool = False  # any share of the rows may go: a person has looked at them
    of_table: bool = False  # the batch was read from a table: its rows live when it is read

    @property
    def is_keyed(self) -> bool:
        """Whether rows find theirs in the table by key."""
        return KINDS[self.kind].is_keyed

    @property
    def only_adds(self) -> bool:
        """Whether rows of the table stay as they are."""
        return KINDS[self.kind].only_adds

    @property
    def replaces(self) -> bool:
        """Whether the batch takes the place of what is there."""
        return KINDS[self.kind].replaces

    @property
    def keeps_history(self) -> bool:
        """Whether a change ends a version and begins another."""
        return KINDS[self.kind].keeps_history

    @property
    def needs_whole_batches(self) -> bool:
        """Whether rows of a batch that come later would take the place of the others."""
        return KINDS[self.kind].needs_whole_batches

    @property
    def takes_new_rows(self) -> bool:
        """Whether a batch can be what is new in a source, in place of all that it has."""
        return KINDS[self.kind].takes_new_rows

    @property
    def follows_source(self) -> bool:
        """Whether all of a table was read, and what it does not have any more goes."""
        return self.part is not None and isinstance(self.part[1], Sources) and self.part[1].whole

    @property
    def begins_anew(self) -> bool:
        """Whether the table shall hold what a first run would give, and nothing else."""
        return self.part is not None and isinstance(self.part[1], Everything)

    @property
    def looks_at_the_table(self) -> bool:
        """Whether what is written depends on what the table holds."""
        return KINDS[self.kind].looks_at_the_table

    @property
    def may_delete(self) -> bool:
        """Whether rows of the table can be deleted."""
        return self.operation is not None or self.reconcile is not None


APPEND = Strategy("append")


def adding(strategy: Strategy) -> Strategy:
    """The strategy for a part of a batch: its rows are added to a table that a whole batch would replace."""
    if not strategy.needs_whole_batches:
        return strategy
    return replace(strategy, kind="append", scope=(), in_partitions=False)


def strategy_of(contract: Contract) -> Strategy:
    """The strategy of a contract. What is written beats what CDC implies. Whoever begins a run or a plan asks once."""
    settings, source = contract.materialization, contract.source
    cdc = source.load_mode == "cdc"
    kind = _kind(contract)
    if not KINDS[kind].is_keyed:
        scope = settings.partition_by if kind == "periodic" else ()
        in_partitions = kind == "overwrite" and settings.overwrite_scope == "partitions"
        return Strategy(kind, contract.key, scope=scope, in_partitions=in_partitions)
    reconcile = settings.deletion if reconciles(contract) else None
    if settings.strategy == "snapshot_reconcile" and settings.deletion is None:
        reconcile = Deletion.model_validate({})
    history = (settings.scd2 or Scd2.model_validate({})) if kind == "scd2" else None
    order = settings.sequence_by or (source.cdc_timestamp_field if cdc else _watermark(contract, kind))
    if history is not None:
        order = history.timestamp_field or order
    return Strategy(
        kind,
        contract.key,
        order=order,
        operation=source.cdc_op_field if cdc else None,
        delete_values=(source.cdc_delete_values or DELETE_VALUES) if cdc else (),
        deleted_at=source.cdc_timestamp_field if cdc else None,
        deletes=_deletes(contract),
        reconcile=reconcile,
        surrogate=_surrogate(contract, history),
        unknown=_unknown(contract, history),
        history=history,
        milestones=_milestones(contract),
    )


def _kind(contract: Contract) -> Kind:
    settings = contract.materialization
    if settings.fact is not None:
        return _FACTS[settings.fact.type]
    if "strategy" in settings.model_fields_set:
        return _WORDS[settings.strategy]
    if settings.scd2 is not None:
        return "scd2"
    if settings.scd1 is not None or reconciles(contract) or contract.source.load_mode == "cdc":
        return "merge"
    return _WORDS[settings.strategy]


def reconciles(contract: Contract) -> bool:
    """Whether the whole table is compared with what the source has."""
    deletion = contract.materialization.deletion
    return deletion is not None and deletion.strategy == "snapshot_reconcile"


def may_go_at_once(contract: Contract) -> float | None:
    """The share of the rows of a table as source that may go with it; None where they stay."""
    deletion = contract.materialization.deletion or Deletion.model_validate({"strategy": "follow_source"})
    return None if deletion.strategy == "keep" else float(deletion.max_delete_ratio)


def implied_by_fact(contract: Contract) -> Kind | None:
    """The way of writing that a kind of fact has."""
    fact = contract.materialization.fact
    return None if fact is None else _FACTS[fact.type]


def _watermark(contract: Contract, kind: Kind) -> str | None:
    """The field by which rows are read also tells the newer of two rows; a history is ordered by times only."""
    field = (contract.source.watermark_field or "").lower()
    watermark_field = next((declared for declared in contract.model.fields if declared.name.lower() == field), None)
    if not contract.source.follows_target or watermark_field is None:
        return None
    return (
        watermark_field.name
        if kind == "merge" or watermark_field.type.lower().startswith(("date", "timestamp"))
        else None
    )


def _deletes(contract: Contract) -> Deletes:
    settings, root = contract.materialization, contract.soft_deletes
    if root is not None and not root.enabled:
        return Deletes(column=None, value=None)
    column = settings.soft_delete_column or (root.column if root else None) or IS_DELETED
    value = True if settings.soft_delete_value is None else settings.soft_delete_value
    return Deletes(
        column,
        value,
        settings.soft_delete_time_column or (root.time_column if root else None),
        settings.soft_delete_reason_column or (root.reason_column if root else None),
    )


def _surrogate(contract: Contract, history: Scd2 | None) -> Surrogate | None:
    if history is not None:
        return Surrogate(history.surrogate_key, history.surrogate_key_strategy)
    single = contract.materialization.scd1
    if single is None or single.surrogate_key is None:
        return None
    return Surrogate(single.surrogate_key, single.surrogate_key_strategy)


def _unknown(contract: Contract, history: Scd2 | None) -> Mapping[str, Any] | None:
    """What is said of the unknown member; an empty mapping is one of defaults only."""
    settings = contract.materialization
    own = history.unknown_member if history is not None else (settings.scd1.unknown_member if settings.scd1 else None)
    value = own if own is not None else settings.unknown_member
    if value is None or value is False:
        return None
    return dict(value) if isinstance(value, Mapping) else {}


def _milestones(contract: Contract) -> tuple[str, ...]:
    fact = contract.materialization.fact
    if fact is None or fact.type != "accumulating_snapshot":
        return ()
    return fact.milestone_dates or tuple(f.name for f in contract.model.fields if f.milestone)
