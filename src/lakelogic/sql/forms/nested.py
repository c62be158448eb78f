"""Special forms of nested values: brackets, dots, constructors with names."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import Call, Expression, walk
from lakelogic.sql.forms import lambdas
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.nested import array_of, field, item, map_item, struct_of
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, NO_COLUMN, nearest
from lakelogic.sql.scope import PartBinder
from lakelogic.sql.types import Type


def access(value: Expression, name: str) -> Expression:
    """`value.name`: a field of a struct, of every struct of an array, or the value of a map under a key."""
    if value.type.kind == "struct":
        match = value.type.field(name)
        if match is None:
            fields = [field_ for field_, _ in value.type.fields]
            listed = ", ".join(f"`{field_}`" for field_ in fields[:12])
            raise refuse(
                NO_COLUMN, f"The struct has no field `{name}`.", nearest(name, fields) or f"its fields are {listed}"
            )
        return field(value, match[0])
    if value.type.kind == "array":
        assert value.type.element is not None
        element = value.type.element
        return lambdas.transformed(value, lambda_of([element], lambda x: access(x, name)))
    if value.type.kind == "map":
        from lakelogic.sql.expressions import text

        return map_item(value, text(name))
    raise refuse(BAD_TYPES, f"A {value.type} has no field `{name}`.", "only structs, arrays of structs and maps have")


def check_comparison(function: str, type_: Type) -> None:
    """Arrays and structs can be equal, inner NULLs included; they have no order, and maps are not compared at all."""
    if not type_.is_comparable:
        raise refuse(BAD_TYPES, f"A {type_} cannot be compared.", "compare map_entries(m), or single values: m['key']")
    if type_.is_nested and function not in ("eq", "ne", "same"):
        raise refuse(BAD_TYPES, f"A {type_} has no order.", "compare single values: a[0], s.name")


_COMPARING = frozenset({"eq", "ne", "same", "in", "nullif"})
_ORDERING = frozenset({"lt", "le", "gt", "ge", "greatest", "least"})


def check_comparisons(expression: Expression) -> None:
    """The same for all that an expression does, however it was written."""
    for part in walk(expression):
        if isinstance(part, Call) and part.args and (part.function in _COMPARING or part.function in _ORDERING):
            check_comparison("eq" if part.function in _COMPARING else "lt", part.args[0].type)


def column_path(binder: PartBinder, tree: exp.Expression) -> Expression | None:
    """A lambda's parameter, or a path into a struct such as `s.a.b`; None for what is a plain column."""
    assert isinstance(tree, exp.Column)
    parts = [part.name for part in tree.parts]
    head = parts[0].lower()
    if (parameter := binder.parameter(head)) is not None:
        return _along(parameter, parts[1:])
    is_table = head in binder.scope.relations or head in binder.scope.tables
    if len(parts) == 1 or (is_table and len(parts) == 2):
        return None
    if is_table:
        start = exp.Column(this=tree.parts[1].copy(), table=tree.parts[0].copy())
        return _along(binder.part(start), parts[2:])
    if head in binder.scope.folded and head not in binder.scope.ambiguous:
        return _along(binder.scope.columns[binder.scope.folded[head]], parts[1:])
    return None


def _along(value: Expression, names: list[str]) -> Expression:
    for name in names:
        value = access(value, name)
    return value


def _dot(binder: PartBinder, tree: exp.Expression) -> Expression:
    if not isinstance(tree.expression, exp.Identifier):
        raise refuse(BAD_ARGUMENTS, "After a dot the name of a field is expected.")
    return access(binder.part(tree.this), tree.expression.name)


def _bracket(binder: PartBinder, tree: exp.Expression) -> Expression:
    value = binder.part(tree.this)
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Slice):
        raise refuse(
            BAD_ARGUMENTS, "One position or key stands in brackets.", "slice(a, start, length) cuts a part out"
        )
    inside = tree.expressions[0]
    if value.type.kind == "struct":
        if not (isinstance(inside, exp.Literal) and inside.is_string):
            raise refuse(BAD_ARGUMENTS, "The name of a struct's field must be written out.", "s['name'] or s.name")
        return access(value, inside.name)
    key = binder.part(inside)
    if value.type.kind == "map":
        return map_item(value, key)
    return item(value, key)


def _identifier(binder: PartBinder, tree: exp.Expression) -> Expression:
    parameter = binder.parameter(tree.name.lower())
    return parameter if parameter is not None else binder.part(exp.Column(this=tree.copy()))


def _struct(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    """struct(a, b AS name, …): fields are called by their alias, their column, or col1, col2, …"""
    pairs: list[tuple[str, Expression]] = []
    for position, argument in enumerate(arguments, start=1):
        inner = argument.this if isinstance(argument, exp.Alias) else argument
        name = argument.alias if isinstance(argument, exp.Alias) else ""
        if not name and isinstance(inner, exp.Column | exp.Identifier):
            name = inner.name
        if not name and isinstance(inner, exp.Dot):
            name = inner.expression.name
        pairs.append((name or f"col{position}", binder.part(inner)))
    return struct_of(pairs)


def _zip(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    """arrays_zip(a, b): fields are called by the columns, or 0, 1, … where one is no plain column."""
    plain = all(isinstance(argument, exp.Column | exp.Identifier) for argument in arguments)
    names = [argument.name if plain else str(position) for position, argument in enumerate(arguments)]
    if len({name.lower() for name in names}) < len(names):
        names = [str(position) for position in range(len(arguments))]
    return lambdas.zipped(names, [binder.part(argument) for argument in arguments])


# Functions whose arguments are more than values: SQL name → handler.
CALLS: dict[str, Callable[[PartBinder, list[exp.Expression]], Expression]] = {
    "struct": _struct,
    "arrays_zip": _zip,
    **lambdas.CALLS,
}

FORMS: dict[type[exp.Expression], Callable[[PartBinder, exp.Expression], Expression]] = {
    exp.Dot: _dot,
    exp.Bracket: _bracket,
    exp.Identifier: _identifier,
    exp.Array: lambda binder, tree: array_of([binder.part(value) for value in tree.expressions]),
    exp.Transform: lambda binder, tree: lambdas.CALLS["transform"](binder, [tree.this, tree.expression]),
}
