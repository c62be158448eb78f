"""A part of the table: the rows of the batch take the place of its rows of some days or sources; others stay."""

from __future__ import annotations

from lakelogic import names
from lakelogic.plan.nodes import Stack
from lakelogic.plan.predicates import both
from lakelogic.plan.strategies.frames import (
    BROKEN,
    CHANGE,
    COMPARED,
    EFFECT,
    INCOMING,
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


def stacked(meeting: Meeting, label: str) -> tuple[dict[str, Expression], Stack, Bench]:
    """The table's rows and, below them, those of the batch; a bench over both, where `~incoming` tells them apart."""
    columns = {**meeting.stored}
    for name, type_ in meeting.incoming.items():
        columns.setdefault(name, type_)
    landed = meeting.incoming
    stored: list[Expression] = [*(Column(n, t) for n, t in columns.items()), Column(names.FILE, STRING), FALSE]
    come = [
        *(convert(Column(n, landed[n]), t) if n in landed else nothing(t) for n, t in columns.items()),
        nothing(STRING), TRUE,
    ]  # fmt: skip
    opening = Stack(label, TRUE, (*columns, names.FILE, NEW), tuple(stored), ((INCOMING, tuple(come)),))
    bench = Bench({**columns, names.FILE: STRING, NEW: BOOLEAN})
    return {name: bench[name] for name in columns}, opening, bench


def replacing(bench: Bench, inside: Expression) -> None:
    """Rows of the table that are `inside` go; those of the batch come."""
    replaced = both(negated(bench[NEW]), inside)
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


def settle(strategy: Strategy, meeting: Meeting) -> Settlement:
    """Rows of the table that belong to the part go; those of the batch come."""
    assert strategy.part is not None
    name, part = strategy.part
    values, opening, bench = stacked(meeting, "part")
    column = next(column for column in values if column.lower() == name.lower())
    bench.add("inside", {"~inside": part.hold(bench[column])})
    replacing(bench, bench["~inside"])
    kinds = {column: bench.columns[column] for column in values}
    return Settlement(
        kinds, opening, tuple(bench.nodes), values, meeting.incoming, (), identity=(column,), in_groups=True
    )
