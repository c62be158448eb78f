"""Make a difference small: fewer steps, rules, columns and rows, shorter expressions, while engines still differ."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sqlglot import exp

from lakelogic.parity.contracts import Case
from lakelogic.sql.parse import is_select, parse_items
from lakelogic.sql.problems import SqlProblems

Differs = Callable[[Case], bool]


def shrink(case: Case, differs: Differs, most: int = 300) -> Case:
    """The smallest case found with at most so many trials; `differs` says whether a case still shows it."""
    left = most
    improved = True
    while improved and left > 0:
        improved = False
        for smaller in _smaller(case):
            left -= 1
            if left <= 0:
                break
            if differs(smaller):
                case, improved = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    yield from _fewer_rows(case)
    for path in (("quality", "row_rules"), ("transformations",), ("model", "fields")):
        entries = _at(case.contract, path)
        for index in reversed(range(len(entries))):
            yield _changed(case, path, entries[:index] + entries[index + 1 :])
    if "schema_policy" in case.contract:
        yield replace(case, contract={k: v for k, v in case.contract.items() if k != "schema_policy"})
    yield from _fewer_columns(case)
    yield from _plainer_entries(case)
    yield from _shorter_sql(case)


def _at(contract: dict[str, Any], path: tuple[str, ...]) -> list[Any]:
    node: Any = contract
    for part in path:
        node = node.get(part) or {}
    return list(node or [])


def _changed(case: Case, path: tuple[str, ...], entries: list[Any]) -> Case:
    contract = copy.deepcopy(case.contract)
    inner = contract
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
    inner[path[-1]] = entries
    return replace(case, contract=contract)


def _fewer_rows(case: Case) -> Iterator[Case]:
    count = case.rows.num_rows
    if count > 1:
        half = count // 2
        yield replace(case, rows=case.rows.slice(0, half))
        yield replace(case, rows=case.rows.slice(half))
        if count <= 8:
            for gone in range(count):
                yield replace(case, rows=case.rows.take([row for row in range(count) if row != gone]))


def _fewer_columns(case: Case) -> Iterator[Case]:
    for name in case.rows.column_names:
        if case.rows.num_columns > 1:
            fewer = replace(case, rows=case.rows.drop_columns([name]))
            fields = [f for f in _at(case.contract, ("model", "fields")) if f["name"] != name]
            yield _changed(fewer, ("model", "fields"), fields)


def _plainer_entries(case: Case) -> Iterator[Case]:
    """Entries without their options."""
    for path in (("quality", "row_rules"), ("model", "fields"), ("transformations",)):
        entries = _at(case.contract, path)
        for index, entry in enumerate(entries):
            for key in entry:
                if key in ("name", "type", "sql") and path != ("quality", "row_rules"):
                    continue
                if key in _OPTIONS:
                    plainer = {k: v for k, v in entry.items() if k != key}
                    yield _changed(case, path, [*entries[:index], plainer, *entries[index + 1 :]])
            rollup = entry.get("rollup")
            if rollup:
                for name in rollup["aggregations"]:
                    if len(rollup["aggregations"]) > 1:
                        fewer = {k: v for k, v in rollup["aggregations"].items() if k != name}
                        changed = {**entry, "rollup": {**rollup, "aggregations": fewer}}
                        yield _changed(case, path, [*entries[:index], changed, *entries[index + 1 :]])
                for name in rollup["group_by"]:
                    fewer_keys = [key for key in rollup["group_by"] if key != name]
                    changed = {**entry, "rollup": {**rollup, "group_by": fewer_keys}}
                    yield _changed(case, path, [*entries[:index], changed, *entries[index + 1 :]])


_OPTIONS = ("severity", "nulls", "name", "phase", "required", "min", "max", "max_length", "min_length", "pattern",
            "accepted_values")  # fmt: skip


def _shorter_sql(case: Case) -> Iterator[Case]:
    for path in (("transformations",), ("quality", "row_rules")):
        entries = _at(case.contract, path)
        for index, entry in enumerate(entries):
            for changed in _shorter_entry(entry):
                yield _changed(case, path, [*entries[:index], changed, *entries[index + 1 :]])


def _shorter_entry(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "derive" in entry:
        for text in _shorter(entry["derive"]["sql"]):
            yield {**entry, "derive": {**entry["derive"], "sql": text}}
    for key in ("sql", "filter"):
        if isinstance(entry.get(key), str):
            for text in _fewer_items(entry[key]) if key == "sql" else ():
                yield {**entry, key: text}
            for text in _shorter(entry[key]):
                yield {**entry, key: text}
    rollup = entry.get("rollup")
    if rollup:
        for name, text in rollup["aggregations"].items():
            for shorter in _shorter(text):
                yield {**entry, "rollup": {**rollup, "aggregations": {**rollup["aggregations"], name: shorter}}}


def _fewer_items(text: str) -> Iterator[str]:
    if is_select(text):
        return
    try:
        items = parse_items(text)
    except SqlProblems:
        return
    if len(items) > 1:
        for gone in range(len(items)):
            yield ", ".join(item.sql(dialect="spark") for i, item in enumerate(items) if i != gone)


def _shorter(text: str) -> Iterator[str]:
    """The text with one part replaced by a part of that part."""
    if is_select(text):
        return
    try:
        items = parse_items(text)
    except SqlProblems:
        return
    tree = exp.Select(expressions=items)
    count = sum(1 for _ in tree.walk())
    for position in range(1, count):
        for child in range(4):
            again = tree.copy()
            node = list(again.walk())[position]
            parts = [part for part in node.iter_expressions() if not isinstance(part, exp.Identifier | exp.DataType)]
            if isinstance(node, exp.Alias | exp.Select | exp.Column) or child >= len(parts):
                continue
            inner = parts[child]
            if isinstance(inner, exp.If):
                inner = inner.args.get("true") or inner.this
            node.replace(inner.copy())
            shorter = ", ".join(item.sql(dialect="spark") for item in again.expressions)
            if len(shorter) < len(text):
                yield shorter
