"""merge: rows of the batch find theirs in the table by key; also changes (CDC), deletions and facts that accumulate."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from lakelogic import names
from lakelogic.plan.nodes import Join, Pairs
from lakelogic.plan.predicates import both, either, holds, present
from lakelogic.plan.strategies.frames import (
    BROKEN,
    CHANGE,
    COMPARED,
    DELETE,
    EFFECT,
    HELD,
    INCOMING,
    NEW,
    SCOPE,
    WRITTEN,
    FrameBuilder,
    MergeSides,
    Settlement,
    any_of,
    choose,
    differs,
    negated,
    nothing,
)
from lakelogic.plan.strategies.replaced import Sources
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.plan.strategies.surrogate import made_of
from lakelogic.plan.strategies.unknown import is_there, member
from lakelogic.sql.expressions import FALSE, TRUE, Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Type

THERE, COME = "~there", "~come"  # the table has a row, the batch has one
TOMB = "~tomb"  # a deletion of a key that the table does not have, kept so that whoever comes late must find out
OLDER = "~older"  # both have, and the table's is the newer one


def own_columns(strategy: Strategy, incoming: Mapping[str, Type]) -> dict[str, Type]:
    """The columns that the table has beside those of the good rows."""
    names = {name.lower() for name in incoming}
    types: dict[str, Type] = {}
    if strategy.surrogate is not None:
        types[strategy.surrogate.column] = STRING
    if strategy.may_delete and strategy.deletes.column is not None:
        types[strategy.deletes.column] = mark_type(strategy.deletes.value)
        if strategy.deletes.time_column:
            types[strategy.deletes.time_column] = TIMESTAMP
        if strategy.deletes.reason_column:
            types[strategy.deletes.reason_column] = STRING
    return {name: type_ for name, type_ in types.items() if name.lower() not in names}


def mark_type(value: Any) -> Type:
    """The type of a column that holds a mark."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT
    return DOUBLE if isinstance(value, float) else STRING


def settle(strategy: Strategy, sides: MergeSides) -> Settlement:
    """Every row of the table and of the batch, side by side by key."""
    own = own_columns(strategy, sides.incoming)
    columns = {**sides.stored}
    for name, type_ in {**sides.incoming, **own}.items():
        columns.setdefault(name, type_)
    read = {**sides.incoming, **({DELETE: BOOLEAN} if sides.has_deletes else {})}
    read |= {names.ABSENT + name: BOOLEAN for name in sides.absent}
    builder = FrameBuilder({**columns, names.FILE: STRING})
    opening = Pairs(
        "merge",
        TRUE,
        INCOMING,
        "full",
        tuple((Column(key, columns[key]), key) for key in sides.keys),
        None,
        tuple((name, NEW + name) for name in read),
        THERE,
        COME,
    )
    builder.columns |= {NEW + name: type_ for name, type_ in read.items()} | {THERE: BOOLEAN, COME: BOOLEAN}
    merging = _Merging(strategy, sides, builder, own)
    merging.judge()
    return Settlement(
        columns,
        opening,
        tuple(builder.nodes),
        {name: merging.value(name) for name in columns},
        read,
        () if strategy.reconcile is not None or strategy.part is not None else sides.keys,
        beside=_beside(strategy, sides),
        own=frozenset(own),
        identity=sides.keys,
    )


def _beside(strategy: Strategy, sides: MergeSides) -> dict[str, tuple[str, ...]]:
    if strategy.reconcile is None:
        return {HELD: sides.keys} if _lacks_rows(strategy) else {}
    scope = tuple(sides.spelled(name) or name for name in strategy.reconcile.scope)
    return {HELD: sides.keys, **({SCOPE: scope} if scope else {})}


def _lacks_rows(strategy: Strategy) -> bool:
    """Whether rows go because all that their source has was read, and they were not in it."""
    return strategy.part is not None and isinstance(strategy.part[1], Sources)


