"""The part of a table that a batch takes the place of: rows of days, or rows that came from named sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lakelogic.plan.predicates import holds
from lakelogic.plan.source.days import Days, days_of
from lakelogic.sql.expressions import FALSE, TRUE, Call, Expression, text
from lakelogic.sql.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Sources:
    """Files and tables by the names that rows carry in their stamp.

    `at_most` is the share of their rows that may go at once; None where whoever asked for it knows what goes.
    """

    paths: tuple[str, ...]
    whole: bool = False  # a table, of which everything was read: rows that are lacking are gone
    at_most: float | None = None

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
        document: dict[str, Any] = {"sources": list(self.paths)}
        if self.whole:
            document["whole"] = True
        return document if self.at_most is None else {**document, "at_most": self.at_most}

    def too_many(self, gone: int, total: int) -> str | None:
        """Why so many of the `known` rows must not go at once. A bound that is met exactly holds.

        A few rows may always go, because a share of a small table says little; all of them never.
        """
        if self.at_most is None or not gone:
            return None
        share = gone / total
        if share <= self.at_most or (gone <= FEW and gone < total):
            return None
        return (
            f"{gone} of {total} rows that {self} gave before are not there any more ({share:.1%}), at most "
            f"{self.at_most:.1%} may go at once (materialization.deletion: {{strategy: follow_source, "
            "max_delete_ratio: …}, or {strategy: keep})"
        )


@dataclass(frozen=True, slots=True)
class Everything:
    """All rows of the table: what was read is what it shall hold."""

    def __str__(self) -> str:
        return "the source"

    def hold(self, _: Expression) -> Expression:
        """TRUE, whatever a row carries."""
        return TRUE

    def may_hold(self, _: Any) -> bool:
        """The same of a plain value."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"everything": True}


Part: TypeAlias = Days | Sources | Everything
Replaced: TypeAlias = tuple[str, Part]  # a column of the table, and which of its values

FEW = 5  # rows that may go whatever share of a table they are
INSTEAD = "instead"  # in what a commit tells of its input: the sources whose earlier rows it takes the place of


def replaced_by(document: Mapping[str, Any]) -> Replaced | None:
    """The part of the table that a batch replaces, from what its commit tells of its input."""
    days = document.get("days") or {}
    if days.get("column"):
        return days["column"], days_of(days)
    instead = document.get(INSTEAD)
    if not instead:
        return None
    if instead.get("everything"):
        return instead["column"], Everything()
    part = Sources(tuple(instead["sources"]), bool(instead.get("whole")), instead.get("at_most"))
    return instead["column"], part


def as_batch(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What of an input makes a batch this one.

    Where a whole table is read every time, what that takes the place of follows from the table and its target.
    """
    instead = identity.get(INSTEAD)
    is_implied = instead is not None and instead.get("whole") and "after" not in instead
    return {name: value for name, value in identity.items() if not (is_implied and name == INSTEAD)}
