"""Canonical expressions → DuckDB SQL text: JSON documents, read by Python, which keeps numbers as they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.engines.duckdb.convert_nested import READ_FUNCTION, RESHAPE_FUNCTION
from lakelogic.sql.expressions import Call
from lakelogic.sql.json_text import reshaped

Builder: TypeAlias = Callable[[Call, Sequence[str]], str]


def _reshaped(text: str | None, type_: str) -> str | None:
    return reshaped(text, type_)


def _read(text: str | None, type_: str) -> str | None:
    return reshaped(text, type_, lenient=True)


# Functions that a session registers: name, what it does, and the types of its arguments. All give text.
FUNCTIONS: tuple[tuple[str, Callable[..., str | None], list[str]], ...] = (
    (RESHAPE_FUNCTION, _reshaped, ["VARCHAR", "VARCHAR"]),
    (READ_FUNCTION, _read, ["VARCHAR", "VARCHAR"]),
)

BUILDERS: dict[str, Builder] = {}
