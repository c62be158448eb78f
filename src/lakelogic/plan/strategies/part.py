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
    FrameBuilder,
    MergeSides,
    Settlement,
    choose,
    negated,
    nothing,
)
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import FALSE, TRUE, Column, Expression, convert, text
from lakelogic.sql.types import BOOLEAN, STRING

NEW = "~incoming"


def stacked(sides: MergeSides, label: str) -> tuple[dict[str, Expression], Stack, FrameBuilder]:
    """The table's rows and, below them, those of the batch; a builder over both, where `~incoming` tells them apart."""
    columns = {**sides.stored}
    for name, type_ in sides.incoming.items():
        columns.setdefault(name, type_)
    landed = sides.incoming
    stored: list[Expression] = [*(Column(n, t) for n, t in columns.items()), Column(names.FILE, STRING), FALSE]
    come = [
        *(convert(Column(n, landed[n]), t) if n in landed else nothing(t) for n, t in columns.items()),
        nothing(STRING), TRUE,
    ]  # fmt: skip
    opening = Stack(label, TRUE, (*columns, names.FILE, NEW), tuple(stored), ((INCOMING, tuple(come)),))
    builder = FrameBuilder({**columns, names.FILE: STRING, NEW: BOOLEAN})
    return {name: builder[name] for name in columns}, opening, builder


def replacing(builder: FrameBuilder, inside: Expression) -> None:
    """Rows of the table that are `inside` go; those of the batch come."""
    replaced = both(negated(builder[NEW]), inside)
    builder.add(
        "effect",
        {
            EFFECT: choose(builder[NEW], text("inserted"), nothing(STRING)),
            CHANGE: choose(replaced, text("replaced"), nothing(STRING)),
            WRITTEN: negated(replaced),
            BROKEN: FALSE,
            COMPARED: FALSE,
        },
    )


def settle(strategy: Strategy, sides: MergeSides) -> Settlement:
    """Rows of the table that belong to the part go; those of the batch come."""
    assert strategy.part is not None
    name, part = strategy.part
    values, opening, builder = stacked(sides, "part")
    column = next(column for column in values if column.lower() == name.lower())
    builder.add("inside", {"~inside": part.hold(builder[column])})
    replacing(builder, builder["~inside"])
    kinds = {column: builder.columns[column] for column in values}
    return Settlement(
        kinds, opening, tuple(builder.nodes), values, sides.incoming, (), identity=(column,), in_groups=True
    )
