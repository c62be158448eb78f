"""What a strategy hands to a run: the rows of the table beside those of the batch, and what becomes of each.

A settlement is one frame. Every row of it says where it stood (`~file`, NULL for a row that is new to the table), what
became of the row of the batch in it (`~effect`, NULL where there is none), how the table's row changed (`~change`, NULL
where it did not), and whether it is a row of the table afterwards (`~written`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from lakelogic import names
from lakelogic.plan.nodes import (
    Account,
    Aggregate,
    Assignment,
    Landed,
    Node,
    Opening,
    Order,
    Pairs,
    Publish,
    Published,
    Rollup,
    RowWise,
    Window,
    WindowFunction,
)
from lakelogic.plan.predicates import both, either
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, INT, STRING, Type

INCOMING = "incoming"  # the link to the staged good rows
HELD = "held"  # the link to the keys of rows that are in quarantine
SCOPE = "scope"  # the link to the values of the batch that bound what is compared
DELETE = names.DELETE
NEW = "~new."  # before the name of a column of the batch, where both sides stand in one row
EFFECT, CHANGE, WRITTEN, BROKEN, COUNT = "~effect", "~change", "~written", "~wrong", "~count"
WAS = "~was."  # before the name of a column: its value in the table, by which the row is found there
STOOD, STAYS = "~stood", "~stays"  # a staged row is one of the table; it is one afterwards
COMPARED = "~compared"  # a live row of the table that a snapshot was compared with


# Files that changed, oldest first, each group beside the files that were first read after it and not after the next.
Behind: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class MergeSides:
    """The two sides that meet, by their columns, and how the contract calls some of them."""

    stored: Mapping[str, Type]  # of the table; nothing where there is none yet
    incoming: Mapping[str, Type]  # of the good rows
    keys: tuple[str, ...]
    stamps: frozenset[str] = frozenset()  # say which run wrote a row, and do not make it another row
    created: frozenset[str] = frozenset()  # stamps that survive updates
    now: datetime | None = None
    has_deletes: bool = False  # staged rows tell deletes from others
    newer: frozenset[str] = frozenset()  # runs whose rows came later than these, where no column tells
    run_column: str | None = None  # of the table: the run that wrote a row
    time_column: str | None = None  # of the table: when it did
    behind: Behind = ()  # files of the batch that were first read before others, whose rows stay
    source_column: str | None = None  # of both sides: the file that a row came from
    absent: tuple[str, ...] = ()  # columns that some rows of the batch do not have: staged rows say which

    def spelled(self, name: str) -> str | None:
        """A column of the batch, matched without case."""
        return next((column for column in self.incoming if column.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The frame of a strategy: how it opens over the table's rows, its nodes, and the table's columns afterwards."""

    columns: Mapping[str, Type]
    opening: Opening
    nodes: tuple[Node, ...]
    values: Mapping[str, Expression]
    incoming: Mapping[str, Type]  # what is read of the batch
    keys: tuple[str, ...]  # files without a key of the batch have no part in it; none: every file has
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # further links: different values of columns
    own: frozenset[str] = frozenset()  # columns that the strategy adds
    identity: tuple[str, ...] = ()  # columns that tell a row of the table from all others
    in_groups: bool = False  # they tell groups of rows, which go as a whole

    @property
    def landed(self) -> tuple[Landed, ...]:
        """The table's columns, as they are read: what the table does not have yet is NULL."""
        return tuple(Landed(name, type_) for name, type_ in self.columns.items())

    @property
    def published(self) -> tuple[Published, ...]:
        """The table's columns, as they are staged."""
        return tuple(Published(name, type_, True, False) for name, type_ in self.columns.items())

    def counting(self) -> Account:
        """How many rows there are of each file, effect and change."""
        effect_kinds = {names.FILE: STRING, EFFECT: STRING, CHANGE: STRING}
        kinds = {**effect_kinds, **dict.fromkeys((WRITTEN, BROKEN, COMPARED), BOOLEAN)}
        keys = tuple(Assignment(name, Column(name, type_)) for name, type_ in kinds.items())
        rollup = Rollup("count", TRUE, keys, (Aggregate(COUNT, "count_all", None, BIGINT),))
        shown = (*keys, Assignment(COUNT, Column(COUNT, BIGINT)))
        return Account(self.opening, (*self.nodes, rollup), Publish(shown, _NO_FATE, text(names.GOOD_SIDE)))

    def staging(self, changed: Sequence[str]) -> Account:
        """The new rows, and all rows of the files that change."""
        file = Column(names.FILE, STRING)
        rewritten: list[Expression] = [call("is_null", file)]
        if changed:
            rewritten.append(Call("in", (file, *(text(path) for path in changed)), BOOLEAN))
        wanted = both(Column(WRITTEN, BOOLEAN), either(rewritten))
        side = Call("case", (wanted, text(names.GOOD_SIDE), Literal(None, STRING)), STRING)
        values = tuple(Assignment(name, value) for name, value in self.values.items())
        return Account(self.opening, self.nodes, Publish(values, _NO_FATE, side))

    def changing(self) -> Account:
        """The new rows, and every row that changes or goes, with the values by which the table finds it."""
        stood = negated(call("is_null", Column(names.FILE, STRING)))
        changes, written = negated(call("is_null", Column(CHANGE, STRING))), Column(WRITTEN, BOOLEAN)
        wanted = either([changes, both(negated(stood), written)])
        side = Call("case", (wanted, text(names.GOOD_SIDE), Literal(None, STRING)), STRING)
        values = [Assignment(name, value) for name, value in self.values.items()]
        values += [Assignment(WAS + name, Column(name, self.columns[name])) for name in self.identity]
        values += [Assignment(STOOD, stood), Assignment(STAYS, written)]
        return Account(self.opening, self.nodes, Publish(tuple(values), _NO_FATE, side))

    @property
    def changed(self) -> tuple[Published, ...]:
        """The columns of `changing`, as they are staged."""
        was = [Published(WAS + name, self.columns[name], True, False) for name in self.identity]
        return (*self.published, *was, *(Published(name, BOOLEAN, True, False) for name in (STOOD, STAYS)))


