"""Steps that change which rows there are: explode, ranges of dates, pivot, unpivot, join."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lakelogic.plan.codes import BAD_STEP, NO_LINK
from lakelogic.plan.naming import known
from lakelogic.plan.predicates import present
from lakelogic.plan.query import joins
from lakelogic.plan.query.expand import expand
from lakelogic.plan.query.groups import group
from lakelogic.plan.query.join_conditions import Conditions, JoinedTable, equal_keys, meet
from lakelogic.plan.query.statement import Relation, link_relation
from lakelogic.plan.rules.constants import constant
from lakelogic.plan.state import Flag, State
from lakelogic.sql.bind import aggregate_type
from lakelogic.sql.catalogue.time_calls import date_sequence
from lakelogic.sql.coerce import in_one_column, unify
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, convert, replace_columns, text
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.nested import array_of, field, struct_of
from lakelogic.sql.problems import NO_COLUMN, SqlProblems, nearest, nearest_or_all
from lakelogic.sql.scope import BoundAggregate
from lakelogic.sql.types import DATE, DOUBLE, STRING, TIMESTAMP, Type, array

# explode and ranges of dates


def explode(state: State, step: Any, path: str, name: str) -> None:
    """One row per element; text must be a JSON array, and a row whose text is none is bad."""
    found = known(state, [step.field], f"{path}.explode.field")
    if found is None:
        return
    value = state.scope[found[0]]
    if value.type.is_text:
        value = _array_of_text(state, found[0], value)
    try:
        made = expand(state, value, name, outer=step.keep_empty)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.explode.field")
        return
    item: Expression = made.item
    if made.key is not None:
        item = struct_of([("key", made.key), ("value", made.item)])
    state.derive("explode", {step.output or found[0]: item}, (found[0],))


def _array_of_text(state: State, name: str, value: Expression) -> Expression:
    to = array(STRING)
    parsed = state.internal("cast", f"~array.{name}", convert(value, to))
    state.inherit(parsed.name, value)
    failed = call("and", present(value), call("is_null", parsed))
    state.judge([Flag(failed, f"Type mismatch: {name} cannot be cast to {to}", "schema", f"{name}_type")])
    return parsed


_INTERVAL = re.compile(r"(\d+)\s*([A-Za-z]+)$")
_UNITS = {
    "s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "d": "day", "w": "week",
    "mo": "month", "mon": "month", "y": "year",
}  # fmt: skip


def date_range_explode(state: State, step: Any, path: str, name: str) -> None:
    """One row per day (or other unit) between two dates; without a range the row stays, with NULL."""
    found = known(state, [step.start_col, step.end_col], f"{path}.date_range_explode")
    if found is None:
        return
    written = _INTERVAL.match(step.interval.strip())
    unit = written[2].lower() if written else ""
    unit = _UNITS.get(unit, unit.removesuffix("s"))
    if written is None or unit not in _UNITS.values() or int(written[1]) < 1:
        message = f"`{step.interval}` is no interval."
        state.trouble.add(BAD_STEP, message, f"{path}.date_range_explode.interval", "write 1d, 2 weeks, 1 month, 6h")
        return
    ends = [state.scope[column] for column in found]
    is_day = unit in ("day", "week", "month", "year") and all(
        end.type.kind == "date" or end.type.is_text for end in ends
    )
    to = DATE if is_day else next((end.type for end in ends if end.type.kind == "timestamp_ntz"), TIMESTAMP)
    try:
        start, end = (_moment(value, to) for value in ends)
        dates = date_sequence(start, end, int(written[1]), unit)
        made = expand(state, dates, name, outer=True)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.date_range_explode")
        return
    state.derive("date_range_explode", {step.output: made.item}, (f"{found[0]} to {found[1]}",))


def _moment(value: Expression, to: Type) -> Expression:
    if to.kind != "date" and value.type.is_text:
        return convert(value, to)
    if to.kind == "date" and value.type.is_text:
        # A timestamp's text counts by its day.
        return Call("coalesce", (convert(value, DATE), convert(convert(value, TIMESTAMP), DATE)), DATE)
    return convert(value, to)


# pivot and unpivot

_AGGREGATES = {
    "first": "min", "min": "min", "max": "max", "sum": "sum", "avg": "avg", "mean": "avg", "count": "count",
    "count_distinct": "count_distinct", "any": "any_true", "every": "every_true",
    "collect_list": "collect_list", "collect_set": "collect_set",
}  # fmt: skip


def pivot(state: State, step: Any, path: str, name: str) -> None:
    """Values become columns. The values are listed, so that the columns are known before anything is read."""
    here = f"{path}.pivot"
    found = known(state, [*step.id_vars, step.pivot_col, step.value_col], here)
    if found is None:
        return
    *ids, pivoted, valued = found
    if not step.values:
        hint = "list them under `values`: columns must be known before anything is read"
        state.trouble.add(BAD_STEP, "The pivot does not say which values become columns.", here, hint)
        return
    if None in step.values:
        hint = "give it a value first: `coalesce: {field: …, default: …}`"
        state.trouble.add(BAD_STEP, "NULL cannot become a column of a pivot.", f"{here}.values", hint)
        return
    function = _AGGREGATES.get(step.agg.lower())
    if function is None:
        near = nearest(step.agg, list(_AGGREGATES)) or f"it is one of {', '.join(_AGGREGATES)}"
        state.trouble.add(BAD_STEP, f"`{step.agg}` is no aggregate of a pivot.", f"{here}.agg", near)
        return
    aggregates: list[BoundAggregate] = []
    finals: dict[str, Expression] = {}
    try:
        for index, value in enumerate(step.values):
            aggregate, final = _pivoted(step, function, state.scope[pivoted], state.scope[valued], index, value)
            aggregates.append(aggregate)
            finals[_column_name(step, value)] = final
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, here)
        return
    if len(finals) < len(step.values) or {n.lower() for n in finals} & {n.lower() for n in ids}:
        hint = "change `values` or `name_template`"
        state.trouble.add(BAD_STEP, "Two columns of the pivot would have one name.", here, hint)
        return
    groups = group(state, name, [(key, state.scope[key]) for key in ids], aggregates, (f"{pivoted} by {valued}",))
    state.scope = dict(zip(ids, groups.keys, strict=True))
    state.derive("pivot", {column: replace_columns(value, groups.aggregates) for column, value in finals.items()})


def _pivoted(
    step: Any, function: str, pivoted: Expression, valued: Expression, index: int, value: Any
) -> tuple[BoundAggregate, Expression]:
    (left, right), _ = unify((pivoted, constant(value)), "pivot:")
    if function in ("sum", "avg") and valued.type.is_text:
        valued = convert(valued, DOUBLE)
    chosen = Call("case", (call("eq", left, right), valued, Literal(None, valued.type)), valued.type)
    if function == "avg":
        chosen = Call("case", (chosen.args[0], convert(valued, DOUBLE), Literal(None, DOUBLE)), DOUBLE)
    type_ = aggregate_type(function, chosen)
    made = BoundAggregate(f"~a{index}", function, chosen, type_)
    final: Expression = Column(made.name, type_)
    if step.fill_value is not None:
        (one, two), shared = in_one_column((final, constant(step.fill_value)), "pivot.fill_value:")
        final = Call("coalesce", (one, two), shared)
    return made, final


def pivoted_names(step: Any) -> list[str]:
    """The columns that a pivot makes."""
    return [_column_name(step, value) for value in step.values]


def _column_name(step: Any, value: Any) -> str:
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    template = step.name_template or "{value}"
    names = {"{value}": shown, "{value_col}": step.value_col, "{pivot_col}": step.pivot_col}
    for mark, name in names.items():
        template = template.replace(mark, name)
    return str(template)


def unpivot(state: State, step: Any, path: str, name: str) -> None:
    """Columns become rows of a name and a value; rows without any value are counted as filtered."""
    here = f"{path}.unpivot"
    ids = known(state, step.id_vars, f"{here}.id_vars")
    turned = known(state, step.value_vars, f"{here}.value_vars")
    if ids is None or turned is None:
        return
    try:
        values, _ = in_one_column([state.scope[column] for column in turned], "unpivot:")
        pairs = [
            struct_of([("key", text(column)), ("value", value)]) for column, value in zip(turned, values, strict=True)
        ]
        rows = array_of(pairs)
        if not step.include_nulls and rows.type.element is not None:
            kept = lambda_of((rows.type.element,), lambda row: present(field(row, "value")))
            rows = Call("filter", (rows, kept), rows.type)
        made = expand(state, rows, name, outer=False)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, here)
        return
    hidden = {column: value for column, value in state.scope.items() if column.startswith("~")}
    state.scope = hidden | {column: state.scope[column] for column in ids}
    state.derive(
        "unpivot",
        {step.key_field: field(made.item, "key"), step.value_field: field(made.item, "value")},
        (", ".join(turned),),
    )


# join


def join(state: State, step: Any, path: str, name: str) -> None:
    """Columns of a link beside the rows of equal keys; several matches repeat a row, and are counted."""
    here = f"{path}.join"
    mine = known(state, step.on, f"{here}.on")
    if mine is None:
        return
    keys = list(step.key or step.on)
    if len(keys) != len(mine):
        state.trouble.add(BAD_STEP, f"`on` has {len(mine)} columns and `key` {len(keys)}.", f"{here}.key")
        return
    other = _link(state, step.reference, here)
    if other is None:
        return
    spelled = {column.lower(): column for column in other.columns}
    wanted = list(step.fields) or [
        column
        for column in other.columns
        if column.lower() not in {key.lower() for key in keys} and not column.startswith("_lakelogic_")
    ]
    for column in (*keys, *wanted):
        if column.lower() not in spelled:
            near = nearest_or_all(column, list(other.columns), "it has")
            state.trouble.add(NO_COLUMN, f"The link `{step.reference}` has no column `{column}`.", here, near)
            return
    if (unused := _without_field(step, wanted)) is not None:
        near = nearest(unused, wanted) or f"the joined columns are {', '.join(wanted)}"
        state.trouble.add(BAD_STEP, f"`defaults` names `{unused}`, which is not joined.", f"{here}.defaults", near)
        return
    # A key that is called the same on both sides is one column, and the rows have it already.
    shared = {key.lower() for column, key in zip(mine, keys, strict=True) if column.lower() == key.lower()}
    wanted = [column for column in wanted if step.prefix or column.lower() not in shared]
    if not _are_new(state, step, here, wanted):
        return
    chosen = [spelled[column.lower()] for column in dict.fromkeys((*keys, *wanted))]
    joined = meet(state, Relation(other.frame, {c: other.columns[c] for c in chosen}), step.reference)
    pairs = [(state.scope[column], spelled[key.lower()]) for column, key in zip(mine, keys, strict=True)]
    try:
        found = Conditions(on=equal_keys(joined, pairs))
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, here)
        return
    detail = (f"{step.type} {step.reference} on {', '.join(mine)}",)
    matched = joins.join(state, joined, step.type, found, name, detail)
    if step.type in ("right", "full"):
        # A row that only the link has brings its key along.
        both = dict(zip(mine, found.on, strict=True))
        state.derive("derive", {c: Call("coalesce", (one, two), one.type) for c, (one, two) in both.items()})
    _taken(state, step, here, joined, [spelled[column.lower()] for column in wanted], matched)


def _without_field(step: Any, wanted: Sequence[str]) -> str | None:
    joined = {column.lower() for column in wanted}
    return next((name for name in step.defaults if name.lower() not in joined), None)


def _are_new(state: State, step: Any, path: str, wanted: Sequence[str]) -> bool:
    """Whether none of the joined columns would take the place of a column of the rows."""
    for column in wanted:
        if (taken := state.spelled(f"{step.prefix or ''}{column}")) is not None:
            hint = f"write `prefix: {step.reference}_`, or list other `fields`"
            message = f"There is a column `{taken}` already, and `{step.reference}` brings another."
            state.trouble.add(BAD_STEP, message, path, hint)
            return False
    return True


def _taken(state: State, step: Any, path: str, joined: JoinedTable, wanted: Sequence[str], matched: Expression) -> None:
    values: dict[str, Expression] = {}
    for column in wanted:
        value: Expression = joined.taken[column]
        default = next((v for k, v in step.defaults.items() if k.lower() == column.lower()), None)
        if default is not None:
            try:
                (left, right), type_ = in_one_column((value, constant(default)), "join:")
            except SqlProblems as trouble:
                state.trouble.sql(trouble.problems, f"{path}.defaults")
                return
            value = Call("case", (matched, left, right), type_)
        values[f"{step.prefix or ''}{column}"] = value
    state.derive("derive", values)


def _link(state: State, reference: str, path: str) -> Relation | None:
    if reference not in state.known_links:
        if reference not in state.unread_links:
            near = nearest(reference, list(state.known_links)) or "declare it under links:"
            state.trouble.add(NO_LINK, f"There is no link `{reference}`.", path, near)
        state.trouble.landed_is_known = False
        return None
    return link_relation(state, reference)
