"""Transformations: one small function per kind of step, from its model to nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from lakelogic import names
from lakelogic.contract import steps as written
from lakelogic.contract.tagged import whole
from lakelogic.plan.binding import bind_predicate, bind_text
from lakelogic.plan.codes import BAD_STEP, RESERVED
from lakelogic.plan.naming import known as _known
from lakelogic.plan.naming import step_name
from lakelogic.plan.nodes import Order, Rank
from lakelogic.plan.predicates import both, fails, grouped, ordered
from lakelogic.plan.query import sql_step as query
from lakelogic.plan.rules.constants import constant
from lakelogic.plan.source.links import match
from lakelogic.plan.state import Flag, State
from lakelogic.plan.steps import reshape, values
from lakelogic.plan.steps.rollup import rollup
from lakelogic.plan.steps.values import cast_columns
from lakelogic.sql.coerce import in_one_column
from lakelogic.sql.expressions import TRUE, Call, Column, Literal, call
from lakelogic.sql.parse import is_select
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import BIGINT


def apply(state: State, step: Any, index: int, reserved: frozenset[str] = names.RESERVED) -> None:
    """Compile one step; trouble is noted at its line. It must not make a column of a `reserved` name."""
    path = f"transformations[{index}]"
    before, state.opened = set(state.scope), False
    KINDS[type(step)].apply(state, step, path)
    made = [name for name in state.scope if name not in before and not name.startswith(names.INTERNAL)]
    made += [
        name
        for name in _made(step, StepContext(state.known_links, state.dialect, state.dataset))
        if name.startswith(names.INTERNAL)
    ]
    for name in made:
        # A rollup keeps the keys of its rows in columns of ours.
        is_ours = name.lower().startswith(names.RESERVED_PREFIX) and not isinstance(step, written.Rollup)
        if name.lower() in reserved or is_ours or name.startswith(names.INTERNAL):
            message = f"The step makes a column `{name}`, a name that LakeLogic needs for itself."
            state.trouble.add(RESERVED, message, path, "choose another name")


def _sql(state: State, step: written.SqlStep, path: str) -> None:
    dialect = step.dialect or state.dialect
    if is_select(step.sql):
        query.select(state, step.sql, f"{path}.sql", step_name(step, path), dialect)
    else:
        query.derive_items(state, step.sql, f"{path}.sql", dialect)


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
    value = bind_text(state, step.sql, f"{path}.derive.sql", dialect=step.dialect)
    if value is not None:
        state.derive("derive", {step.field: value}, (f"{step.field} = {' '.join(step.sql.split())}",))


def _cast(state: State, step: Any, path: str) -> None:
    cast_columns(state, step.columns, f"{path}.cast.columns")


def _filter(state: State, step: Any, path: str) -> None:
    predicate = bind_predicate(state, step.sql, f"{path}.filter", dialect=step.dialect)
    if predicate is not None:
        state.lose("filtered", step_name(step, path), fails(predicate), (f"keep {' '.join(step.sql.split())}",))


def rank_rows(state: State, keys: list[str], order: list[Order], label: str, detail: tuple[str, ...]) -> Column:
    """Number the rows of each key that are still alive; ties are broken by the whole row, ascending."""
    place = {name: at for at, name in enumerate(state.model)}
    named = [name for name in state.scope if not name.startswith("~")]
    named.sort(key=lambda name: (place.get(name.lower(), len(place)), name))  # fields first, as the model has them
    ties = [Order(ordered(state.scope[name])) for name in named]
    output = state.fresh("~rank")
    partition = [grouped(state.scope[key]) for key in keys]
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
    if not state.may_decide([state.scope[name] for name in sort], f"{path}.{step.kind}", f"`{step.kind}`"):
        return
    descending = latest or step.order == "desc"
    detail = (f"by {', '.join(keys)}", f"keep the {'latest' if descending else 'first'} by {', '.join(sort) or 'row'}")
    order = [Order(ordered(state.scope[name]), descending) for name in sort]
    rank = rank_rows(state, keys, order, step.kind, detail)
    blank = both(*(call("is_null", state.scope[key]) for key in keys))
    loser = both(call("gt", rank, Literal(1, BIGINT)), call("not", blank))
    name = step_name(step, path)
    called = name if latest else step.label or name
    if not latest and step.blank_keys == "quarantine":
        text = f"Rule failed: {called} ({', '.join(keys)} is blank)"
        state.judge([Flag(blank, text, "completeness", f"{called}_blank_key", label=step.label)])
    if not latest and step.losers == "quarantine":
        text = f"Rule failed: {called} (another row of the same {', '.join(keys)} is kept)"
        state.judge([Flag(loser, text, "uniqueness", called, label=step.label)])
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
            (left, right), type_ = in_one_column((value, constant(step.default_value)), "lookup:")
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, f"{path}.lookup.default_value")
            return
        value = Call("coalesce", (left, right), type_)
    state.derive("derive", {step.field: value})


def _reshape(act: Callable[[State, Any, str, str], None]) -> Callable[[State, Any, str], None]:
    """A step that changes which rows there are, under the name it is counted by."""
    return lambda state, step, path: act(state, step, path, step_name(step, path))


@dataclass(frozen=True, slots=True)
class StepContext:
    """What the columns of a step can depend on beside the step."""

    links: Mapping[str, Any]
    dialect: str
    dataset: str


Names: TypeAlias = Callable[[Any, StepContext], Iterable[str]]


def _none(_step: Any, _around: StepContext) -> Iterable[str]:
    return ()


def _its(*keys: str) -> Names:
    """The columns that these keys of a step name: one, several, or the keys of a map."""

    def names_of(step: Any, _around: StepContext) -> Iterable[str]:
        values = [getattr(step, key) for key in keys]
        return [name for value in values if value for name in ([value] if isinstance(value, str) else value)]

    return names_of


def _output(step: Any, _around: StepContext) -> Iterable[str]:
    return (step.output or step.field,)


def _in_place(step: Any, _around: StepContext) -> Iterable[str]:
    return () if step.output else (step.field,)


def _derived_again(step: written.Derive, context: StepContext) -> Iterable[str]:
    dialect = step.dialect or context.dialect
    item = f"{step.sql} AS {exp.to_identifier(step.field, quoted=True).sql(dialect=dialect)}"
    return query.names_read_again(item, dialect, context.dataset)


def _joined(step: written.Join, context: StepContext) -> Iterable[str]:
    link = context.links.get(step.reference)
    taken = step.fields or (tuple(column.name for column in link.visible) if link else ())
    return [f"{step.prefix or ''}{name}" for name in taken]


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind of step: how it becomes nodes, and the columns it makes, anew or out of themselves."""

    apply: Callable[[State, Any, str], None]
    makes: Names = _none
    reads_again: Names = _none


