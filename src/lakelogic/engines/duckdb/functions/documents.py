"""Canonical expressions → DuckDB SQL text: JSON documents, read by Python, which keeps numbers as they are written."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.duckdb.convert import to_type
from lakelogic.engines.duckdb.convert_nested import READ_FUNCTION, RESHAPE_FUNCTION, from_json
from lakelogic.engines.duckdb.literals import cast, try_cast
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.json_text import array_length, at_path, compact, object_keys, reshaped

_PATH, _KEYS, _LENGTH = "ll_json_path", "ll_json_keys", "ll_json_length"


def _reshaped(text: str | None, type_: str) -> str | None:
    return reshaped(text, type_)


def _read(text: str | None, type_: str) -> str | None:
    return reshaped(text, type_, lenient=True)


def _at_path(text: str | None, path: str) -> str | None:
    return at_path(text, path)


def _keys(text: str | None) -> str | None:
    keys = object_keys(text)
    return None if keys is None else compact(keys)


def _length(text: str | None) -> str | None:
    length = array_length(text)
    return None if length is None else str(length)


# Functions that a session registers: name, what it does, and the types of its arguments. All give text.
FUNCTIONS: tuple[tuple[str, Callable[..., str | None], list[str]], ...] = (
    (RESHAPE_FUNCTION, _reshaped, ["VARCHAR", "VARCHAR"]),
    (READ_FUNCTION, _read, ["VARCHAR", "VARCHAR"]),
    (_PATH, _at_path, ["VARCHAR", "VARCHAR"]),
    (_KEYS, _keys, ["VARCHAR"]),
    (_LENGTH, _length, ["VARCHAR"]),
)

BUILDERS: dict[str, Builder] = {
    "get_json_object": lambda _call, args: f"{_PATH}({args[0]}, {args[1]})",
    "from_json": lambda call, args: from_json(args[0], call.type, to_type),
    "json_object_keys": lambda call, args: cast(cast(f"{_KEYS}({args[0]})", "JSON"), call.type),
    "json_array_length": lambda call, args: try_cast(f"{_LENGTH}({args[0]})", call.type),
}
