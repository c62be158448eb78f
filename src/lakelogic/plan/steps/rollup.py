"""The rollup step: rows that are alive merge into groups, and a new account begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakelogic.plan.binding import bind_aggregates, bind_text
from lakelogic.plan.query.groups import group, same_aggregate
from lakelogic.plan.state import State
from lakelogic.sql.bind import aggregate_type
from lakelogic.sql.expressions import Column, Expression, columns_of, convert, replace_columns
from lakelogic.sql.nested import array_of
from lakelogic.sql.problems import NO_COLUMN, nearest_or_all
from lakelogic.sql.scope import BoundAggregate
from lakelogic.sql.types import STRING


def rollup(state: State, step: Any, path: str) -> None:
    """Group the rows; the keys they came from can be collected, so that a figure leads back to its rows."""
    keys: list[str] = []
    for name in step.group_by:
        spelled = state.spelled(name)
        if spelled is None:
            hint = nearest_or_all(name, list(state.visible))
            unsure = not state.trouble.landed_is_known
            at = f"{path}.rollup.group_by"
            state.trouble.add(NO_COLUMN, f"There is no column `{name}`.", at, hint, warning=unsure)
            return
        keys.append(spelled)
    aggregates: list[BoundAggregate] = []
    finals: dict[str, Expression] = {}
    for output, text in step.aggregations.items():
        bound = bind_aggregates(state, text, f"{path}.rollup.aggregations.{output}")
        if bound is None:
            continue
        if _is_grouped(state, bound, keys, f"{path}.rollup.aggregations.{output}"):
            finals[output] = _shared(bound, aggregates)
    for output, (function, value) in _traces(state, step, path).items():
        made = BoundAggregate("~trace", function, value, aggregate_type(function, value))
        finals[output] = _shared((Column(made.name, made.type), [made]), aggregates)
    _open(state, step, path, keys, aggregates, finals)


Traces = dict[str, tuple[str, Expression]]  # column → aggregate, and what it is of


def _traces(state: State, step: Any, path: str) -> Traces:
    traces: Traces = {}
    key = _key(state, step, path) if step.rollup_keys_column else None
    if key is not None:
        traces[step.rollup_keys_column] = ("collect_set" if step.distinct else "collect_list", key)
        if step.rollup_keys_count_column:
            traces[step.rollup_keys_count_column] = ("count_distinct" if step.distinct else "count", key)
    upstream = _upstream(state, step)
    if upstream is not None:
        # Without another word, ids that were preserved are collected under their own name in the plural.
        traces[step.upstream_run_ids_column or f"{upstream}s"] = ("collect_set", state.scope[upstream])
        newest = step.upstream_run_id_column
        if newest and newest.lower() != upstream.lower():
            traces[newest] = ("max", state.scope[upstream])  # ids sort by time
    return traces


def _upstream(state: State, step: Any) -> str | None:
    """The column that holds the ids of upstream runs: the one that is named, or else the one that was preserved."""
    if step.upstream_run_id_column and (named := state.spelled(step.upstream_run_id_column)):
        return named
    return next((name for name in state.preserved if name in state.scope and name.endswith("run_id")), None)


def _key(state: State, step: Any, path: str) -> Expression | None:
    """The key of a row. Several columns are a JSON array of their texts: no two keys look alike, and NULL is kept."""
    if step.key_expr:
        return bind_text(state, step.key_expr, f"{path}.rollup.key_expr")
    found = [state.column(name, f"{path}.rollup.keys") for name in step.keys]
    parts = [convert(column, STRING) for column in found if column is not None]
    if not parts or len(parts) < len(found):
        return None
    return parts[0] if len(parts) == 1 else convert(array_of(parts), STRING)


def _is_grouped(state: State, bound: tuple[Expression, list[BoundAggregate]], keys: list[str], path: str) -> bool:
    """Whether a value is made of aggregates and keys alone: of all else, a group has many values."""
    value, found = bound
    known = {aggregate.name for aggregate in found}.union(*(columns_of(state.scope[key]) for key in keys))
    loose = sorted(columns_of(value) - known)
    for physical in loose:
        name = next((logical for logical, own in state.visible.items() if physical in columns_of(own)), physical)
        hint = f"add it to group_by, or write min({name})"
        state.trouble.add(NO_COLUMN, f"`{name}` is neither grouped nor aggregated.", path, hint)
    return not loose


def _shared(bound: tuple[Expression, list[BoundAggregate]], aggregates: list[BoundAggregate]) -> Expression:
    """The expression with its aggregates under names that are unique in this rollup."""
    value, found = bound
    renamed: dict[str, Expression] = {}
    for aggregate in found:
        same = next((known for known in aggregates if same_aggregate(known, aggregate)), None)
        if same is None:
            same = replace(aggregate, name=f"~a{len(aggregates)}")
            aggregates.append(same)
        renamed[aggregate.name] = Column(same.name, same.type)
    return replace_columns(value, renamed)


def _open(
    state: State, step: Any, path: str, keys: list[str], aggregates: list[BoundAggregate], finals: dict[str, Expression]
) -> None:
    from lakelogic.plan.naming import step_name

    detail = (f"by {', '.join(keys) or 'nothing'}", *(f"{o} = {t}" for o, t in step.aggregations.items()))
    old = [state.scope[key] for key in keys]
    groups = group(state, step_name(step, path), list(zip(keys, old, strict=True)), aggregates, detail)
    now = groups.aggregates | {
        column.name: key for column, key in zip(old, groups.keys, strict=True) if isinstance(column, Column)
    }
    state.scope = dict(zip(keys, groups.keys, strict=True))
    state.derive("derive", {output: replace_columns(value, now) for output, value in finals.items()})
