"""periodic_snapshot: the rows of the batch take the place of the snapshots they belong to; others stay."""

from __future__ import annotations

from lakelogic import names
from lakelogic.plan.nodes import Join, Stack
from lakelogic.plan.state import both
from lakelogic.plan.strategies.frames import (
    BROKEN,
    CHANGE,
    COMPARED,
    EFFECT,
    INCOMING,
    SCOPE,
    WRITTEN,
    Bench,
    Meeting,
    Settlement,
    choose,
    negated,
    nothing,
)
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import FALSE, TRUE, Column, Expression, convert, text
from lakelogic.sql.types import BOOLEAN, STRING

NEW = "~incoming"


def settle(strategy: Strategy, meeting: Meeting) -> Settlement:
    """Rows of the table whose snapshot is in the batch go; those of the batch come."""
    columns = {**meeting.stored}
    for name, type_ in meeting.incoming.items():
        columns.setdefault(name, type_)
    scope = tuple(meeting.spelled(name) or name for name in strategy.scope)
    landed = meeting.incoming
    stored: list[Expression] = [*(Column(n, t) for n, t in columns.items()), Column(names.FILE, STRING), FALSE]
    come = [
        *(convert(Column(n, landed[n]), t) if n in landed else nothing(t) for n, t in columns.items()),
        nothing(STRING), TRUE,
    ]  # fmt: skip
    opening = Stack("snapshots", TRUE, (*columns, names.FILE, NEW), tuple(stored), ((INCOMING, tuple(come)),))
    bench = Bench({**columns, names.FILE: STRING, NEW: BOOLEAN})
    bench.nodes.append(Join("scope", SCOPE, tuple((bench[name], name) for name in scope), (), "~inside"))
    bench.columns["~inside"] = BOOLEAN
    replaced = both(negated(bench[NEW]), bench["~inside"])
    bench.add(
        "effect",
        {
            EFFECT: choose(bench[NEW], text("inserted"), nothing(STRING)),
            CHANGE: choose(replaced, text("replaced"), nothing(STRING)),
            WRITTEN: negated(replaced),
            BROKEN: FALSE,
            COMPARED: FALSE,
        },
    )
    values: dict[str, Expression] = {name: bench[name] for name in columns}
    return Settlement(
        columns,
        opening,
        tuple(bench.nodes),
        values,
        landed,
        scope,
        beside={SCOPE: scope},
        identity=scope,
        in_groups=True,
    )
