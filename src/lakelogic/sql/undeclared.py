"""Text that nobody declared decides no order: '9' comes after '10' in it, and nobody would know."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lakelogic.sql.expressions import Call, Column, Expression, walk
from lakelogic.sql.problems import BAD_TYPES, Problem, SqlProblems

ORDERING = frozenset({"lt", "le", "gt", "ge", "greatest", "least"})
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BY_ORDER = {"min": 0, "max": 0, "min_by": 1, "max_by": 1}  # which argument of the aggregate decides


def named(value: Expression, undeclared: Collection[str]) -> str | None:
    """The undeclared column whose text a value passes on as it is; None where it does not, or is no text."""
    if not value.type.is_text or not undeclared:
        return None
    if isinstance(value, Column):
        return value.name if value.name in undeclared else None
    if isinstance(value, Call) and value.function in ("coalesce", "case", "greatest", "least", "nullif"):
        parts = value.args
        if value.function == "case":
            parts = (*value.args[1::2], *(value.args[-1:] if len(value.args) % 2 else ()))
        return next((name for part in parts if (name := named(part, undeclared)) is not None), None)
    return None


def problem(value: Expression, undeclared: Collection[str], place: str) -> Problem | None:
    """Why a value must not decide an order; None where it may."""
    name = named(value, undeclared)
    if name is None:
        return None
    shown = name.partition("~")[0] or name
    return Problem(
        BAD_TYPES,
        f"`{shown}` lands as text that nobody declared, and {place} would go by its characters ('9' comes after '10').",
        f"declare it in the model with its type, or cast it: CAST({shown} AS INT), CAST({shown} AS STRING)",
    )


def refuse(values: Iterable[Expression], undeclared: Collection[str], place: str) -> None:
    """Refuse undeclared text in a place where order decides."""
    problems = [refusal for value in values if (refusal := problem(value, undeclared, place)) is not None]
    if problems:
        raise SqlProblems(list(dict.fromkeys(problems)))


def check(expression: Expression, undeclared: Collection[str]) -> None:
    """The same for all comparisons inside an expression."""
    if not undeclared:
        return
    for part in walk(expression):
        if isinstance(part, Call) and part.function in ORDERING:
            shown = f"`{_SIGNS.get(part.function, part.function)}`"
            refuse(part.args, undeclared, shown)
