"""What binding an expression shares among its parts: the scope of names, what was found, and the binder they ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from sqlglot import exp

from lakelogic.sql.expressions import Column, Expression, Literal
from lakelogic.sql.problems import Problem
from lakelogic.sql.types import DATE, TIMESTAMP, Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """An aggregate found inside an expression; its value stands in the rolled-up frame under `name`."""

    name: str
    function: str
    value: Expression | None
    type: Type
    more: tuple[Expression, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """A function over a window found inside an expression; its value stands in the frame under `name`."""

    name: str
    function: str
    args: tuple[Expression, ...]
    type: Type
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, bool, bool], ...]  # value, descending, NULLs first
    bounds: tuple[bool, int | None, int | None] | None = None  # by rows, start, end
    distinct: bool = False


@dataclass(slots=True)
class Scope:
    """What the SQL may read: columns by logical name, and the names that mean the current rows.

    With several tables, `relations` holds the columns of each by its alias in lower case, and `ambiguous` the
    names (in lower case) that more than one has. `subquery` binds a query inside an expression, `special` functions
    that only have a meaning at this place; both belong to the plan.
    """

    columns: Mapping[str, Expression]
    tables: frozenset[str] = frozenset({"source"})
    now: datetime = _EPOCH
    relations: Mapping[str, Mapping[str, Expression]] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    subquery: Callable[[exp.Expression, PartBinder], Expression] | None = None
    special: Mapping[str, Callable[[list[exp.Expression], PartBinder], Expression]] = field(default_factory=dict)
    undeclared: frozenset[str] = frozenset()  # columns of text that nobody declared: they decide no order
    folded: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.folded = {name.lower(): name for name in self.columns}


def scope_of(columns: Mapping[str, Type]) -> Scope:
    """A scope over plain columns."""
    return Scope({name: Column(name, type_) for name, type_ in columns.items()})


class Clock:
    """`now` for one plan: the same instant in every expression of a run."""

    def __init__(self, at: datetime) -> None:
        self.timestamp = Literal(at, TIMESTAMP)
        self.date = Literal(at.date(), DATE)


class PartBinder(Protocol):
    """The binder as the forms of the grammar see it: they hand it the parts that stand inside them."""

    scope: Scope
    aggregates: list[BoundAggregate] | None
    windows: list[BoundWindow] | None
    clock: Clock
    problems: list[Problem]

    def part(self, tree: exp.Expression) -> Expression:
        """A part of the tree that is being bound."""

    def parameters(self, named: Mapping[str, Column]) -> AbstractContextManager[None]:
        """While a lambda's body is bound, its parameters hide columns of the same name."""

    def parameter(self, name: str) -> Column | None:
        """The innermost lambda's parameter of this name, in lower case."""
