"""SQL steps: a list of `expr AS column`, or a whole SELECT over the current rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sqlglot import exp

from lakelogic.plan.query.compiler import compile_statement
from lakelogic.plan.query.windows import computed
from lakelogic.plan.state import State
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Expression
from lakelogic.sql.parse import is_select, parse_items, parse_select
from lakelogic.sql.problems import BAD_ARGUMENTS, Problem, SqlProblems
from lakelogic.sql.scope import BoundWindow, Scope


def derive_items(state: State, text: str, path: str, dialect: str) -> None:
    """`expr AS column, …`: each replaces a column or adds one; the rest is kept."""
    windows: list[BoundWindow] = []
    try:
        items = parse_items(text, dialect)
        values = _items(state.sql_scope(), items, windows)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)
        return
    computed_values = computed(state, windows, list(values.values()))
    state.derive("derive", dict(zip(values, computed_values, strict=True)), (" ".join(text.split()),))


def select(state: State, text: str, path: str, name: str, dialect: str) -> None:
    """A whole SELECT: what it yields becomes the columns, what it loses is counted by the step's name."""
    try:
        compile_statement(state, name, path, cast(exp.Expression, parse_select(text, dialect)))
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)


def _items(scope: Scope, items: list[exp.Expression], windows: list[BoundWindow]) -> dict[str, Expression]:
    values: dict[str, Expression] = {}
    problems: list[Problem] = []
    for item in items:
        if isinstance(item, exp.Alias):
            name, tree = item.alias, item.this
        elif isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            name, tree = scope.folded.get(item.name.lower(), item.name), item
        else:
            shown = item.sql(dialect="spark")
            problems.append(Problem(BAD_ARGUMENTS, f"`{shown}` has no name.", f"write `{shown} AS column`"))
            continue
        if name.lower() in {other.lower() for other in values}:
            problems.append(Problem(BAD_ARGUMENTS, f"Two items are called `{name}`.", "give one of them another name"))
        if name.startswith("~"):
            problems.append(Problem(BAD_ARGUMENTS, f"The name `{name}` begins with `~`.", "choose another name"))
        try:
            values[name] = Binder(scope, windows=windows).bind(tree)
        except SqlProblems as trouble:
            problems += trouble.problems
    if problems:
        raise SqlProblems(problems)
    return values


def names_made(text: str, dialect: str, links: Mapping[str, Any]) -> set[str]:
    """The names that a SQL step gives to its columns, in lower case; nothing if it cannot be read.

    `*` over a join makes the columns of the links it reads.
    """
    try:
        tree = parse_select(text, dialect) if is_select(text) else None
        items = tree.selects if tree is not None else parse_items(text, dialect)
    except SqlProblems:
        return set()
    names = {item.alias_or_name.lower() for item in items if item.alias_or_name and item.alias_or_name != "*"}
    if tree is not None and tree.find(exp.Star) is not None:
        read = {table.name.lower() for table in tree.find_all(exp.Table)}
        joined = (link for name, link in links.items() if name.lower() in read)
        names |= {column.name.lower() for link in joined for column in link.visible}
    return names


def names_read_again(text: str, dialect: str, dataset: str) -> set[str]:
    """Of the names that a SQL step gives, those that it makes out of a column of the same name, in lower case.

    Beside other tables nothing is said: the column may be theirs.
    """
    try:
        tree = parse_select(text, dialect) if is_select(text) else None
        items = tree.selects if tree is not None else parse_items(text, dialect)
    except SqlProblems:
        return set()
    if tree is not None and len(list(tree.find_all(exp.Table))) != 1:
        return set()
    return {
        item.alias_or_name.lower()
        for item in items
        if item.alias_or_name.lower() in columns_read(item, dataset, tree if tree is not None else item)
    }


def columns_read(part: exp.Expr, dataset: str, whole: exp.Expr | None = None) -> set[str]:
    """The names of the columns that a piece of SQL reads, in lower case: `item.sku` reads the column `item`.

    Before the dot, `source`, the name of the dataset and those of tables in `whole` stand for rows, not for a column.
    """
    tables = {table.alias_or_name.lower() for table in (whole or part).find_all(exp.Table)}
    rows = {"source", dataset.lower(), *tables}
    columns: set[str] = set()
    for column in part.find_all(exp.Column):
        names = [piece.name.lower() for piece in column.parts]
        columns.add(names[1] if len(names) > 1 and names[0] in rows else names[0])
    return columns