KINDS: dict[type, StepKind] = {
    written.SqlStep: StepKind(
        _sql,
        lambda step, context: query.names_made(step.sql, step.dialect or context.dialect, context.links),
        lambda step, context: query.names_read_again(step.sql, step.dialect or context.dialect, context.dataset),
    ),
    written.Select: StepKind(_select),
    written.Drop: StepKind(_drop),
    written.Rename: StepKind(_rename, lambda step, _: step.pairs.values(), lambda step, _: step.pairs),
    written.Derive: StepKind(_derive, _its("field"), _derived_again),
    written.Cast: StepKind(_cast),
    written.Filter: StepKind(_filter),
    written.Trim: StepKind(
        values.text_step(lambda step: {"both": "trim", "left": "ltrim", "right": "rtrim"}[step.side])
    ),
    written.Lower: StepKind(values.text_step(lambda _: "lower")),
    written.Upper: StepKind(values.text_step(lambda _: "upper")),
    written.Coalesce: StepKind(
        values.coalesce, _output, lambda step, context: () if step.sources else _in_place(step, context)
    ),
    written.MapValues: StepKind(values.map_values, _output, _in_place),
    written.Bucket: StepKind(values.bucket, _its("field"), _its("source")),
    written.Split: StepKind(values.split, _output, _in_place),
    written.JsonExtract: StepKind(values.json_extract, _its("field"), _its("source")),
    written.DateDiff: StepKind(values.date_diff, _its("field"), _its("from_col", "to_col")),
    written.Deduplicate: StepKind(_deduplicate),
    written.DeduplicateByLatest: StepKind(_deduplicate),
    written.Lookup: StepKind(_lookup, _its("field"), _its("on")),
    written.Join: StepKind(_reshape(reshape.join), _joined),
    written.Explode: StepKind(_reshape(reshape.explode), _output, _in_place),
    written.DateRangeExplode: StepKind(_reshape(reshape.date_range_explode), _its("output")),
    written.Pivot: StepKind(
        _reshape(reshape.pivot), lambda step, _: (*step.id_vars, *reshape.pivoted_names(step)), _its("id_vars")
    ),
    written.Unpivot: StepKind(_reshape(reshape.unpivot), _its("id_vars", "key_field", "value_field"), _its("id_vars")),
    written.Rollup: StepKind(
        rollup,
        _its("group_by", "aggregations", "rollup_keys_column", "rollup_keys_count_column", "upstream_run_ids_column"),
        _its("group_by"),
    ),
}
whole("steps", written.STEPS, KINDS)


def makes(step: Any, state: State) -> set[str]:
    """The names of columns that a step makes anew, in lower case: how a later field or rule finds its phase.

    A column that the step itself reads (`lower(email) AS email`) is not new: where it did not land, it is NULL.
    """
    context = StepContext(state.known_links, state.dialect, state.dataset)
    again = {name.lower() for name in KINDS[type(step)].reads_again(step, context)}
    return _made(step, context) - again


def gives(step: Any, state: State) -> set[str]:
    """The names, in lower case, that a step writes out for its columns; `*` writes none."""
    links = {} if isinstance(step, written.SqlStep) else state.known_links
    return _made(step, StepContext(links, state.dialect, state.dataset))


def _made(step: Any, context: StepContext) -> set[str]:
    return {name.lower() for name in KINDS[type(step)].makes(step, context)}
