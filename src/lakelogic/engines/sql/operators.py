"""Comparisons, logic and choices, which engines that speak SQL write alike: a builder for each function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.sql.expressions import Call

Builder: TypeAlias = Callable[[Call, Sequence[str]], str]


def infix(operator: str) -> Builder:
    """Arguments with an operator between them."""
    return lambda _call, args: "(" + f" {operator} ".join(args) + ")"


def function(name: str) -> Builder:
    """A function of the engine, over the same arguments."""
    return lambda _call, args: f"{name}({', '.join(args)})"


def _in(_call: Call, args: Sequence[str]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _case(_call: Call, args: Sequence[str]) -> str:
    branches = " ".join(
        f"WHEN {condition} THEN {value}" for condition, value in zip(args[:-1:2], args[1::2], strict=False)
    )
    return f"CASE {branches} ELSE {args[-1]} END" if len(args) % 2 else f"CASE {branches} END"


BUILDERS: dict[str, Builder] = {
    "eq": infix("="),
    "ne": infix("<>"),
    "lt": infix("<"),
    "le": infix("<="),
    "gt": infix(">"),
    "ge": infix(">="),
    "in": _in,
    "not": lambda _call, args: f"(NOT {args[0]})",
    "is_null": lambda _call, args: f"({args[0]} IS NULL)",
    "case": _case,
    "coalesce": function("coalesce"),
    "nullif": function("nullif"),
    "greatest": function("greatest"),
    "least": function("least"),
    "contains": function("contains"),
}
