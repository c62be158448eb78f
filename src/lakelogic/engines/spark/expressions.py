"""Canonical expressions as Spark SQL text: one row per function of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lakelogic.engines.exact.patterns import Stretch, like_escaped, like_parts, like_stretches
from lakelogic.engines.spark.convert import conversion
from lakelogic.engines.spark.functions import documents, nested, numbers, strings, times
from lakelogic.engines.spark.functions.patterns import java_like
from lakelogic.engines.spark.literals import identifier, literal, text, type_name
from lakelogic.engines.sql import operators
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal
from lakelogic.sql.types import Type

Builder = Callable[[Call], str]
MOST_STRETCHES = 4  # of a LIKE pattern that are looked for one after the other; each looks again for those before it


def sql(expression: Expression) -> str:
    """Spark SQL for an expression."""
    if isinstance(expression, Column):
        return identifier(expression.name)
    if isinstance(expression, Literal):
        return literal(expression)
    if isinstance(expression, Lambda):
        return nested.lambda_sql(expression, sql(expression.body))
    build = FUNCTIONS.get(expression.function)
    if build is None:
        raise UnsupportedError(f"The function `{expression.function}` is not available on Spark.")
    return build(expression)


def _args(call: Call) -> list[str]:
    return [sql(argument) for argument in call.args]


def _text_of(argument: Expression) -> str:
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value
    raise UnsupportedError("A pattern must be a constant text.")


def _whole_of(argument: Expression) -> int:
    if isinstance(argument, Literal) and isinstance(argument.value, int):
        return argument.value
    raise UnsupportedError("This argument must be a constant whole number.")


def _function(spark_name: str) -> Builder:
    return lambda call: f"{spark_name}({', '.join(_args(call))})"


def _chain(symbol: str) -> Builder:
    def operands(call: Call) -> Iterator[Expression]:
        # A long AND is a deep tree; Spark's parser makes a balanced one of a flat text.
        pending: list[Expression] = [call]
        while pending:
            part = pending.pop()
            if isinstance(part, Call) and part.function == call.function:
                pending.extend(reversed(part.args))
            else:
                yield part

    return lambda call: "(" + f" {symbol} ".join(sql(part) for part in operands(call)) + ")"


# numbers


def _arithmetic(spark_name: str) -> Builder:
    def build(call: Call) -> str:
        kind = type_name(call.type)
        if call.type.kind == "decimal":
            return f"try_cast({spark_name}({', '.join(_args(call))}) AS {kind})"
        left, right = (_as(argument, call.type) for argument in call.args)
        return f"{spark_name}({left}, {right})"

    return build


def _as(argument: Expression, to: Type) -> str:
    written = sql(argument)
    return written if argument.type == to else f"CAST({written} AS {type_name(to)})"


def _divide(call: Call) -> str:
    left, right = (f"CAST({argument} AS DOUBLE)" for argument in _args(call))
    return f"try_divide({left}, {right})"


def _modulo(call: Call) -> str:
    left, right = (_as(argument, call.type) for argument in call.args)
    return f"({left} % nullif({right}, CAST(0 AS {type_name(call.type)})))"


def _negate(call: Call) -> str:
    (value,) = _args(call)
    if call.type.is_integer:
        return f"try_cast(try_subtract(0L, CAST({value} AS BIGINT)) AS {type_name(call.type)})"
    return _opposite(value, call.type) if call.type.kind == "decimal" else f"negative({value})"


def _opposite(value: str, type_: Type) -> str:
    # Spark's own `negative` and `abs` round decimals to 34 digits.
    return f"try_cast(try_subtract(CAST(0 AS {type_name(type_)}), {value}) AS {type_name(type_)})"


def _abs(call: Call) -> str:
    (value,) = _args(call)
    if call.type.is_integer:
        opposite = f"try_cast(try_subtract(0L, CAST({value} AS BIGINT)) AS {type_name(call.type)})"
        return f"CASE WHEN {value} < 0 THEN {opposite} ELSE {value} END"
    if call.type.kind == "decimal":
        return f"CASE WHEN {value} < 0 THEN {_opposite(value, call.type)} ELSE {value} END"
    return f"abs({value})"


def _to_whole(spark_name: str) -> Builder:
    def build(call: Call) -> str:
        (value,) = _args(call)
        kind = call.args[0].type
        if kind.is_integer:
            return f"CAST({value} AS BIGINT)"
        if kind.kind == "decimal":
            return f"try_cast({spark_name}({value}) AS BIGINT)"
        wide = f"CAST({value} AS DOUBLE)"
        inside = f"{wide} >= -9223372036854775808D AND {wide} < 9223372036854775808D"
        return f"CASE WHEN {inside} THEN {spark_name}({wide}) END"

    return build


# text


def _like(symbol: str) -> Builder:
    def build(call: Call) -> str:
        subject, pattern = call.args
        parts = like_parts(_text_of(pattern))
        stretches = like_stretches(parts) if symbol == "LIKE" and isinstance(subject, Column) else None
        # One text anywhere is what Spark itself looks for without a regular expression.
        if stretches and 1 < len(stretches) + any(kind == "one" for kind, _ in parts) <= MOST_STRETCHES + 1:
            return _found_in_turn(sql(subject), stretches)
        if symbol == "LIKE" and (java_pattern := java_like(parts)) is not None:
            return f"({sql(subject)} RLIKE {text(java_pattern)})"
        return f"({sql(subject)} {symbol} {text(like_escaped(parts))})"

    return build


def _found_in_turn(value: str, stretches: Sequence[Stretch]) -> str:
    """Whether the texts are found one after the other; Java's regular expressions take several times as long."""
    conditions, end = [], "0"
    for stretch in stretches:
        place = f"locate({text(stretch.text)}, {value}, {end} + {stretch.before + 1})"
        conditions.append(f"{place} > 0")
        end = f"({place} + {len(stretch.text) + stretch.after - 1})"
    conditions.append(f"char_length({value}) >= {end}")
    # A place that is NULL is 0 for `locate`, so that NULL would be no match instead of none known.
    return f"CASE WHEN {value} IS NOT NULL THEN {' AND '.join(conditions)} END"


