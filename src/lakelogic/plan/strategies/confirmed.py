"""When a version of a history was last confirmed: stored beside it, and in the line of its key a row of its own.

A row that is like the version that holds opens none. With `last_seen_field` its time is kept, so that another row that
arrives later and lies before it ends the version there, and the confirmation begins it again.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.contract.materialization import Scd2
from lakelogic.plan.nodes import Bounds, Fork, Keep, Stack, WindowFunction
from lakelogic.plan.predicates import both, either, holds
from lakelogic.plan.strategies.frames import FrameBuilder, choose, negated, nothing
from lakelogic.sql.expressions import FALSE, Column, Expression, Literal, call, convert
from lakelogic.sql.types import BOOLEAN, INT, STRING, TIMESTAMP, Type

CONFIRMED = "confirmed"  # the link to the confirmations that versions remember
ECHO = "~echo"  # a row of the line is such a confirmation
SPEAKER = "~speaker"  # a row of the batch, or a confirmation: it can open a version
_ALL = Bounds(True, None, None)


def remembered(history: Scd2, met: Expression, time: Expression) -> Fork:
    """Versions whose keys the batch has, with a confirmation after their start and before their end."""
    seen = Column(history.last_seen_field or "", TIMESTAMP)
    later = holds(call("gt", seen, time))
    inside = holds(call("lt", seen, Column(history.effective_to_field, TIMESTAMP)))
    return Fork("confirmed", CONFIRMED, None, (Keep("confirmed", both(met, later, inside)),))


def as_rows(columns: Mapping[str, Type], history: Scd2, order: str | None) -> list[Expression]:
    """A confirmation in the columns of the line: the values of its version, its own time, nothing of the history."""
    seen = Column(history.last_seen_field or "", TIMESTAMP)
    own = (
        history.surrogate_key, history.effective_from_field, history.effective_to_field, history.current_flag_field,
        history.version_column, history.change_reason_column, history.last_seen_field,
    )  # fmt: skip
    values: list[Expression] = []
    for name, type_ in columns.items():
        if name == order:
            values.append(convert(seen, type_))
        else:
            values.append(nothing(type_) if name in own else Column(name, type_))
    return [*values, nothing(STRING), FALSE, FALSE, seen, Literal(0, INT)]


def drop_answered(builder: FrameBuilder, keys: tuple[str, ...], new: str, time: str, place: str) -> None:
    """Of two rows of one instant the last to arrive counts: a row of the batch takes the place of a confirmation."""
    builder.window(
        (builder[key] for key in keys),
        (builder[time], builder[place]),
        [
            WindowFunction("~answer~new", "lead", (builder[new],), BOOLEAN),
            WindowFunction("~answer~time", "lead", (builder[time],), TIMESTAMP),
        ],
    )
    answered = both(builder[ECHO], holds(builder["~answer~new"]), call("same", builder["~answer~time"], builder[time]))
    kept = tuple(builder.columns)
    builder.nodes.append(Stack("unanswered", negated(answered), kept, tuple(builder[name] for name in kept), ()))
    builder.add("speakers", {SPEAKER: either([builder[new], builder[ECHO]])})


def gather(builder: FrameBuilder, keys: tuple[str, ...], gone: str, time: str, stays: Expression, seen: str) -> None:
    """The last time at which each version was confirmed, in `~seen`.

    A version that nothing was known of stays so until a row confirms it: its start is then the last that is known.
    """
    tells = either(
        [both(builder[SPEAKER], negated(builder[gone])), both(stays, negated(call("is_null", builder[seen])))]
    )
    builder.window(
        (*(builder[key] for key in keys), builder["~number"]),
        (),
        [WindowFunction("~seen", "max", (choose(tells, builder[time], nothing(TIMESTAMP)),), TIMESTAMP, _ALL)],
    )