class _Merging:
    """The effect of every row, and the values it has afterwards."""

    def __init__(self, strategy: Strategy, sides: MergeSides, builder: FrameBuilder, own: Mapping[str, Type]) -> None:
        self.strategy = strategy
        self.sides = sides
        self.builder = builder
        self.own = {name.lower() for name in own}
        self.order = sides.spelled(strategy.order) if strategy.order else None
        # What begins anew is as if there had been no row: none is older, and none has values that stay.
        anew = strategy.begins_anew
        self.milestones = set[str]() if anew else {name.lower() for name in strategy.milestones}
        self.absent = () if anew else sides.absent
        source = sides.source_column
        self.came_from = sides.spelled(source) if sides.behind and source and self.order is None else None
        self.may_be_older = not anew and (self.order is not None or self.came_from is not None or self._is_late)
        self.soft = strategy.deletes.column if strategy.may_delete else None
        self.keeps_tombs = self.soft is not None and self.order is not None and sides.has_deletes

    def judge(self) -> None:
        """Adds `~effect`, `~change`, `~written`."""
        builder, there, come = self.builder, self.builder[THERE], self.builder[COME]
        matched = both(there, come)
        deletes = holds(builder[NEW + DELETE]) if self.sides.has_deletes else FALSE
        was_deleted = self._is_marked() if self.soft else FALSE
        columns = [
            name
            for name in self.sides.incoming
            if name not in self.sides.keys and name.lower() not in self.sides.stamps and not self._is_mark(name)
        ]
        changed = any_of(differs(self._merged(name), builder[name]) for name in columns)
        newer = call("not", call("same", builder[NEW + self.order], builder[self.order])) if self.order else FALSE
        again = choose(both(was_deleted, newer), text("updated"), both(was_deleted), text("unchanged"), text("deleted"))
        if was_deleted == FALSE:
            again = text("deleted")
        older = both(matched, self._is_older()) if self.may_be_older else FALSE
        builder.add("older", {OLDER: older, **({TOMB: both(negated(there), deletes)} if self.keeps_tombs else {})})
        fills = both(builder[OLDER], self._fills()) if self.may_be_older else FALSE
        live = choose(either([changed, was_deleted]), text("updated"), text("unchanged"))
        effect = choose(
            negated(come), nothing(STRING),
            builder[TOMB] if self.keeps_tombs else FALSE, text("deleted"),
            both(negated(there), deletes) if deletes != FALSE else FALSE, text("ignored"),
            negated(there), text("inserted"),
            fills, text("updated"),
            builder[OLDER] if self.may_be_older else FALSE, text("stale"),
            deletes, again,
            live,
        )  # fmt: skip
        builder.add("effect", {EFFECT: effect})
        compared = self._compared(was_deleted) if self.strategy.reconcile is not None else FALSE
        gone = both(compared, negated(come), negated(builder["~held"])) if compared != FALSE else FALSE
        now = builder[EFFECT]
        changes = Call("in", (now, text("updated"), text("deleted")), BOOLEAN)
        replaced = both(there, negated(come), self._belongs_to_part()) if self.strategy.part is not None else FALSE
        if _lacks_rows(self.strategy):
            if self.strategy.reconcile is None:
                self._find_held()
            replaced = both(replaced, negated(builder["~held"]))  # its newer form waits in quarantine
            if self.strategy.follows_source:
                compared = either([compared, both(there, self._belongs_to_part())])
        if self.strategy.begins_anew:
            compared, replaced = there, both(replaced, negated(self._is_member()))
        change = choose(
            replaced, text("replaced"), gone, text("deleted"), both(there, holds(changes)), now, nothing(STRING)
        )
        builder.add("change", {CHANGE: change, BROKEN: FALSE, COMPARED: compared})
        lost: Expression = call("same", now, text("ignored"))
        if replaced != FALSE:
            lost = either([lost, replaced])
        if self.strategy.may_delete and self.soft is None:
            lost = either([lost, call("same", builder[CHANGE], text("deleted"))])
        builder.add("written", {WRITTEN: negated(lost)})

    def _is_member(self) -> Expression:
        """The table's row is the unknown member, which comes from no source."""
        if self.strategy.unknown is None:
            return FALSE
        columns, keys = self.sides.stored, self.sides.keys
        surrogate = self.strategy.surrogate
        unknown_member = (
            self.strategy
            if surrogate and surrogate.column in columns
            else dataclasses.replace(self.strategy, surrogate=None)
        )
        return is_there(unknown_member, keys, member(unknown_member, keys, columns, {}), columns)

    def _belongs_to_part(self) -> Expression:
        """The table's row belongs to the part that the batch takes the place of."""
        assert self.strategy.part is not None
        name, part = self.strategy.part
        return part.hold(
            self.builder[next(column for column in self.builder.columns if column.lower() == name.lower())]
        )

    def _is_older(self) -> Expression:
        """The row of the batch is older than the table's; a row that does not tell is older than one that does."""
        if self.order is None:
            conditions = [self._came_in_a_newer_run()] if self._is_late else []
            return either([*conditions, self._came_from_a_later_file()] if self.came_from is not None else conditions)
        new, old = self.builder[NEW + self.order], self.builder[self.order]
        return either([holds(call("lt", new, old)), both(call("is_null", new), present(old))])

    @property
    def _is_late(self) -> bool:
        """Whether other runs have published since the batch was read."""
        return bool(self.sides.newer and self.sides.run_column)

    def _came_in_a_newer_run(self) -> Expression:
        assert self.sides.run_column is not None
        runs = [text(run) for run in sorted(self.sides.newer)]
        return holds(Call("in", (self.builder[self.sides.run_column], *runs), BOOLEAN))

    def _came_from_a_later_file(self) -> Expression:
        """The table's row is of a file that was first read after the file of the batch's row."""
        assert self.came_from is not None
        assert self.sides.source_column is not None
        new, old = self.builder[NEW + self.came_from], self.builder[self.sides.source_column]
        of_new, of_old = (self._level(column, side) for side, column in enumerate((new, old)))
        return holds(call("ge", of_old, of_new))

    def _level(self, column: Column, side: int) -> Expression:
        """How late a file was first read, among those that matter; NULL for all others."""
        levels: list[Expression] = []
        for level, sides in enumerate(self.sides.behind, 1):
            if sides[side]:
                levels += [
                    holds(Call("in", (column, *map(text, sides[side])), BOOLEAN)), Literal(level, INT)
                ]  # fmt: skip
        return choose(*levels, nothing(INT))

    def _fills(self) -> Expression:
        """A row that comes late tells of a milestone that the table does not know."""
        builder = self.builder
        reached = [name for name in self.sides.incoming if name.lower() in self.milestones]
        return any_of(both(call("is_null", builder[name]), present(builder[NEW + name])) for name in reached)

    def _is_mark(self, name: str) -> bool:
        marks = (self.soft, self.strategy.deletes.time_column, self.strategy.deletes.reason_column)
        return self.soft is not None and name.lower() in {mark.lower() for mark in marks if mark}

    def _marked(self) -> Column:
        assert self.soft is not None
        wanted = self.soft.lower()
        return self.builder[next(name for name in self.builder.columns if name.lower() == wanted)]

    def _is_marked(self) -> Expression:
        """The table's row is deleted already."""
        column = self._marked()
        return both(self.builder[THERE], call("same", column, self._mark(column.type)))

    def _mark(self, type_: Type) -> Expression:
        value = self.strategy.deletes.value
        return convert(Literal(value, mark_type(value)), type_)

    def _find_held(self) -> None:
        """Adds `~held`: a row of the same key is in quarantine."""
        on = tuple((self.builder[key], key) for key in self.sides.keys)
        self.builder.nodes.append(Join("held", HELD, on, (), "~held"))
        self.builder.columns["~held"] = BOOLEAN

    def _compared(self, was_deleted: Expression) -> Expression:
        """Live rows of the table that a full snapshot is compared with; what it has in quarantine, it does not lack."""
        assert self.strategy.reconcile is not None
        builder = self.builder
        take: tuple[tuple[str, str], ...] = ()
        self._find_held()
        compared = [builder[THERE], negated(was_deleted)]
        if self.strategy.reconcile.scope:
            scope = [self.sides.spelled(name) or name for name in self.strategy.reconcile.scope]
            builder.nodes.append(Join("scope", SCOPE, tuple((builder[name], name) for name in scope), take, "~inside"))
            builder.columns["~inside"] = BOOLEAN
            compared.append(builder["~inside"])
        return both(*compared)

    def _merged(self, name: str) -> Expression:
        """The value of a live row of the batch; a milestone that was reached stays reached, what did not land stays."""
        new = self.builder[NEW + name]
        if name in self.absent:
            kept = Call(
                "coalesce", (self.builder[name], convert(new, self.builder[name].type)), self.builder[name].type
            )
            lacking = holds(self.builder[NEW + names.ABSENT + name])
            return choose(lacking, convert(kept, new.type), new)
        if name.lower() in self.milestones:
            return Call("coalesce", (new, self.builder[name]), new.type)
        return new

    def value(self, name: str) -> Expression:
        """A column of the table afterwards."""
        builder, strategy = self.builder, self.strategy
        now, old = builder[EFFECT], builder[name]
        written = holds(Call("in", (now, text("inserted"), text("updated")), BOOLEAN))
        if self.may_be_older:
            written = both(written, negated(builder[OLDER]))
        if self.sides.has_deletes:
            written = both(written, negated(holds(builder[NEW + DELETE])))
        deleted: Expression = call("same", builder[CHANGE], text("deleted")) if strategy.may_delete else FALSE
        inserted: Expression = call("same", now, text("inserted"))
        if self.keeps_tombs:
            written, deleted, inserted = (
                either([condition, builder[TOMB]]) for condition in (written, deleted, inserted)
            )
        if self._is_mark(name):
            return self._marking(name, written, deleted)
        if strategy.surrogate is not None and name == strategy.surrogate.column and name.lower() in self.own:
            new_key = made_of(strategy.surrogate, [builder[NEW + key] for key in self.sides.keys])
            return choose(written, Call("coalesce", (old, new_key), STRING), old)
        if name not in self.sides.incoming:
            return old
        if name.lower() in self.sides.created:
            return choose(inserted, builder[NEW + name], old)
        touched = written
        if self.sides.has_deletes and (name == self.order or name.lower() in self.sides.stamps):
            # Whoever comes later than the deletion, but is older, must find out.
            asked = holds(Call("in", (now, text("updated"), text("deleted")), BOOLEAN))
            touched = either([written, both(asked, negated(builder[OLDER])) if self.may_be_older else asked])
        if name == self.order or name.lower() in self.sides.stamps or name in self.sides.keys:
            return choose(touched, builder[NEW + name], old)
        kept: Expression = old
        if self.may_be_older and name.lower() in self.milestones:
            kept = Call("coalesce", (old, builder[NEW + name]), old.type)
            kept = choose(both(builder[OLDER], call("same", now, text("updated"))), kept, old)
        return choose(touched, self._merged(name), kept)

    def _marking(self, name: str, written: Expression, deleted: Expression) -> Expression:
        """The columns that tell a deleted row from a live one."""
        builder, deletes, old = self.builder, self.strategy.deletes, self.builder[name]
        is_own = name.lower() in self.own
        live: Expression = nothing(old.type)
        if not is_own:
            live = builder[NEW + name]
        elif self.soft is not None and name.lower() == self.soft.lower() and isinstance(deletes.value, bool):
            live = Literal(not deletes.value, BOOLEAN)
        if self.soft is not None and name.lower() == self.soft.lower():
            mark = self._mark(old.type)
        elif deletes.time_column and name.lower() == deletes.time_column.lower():
            mark = convert(self._when(), old.type)
        else:
            reason = text("snapshot_reconcile") if self.strategy.reconcile is not None else text("cdc")
            if self.strategy.reconcile is not None and self.sides.has_deletes:
                reason = choose(builder[COME], text("cdc"), reason)  # type: ignore[assignment]
            mark = convert(reason, old.type)
        return choose(deleted, mark, written, live, old)

    def _when(self) -> Expression:
        """When a row was deleted: as the change tells, or when the run began."""
        now = Literal(self.sides.now, TIMESTAMP)
        at = self.sides.spelled(self.strategy.deleted_at) if self.strategy.deleted_at else None
        if at is None:
            return now
        return Call("coalesce", (convert(self.builder[NEW + at], TIMESTAMP), now), TIMESTAMP)
