"""Functions that take lambdas: their arguments bound in the order in which types become known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from lakelogic.sql.arguments import refuse
from lakelogic.sql.coerce import column_type
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, call, convert, replace_columns
from lakelogic.sql.lambdas import draft, lambda_of, settled
from lakelogic.sql.nested import array_argument, field, map_argument, map_entries, map_from_entries, struct_of
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.scope import PartBinder
from lakelogic.sql.types import BOOLEAN, INT, Type, array, decimal, struct

Handler = Callable[[PartBinder, list[exp.Expression]], Expression]


def _bound(binder: PartBinder, tree: exp.Expression, types: Sequence[Type], least: int, name: str) -> Lambda:
    """A written lambda over parameters of these types; it may leave out the last ones."""
    if not isinstance(tree, exp.Lambda):
        raise refuse(BAD_ARGUMENTS, f"`{name}` takes a small function here.", f"write {name}(a, x -> …)")
    names = [parameter.name for parameter in tree.expressions]
    if not least <= len(names) <= len(types):
        takes = f"{least}" if least == len(types) else f"{least} or {len(types)}"
        raise refuse(BAD_ARGUMENTS, f"The function in `{name}` takes {takes} parameters, not {len(names)}.")
    if len({parameter.lower() for parameter in names}) < len(names):
        raise refuse(BAD_ARGUMENTS, f"The parameters of the function in `{name}` need different names.")
    parameters = tuple(draft(parameter, type_) for parameter, type_ in zip(names, types, strict=False))
    with binder.parameters({name.lower(): column for name, column in zip(names, parameters, strict=True)}):
        body = binder.part(tree.this)
    return settled(parameters, body)


def _count(name: str, arguments: Sequence[object], least: int, most: int | None = None) -> None:
    most = most or least
    if not least <= len(arguments) <= most:
        takes = str(least) if least == most else f"{least} or {most}"
        raise refuse(BAD_ARGUMENTS, f"`{name}` takes {takes} arguments, not {len(arguments)}.")


def _condition(condition: Lambda, name: str) -> Lambda:
    if condition.type.kind == "null":
        return Lambda(condition.parameters, Literal(None, BOOLEAN))
    if condition.type.kind != "boolean":
        raise refuse(BAD_TYPES, f"The function in `{name}` must be a condition, not {condition.type}.")
    return condition


def transformed(value: Expression, function: Lambda) -> Expression:
    """Every element through a function."""
    return Call("transform", (value, function), array(function.type))


def _transform(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    _count("transform", arguments, 2)
    value, element = array_argument(binder.part(arguments[0]), "transform")
    return transformed(value, _bound(binder, arguments[1], (element, INT), 1, "transform"))


def _filter(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    _count("filter", arguments, 2)
    value, element = array_argument(binder.part(arguments[0]), "filter")
    return Call(
        "filter", (value, _condition(_bound(binder, arguments[1], (element, INT), 1, "filter"), "filter")), value.type
    )


def _quantified(name: str, function: str, *, negated: bool = False) -> Handler:
    def build(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
        _count(name, arguments, 2)
        value, element = array_argument(binder.part(arguments[0]), name)
        result = call(function, value, _condition(_bound(binder, arguments[1], (element,), 1, name), name))
        return call("not", result) if negated else result

    return build


def _aggregate(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    _count("aggregate", arguments, 3, 4)
    value, element = array_argument(binder.part(arguments[0]), "aggregate")
    start = binder.part(arguments[1])
    type_ = start.type
    for attempt in range(4):
        merge = _bound(binder, arguments[2], (type_, element), 2, "aggregate")
        wider = column_type(type_, merge.type)
        if wider is None:
            raise refuse(BAD_TYPES, f"`aggregate` starts with {type_} and goes on with {merge.type}.", "cast the start")
        if wider == type_:
            break
        # A decimal would grow by a digit with every element: it gets all of them at once.
        type_ = decimal(38, wider.scale) if wider.kind == "decimal" and attempt else wider
    merge = Lambda(merge.parameters, convert(merge.body, type_))
    total: Expression = Call("aggregate", (value, convert(start, type_), merge), type_)
    if len(arguments) == 3:
        return total
    finish = _bound(binder, arguments[3], (type_,), 1, "aggregate")
    return replace_columns(finish.body, {finish.parameters[0].name: total})


def zipped(names: Sequence[str], values: Sequence[Expression]) -> Expression:
    """Elements at the same positions as structs; a shorter array is filled up with NULL."""
    if not values:
        raise refuse(BAD_ARGUMENTS, "`arrays_zip` takes one or more arrays.")
    pairs = [array_argument(value, "arrays_zip") for value in values]
    element = struct(*((name, type_) for name, (_, type_) in zip(names, pairs, strict=True)))
    return Call("arrays_zip", tuple(value for value, _ in pairs), array(element))


def _zip_with(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    _count("zip_with", arguments, 3)
    both = zipped(("x", "y"), [binder.part(argument) for argument in arguments[:2]])
    assert both.type.element is not None
    types = [type_ for _, type_ in both.type.element.fields]
    function = _bound(binder, arguments[2], types, 2, "zip_with")
    return transformed(both, _over_fields(function, both.type.element, ("x", "y")))


def _over_fields(function: Lambda, element: Type, names: Sequence[str]) -> Lambda:
    """A function of several values as one of a struct that holds them."""

    def body(whole: Column) -> Expression:
        by = {parameter.name: field(whole, name) for parameter, name in zip(function.parameters, names, strict=False)}
        return replace_columns(function.body, by)

    return lambda_of([element], body, ("e",))


def _map_lambda(name: str, make: Callable[[Expression, Lambda, Type], Expression]) -> Handler:
    def build(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
        _count(name, arguments, 2)
        value, key, element = map_argument(binder.part(arguments[0]), name)
        function = _bound(binder, arguments[1], (key, element), 2, name)
        return make(map_entries(value), function, struct(("key", key), ("value", element)))

    return build


def _map_filter(entries: Expression, function: Lambda, entry: Type) -> Expression:
    kept = _over_fields(_condition(function, "map_filter"), entry, ("key", "value"))
    return map_from_entries(Call("filter", (entries, kept), entries.type))


def _remade(part: str) -> Callable[[Expression, Lambda, Type], Expression]:
    """Entries in which the key or the value is what the function makes of both."""

    def make(entries: Expression, function: Lambda, entry: Type) -> Expression:
        def body(whole: Column) -> Expression:
            by = {p.name: field(whole, name) for p, name in zip(function.parameters, ("key", "value"), strict=True)}
            replaced = replace_columns(function.body, by)
            kept = {"key": field(whole, "key"), "value": field(whole, "value"), part: replaced}
            return struct_of(list(kept.items()))

        return map_from_entries(transformed(entries, lambda_of([entry], body, ("e",))))

    return make


def _refused_comparator(binder: PartBinder, arguments: list[exp.Expression]) -> Expression:
    if len(arguments) == 2 and isinstance(arguments[1], exp.Lambda):
        raise refuse(
            BAD_ARGUMENTS,
            "`array_sort` with a function of its own is not portable.",
            "transform the elements to what they shall be ordered by, then array_sort(a)",
        )
    from lakelogic.sql.nested import array_sort

    _count("array_sort", arguments, 1)
    return array_sort([binder.part(argument) for argument in arguments])


CALLS: dict[str, Handler] = {
    "transform": _transform,
    "filter": _filter,
    "exists": _quantified("exists", "exists"),
    "any_match": _quantified("any_match", "exists"),
    "forall": _quantified("forall", "forall"),
    "all_match": _quantified("all_match", "forall"),
    "none_match": _quantified("none_match", "exists", negated=True),
    "aggregate": _aggregate,
    "reduce": _aggregate,
    "zip_with": _zip_with,
    "map_filter": _map_lambda("map_filter", _map_filter),
    "transform_keys": _map_lambda("transform_keys", _remade("key")),
    "transform_values": _map_lambda("transform_values", _remade("value")),
    "array_sort": _refused_comparator,
}
