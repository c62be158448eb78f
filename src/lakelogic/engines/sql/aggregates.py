"""Calls of aggregates as engines that speak SQL write them: over pieces of SQL, with the types that these have."""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic.engines.sql.dialect import SqlDialect
from lakelogic.sql.expressions import Expression, Literal
from lakelogic.sql.types import Type


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate called `name` over values: their SQL, which is short, and what they are."""

    name: str
    values: tuple[str, ...]
    args: tuple[Expression, ...]
    type: Type
    distinct: bool = False

    @property
    def source(self) -> Type:
        """The type of the first argument."""
        return self.args[0].type

    def constant(self, index: int) -> Literal:
        """An argument that is a constant."""
        argument = self.args[index]
        assert isinstance(argument, Literal)
        return argument


def without_sign_of_zero(dialect: SqlDialect, value: str, type_: Type) -> str:
    """A number in which −0 is 0: equal values must not differ in an answer."""
    return f"({value} + {dialect.cast('0', type_)})" if type_.kind in ("float", "double") else value
