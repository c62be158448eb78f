"""Canonical expressions → Spark SQL text: arrays, maps, structs and lambdas."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.spark.convert_nested import sorted_entries
from lakelogic.engines.spark.literals import identifier, text, type_name
from lakelogic.engines.sql.operators import Builder, function
from lakelogic.sql.expressions import Call, Lambda, Literal


def lambda_sql(small: Lambda, body: str) -> str:
    """A lambda as an argument; Spark, too, counts positions from 0."""
    names = [identifier(parameter.name) for parameter in small.parameters]
    return f"{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'} -> {body}"


def _array(call: Call, args: Sequence[str]) -> str:
    return f"array({', '.join(args)})" if args else f"CAST(array() AS {type_name(call.type)})"


def _struct(call: Call, args: Sequence[str]) -> str:
    names = [text(field) for field, _ in call.type.fields]
    return f"named_struct({', '.join(f'{field}, {value}' for field, value in zip(names, args[1::2], strict=True))})"


def _item(call: Call, args: Sequence[str]) -> str:
    values, position = args
    if call.args[1].type.kind != "bigint":
        return f"get({values}, {position})"
    # Spark works constants out before it knows which branch is taken: a CAST that fails would stop the run.
    return f"get({values}, try_cast({position} AS INT))"


def _size(call: Call, args: Sequence[str]) -> str:
    if call.args[0].type.kind == "map":
        return f"CASE WHEN {args[0]} IS NOT NULL THEN size({args[0]}) END"
    return f"array_size({args[0]})"


def _sort(call: Call, args: Sequence[str]) -> str:
    return f"sort_array({args[0]}, FALSE)" if call.constant(1) else f"array_sort({args[0]})"


def _sequence(call: Call, args: Sequence[str]) -> str:
    start, stop, step = args
    wide = f"abs(CAST({stop} AS DECIMAL(20,0)) - CAST({start} AS DECIMAL(20,0)))"
    leads = f"(({step} > 0L AND {start} <= {stop}) OR ({step} < 0L AND {start} >= {stop}))"
    few = f"{wide} < 1000000 * abs(CAST({step} AS DECIMAL(20,0)))"
    # Spark stops where a step leads away, even in a branch that is never taken: so the bounds are made harmless.
    valid = f"({start} <> {stop} AND {leads} AND {few})"
    bounds = ((start, "0L"), (stop, "0L"), (step, "1L"))
    safe = [f"CASE WHEN {valid} THEN {value} ELSE {other} END" for value, other in bounds]
    return (
        f"CAST(CASE WHEN {step} IS NULL THEN NULL WHEN {start} = {stop} THEN array({start}) "
        f"WHEN {valid} THEN sequence({', '.join(safe)}) END AS {type_name(call.type)})"
    )


def _map_from_entries(_call: Call, args: Sequence[str]) -> str:
    (entries,) = args
    keyless = f"exists({entries}, ll_e -> ll_e IS NULL OR ll_e.key IS NULL)"
    return f"CASE WHEN {keyless} THEN NULL ELSE map_from_entries({entries}) END"


def _field(call: Call, args: Sequence[str]) -> str:
    argument = call.args[1]
    assert isinstance(argument, Literal)
    return f"({args[0]}).{identifier(str(argument.value))}"


BUILDERS: dict[str, Builder] = {
    "struct": _struct,
    "field": _field,
    "array": _array,
    "item": _item,
    "size": _size,
    "array_contains": function("array_contains"),
    "array_distinct": function("array_distinct"),
    "array_sort": _sort,
    "array_reverse": function("reverse"),
    "array_concat": function("concat"),
    "flatten": function("flatten"),
    "sequence": _sequence,
    "array_join": function("array_join"),
    "arrays_zip": lambda call, args: f"CAST(arrays_zip({', '.join(args)}) AS {type_name(call.type)})",
    "transform": function("transform"),
    "filter": function("filter"),
    "exists": function("exists"),
    "forall": function("forall"),
    "aggregate": function("aggregate"),
    "map_from_entries": _map_from_entries,
    "map_entries": lambda _call, args: sorted_entries(args[0]),
    "map_item": function("try_element_at"),
}
