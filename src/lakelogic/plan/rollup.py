"""The rollup step: rows that are alive merge into groups, and a new account begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakelogic.plan.grouping import group, same_aggregate
from lakelogic.plan.state import State
from lakelogic.sql.bind import BoundAggregate
from lakelogic.sql.expressions import Column, Expression, replace_columns
from lakelogic.sql.problems import NO_COLUMN, nearest


def rollup(state: State, step: Any, path: str) -> None:
    """Group the rows; the keys they came from can be collected, so that a figure leads back to its rows."""
    keys: list[str] = []
    for name in step.group_by:
        spelled = state.spelled(name)
        if spelled is None:
            hint = nearest(name, list(state.scope))
            unsure = not state.trouble.landed_is_known
            at = f"{path}.rollup.group_by"
            state.trouble.add(NO_COLUMN, f"There is no column `{name}`.", at, hint, warning=unsure)
            return
        keys.append(spelled)
    aggregates: list[BoundAggregate] = []
    finals: dict[str, Expression] = {}
    for output, text in step.aggregations.items():
        bound = state.aggregate(text, f"{path}.rollup.aggregations.{output}")
        if bound is None:
            continue
        finals[output] = _shared(bound, aggregates)
    for output, text in _traces(state, step).items():
        bound = state.aggregate(text, f"{path}.rollup")
        if bound is None:
            continue
        value = _shared(bound, aggregates)
        counted = step.rollup_keys_count_column if output == step.rollup_keys_column else None
        finals[output] = value
        if counted:
            again = state.aggregate(_count(step), f"{path}.rollup")
            if again is not None:
                finals[counted] = _shared(again, aggregates)
    _open(state, step, path, keys, aggregates, finals)


def _traces(state: State, step: Any) -> dict[str, str]:
    traces: dict[str, str] = {}
    collect = "collect_set" if step.distinct else "collect_list"
    if step.rollup_keys_column and (step.key_expr or step.keys):
        traces[step.rollup_keys_column] = f"{collect}({_key(step)})"
    upstream = _upstream(state, step)
    if upstream is not None:
        # Without another word, ids that were preserved are collected under their own name in the plural.
        traces[step.upstream_run_ids_column or f"{upstream}s"] = f"collect_set(`{upstream}`)"
        newest = step.upstream_run_id_column
        if newest and newest.lower() != upstream.lower():
            traces[newest] = f"max(`{upstream}`)"  # ids sort by time
    return traces


def _upstream(state: State, step: Any) -> str | None:
    """The column that holds the ids of upstream runs: the one that is named, or else the one that was preserved."""
    if step.upstream_run_id_column and (named := state.spelled(step.upstream_run_id_column)):
        return named
    return next((name for name in state.preserved if name in state.scope and name.endswith("run_id")), None)


def _key(step: Any) -> str:
    if step.key_expr:
        return str(step.key_expr)
    quoted = [f"CAST(`{column}` AS STRING)" for column in step.keys]
    return quoted[0] if len(quoted) == 1 else f"concat_ws('|', {', '.join(quoted)})"


def _count(step: Any) -> str:
    return f"count(DISTINCT {_key(step)})" if step.distinct else f"count({_key(step)})"


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
    groups = group(state, step_name(step, path), [(key, state.scope[key]) for key in keys], aggregates, detail)
    state.scope = dict(zip(keys, groups.keys, strict=True))
    state.derive("derive", {output: replace_columns(value, groups.aggregates) for output, value in finals.items()})
