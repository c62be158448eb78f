"""The part of a table that a batch takes the place of: rows of days, or rows that came from named sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lakelogic.plan.days import Days, days_of
from lakelogic.plan.state import holds
from lakelogic.sql.expressions import FALSE, Call, Expression, text
from lakelogic.sql.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by the names that rows carry in their stamp."""

    paths: tuple[str, ...]

    def __str__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} sources"

    def hold(self, value: Expression) -> Expression:
        """TRUE for rows whose stamp is one of them, otherwise FALSE."""
        if not self.paths:
            return FALSE
        return holds(Call("in", (value, *(text(path) for path in self.paths)), BOOLEAN))

    def may_hold(self, value: Any) -> bool:
        """The same of a plain value."""
        return value in self.paths

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"sources": list(self.paths)}


Part: TypeAlias = Days | Sources
Replaced: TypeAlias = tuple[str, Part]  # a column of the table, and which of its values

INSTEAD = "instead"  # in what a commit tells of its input: the sources whose earlier rows it takes the place of


def replaced_by(told: Mapping[str, Any]) -> Replaced | None:
    """The part of the table that a batch replaces, from what its commit tells of its input."""
    days = told.get("days") or {}
    if days.get("column"):
        return days["column"], days_of(days)
    instead = told.get(INSTEAD)
    return (instead["column"], Sources(tuple(instead["sources"]))) if instead else None
