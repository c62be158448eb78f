"""Canonical expressions → DuckDB SQL text, by a table: one builder per function of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from lakelogic.engines.duckdb.convert import to_type
from lakelogic.engines.duckdb.functions import documents, nested, numbers, strings, times
from lakelogic.engines.duckdb.literals import cast, identifier, literal, text, try_cast
from lakelogic.engines.exact.patterns import like_escaped, like_parts
from lakelogic.engines.sql import operators
from lakelogic.engines.sql.operators import Builder, function, infix
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, columns_of
from lakelogic.sql.types import DOUBLE, Type, decimal

# Exact column name → the identifier it has in SQL. DuckDB's identifiers have no case, ours have.
Names: TypeAlias = Mapping[str, str]

LONG = 1_000  # characters of SQL, from which an argument is computed first (`engines/exact/parts.py`)


def expression_sql(expression: Expression, names: Names) -> str:
    """The SQL text of an expression over columns that are known by `names`."""
    if isinstance(expression, Column):
        return identifier(names[expression.name])
    if isinstance(expression, Literal):
        return literal(expression)
    if isinstance(expression, Lambda):
        raise UnsupportedError("A lambda can only stand inside a function that takes one.")
    args = [
        nested.lambda_sql(expression, argument, names, expression_sql)
        if isinstance(argument, Lambda)
        else expression_sql(argument, names)
        for argument in expression.args
    ]
    builder = BUILDERS.get(expression.function)
    if builder is None:
        raise UnsupportedError(f"DuckDB has no function `{expression.function}`.")
    return builder(expression, args)


def size(expression: Expression) -> int:
    """How long an expression is in SQL."""
    return len(expression_sql(expression, {name: name for name in columns_of(expression)}))


def _constant(call: Call, index: int) -> object:
    argument = call.args[index]
    assert isinstance(argument, Literal)
    return argument.value


def _arithmetic(operator: str) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        to = call.type
        if to.kind != "decimal":
            wide = DOUBLE if to.kind in ("float", "double") else to
            sides = [_as(sql, argument.type, wide) for sql, argument in zip(args, call.args, strict=True)]
            joined = f" {operator} ".join(sides)
            return f"({joined})" if to.kind == "double" else f"TRY({joined})"
        scales = [argument.type.scale if operator == "*" else to.scale for argument in call.args]
        sides = [cast(sql, decimal(38, scale)) for sql, scale in zip(args, scales, strict=True)]
        return try_cast(f"TRY({f' {operator} '.join(sides)})", to)

    return build


def _as(sql: str, source: Type, to: Type) -> str:
    return sql if source == to else cast(sql, to)


def _divide(call: Call, args: Sequence[str]) -> str:
    left, right = (_as(sql, argument.type, DOUBLE) for sql, argument in zip(args, call.args, strict=True))
    return f"({left} / NULLIF({right}, CAST(0 AS DOUBLE)))"


def _modulo(call: Call, args: Sequence[str]) -> str:
    left, right = (to_type(sql, argument.type, call.type) for sql, argument in zip(args, call.args, strict=True))
    if call.type.is_integer:  # the lowest number divided by -1 would overflow; the remainder is that by 1
        right = f"CASE WHEN {right} = -1 THEN 1 ELSE {right} END"
    return try_cast(f"TRY({left} % NULLIF({right}, {cast('0', call.type)}))", call.type)


def _whole(name: str) -> Builder:
    return lambda _call, args: try_cast(f"{name}({args[0]})", "BIGINT")


def _like(call: Call, args: Sequence[str]) -> str:
    pattern = like_escaped(like_parts(str(_constant(call, 1))))
    if call.function == "ilike":
        return f"({strings.lower(call, args[:1])} LIKE {text(pattern.lower())} ESCAPE {text(chr(92))})"
    return f"({args[0]} LIKE {text(pattern)} ESCAPE {text(chr(92))})"


def _bits(_call: Call, args: Sequence[str]) -> str:
    parts = [f"CASE WHEN {flag} THEN {1 << bit} ELSE 0 END" for bit, flag in enumerate(args)]
    return cast(" | ".join(f"CAST({part} AS BIGINT)" for part in parts) or "0", "BIGINT")


def _texts_where(_call: Call, args: Sequence[str]) -> str:
    flags, texts = args[::2], args[1::2]
    items = ", ".join(f"CASE WHEN {flag} THEN {value} END" for flag, value in zip(flags, texts, strict=True))
    reasons = f"list_filter([{items}], lambda x: x IS NOT NULL)"
    return f"CASE WHEN {' OR '.join(flags)} THEN {reasons} END"


def _entries_where(_call: Call, args: Sequence[str]) -> str:
    triples = list(zip(args[::3], args[1::3], args[2::3], strict=True))
    items = ", ".join(
        f"CASE WHEN {flag} THEN {{'k': {key}, 'v': {cast(value, 'VARCHAR')}}} END" for flag, key, value in triples
    )
    entries = f"map_from_entries(list_filter([{items}], lambda x: x IS NOT NULL))"
    return f"CASE WHEN {' OR '.join(flag for flag, _, _ in triples)} THEN {entries} END"


BUILDERS: dict[str, Builder] = {
    **operators.BUILDERS,
    "same": infix("IS NOT DISTINCT FROM"),
    "and": infix("AND"),
    "or": infix("OR"),
    "add": _arithmetic("+"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "divide": _divide,
    "modulo": _modulo,
    "negate": lambda call, args: try_cast(f"TRY(- {args[0]})", call.type),
    "abs": lambda call, args: try_cast(f"TRY(abs({args[0]}))", call.type),
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "concat": infix("||"),
    # `reverse` itself turns user-perceived characters around, not code points.
    "reverse": lambda _call, args: f"array_to_string(list_reverse(string_split({args[0]}, '')), '')",
    "starts_with": function("starts_with"),
    "ends_with": function("ends_with"),
    "like": _like,
    "ilike": _like,
    "convert": lambda call, args: to_type(args[0], call.args[0].type, call.type),
    "bits": _bits,
    "texts_where": _texts_where,
    "entries_where": _entries_where,
    "row_json": lambda _call, args: cast(f"json_object({', '.join(args)})", "VARCHAR"),
    "bit_is_set": lambda call, args: f"(({args[0]} & {1 << int(str(_constant(call, 1)))}) <> 0)",
}
for _subject in (numbers, strings, times, nested, documents):
    BUILDERS |= _subject.BUILDERS
