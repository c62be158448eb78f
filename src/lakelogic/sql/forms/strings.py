"""Special forms of text: LIKE ANY, POSITION, OVERLAY and their kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from lakelogic.sql.expressions import Expression

if TYPE_CHECKING:
    from lakelogic.sql.bind import Binder

FORMS: dict[type[exp.Expression], Callable[[Binder, exp.Expression], Expression]] = {}
