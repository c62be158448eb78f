"""Canonical expressions → DuckDB SQL text: JSON kept as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.sql.expressions import Call

Builder: TypeAlias = Callable[[Call, Sequence[str]], str]

BUILDERS: dict[str, Builder] = {}
