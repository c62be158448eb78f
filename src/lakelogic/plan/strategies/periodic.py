"""periodic_snapshot: the rows of the batch take the place of the snapshots they belong to; others stay."""

from __future__ import annotations

from lakelogic.plan.nodes import Join
from lakelogic.plan.strategies.frames import SCOPE, Meeting, Settlement
from lakelogic.plan.strategies.part import replacing, stacked
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.types import BOOLEAN


def settle(strategy: Strategy, meeting: Meeting) -> Settlement:
    """Rows of the table whose snapshot is in the batch go; those of the batch come."""
    values, opening, bench = stacked(meeting, "snapshots")
    scope = tuple(meeting.spelled(name) or name for name in strategy.scope)
    bench.nodes.append(Join("scope", SCOPE, tuple((bench[name], name) for name in scope), (), "~inside"))
    bench.columns["~inside"] = BOOLEAN
    replacing(bench, bench["~inside"])
    return Settlement(
        {name: bench.columns[name] for name in values},
        opening,
        tuple(bench.nodes),
        values,
        meeting.incoming,
        scope,
        beside={SCOPE: scope},
        identity=scope,
        in_groups=True,
    )
