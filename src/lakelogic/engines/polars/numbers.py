"""Canonical expressions → Polars expressions: functions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from lakelogic.sql.expressions import Call

Builder: TypeAlias = Callable[[Call, Sequence[pl.Expr]], pl.Expr]

BUILDERS: dict[str, Builder] = {}
