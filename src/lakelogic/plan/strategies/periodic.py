"""periodic_snapshot: the rows of the batch take the place of the snapshots they belong to; others stay."""

from __future__ import annotations

from lakelogic.plan.nodes import Join
from lakelogic.plan.strategies.frames import SCOPE, MergeSides, Settlement
from lakelogic.plan.strategies.part import replacing, stacked
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.types import BOOLEAN


def settle(strategy: Strategy, sides: MergeSides) -> Settlement:
    """Rows of the table whose snapshot is in the batch go; those of the batch come."""
    values, opening, builder = stacked(sides, "snapshots")
    scope = tuple(sides.spelled(name) or name for name in strategy.scope)
    builder.nodes.append(Join("scope", SCOPE, tuple((builder[name], name) for name in scope), (), "~inside"))
    builder.columns["~inside"] = BOOLEAN
    replacing(builder, builder["~inside"])
    return Settlement(
        {name: builder.columns[name] for name in values},
        opening,
        tuple(builder.nodes),
        values,
        sides.incoming,
        scope,
        beside={SCOPE: scope},
        identity=scope,
        in_groups=True,
    )
