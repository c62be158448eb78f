"""Keys of a history that a table as source does not have any more, and keys that it has again."""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.contract.materialization import Scd2
from lakelogic.plan.nodes import Assignment, Bounds, Join, Node, RowWise, WindowFunction
from lakelogic.plan.predicates import both, holds
from lakelogic.plan.strategies.frames import CHANGE, COMPARED, HELD, FrameBuilder, MergeSides, choose, negated, nothing
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import FALSE, Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import BOOLEAN, STRING, TIMESTAMP, Type

ENDED = "ended"  # what becomes of a current version whose key the table does not have any more
_CAME, _DEPARTS = "~came", "~departs"
_ALL = Bounds(True, None, None)


def came_from(strategy: Strategy, history: Scd2, columns: Mapping[str, Type]) -> Expression:
    """TRUE for a current version that the table gave which was read as a whole; FALSE where none was."""
    if not strategy.follows_source or strategy.part is None:
        return FALSE
    wanted, part = strategy.part
    stamp = next(name for name in columns if name.lower() == wanted.lower())
    return both(holds(Column(history.current_flag_field, BOOLEAN)), part.hold(Column(stamp, columns[stamp])))


def departing(strategy: Strategy, history: Scd2, sides: MergeSides, columns: Mapping[str, Type]) -> tuple[Node, ...]:
    """Over versions whose keys the batch does not have: which of them end; a key in quarantine is not gone."""
    if not strategy.follows_source:
        return ()
    on = tuple((Column(key, columns[key]), key) for key in sides.keys)
    came = Column(_CAME, BOOLEAN)
    return (
        Join("held", HELD, on, (), "~held"),
        RowWise("came", (Assignment(_CAME, came_from(strategy, history, columns)),)),
        RowWise("departs", (Assignment(_DEPARTS, both(came, negated(Column("~held", BOOLEAN)))),)),
    )


def departed(strategy: Strategy, history: Scd2, sides: MergeSides) -> dict[str, Expression]:
    """The values that such versions have afterwards and what is told of them: they end when the run began.

    That moment stands in the staged record, so a run that died ends them at the same one. A version that begins later
    never held: it ends where it begins.
    """
    if not strategy.follows_source:
        return {}
    departs, began = Column(_DEPARTS, BOOLEAN), Column(history.effective_from_field, TIMESTAMP)
    now = Literal(sides.now, TIMESTAMP)
    end = choose(holds(call("lt", now, began)), began, now)
    return {
        history.effective_to_field: choose(departs, end, Column(history.effective_to_field, TIMESTAMP)),
        history.current_flag_field: choose(departs, FALSE, Column(history.current_flag_field, BOOLEAN)),
        CHANGE: choose(departs, text(ENDED), nothing(STRING)),
        COMPARED: Column(_CAME, BOOLEAN),
    }


def own_time(order: Expression | None, began: Expression) -> Expression:
    """The time of a version: that of its row, or the later moment at which its key was there again."""
    if order is None:
        return began
    time = convert(order, TIMESTAMP)
    return choose(holds(call("lt", time, began)), began, Call("coalesce", (time, began), TIMESTAMP))


def place_returned(
    builder: FrameBuilder,
    history: Scd2,
    sides: MergeSides,
    order: str,
    marks: tuple[str, str, str, str],
    open_end: Literal,
) -> None:
    """The newest row of a key that a table has holds now, although its own time is before the end of the key.

    A key that had ended begins again with this run. Its row, read again, stands where it began; a newer one of a time
    before that begins now. `marks` are the columns for new rows, deletions, the time that rows bring, and the one that
    is added.
    """
    new, gone, time = (builder[name] for name in marks[:3])
    keys = [builder[key] for key in sides.keys]
    until = choose(new, nothing(TIMESTAMP), builder[history.effective_to_field])
    is_current = both(negated(new), holds(builder[history.current_flag_field]))
    said_at = convert(builder[order], TIMESTAMP)
    builder.window(
        keys,
        (),
        [
            WindowFunction("~ever~until", "max", (until,), TIMESTAMP, _ALL),
            WindowFunction(
                "~newest", "max", (choose(both(new, negated(gone)), time, nothing(TIMESTAMP)),), TIMESTAMP, _ALL
            ),
            WindowFunction("~now~time", "max", (choose(is_current, time, nothing(TIMESTAMP)),), TIMESTAMP, _ALL),
            WindowFunction("~now~said", "max", (choose(is_current, said_at, nothing(TIMESTAMP)),), TIMESTAMP, _ALL),
        ],
    )
    ended, standing, spoken = builder["~ever~until"], builder["~now~time"], builder["~now~said"]
    now = Literal(sides.now, TIMESTAMP)
    newest = both(new, call("same", time, builder["~newest"]))
    returns = both(newest, holds(call("lt", time, ended)), holds(call("lt", ended, open_end)))
    had_returned = both(newest, holds(call("lt", spoken, standing)), holds(call("lt", time, standing)))
    builder.add(
        "returned",
        {
            marks[3]: choose(
                returns, choose(holds(call("lt", now, ended)), ended, now),
                both(had_returned, call("same", time, spoken)), standing,
                both(had_returned, holds(call("lt", spoken, time))), now,
                time,
            )
        },
    )  # fmt: skip
