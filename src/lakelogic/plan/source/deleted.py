"""Rows that an upstream table marks as deleted: left out before anything else looks at them, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakelogic.plan.nodes import Landed
from lakelogic.plan.predicates import holds
from lakelogic.plan.state import State
from lakelogic.plan.strategies.merge import mark_type
from lakelogic.sql.expressions import Column, Expression, Literal, call, convert

STEP = "soft-deleted"  # what the account calls rows that were read and left out


@dataclass(frozen=True, slots=True)
class Deleted:
    """The column of a table that marks deleted rows, and its value there."""

    column: str
    value: Any

    def is_mark(self, value: Any) -> bool:
        """Whether a row with this value in the column is deleted."""
        return value is not None and (value == self.value or str(value) == str(self.value))

    def condition(self, columns: Sequence[Landed]) -> Expression | None:
        """TRUE for deleted rows; None where the column did not land."""
        landed = next((column for column in columns if column.name == self.column), None)
        if landed is None:
            return None
        return call(
            "same", Column(landed.name, landed.type), convert(Literal(self.value, mark_type(self.value)), landed.type)
        )


def leave_out(state: State, deleted: Deleted | None, columns: Sequence[Landed]) -> None:
    """Rows of the source that are deleted are lost, by name."""
    condition = deleted.condition(columns) if deleted is not None else None
    if deleted is not None and condition is not None:
        state.lose("filtered", STEP, condition, (f"{deleted.column} is {deleted.value}",))


def living(deleted: Deleted | None, columns: Sequence[Landed], kept: Expression | None) -> Expression | None:
    """The condition of a link's rows that count, with those left out that are deleted."""
    condition = deleted.condition(columns) if deleted is not None else None
    if condition is None:
        return kept
    alive = call("not", condition)
    return alive if kept is None else call("and", holds(kept), alive)
