"""UNION, INTERSECT and EXCEPT: rows of two queries, one below the other, then told apart."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.nodes import Stack
from lakelogic.plan.query.groups import group
from lakelogic.plan.query.statement import Queries, Statement
from lakelogic.plan.query.windows import keep_once
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.coerce import column_type
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, NOT_YET
from lakelogic.sql.scope import BoundAggregate
from lakelogic.sql.types import BIGINT, INT, Type


def set_operation(
    statement: Statement, state: State, tree: exp.SetOperation, queries: Queries, *, named: bool = True
) -> None:
    """Compile both sides and what becomes of them; the names are those of the first."""
    if tree.args.get("by_name") or tree.args.get("side"):
        raise refuse(NOT_YET, "Set operations BY NAME are not portable.", "list the columns in one order")
    is_distinct = tree.args.get("distinct") is not False
    if not isinstance(tree, exp.Union) and not is_distinct:
        raise refuse(NOT_YET, f"{tree.key.upper()} ALL is not portable.", f"write {tree.key.upper()}")
    if not state.beside and not statement.leads_to_rows(tree.this, queries):
        raise refuse(NOT_YET, "The first query does not read the current rows.", "begin with SELECT … FROM source")
    statement.query(state, tree.this, queries, named=named)
    below = statement.beside()
    statement.query(below, tree.expression, queries, named=False)
    names = list(state.visible)
    if len(names) != len(below.visible):
        raise refuse(BAD_ARGUMENTS, f"One query has {len(names)} columns, the other {len(below.visible)}.")
    types = [
        _common(name, left.type, right.type)
        for name, left, right in zip(names, state.visible.values(), below.visible.values(), strict=True)
    ]
    relation = statement.fork(below)
    columns = [state.fresh(name) for name in names]
    mark = state.fresh("~side")
    for column, left, right in zip(columns, state.visible.values(), relation.columns.values(), strict=True):
        state.inherit(column, left)
        state.inherit(column, right)
    own = (*_converted(list(state.visible.values()), types), Literal(0, INT))
    other = (*_converted(list(relation.columns.values()), types), Literal(1, INT))
    detail = (tree.key.upper(),)
    state.open(Stack("stack", state.alive, (*columns, mark), own, ((relation.frame, other),), detail), statement.step)
    outputs = {name: Column(column, type_) for name, column, type_ in zip(names, columns, types, strict=True)}
    state.scope = dict(outputs)
    if isinstance(tree, exp.Union):
        if is_distinct:
            keep_once(state, statement.step)
        return
    _compared(statement, state, outputs, Column(mark, INT), tree)


def _common(name: str, left: Type, right: Type) -> Type:
    type_ = column_type(left, right)
    if type_ is None:
        raise refuse(BAD_TYPES, f"`{name}` is {left} in one query and {right} in the other.", "cast one of them")
    return type_


def _converted(values: list[Expression], types: list[Type]) -> tuple[Expression, ...]:
    return tuple(convert(value, type_) for value, type_ in zip(values, types, strict=True))


def _compared(
    statement: Statement, state: State, columns: dict[str, Column], mark: Column, tree: exp.SetOperation
) -> None:
    """INTERSECT keeps values that both have, EXCEPT those that only the first has; each once."""
    first = Call("case", (call("eq", mark, Literal(0, INT)), Literal(1, INT), Literal(None, INT)), INT)
    second = Call("case", (call("eq", mark, Literal(1, INT)), Literal(1, INT), Literal(None, INT)), INT)
    counts = [
        BoundAggregate("~aggregate0", "count", first, BIGINT),
        BoundAggregate("~aggregate1", "count", second, BIGINT),
    ]
    groups = group(state, statement.step, list(columns.items()), counts, (tree.key.upper(),))
    state.scope = dict(zip(columns, groups.keys, strict=True))
    none = Literal(0, BIGINT)
    in_first = call("gt", groups.aggregates["~aggregate0"], none)
    in_second = call("gt", groups.aggregates["~aggregate1"], none)
    kept = call("and", in_first, in_second if isinstance(tree, exp.Intersect) else call("not", in_second))
    state.lose("filtered", statement.step, call("not", kept), (tree.key.upper(),), inner=True)