def finding(keys: Mapping[str, Type]) -> Account:
    """Over the keys of the table: in which files keys of the batch stand."""
    on = tuple((Column(name, type_), name) for name, type_ in keys.items())
    pairs = Pairs("find", TRUE, INCOMING, "inner", on, None, (), "~left", "~right")
    file = Assignment(names.FILE, Column(names.FILE, STRING))
    rollup = Rollup("files", TRUE, (file,), (Aggregate(COUNT, "count_all", None, BIGINT),))
    return Account(pairs, (rollup,), Publish((file,), _NO_FATE, text(names.GOOD_SIDE)))


_NO_FATE = Literal(0, INT)


@dataclass(slots=True)
class FrameBuilder:
    """Where the nodes of a settlement are put together: the columns that are there, by name, and the nodes so far."""

    columns: dict[str, Type]
    nodes: list[Node] = field(default_factory=list)

    def __getitem__(self, name: str) -> Column:
        return Column(name, self.columns[name])

    def add(self, label: str, values: Mapping[str, Expression]) -> None:
        """New columns, each computed from the same row as it was before."""
        self.nodes.append(RowWise(label, tuple(Assignment(name, value) for name, value in values.items())))
        self.columns |= {name: value.type for name, value in values.items()}

    def window(
        self, partition: Iterable[Expression], order: Iterable[Expression], functions: Iterable[WindowFunction]
    ) -> None:
        """New columns that look at the other rows of the partition."""
        calls = tuple(functions)
        if calls:
            self.nodes.append(Window("window", tuple(partition), tuple(Order(value) for value in order), calls))
            self.columns |= {function.name: function.type for function in calls}


def choose(*parts: Expression) -> Expression:
    """CASE WHEN … THEN …, …, ELSE: conditions and values in turn, then the last value."""
    kept: list[Expression] = []
    for condition, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
        if condition != Literal(False, BOOLEAN):
            kept += [condition, value]
    if not kept:
        return parts[-1]
    return Call("case", (*kept, parts[-1]), parts[-1].type)


def negated(part: Expression) -> Expression:
    """NOT, over something that is never NULL."""
    return call("not", part)


def differs(left: Expression, other: Expression) -> Expression:
    """Whether two values are different; NULL is like NULL. What cannot be compared is, by its JSON text."""
    if not left.type.is_comparable:
        left, other = convert(left, STRING), convert(other, STRING)
    return negated(call("same", left, other))


def nothing(type_: Type) -> Literal:
    """NULL of a type."""
    return Literal(None, type_)


def any_of(parts: Iterable[Expression]) -> Expression:
    """OR over parts, FALSE over none."""
    conditions = list(parts)
    return either(conditions) if conditions else Literal(False, BOOLEAN)
