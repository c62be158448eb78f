"""Lambdas with parameter names that no lambda inside them has, however expressions are put into one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from lakelogic.sql.expressions import Column, Expression, Lambda, replace_columns, walk
from lakelogic.sql.types import Type

_TEMPORARY = "~?"
_numbers = count()  # only in names that `settled` replaces


def lambda_of(types: Sequence[Type], build: Callable[..., Expression], names: Sequence[str] = ("x", "y")) -> Lambda:
    """The lambda whose body `build` makes of its parameters."""
    drafts = tuple(draft(name, type_) for name, type_ in zip(names, types, strict=False))
    return settled(drafts, build(*drafts))


def draft(name: str, type_: Type) -> Column:
    """A parameter while the body is made, unlike every other."""
    return Column(f"{_TEMPORARY}{next(_numbers)}:{name}", type_)


def settled(parameters: Sequence[Column], body: Expression) -> Lambda:
    """The lambda with its final names, which begin with how many lambdas deep it is: none inside shares them."""
    depth = 1 + max((_depth(part) for part in walk(body) if isinstance(part, Lambda)), default=0)
    final = tuple(Column(f"~{depth}:{column.name.partition(':')[2]}", column.type) for column in parameters)
    renamed = {old.name: new for old, new in zip(parameters, final, strict=True)}
    return Lambda(final, replace_columns(body, dict(renamed)))


def _depth(part: Lambda) -> int:
    return int(part.parameters[0].name[1:].partition(":")[0])
