"""The dialect of an engine: how it writes the atoms of SQL. The module `literals` of each engine is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type


class SqlDialect(Protocol):
    """Names, constants, types and casts as SQL text: nothing else quotes or escapes anything."""

    def identifier(self, name: str, /) -> str:
        """The name of a column or a table."""

    def text(self, value: str, /) -> str:
        """A text constant."""

    def whole(self, value: int, /) -> str:
        """A whole number of 64 bits."""

    def literal(self, constant: Literal, /) -> str:
        """A constant, with exactly its type."""

    def type_name(self, type_: Type, /) -> str:
        """A type of contracts as the engine calls it."""

    def cast(self, sql: str, type_: Type | str, /) -> str:
        """A cast that must succeed."""

    def try_cast(self, sql: str, type_: Type | str, /) -> str:
        """A cast that gives NULL where it fails."""


@dataclass(frozen=True, slots=True)
class TypeNames:
    """What an engine calls types: the plain ones by kind, and how it puts the nested ones together."""

    plain: dict[str, str]
    array: Callable[[str], str]
    map: Callable[[str, str], str]
    struct: Callable[[list[tuple[str, str]]], str]

    def of(self, type_: Type) -> str:
        """The name of a type."""
        if type_.kind == "decimal":
            return f"DECIMAL({type_.precision},{type_.scale})"
        if type_.kind == "array":
            assert type_.element is not None
            return self.array(self.of(type_.element))
        if type_.kind == "map":
            assert type_.key is not None
            assert type_.element is not None
            return self.map(self.of(type_.key), self.of(type_.element))
        if type_.kind == "struct":
            return self.struct([(name, self.of(field)) for name, field in type_.fields])
        return self.plain[type_.kind]
