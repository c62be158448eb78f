"""Canonical expressions → Polars expressions: JSON documents, read by Python with numbers as they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.polars.convert import by_batch, to_type
from lakelogic.engines.polars.convert_nested import from_json
from lakelogic.engines.polars.functions.by_value import each
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call
from lakelogic.sql.json_text import array_length, at_path, object_keys

Builder: TypeAlias = Callable[[Call, Sequence[pl.Expr]], pl.Expr]


def _each(function: Callable[[Any], Any]) -> Builder:
    return lambda call, args: by_batch(args[0], each(function, dtype(call.type)), dtype(call.type))


def _at_path(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    path = str(call.constant(1))
    return by_batch(args[0], each(lambda text: at_path(text, path), pl.String), pl.String)


BUILDERS: dict[str, Builder] = {
    "get_json_object": _at_path,
    "from_json": lambda call, args: from_json(args[0], call.type, to_type),
    "json_object_keys": _each(object_keys),
    "json_array_length": _each(array_length),
}
