"""Canonical expressions → DuckDB SQL text: arrays, maps, structs and lambdas.

Parameters of the small lambdas that are written here begin with `~`, so they never hide a column of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lakelogic.engines.duckdb.literals import cast, identifier, text
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, convert, replace_columns
from lakelogic.sql.types import BIGINT, INT, STRING, Type

_TOTAL, _ELEMENT = "~total", "~element"


def lambda_sql(
    call: Call, small: Lambda, names: Mapping[str, str], lower: Callable[[Expression, Mapping[str, str]], str]
) -> str:
    """A lambda as an argument of a call. DuckDB counts positions from 1; ours begin at 0."""
    body = small.body
    columns = {**names, **{parameter.name: parameter.name for parameter in small.parameters}}
    if call.function == "aggregate":
        return _merging(small, columns, lower)
    if len(small.parameters) > 1:
        index = Column(small.parameters[1].name, BIGINT)
        from_zero = Call("subtract", (index, Literal(1, BIGINT)), BIGINT)
        body = replace_columns(body, {index.name: convert(from_zero, INT)})
    listed = ", ".join(identifier(parameter.name) for parameter in small.parameters)
    return f"lambda {listed}: {lower(body, columns)}"


def _merging(small: Lambda, columns: Mapping[str, str], lower: Callable[[Expression, Mapping[str, str]], str]) -> str:
    """`list_reduce` wants totals and elements of one type: structs that hold both."""
    total, element = small.parameters
    pair = Type("struct", fields=(("t", total.type), ("x", element.type)))
    depth = total.name.partition(":")[0]
    left, right = Column(f"{depth}{_TOTAL}", pair), Column(f"{depth}{_ELEMENT}", pair)
    parts: dict[str, Expression] = {
        total.name: Call("field", (left, Literal("t", STRING)), total.type),
        element.name: Call("field", (right, Literal("x", STRING)), element.type),
    }
    both = {**columns, left.name: left.name, right.name: right.name}
    body = lower(replace_columns(small.body, parts), both)
    kept = f"struct_extract({identifier(right.name)}, 'x')"
    return f"lambda {identifier(left.name)}, {identifier(right.name)}: struct_pack(t := {body}, x := {kept})"


def _field(call: Call, args: Sequence[str]) -> str:
    taken = f"struct_extract({args[0]}, {text(str(call.constant(1)))})"
    # A constant struct is folded away, and the types of its fields with it.
    return taken if call.type.is_nested else cast(taken, call.type)


def _aggregate(call: Call, args: Sequence[str]) -> str:
    values, start, merge = args
    element = call.args[0].type.element
    assert element is not None
    nothing, none = cast("NULL", element), cast("NULL", call.type)
    pairs = f'list_transform({values}, lambda "~x": struct_pack(t := {none}, x := "~x"))'
    first = f"struct_pack(t := {start}, x := {nothing})"
    total = f"struct_extract(list_reduce({pairs}, {merge}, {first}), 't')"
    # A constant array is folded away, and its type with it.
    return cast(f"CASE WHEN {values} IS NOT NULL THEN {total} END", call.type)


def _has_null(values: str) -> str:
    return f'list_contains(list_transform({values}, lambda "~x": "~x" IS NULL), TRUE)'


def _quantified(decisive: str, otherwise: str) -> Builder:
    def build(_call: Call, args: Sequence[str]) -> str:
        answers = f"list_transform({args[0]}, {args[1]})"
        return (
            f"CASE WHEN {args[0]} IS NULL THEN NULL WHEN list_contains({answers}, {decisive}) THEN {decisive} "
            f"WHEN {_has_null(answers)} THEN NULL ELSE {otherwise} END"
        )

    return build


def _array(call: Call, args: Sequence[str]) -> str:
    return f"[{', '.join(args)}]" if args else cast("[]", call.type)


def _struct(call: Call, args: Sequence[str]) -> str:
    names = [identifier(name) for name, _ in call.type.fields]
    return f"struct_pack({', '.join(f'{name} := {value}' for name, value in zip(names, args[1::2], strict=True))})"


def _item(call: Call, args: Sequence[str]) -> str:
    values, position = args
    if isinstance(call.args[1], Literal) and isinstance(call.constant(1), int):
        index = int(str(call.constant(1)))
        return cast("NULL", call.type) if index < 0 else f"list_extract({values}, {index + 1})"
    inside = f"{position} >= 0 AND {position} < len({values})"
    return f"CASE WHEN {inside} THEN list_extract({values}, {position} + 1) END"


def _size(call: Call, args: Sequence[str]) -> str:
    return cast(f"{'cardinality' if call.args[0].type.kind == 'map' else 'len'}({args[0]})", "INTEGER")


def _contains(_call: Call, args: Sequence[str]) -> str:
    values, wanted = args
    return (
        f"CASE WHEN {values} IS NULL OR {wanted} IS NULL THEN NULL WHEN list_contains({values}, {wanted}) THEN TRUE "
        f"WHEN {_has_null(values)} THEN NULL ELSE FALSE END"
    )


def _sort(call: Call, args: Sequence[str]) -> str:
    return f"list_sort({args[0]}, '{'DESC' if call.constant(1) else 'ASC'}', 'NULLS LAST')"


def _concat(_call: Call, args: Sequence[str]) -> str:
    present = " AND ".join(f"{value} IS NOT NULL" for value in args)
    return f"CASE WHEN {present} THEN list_concat({', '.join(args)}) END"


def _flatten(_call: Call, args: Sequence[str]) -> str:
    return f"CASE WHEN {_has_null(args[0])} THEN NULL ELSE flatten({args[0]}) END"


def _sequence(call: Call, args: Sequence[str]) -> str:
    start, stop, step = args
    wide = f"abs({cast(stop, 'HUGEINT')} - {cast(start, 'HUGEINT')})"
    leads = f"(({step} > 0 AND {start} <= {stop}) OR ({step} < 0 AND {start} >= {stop}))"
    few = f"{wide} < 1000000 * abs({cast(step, 'HUGEINT')})"
    return cast(
        f"CASE WHEN {step} IS NULL THEN NULL WHEN {start} = {stop} THEN [{start}] "
        f"WHEN {leads} AND {few} THEN generate_series({start}, {stop}, {step}) END",
        call.type,
    )


def _join(_call: Call, args: Sequence[str]) -> str:
    return f"CASE WHEN {args[0]} IS NOT NULL THEN coalesce(array_to_string({args[0]}, {args[1]}), '') END"


def _zip(call: Call, args: Sequence[str]) -> str:
    assert call.type.element is not None
    names = [identifier(name) for name, _ in call.type.element.fields]
    depth = identifier(f"~n{call_depth(call)}")
    parts = ", ".join(f"{name} := list_extract({value}, {depth} + 1)" for name, value in zip(names, args, strict=True))
    sizes = ", ".join(f"len({value})" for value in args)
    present = " AND ".join(f"{value} IS NOT NULL" for value in args)
    counted = f"range(greatest({sizes}))" if len(args) > 1 else f"range({sizes})"
    return f"CASE WHEN {present} THEN list_transform({counted}, lambda {depth}: struct_pack({parts})) END"


def call_depth(call: Call) -> int:
    """How many calls of the same function stand within one another, so that each has a name of its own."""
    inner = (call_depth(argument) for argument in call.args if isinstance(argument, Call))
    return max(inner, default=0) + 1


def _distinct(call: Call, args: Sequence[str]) -> str:
    value, place = identifier(f"~x{call_depth(call)}"), identifier(f"~i{call_depth(call)}")
    return f"list_filter({args[0]}, lambda {value}, {place}: list_position({args[0]}, {value}) = {place})"


def unique_entries(entries: str, mark: str) -> str:
    """A map of entries: of equal keys the last wins; NULL when a key is NULL. `mark` makes names of its own."""
    entry, place = identifier(f"~e{mark}"), identifier(f"~i{mark}")
    keys = f'list_transform({entries}, lambda "~k": struct_extract("~k", \'key\'))'
    later = f"list_position(list_reverse({keys}), struct_extract({entry}, 'key')) + {place} = len({entries}) + 1"
    kept = f"list_filter({entries}, lambda {entry}, {place}: {later})"
    return f"CASE WHEN {entries} IS NULL OR {_has_null(keys)} THEN NULL ELSE map_from_entries({kept}) END"


def _map_from_entries(call: Call, args: Sequence[str]) -> str:
    return unique_entries(args[0], str(call_depth(call)))


def _map_entries(_call: Call, args: Sequence[str]) -> str:
    return f"list_sort(map_entries({args[0]}), 'ASC', 'NULLS LAST')"


BUILDERS: dict[str, Builder] = {
    "struct": _struct,
    "field": _field,
    "array": _array,
    "item": _item,
    "size": _size,
    "array_contains": _contains,
    "array_distinct": _distinct,
    "array_sort": _sort,
    "array_reverse": lambda _call, args: f"list_reverse({args[0]})",
    "array_concat": _concat,
    "flatten": _flatten,
    "sequence": _sequence,
    "array_join": _join,
    "arrays_zip": _zip,
    "transform": lambda _call, args: f"list_transform({args[0]}, {args[1]})",
    "filter": lambda _call, args: f"list_filter({args[0]}, {args[1]})",
    "exists": _quantified("TRUE", "FALSE"),
    "forall": _quantified("FALSE", "TRUE"),
    "aggregate": _aggregate,
    "map_from_entries": _map_from_entries,
    "map_entries": _map_entries,
    "map_item": lambda _call, args: f"map_extract_value({args[0]}, {args[1]})",
}
