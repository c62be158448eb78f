"""Columns that did not land: what is stored stays, what is made of them is not erased, a step reads NULL.

In an input with a header (csv, Parquet, tables, rows that are handed in) a column that is not there says nothing about
the values of its rows; in JSON a key that is not there is NULL. Staged good rows of strategies that meet the table by
key say so in a column `~absent.<name>`, row by row, because one file may have the column and another may not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.plan.nodes import Assignment, RowWise
from lakelogic.plan.predicates import both, either
from lakelogic.plan.query.sql_step import columns_read
from lakelogic.plan.state import State
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, columns_of, text
from lakelogic.sql.parse import is_select, parse_items, parse_select
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import BOOLEAN, STRING, Type


@dataclass(frozen=True, slots=True)
class Lacks:
    """Which rows lack which columns (in lower case), by the value of a column of the scan: their file."""

    by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    column: str = names.FILE

    def but_for(self, held: Collection[str]) -> Lacks:
        """Without columns that rows have from elsewhere than their files."""
        held_names = frozenset(name.lower() for name in held)
        return Lacks({value: lacking - held_names for value, lacking in self.by.items()}, self.column)

    def rows(self, name: str) -> Expression | None:
        """TRUE for the rows that lack the column, never NULL; None where no row does."""
        without = sorted(value for value, lacking in self.by.items() if name.lower() in lacking)
        if not without:
            return None
        if len(without) == len(self.by):
            return TRUE
        is_lacking = Call("in", (Column(self.column, STRING), *(text(value) for value in without)), BOOLEAN)
        return Call("coalesce", (is_lacking, Literal(False, BOOLEAN)), BOOLEAN)


def lacks(columns_by_file: Mapping[str, Collection[str]]) -> Lacks:
    """What each file lacks of the columns that any of them has; a file without any column has no rows either."""
    all_columns = {name.lower() for columns in columns_by_file.values() for name in columns}
    each = {
        file: frozenset(all_columns - {name.lower() for name in columns})
        for file, columns in columns_by_file.items()
        if columns
    }
    return Lacks(each) if any(each.values()) else Lacks()


def note_landed(state: State, landed: Iterable[str], lacking: Lacks) -> None:
    """Landed columns that some rows lack."""
    for name in landed:
        if (rows := lacking.rows(name)) is not None:
            state.absent[name] = rows


def lend(state: State, contract: Contract, types: Mapping[str, Type], step: Any, made_later: Collection[str]) -> None:
    """A declared field that did not land is NULL where a pre step reads it, unless that or a later step makes it."""
    there = {name.lower() for name in state.scope}
    dialect = step.dialect or state.dialect
    wanted = names_in(step.model_dump(mode="json", exclude_unset=True), dialect, state.dataset)
    for declared in contract.model.fields:
        key = declared.name.lower()
        if key in there or declared.generated is not None or key not in wanted or key in made_later:
            continue
        physical = state.fresh(declared.name)
        nothing = Literal(None, types[declared.name])
        state.nodes.append(RowWise("absent", (Assignment(physical, nothing),), (f"{declared.name} did not land",)))
        state.scope[declared.name] = Column(physical, types[declared.name])
        state.lent = (*state.lent, declared.name)
        if state.has_header:
            state.absent[physical] = TRUE


def names_in(written: Any, dialect: str, dataset: str) -> set[str]:
    """The names that the text of a step could read, in lower case: columns of its SQL, and names written alone."""
    if isinstance(written, Mapping):
        inner = {name for value in written.values() for name in names_in(value, dialect, dataset)}
        return inner | {str(key).lower() for key in written}
    if isinstance(written, list | tuple):
        return {name for value in written for name in names_in(value, dialect, dataset)}
    if not isinstance(written, str):
        return set()
    if written.isidentifier():
        return {written.lower()}
    try:
        trees: Sequence[Any] = [parse_select(written, dialect)] if is_select(written) else parse_items(written, dialect)
    except SqlProblems:
        return {written.lower()}
    return {name for tree in trees for name in columns_read(tree, dataset)}


def mark(state: State, good: dict[str, Expression]) -> None:
    """Staged rows say which of their columns did not land.

    A field itself keeps what is stored. What a step makes of it counts, unless it is NULL: then that is kept too.
    """
    strategy = state.strategy
    if not strategy.is_keyed or not state.absent or not state.is_landed:
        return
    fixed = {name.lower() for name in (*strategy.keys, *((strategy.order,) if strategy.order else ()))}
    made_of = _made_of(state)
    for name, value in list(good.items()):
        if name.lower() in fixed or name.startswith(names.INTERNAL):
            continue
        own = _bare(value)
        if isinstance(own, Column) and own.name in state.absent:
            good[names.ABSENT + name] = state.absent[own.name]
            continue
        roots = sorted(_roots(columns_of(value), made_of) & state.absent.keys())
        if roots:
            rows = dict.fromkeys(state.absent[root] for root in roots)
            lacking = TRUE if TRUE in rows else either(list(rows))
            good[names.ABSENT + name] = both(lacking, call("is_null", value))


def _bare(value: Expression) -> Expression:
    """The value without the conversions around it."""
    while isinstance(value, Call) and value.function == "convert":
        value = value.args[0]
    return value


def _made_of(state: State) -> dict[str, frozenset[str]]:
    """For each column that was computed row by row, the columns that it was computed from."""
    nodes = [node for account in state.closed for node in account.nodes] + state.nodes
    return {
        column.name: columns_of(column.value) for node in nodes if isinstance(node, RowWise) for column in node.columns
    }


def _roots(start: Iterable[str], made_of: Mapping[str, frozenset[str]]) -> set[str]:
    names: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += made_of.get(name, ())
    return names
