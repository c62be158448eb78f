"""The catalogue: every portable function, what it means, and worked examples that all engines must give.

A row names the canonical function that engines lower. `sql` lists how it is written in a contract.
`examples` are pairs of a contract expression over literals and the value it must have; the meaning
suite runs each of them on every engine, and the reference page of the docs is made from them.
"""

from __future__ import annotations

from lakelogic.sql.catalogue import aggregates, core, documents, nested, numbers, strings, times, windows
from lakelogic.sql.catalogue.row import EXAMPLE_ROWS, Function, Kind

_SUBJECTS = (core, numbers, strings, times, nested, documents, aggregates, windows)

CATALOGUE: dict[str, Function] = {function.name: function for subject in _SUBJECTS for function in subject.FUNCTIONS}
# What every engine must lower; the rest is put together from these by the binder.
LOWERED = frozenset(name for name, function in CATALOGUE.items() if function.kind != "composed")

__all__ = ["CATALOGUE", "EXAMPLE_ROWS", "LOWERED", "Function", "Kind"]
