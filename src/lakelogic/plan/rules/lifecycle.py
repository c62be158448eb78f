"""`lifecycle_window`: an event lies within one of its key's windows in a link; several windows are several windows.

The windows of a key are collected into one array before any row meets them, so no row is ever repeated.
Times are compared as microseconds; both ends are included, and an end that is a date includes its day.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lakelogic.contract.rules import LifecycleWindow
from lakelogic.plan.codes import NO_LINK
from lakelogic.plan.nodes import Aggregate, Assignment, Fork, Join, Keep, Landed, Link, Read, Rollup, RowWise
from lakelogic.plan.predicates import both, holds, present
from lakelogic.plan.rules.constants import refuse_impossible
from lakelogic.plan.source.links import KnownLink
from lakelogic.plan.state import State
from lakelogic.sql.arguments import cast
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, columns_of, text
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.nested import field, struct_of
from lakelogic.sql.problems import NO_COLUMN, SqlProblems, nearest, nearest_or_all
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, TIMESTAMP, Type, array

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REST_OF_DAY = 86_400_000_000 - 1


def _micros(at: datetime) -> int:
    span = at - _EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


_FIRST = Literal(_micros(datetime(1, 1, 1, tzinfo=UTC)), BIGINT)
_LAST = Literal(_micros(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)), BIGINT)


def within(state: State, rule: LifecycleWindow, path: str) -> tuple[Expression, str, str | None] | None:
    """The predicate, how it is shown and its default name; None after diagnostics."""
    at = f"{path}.lifecycle_window"
    event, key = state.column(rule.event_ts, f"{at}.event_ts"), state.column(rule.event_key, f"{at}.event_key")
    if event is None or key is None:
        return None
    shown = f"{rule.event_ts} in {rule.reference}.{rule.start_field} to {rule.end_field}"
    link: KnownLink | None = state.known_links.get(rule.reference)
    if link is None:
        if rule.reference not in state.unread_links:
            hint = nearest(rule.reference, list(state.known_links)) or "declare it under links:"
            state.trouble.add(NO_LINK, f"There is no link `{rule.reference}`.", f"{at}.reference", hint)
        return None
    columns = [
        _column(state, link, getattr(rule, name), f"{at}.{name}")
        for name in ("reference_key", "start_field", "end_field")
    ]
    if any(column is None for column in columns):
        return None
    owner, start, end = (Column(column.name, column.type) for column in columns if column is not None)
    try:
        moment = _at(event)
        (own, other), _ = unify((key, owner), f"{rule.reference}.{owner.name}:")
        low = Call("case", (call("is_null", start), _FIRST, _at(start)), BIGINT)
        open_end: Expression = _LAST
        if rule.end_default is not None:
            refuse_impossible(TIMESTAMP, text(str(rule.end_default)))
            open_end = _end(text(str(rule.end_default)))
        high = Call("case", (call("is_null", end), open_end, _end(end)), BIGINT)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, at)
        return None
    windows = _windows(state, rule, link, [*columns], other, low, high, own)
    inside = Call(
        "exists",
        (
            windows,
            lambda_of(
                [_WINDOW],
                lambda w: both(call("ge", moment, field(w, "low")), call("le", moment, field(w, "high"))),
                ("w",),
            ),
        ),
        BOOLEAN,
    )
    found = holds(inside)
    unknown = call("or", call("is_null", moment), call("is_null", own))
    predicate = Call("case", (unknown, Literal(None, BOOLEAN), found), BOOLEAN)
    return predicate, shown, f"{rule.event_ts}_lifecycle_window"


def _column(state: State, link: KnownLink, name: str, path: str) -> Landed | None:
    found = next((column for column in link.columns if column.name.lower() == name.lower()), None)
    if found is None:
        hint = nearest_or_all(name, [column.name for column in link.columns], "it has")
        state.trouble.add(NO_COLUMN, f"The link `{link.name}` has no column `{name}`.", path, hint)
    return found


def _at(value: Expression) -> Expression:
    """A moment in microseconds; a date is its first."""
    return Call("unix_micros", (cast(value, TIMESTAMP),), BIGINT)


def _end(value: Expression) -> Expression:
    """The last moment of an end: a date, also one that is written as text, ends with its day."""
    rest = Literal(_REST_OF_DAY, BIGINT)
    if value.type.kind == "date":
        return Call("add", (_at(value), rest), BIGINT)
    if not value.type.is_text:
        return _at(value)
    day = cast(value, DATE)
    whole = Call("add", (_at(day), rest), BIGINT)
    return Call("case", (present(day), whole, _at(value)), BIGINT)


_WINDOW: Type = struct_of([("low", _FIRST), ("high", _LAST)]).type


def _windows(
    state: State,
    rule: LifecycleWindow,
    link: KnownLink,
    columns: list[Landed | None],
    owner: Expression,
    low: Expression,
    high: Expression,
    own: Expression,
) -> Expression:
    """The windows of the row's key, as an array; NULL where the link has none."""
    wanted = {column.name for column in columns if column is not None}
    read = tuple(c for c in link.columns if c.name in wanted or (link.filter and c.name in columns_of(link.filter)))
    name = f"{link.name}~{len(state.links)}"
    state.links[name] = Link(
        Read(name, link.format, read, link.options),
        (),
        link.filter,
        link.name,
        is_checked=False,
    )
    fork = f"{name}~windows"
    made = (Assignment("~key", owner), Assignment("~low", low), Assignment("~high", high))
    key, begin, end = (Column(item.name, item.value.type) for item in made)
    window = struct_of([("low", begin), ("high", end)])
    nodes = (
        RowWise("windows", made),
        Keep("keep", both(present(key), present(begin), present(end))),
        Rollup(
            "rollup",
            TRUE,
            (Assignment("~key", key),),
            (Aggregate("~windows", "collect_list", window, array(_WINDOW)),),
        ),
    )
    detail = (f"{rule.reference}: {rule.start_field} to {rule.end_field} by {rule.reference_key}",)
    state.nodes.append(Fork("windows", fork, name, nodes, detail))
    taken, found = state.fresh("~windows"), state.fresh(f"~found.{link.name}")
    state.nodes.append(Join("windows", fork, ((own, "~key"),), (("~windows", taken),), found, detail))
    return Column(taken, array(_WINDOW))