# made by the plan


def _bits(call: Call) -> str:
    parts = [f"CASE WHEN {flag} THEN {1 << i}L ELSE 0L END" for i, flag in enumerate(_args(call))]
    while len(parts) > 1:
        parts = [f"({' | '.join(parts[i : i + 2])})" for i in range(0, len(parts), 2)]
    return parts[0] if parts else "0L"


def _bit_is_set(call: Call) -> str:
    return f"(({sql(call.args[0])} & {1 << _whole_of(call.args[1])}L) <> 0L)"


def _texts_where(call: Call) -> str:
    flags, texts = call.args[0::2], call.args[1::2]
    if not flags:
        return "CAST(NULL AS ARRAY<STRING>)"
    packed = _packed_texts(flags, texts)
    if packed is not None:
        return packed
    written = [sql(flag) for flag in flags]
    chosen = ", ".join(f"CASE WHEN {flag} THEN {sql(text)} END" for flag, text in zip(written, texts, strict=True))
    # Rows without any reason pay for the flags only.
    return f"CASE WHEN {' OR '.join(written)} THEN array_compact(array({chosen})) END"


def _packed_texts(flags: tuple[Expression, ...], texts: tuple[Expression, ...]) -> str | None:
    """Constant texts behind bits of verdict columns: one look at each column for a row without reasons."""
    groups: list[tuple[str, list[int], list[str]]] = []
    for flag, reason in zip(flags, texts, strict=True):
        if not (
            isinstance(flag, Call)
            and flag.function == "bit_is_set"
            and isinstance(flag.args[0], Column)
            and isinstance(reason, Literal)
            and isinstance(reason.value, str)
        ):
            return None
        verdict, bit = identifier(flag.args[0].name), _whole_of(flag.args[1])
        if not groups or groups[-1][0] != verdict:
            groups.append((verdict, [], []))
        groups[-1][1].append(bit)
        groups[-1][2].append(text(reason.value))
    lists, guards = [], []
    for verdict, bits, reasons in groups:
        guards.append(f"({verdict} & {sum(1 << bit for bit in set(bits))}L) <> 0L")
        position = (
            "ll_i" if bits == list(range(len(bits))) else f"element_at(array({', '.join(map(str, bits))}), ll_i + 1)"
        )
        lists.append(
            f"filter(array({', '.join(reasons)}), (ll_x, ll_i) -> (shiftright({verdict}, {position}) & 1L) = 1L)"
        )
    together = lists[0] if len(lists) == 1 else f"concat({', '.join(lists)})"
    return f"CASE WHEN {' OR '.join(guards)} THEN {together} END"


def _entries_where(call: Call) -> str:
    triples = [call.args[i : i + 3] for i in range(0, len(call.args), 3)]
    if not triples:
        return "CAST(NULL AS MAP<STRING,STRING>)"
    flags = [sql(flag) for flag, _, _ in triples]
    entries = ", ".join(
        f"CASE WHEN {flag} THEN named_struct('key', {sql(key)}, 'value', {sql(value)}) END"
        for flag, (_, key, value) in zip(flags, triples, strict=True)
    )
    return f"CASE WHEN {' OR '.join(flags)} THEN map_from_entries(array_compact(array({entries}))) END"


def _row_json(call: Call) -> str:
    if not call.args:
        return "'{}'"
    return f"to_json(named_struct({', '.join(_args(call))}), map('ignoreNullFields', 'false'))"


def _by_arguments(build: operators.Builder) -> Builder:
    return lambda call: build(call, _args(call))


FUNCTIONS: dict[str, Builder] = {
    "same": _by_arguments(operators.infix("<=>")),
    "and": _chain("AND"),
    "or": _chain("OR"),
    "add": _arithmetic("try_add"),
    "subtract": _arithmetic("try_subtract"),
    "multiply": _arithmetic("try_multiply"),
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "upper": _function("upper"),
    "length": _function("length"),
    "concat": _function("concat"),
    "reverse": _function("reverse"),
    "starts_with": _function("startswith"),
    "ends_with": _function("endswith"),
    "like": _like("LIKE"),
    "convert": lambda call: conversion(sql(call.args[0]), call.args[0].type, call.type),
    "bits": _bits,
    "texts_where": _texts_where,
    "entries_where": _entries_where,
    "row_json": _row_json,
    "bit_is_set": _bit_is_set,
}


for _subject in (operators, numbers, strings, times, nested, documents):
    FUNCTIONS |= {name: _by_arguments(build) for name, build in _subject.BUILDERS.items()}
