"""Canonical expressions: typed, closed, engine-neutral; what every engine lowers.

A contract's SQL text is parsed by sqlglot and bound (`sql/bind.py`) into these trees. Nothing is
left to guess: every conversion is written out as a `convert` call, every column is known, every
node has a type. An engine translates `Call.function` by a table and adds no meaning of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from lakelogic.sql.types import BOOLEAN, STRING, Type

Value: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the current frame, by its exact name."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. A `timestamp` holds an aware datetime in UTC, a `timestamp_ntz` a naive one."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the catalogue (`sql/functions.py`) applied to arguments of settled types."""

    function: str
    args: tuple[Expression, ...]
    type: Type

    def constant(self, index: int) -> Value:
        """The value of an argument that the binder made sure is a literal."""
        argument = self.args[index]
        assert isinstance(argument, Literal)
        return argument.value


@dataclass(frozen=True, slots=True)
class Lambda:
    """A small function, only ever an argument of a call: `x -> x + 1`, `(total, x) -> total + x`.

    The parameters are columns whose names begin with `~` and are unique within the whole expression; the body
    reads them, and any column of the row around it.
    """

    parameters: tuple[Column, ...]
    body: Expression

    @property
    def type(self) -> Type:
        """What the body yields."""
        return self.body.type


Expression: TypeAlias = Column | Literal | Call | Lambda

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def text(value: str) -> Literal:
    """A text literal."""
    return Literal(value, STRING)


def call(function: str, *args: Expression, type: Type = BOOLEAN) -> Call:  # noqa: A002
    """A call; a predicate unless a type is given."""
    return Call(function, args, type)


def convert(expression: Expression, to: Type) -> Expression:
    """The expression as another type; a value that cannot be converted becomes NULL."""
    if expression.type == to:
        return expression
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(None, to)
    return Call("convert", (expression,), to)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all that it is made of, outermost first."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.args:
            yield from walk(argument)
    elif isinstance(expression, Lambda):
        yield from walk(expression.body)


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the columns an expression reads; a lambda's parameters are not columns of the row."""
    parts = list(walk(expression))
    own = {parameter.name for part in parts if isinstance(part, Lambda) for parameter in part.parameters}
    return frozenset(part.name for part in parts if isinstance(part, Column)) - own


def functions_of(expression: Expression) -> frozenset[str]:
    """The catalogue functions an expression uses."""
    return frozenset(part.function for part in walk(expression) if isinstance(part, Call))


def replace_columns(expression: Expression, by: dict[str, Expression]) -> Expression:
    """The expression with columns put in place of others."""
    if isinstance(expression, Column):
        return by.get(expression.name, expression)
    if isinstance(expression, Call):
        return Call(expression.function, tuple(replace_columns(a, by) for a in expression.args), expression.type)
    if isinstance(expression, Lambda):
        return Lambda(expression.parameters, replace_columns(expression.body, by))
    return expression
