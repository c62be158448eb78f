"""Transformations: one small function per kind of step, from its model to nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakelogic.contract import steps as written
from lakelogic.plan import query
from lakelogic.plan.codes import BAD_STEP, BAD_TYPE
from lakelogic.plan.judge import constant
from lakelogic.plan.links import match
from lakelogic.plan.nodes import Order, Rank
from lakelogic.plan.rollup import rollup
from lakelogic.plan.state import Flag, State, both, fails, holds, present
from lakelogic.sql.arguments import cast as checked_cast
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, columns_of, convert, text
from lakelogic.sql.parse import is_select
from lakelogic.sql.problems import NO_COLUMN, SqlProblems, nearest
from lakelogic.sql.types import BIGINT, STRING, parse_type


def apply(state: State, step: Any, index: int) -> None:
    """Compile one step; trouble is noted at its line."""
    COMPILE[type(step)](state, step, f"transformations[{index}]")


def step_name(step: Any, path: str) -> str:
    """How the step is called in counts: its name, or its kind and place."""
    return str(step.name or f"{step.kind}_{path.removeprefix('transformations[').removesuffix(']')}")


def _sql(state: State, step: written.SqlStep, path: str) -> None:
    dialect = step.dialect or state.dialect
    if is_select(step.sql):
        query.select(state, step.sql, f"{path}.sql", step_name(step, path), dialect)
    else:
        query.derive_items(state, step.sql, f"{path}.sql", dialect)


def _known(state: State, names: Any, path: str) -> list[str] | None:
    found, missing = [], False
    for name in names:
        spelled = state.spelled(name)
        if spelled is None:
            state.trouble.add(
                NO_COLUMN,
                f"There is no column `{name}`.",
                path,
                nearest(name, list(state.scope)),
                warning=_unsure(state),
            )
            missing = True
        else:
            found.append(spelled)
    return None if missing else found


def _unsure(state: State) -> bool:
    return not state.trouble.landed_is_known


def _select(state: State, step: Any, path: str) -> None:
    kept = _known(state, step.columns, f"{path}.select.columns")
    if kept is not None:
        state.scope = {name: state.scope[name] for name in kept}


def _drop(state: State, step: Any, path: str) -> None:
    gone = _known(state, step.columns, f"{path}.drop.columns")
    if gone is not None:
        state.scope = {name: value for name, value in state.scope.items() if name not in gone}


def _rename(state: State, step: Any, path: str) -> None:
    mapping: dict[str, str] = {}
    for old, new in step.pairs.items():
        found = _known(state, [old], f"{path}.rename")
        if found is None:
            return
        mapping[found[0]] = new
    taken = {name.lower() for name in state.scope if name not in mapping}
    for new in mapping.values():
        if new.lower() in taken:
            state.trouble.add(BAD_STEP, f"There is a column `{new}` already.", f"{path}.rename", "drop it first")
            return
        taken.add(new.lower())
    state.scope = {mapping.get(name, name): value for name, value in state.scope.items()}


def _derive(state: State, step: Any, path: str) -> None:
    value = state.bind(step.sql, f"{path}.derive.sql", dialect=step.dialect)
    if value is not None:
        state.derive("derive", {step.field: value}, (f"{step.field} = {' '.join(step.sql.split())}",))


def _cast(state: State, step: Any, path: str) -> None:
    flags: list[Flag] = []
    changed: dict[str, Expression] = {}
    for name, type_text in step.columns.items():
        found = _known(state, [name], f"{path}.cast.columns")
        if found is None:
            continue
        try:
            to = parse_type(type_text)
            changed[found[0]] = checked_cast(state.scope[found[0]], to)
        except ValueError as error:
            state.trouble.add(BAD_TYPE, f"{error}.", f"{path}.cast.columns.{name}")
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, f"{path}.cast.columns.{name}")
    before = dict(state.scope)
    state.derive("cast", changed, tuple(f"{name}: {value.type}" for name, value in changed.items()))
    for name in changed:
        lost = call("and", present(before[name]), call("is_null", state.scope[name]))
        written_type = next(kind for column, kind in step.columns.items() if column.lower() == name.lower())
        flags.append(Flag(lost, f"Type mismatch: {name} cannot be cast to {written_type}", "schema", f"{name}_type"))
        if not state.closed:
            hidden = bool(columns_of(before[name]) & set(state.taints))
            state.originals.append((lost, name, text("***") if hidden else convert(before[name], STRING)))
    if flags:
        state.judge(flags)


def _filter(state: State, step: Any, path: str) -> None:
    predicate = state.predicate(step.sql, f"{path}.filter", dialect=step.dialect)
    if predicate is not None:
        state.lose("filtered", step_name(step, path), fails(predicate), (f"keep {' '.join(step.sql.split())}",))


def _text_step(function: Callable[[Any], str]) -> Callable[[State, Any, str], None]:
    def compiled(state: State, step: Any, path: str) -> None:
        fields = _known(state, step.fields, f"{path}.{step.kind}.fields")
        if fields is None:
            return
        name = function(step)
        values: dict[str, Expression] = {}
        for field in fields:
            value = state.scope[field]
            if not value.type.is_text:
                continue  # only text has blanks or case
            values[field] = Call(name, (value,), STRING)
        state.derive(step.kind, values, tuple(f"{name}({field})" for field in values))

    return compiled


def _coalesce(state: State, step: Any, path: str) -> None:
    names = [step.field, *step.sources] if state.spelled(step.field) else list(step.sources)
    found = _known(state, names, f"{path}.coalesce")
    if found is None:
        return
    values = [state.scope[name] for name in found]
    if step.default is not None:
        values.append(constant(step.default))
    try:
        unified, type_ = unify(values, "coalesce:")
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.coalesce")
        return
    state.derive("coalesce", {step.output or step.field: Call("coalesce", unified, type_)}, (", ".join(found),))


def _map_values(state: State, step: Any, path: str) -> None:
    found = _known(state, [step.field], f"{path}.map_values.field")
    if found is None:
        return
    value = state.scope[found[0]]
    default = value if "default" not in step.model_fields_set else constant(step.default)
    args: list[Expression] = []
    try:
        results, type_ = unify([*(constant(new) for new in step.mapping.values()), default], "map_values:")
        for old, new in zip(step.mapping, results, strict=False):
            (left, right), _ = unify((value, constant(old)), "map_values:")
            args += [call("eq", left, right), new]
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.map_values")
        return
    mapped = Call("case", (*args, results[-1]), type_)
    detail = tuple(f"{old} → {new}" for old, new in step.mapping.items())
    state.derive("map_values", {step.output or found[0]: mapped}, detail)


def rank_rows(state: State, keys: list[str], order: list[Order], label: str, detail: tuple[str, ...]) -> Column:
    """Number the rows of each key that are still alive; ties are broken by the whole row, ascending."""
    ties = [
        Order(value) for name, value in state.scope.items() if not name.startswith("~") and not value.type.is_nested
    ]
    output = state.fresh("~rank")
    partition = [state.scope[key] for key in keys]
    if state.alive != TRUE:
        partition.append(state.alive)
    state.nodes.append(Rank(label, tuple(partition), (*order, *ties), output, detail))
    return Column(output, BIGINT)


def _deduplicate(state: State, step: Any, path: str) -> None:
    latest = isinstance(step, written.DeduplicateByLatest)
    keys = _known(state, step.key_columns if latest else step.keys, f"{path}.{step.kind}")
    sort = _known(state, [step.timestamp_column] if latest else step.sort_by, f"{path}.{step.kind}")
    if keys is None or sort is None:
        return
    descending = latest or step.order == "desc"
    detail = (f"by {', '.join(keys)}", f"keep the {'latest' if descending else 'first'} by {', '.join(sort) or 'row'}")
    order = [Order(state.scope[name], descending) for name in sort]
    rank = rank_rows(state, keys, order, "rank", detail)
    blank = both(*(call("is_null", state.scope[key]) for key in keys))
    loser = both(call("gt", rank, Literal(1, BIGINT)), call("not", blank))
    name = step_name(step, path)
    if not latest and step.blank_keys == "quarantine":
        text = f"Rule failed: {name} ({', '.join(keys)} is blank)"
        state.judge([Flag(blank, text, "completeness", f"{name}_blank_key", label=step.label)])
    if not latest and step.losers == "quarantine":
        text = f"Rule failed: {step.label or name} (another row of the same {', '.join(keys)} is kept)"
        state.judge([Flag(loser, text, "uniqueness", step.label or name, label=step.label)])
    else:
        state.lose("deduplicated", name, loser, detail)


def _lookup(state: State, step: Any, path: str) -> None:
    found = _known(state, [step.on], f"{path}.lookup.on")
    if found is None:
        return
    on = [(state.scope[found[0]], step.key or step.on)]
    detail = (f"{step.field} = {step.reference}.{step.value}",)
    matched = match(state, step.reference, on, [step.value], f"{path}.lookup", label="lookup", detail=detail)
    if matched is None:
        return
    value = next(iter(matched.columns.values()))
    if step.default_value is not None:
        try:
            (left, right), type_ = unify((value, constant(step.default_value)), "lookup:")
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, f"{path}.lookup.default_value")
            return
        value = Call("coalesce", (left, right), type_)
    state.derive("derive", {step.field: value})


def _join(state: State, step: Any, path: str) -> None:
    found = _known(state, step.on, f"{path}.join.on")
    if found is None:
        return
    keys = step.key or step.on
    if len(keys) != len(found):
        state.trouble.add(BAD_STEP, f"`on` has {len(found)} columns and `key` {len(keys)}.", f"{path}.join.key")
        return
    on = [(state.scope[name], key) for name, key in zip(found, keys, strict=True)]
    detail = (f"{step.type} {step.reference} on {', '.join(found)}",)
    link = state.known_links.get(step.reference)
    others = [c.name for c in link.columns if c.name.lower() not in {key.lower() for key in keys}] if link else []
    taken = list(step.fields) or [name for name in others if not name.startswith("_lakelogic_")]
    matched = match(state, step.reference, on, taken, f"{path}.join", label="join", detail=detail)
    if matched is None:
        return
    values: dict[str, Expression] = {}
    for column, value in matched.columns.items():
        default = next((v for k, v in step.defaults.items() if k.lower() == column.lower()), None)
        if default is not None:
            try:
                (left, right), type_ = unify((value, constant(default)), "join:")
            except SqlProblems as trouble:
                state.trouble.sql(trouble.problems, f"{path}.join.defaults")
                return
            value = Call("case", (matched.found, left, right), type_)
        values[f"{step.prefix or ''}{column}"] = value
    state.derive("derive", values)
    if step.type == "inner":
        state.lose(
            "filtered", step_name(step, path), call("not", holds(matched.found)), (f"no match in {step.reference}",)
        )


COMPILE: dict[type, Callable[[State, Any, str], None]] = {
    written.SqlStep: _sql,
    written.Select: _select,
    written.Drop: _drop,
    written.Rename: _rename,
    written.Derive: _derive,
    written.Cast: _cast,
    written.Filter: _filter,
    written.Trim: _text_step(lambda step: {"both": "trim", "left": "ltrim", "right": "rtrim"}[step.side]),
    written.Lower: _text_step(lambda _: "lower"),
    written.Upper: _text_step(lambda _: "upper"),
    written.Coalesce: _coalesce,
    written.MapValues: _map_values,
    written.Deduplicate: _deduplicate,
    written.DeduplicateByLatest: _deduplicate,
    written.Lookup: _lookup,
    written.Join: _join,
    written.Rollup: rollup,
}


def makes(step: Any) -> set[str]:
    """The names of columns that a step makes, in lower case: how a later field or rule finds its phase."""
    match step:
        case written.SqlStep():
            return query.names_made(step.sql, step.dialect or "spark")
        case written.Derive() | written.Lookup():
            return {step.field.lower()}
        case written.Coalesce() | written.MapValues():
            return {(step.output or step.field).lower()}
        case written.Rename():
            return {new.lower() for new in step.pairs.values()}
        case written.Join():
            return {f"{step.prefix or ''}{name}".lower() for name in step.fields}
        case written.Rollup():
            traces = (step.rollup_keys_column, step.rollup_keys_count_column, step.upstream_run_ids_column)
            return {
                name.lower() for name in (*step.group_by, *step.aggregations, *(trace for trace in traces if trace))
            }
    return set()
