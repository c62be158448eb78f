"""Which table format a run works with: the format's own committer, or the engine's, where the table needs it."""

from __future__ import annotations

from lakelogic.engines.base import Engine, HasOwnDelta
from lakelogic.tables.base import TableFormat
from lakelogic.tables.registry import load


def tables_of(name: str, engine: Engine | None, *, reads: bool = False) -> TableFormat:
    """The format of that name for a run on an engine.

    Delta tables with features that delta-rs does not write are left to the session's own Delta, where the engine has
    one. Without an engine they can be looked at: their version and their commits. `reads`: the table is only read.
    """
    found = load(name)
    if name != "delta" or not (engine is None or isinstance(engine, HasOwnDelta)):
        return found
    from lakelogic.tables.delta.native import DeltaBothWays

    return DeltaBothWays(engine.own_delta if engine is not None else None, reads=reads)
