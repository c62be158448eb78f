"""One row of the catalogue: a canonical function, what it means, and worked examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

Kind = OneOf["scalar", "aggregate", "window", "internal", "composed"]


@dataclass(frozen=True, slots=True)
class Function:
    """One row of the catalogue; `group` is the heading it stands under in the docs.

    `examples` are pairs of a contract expression and the value it must have. An example of a scalar function
    reads no columns; one of an aggregate or a window function reads the rows of `EXAMPLE_ROWS`.
    """

    name: str
    group: str
    sql: tuple[str, ...]
    meaning: str
    examples: tuple[tuple[str, object], ...] = ()
    kind: Kind = "scalar"


def _written(sql: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in sql.split(";"))


def scalar(name: str, group: str, sql: str, meaning: str, *examples: tuple[str, object]) -> Function:
    """A function of one row; `sql` lists the ways it is written, parted by `;`."""
    return Function(name, group, _written(sql), meaning, examples)


def composed(name: str, group: str, sql: str, meaning: str, *examples: tuple[str, object]) -> Function:
    """A way of writing that the binder puts together from other functions: engines never see its name."""
    return Function(name, group, _written(sql), meaning, examples, "composed")


def aggregate(name: str, sql: str, meaning: str, *examples: tuple[str, object]) -> Function:
    """A function of many rows; each example is the aggregate over `EXAMPLE_ROWS` without grouping."""
    return Function(name, "aggregates", _written(sql), meaning, examples, "aggregate")


def window(name: str, sql: str, meaning: str, *examples: tuple[str, object]) -> Function:
    """A function of a row among others; each example's value is the list over `EXAMPLE_ROWS`, in order of `n`."""
    return Function(name, "windows", _written(sql), meaning, examples, "window")


def internal(name: str, meaning: str) -> Function:
    """Made by the plan, never written by people."""
    return Function(name, "internal", (), meaning, (), "internal")


# The rows that examples of aggregates and windows read: n int, g string, x int, s string, d double.
EXAMPLE_ROWS: tuple[tuple[int, str, int | None, str | None, float | None], ...] = (
    (1, "a", 3, "pear", 1.5),
    (2, "a", 1, "apple", -2.0),
    (3, "a", None, None, None),
    (4, "b", 3, "fig", 4.0),
    (5, "b", 7, "apple", 0.5),
)
