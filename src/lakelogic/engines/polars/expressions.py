"""Canonical expressions → Polars expressions, by a table: one builder per function of the catalogue."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import polars as pl

from lakelogic.engines.exact.patterns import like_parts, like_regex
from lakelogic.engines.polars.convert import by_batch, to_type
from lakelogic.engines.polars.functions import by_value, documents, nested, numbers, strings, times
from lakelogic.engines.polars.literals import dtype, literal
from lakelogic.errors import UnsupportedError
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal, columns_of, functions_of

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]

LONG = 1_000  # characters of an expression written down, from which it is computed first (`engines/exact/parts.py`)

# Rows as JSON text and maps of their values go through Python: what the plan makes of bad rows, and only of these.
_COSTLY = frozenset({"row_json", "entries_where"})
_WHERE, _VALUE = "~where", "~value"
_NONE = pl.lit(0, dtype=pl.Int128)  # 128-bit numbers have no minus of their own


def expression(value: Expression) -> pl.Expr:
    """The Polars expression of a canonical one."""
    if isinstance(value, Column):
        return pl.col(value.name)
    if isinstance(value, Literal):
        return literal(value)
    if isinstance(value, Lambda):
        return expression(value.body)  # over a frame that has its parameters as columns
    builder = BUILDERS.get(value.function)
    if builder is None:
        raise UnsupportedError(f"Polars has no function `{value.function}`.")
    return builder(value, [expression(argument) for argument in value.args])


def size(value: Expression) -> int:
    """How long an expression is, written down."""
    return len(str(expression(value)))


def _constant(call: Call, index: int) -> Any:
    argument = call.args[index]
    assert isinstance(argument, Literal)
    return argument.value


def _fold(function: Callable[[Any, Any], Any]) -> Builder:
    return lambda _call, args: reduce(function, args)


def _one_of(call: Call, args: Args) -> pl.Expr:
    subject, items = call.args[0], call.args[1:]
    present = [item for item in items if not (isinstance(item, Literal) and item.value is None)]
    simple = subject.type.kind in ("string", "tinyint", "smallint", "int", "bigint", "date")
    if simple and all(isinstance(item, Literal) for item in present):
        values = pl.Series([item.value for item in present if isinstance(item, Literal)], dtype=dtype(subject.type))
        matches = args[0].is_in(values.implode())
    else:
        pairs = zip(items, args[1:], strict=True)
        matches = reduce(operator.or_, [args[0] == value for item, value in pairs if item in present], pl.lit(False))
        matches = pl.when(args[0].is_not_null()).then(matches)
    return matches if len(present) == len(items) else pl.when(matches).then(pl.lit(True))


def _only_where(call: Call, condition: pl.Expr) -> pl.Expr:
    """A costly value of the rows where the condition is TRUE, and NULL of all others.

    Polars computes every branch for every row; here only the rows that need the value pay for it.
    """
    value, to = expression(call.args[1]).cast(dtype(call.type)).alias(_VALUE), dtype(call.type)

    def compute(rows: pl.Series) -> pl.Series:
        frame = rows.struct.unnest()
        series = frame.filter(pl.col(_WHERE)).select(value).to_series()
        if series.is_empty():
            return pl.repeat(None, frame.height, dtype=to, eager=True).alias(rows.name)
        # The others take a NULL that is there. Taken by no place at all they would each refer to the first text, which
        # is copied for each of them when the rows are handed on.
        taken = pl.concat([pl.repeat(None, 1, dtype=to, eager=True), series.alias("")])
        place = pl.when(pl.col(_WHERE)).then(pl.col(_WHERE).cast(pl.UInt32).cum_sum()).otherwise(0)
        return taken.gather(frame.select(place).to_series()).alias(rows.name)

    fields = [condition.fill_null(False).alias(_WHERE), *(pl.col(name) for name in sorted(columns_of(call.args[1])))]
    return by_batch(pl.struct(fields), compute, to)


def _case(call: Call, args: Args) -> pl.Expr:
    if len(call.args) == 3 and call.args[2] == Literal(None, call.type) and functions_of(call.args[1]) & _COSTLY:
        return _only_where(call, args[0])
    pairs = list(zip(args[:-1:2], args[1::2], strict=False))
    chain: Any = pl
    for condition, value in pairs:
        chain = chain.when(condition).then(value)
    default = args[-1] if len(args) % 2 else pl.lit(None, dtype=dtype(call.type))
    chosen: pl.Expr = chain.otherwise(default)
    return chosen


def _arithmetic(call: Call, args: Args) -> pl.Expr:
    left, right = args
    if call.type.kind == "decimal":
        pair = pl.struct(_as_decimal(call, 0, left).alias("l"), _as_decimal(call, 1, right).alias("r"))
        function = by_value.decimal_arithmetic(call.function, call.type.precision, call.type.scale)
        return by_batch(pair, function, dtype(call.type))
    act = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}[call.function]
    if call.type.is_integer:
        wide: pl.Expr = act(left.cast(pl.Int128), right.cast(pl.Int128))
        return wide.cast(dtype(call.type), strict=False)  # beyond the type: NULL
    plain: pl.Expr = act(_as_double(call, 0, left), _as_double(call, 1, right))
    return plain


def _as_decimal(call: Call, index: int, value: pl.Expr) -> pl.Expr:
    return value if call.args[index].type.kind == "decimal" else value.cast(pl.Decimal(38, 0))


def _as_double(call: Call, index: int, value: pl.Expr) -> pl.Expr:
    source = call.args[index].type
    if source.kind == "decimal":
        return value.cast(pl.String).cast(pl.Float64)
    return value if source.kind == "double" else value.cast(pl.Float64)


def _divide(call: Call, args: Args) -> pl.Expr:
    left, right = (_as_double(call, index, value) for index, value in enumerate(args))
    if not columns_of(call.args[1]):
        # Polars divides by a constant through its reciprocal, which is off by a bit; by a column it divides exactly.
        right = pl.when(left.is_finite()).then(left * 0.0 + right).otherwise(right)
    return pl.when(right != 0).then(left / right)


def _modulo(call: Call, args: Args) -> pl.Expr:
    left, right = (to_type(value, call.args[index].type, call.type) for index, value in enumerate(args))
    if call.type.kind in ("float", "double"):
        pair = pl.struct(left.cast(pl.Float64).alias("l"), right.cast(pl.Float64).alias("r"))
        return by_batch(pair, by_value.remainder, pl.Float64).cast(dtype(call.type))
    if call.type.is_integer:
        left, right = left.cast(pl.Int128), right.cast(pl.Int128)
    zero = pl.lit(0, dtype=pl.Int128) if call.type.is_integer else pl.lit(0).cast(dtype(call.type))
    divisor = pl.when(right != zero).then(right.abs())
    remainder = left.abs() % divisor  # the native remainder takes the sign of the divisor
    signed = pl.when(left < zero).then(zero - remainder).otherwise(remainder)
    return signed.cast(dtype(call.type), strict=False)


def _negate(call: Call, args: Args) -> pl.Expr:
    if call.type.is_integer:
        return (_NONE - args[0].cast(pl.Int128)).cast(dtype(call.type), strict=False)
    return (-args[0]).cast(dtype(call.type))


def _abs(call: Call, args: Args) -> pl.Expr:
    value = args[0].cast(pl.Int128) if call.type.is_integer else args[0]
    return value.abs().cast(dtype(call.type), strict=False)


def _whole(act: Callable[[pl.Expr], pl.Expr]) -> Builder:
    def build(call: Call, args: Args) -> pl.Expr:
        source = call.args[0].type
        if source.kind == "decimal":
            unit = pl.lit(10**source.scale, dtype=pl.Int128)
            unscaled = args[0].to_physical()
            quotient = unscaled // unit if call.function == "floor" else _NONE - (_NONE - unscaled) // unit
            return quotient.cast(pl.Int64, strict=False)
        return act(args[0]).cast(pl.Int64, strict=False)

    return build


def _extreme(is_beyond: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Builder:
    def choose(best: pl.Expr, value: pl.Expr) -> pl.Expr:
        return pl.when(best.is_null() | is_beyond(value, best)).then(value).otherwise(best)

    return lambda _call, args: reduce(choose, args)


def _like(call: Call, args: Args) -> pl.Expr:
    value, pattern = args[0], str(_constant(call, 1))
    if call.function == "ilike":
        value, pattern = value.str.to_lowercase(), pattern.lower()
    parts = like_parts(pattern)
    shape = tuple(kind for kind, _ in parts)
    texts = [text for kind, text in parts if kind == "text"]
    if shape == ("text",):
        return value == texts[0]
    if shape == ("text", "any"):
        return value.str.starts_with(texts[0])
    if shape == ("any", "text"):
        return value.str.ends_with(texts[0])
    if shape == ("any", "text", "any"):
        return value.str.contains(texts[0], literal=True)
    return value.str.contains(like_regex(parts))


def _bits(_call: Call, args: Args) -> pl.Expr:
    shifted = [flag.fill_null(False).cast(pl.Int64) * pl.lit(1 << bit, dtype=pl.Int64) for bit, flag in enumerate(args)]
    return reduce(operator.add, shifted, pl.lit(0, dtype=pl.Int64))


def _texts_where(call: Call, args: Args) -> pl.Expr:
    if not args:
        return pl.lit(None, dtype=dtype(call.type))
    fields = [value.alias(f"{'t' if index % 2 else 'f'}{index // 2}") for index, value in enumerate(args)]
    return by_batch(pl.struct(fields), by_value.texts_where(len(args) // 2), dtype(call.type))


def _entries_where(call: Call, args: Args) -> pl.Expr:
    if not args:
        return pl.lit(None, dtype=dtype(call.type))
    fields = [value.alias(f"{'ftv'[index % 3]}{index // 3}") for index, value in enumerate(args)]
    return by_batch(pl.struct(fields), by_value.entries_where(len(args) // 3), dtype(call.type))


def _row_json(call: Call, args: Args) -> pl.Expr:
    names = [str(_constant(call, index)) for index in range(0, len(args), 2)]
    row = pl.struct(value.alias(name) for name, value in zip(names, args[1::2], strict=True))
    return by_batch(row.struct.json_encode(), by_value.capital_escapes, pl.String)


BUILDERS: dict[str, Builder] = {
    "eq": _fold(operator.eq),
    "ne": _fold(operator.ne),
    "lt": _fold(operator.lt),
    "le": _fold(operator.le),
    "gt": _fold(operator.gt),
    "ge": _fold(operator.ge),
    "same": lambda _call, args: args[0].eq_missing(args[1]),
    "in": _one_of,
    "and": _fold(operator.and_),
    "or": _fold(operator.or_),
    "not": lambda _call, args: ~args[0],
    "is_null": lambda _call, args: args[0].is_null(),
    "coalesce": lambda _call, args: pl.coalesce(args),
    "nullif": lambda _call, args: pl.when(args[0].eq_missing(args[1])).then(None).otherwise(args[0]),
    "case": _case,
    "add": _arithmetic,
    "subtract": _arithmetic,
    "multiply": _arithmetic,
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _whole(lambda value: value.floor()),
    "ceil": _whole(lambda value: value.ceil()),
    "greatest": _extreme(lambda value, best: value > best),
    "least": _extreme(lambda value, best: value < best),
    "lower": lambda _call, args: args[0].str.to_lowercase(),
    "upper": lambda _call, args: args[0].str.to_uppercase(),
    "length": lambda call, args: args[0].str.len_chars().cast(dtype(call.type)),
    "concat": lambda _call, args: pl.concat_str(args),
    "reverse": lambda _call, args: by_batch(args[0], by_value.reversed_text, pl.String),
    "starts_with": lambda _call, args: args[0].str.starts_with(args[1]),
    "ends_with": lambda _call, args: args[0].str.ends_with(args[1]),
    "contains": lambda _call, args: args[0].str.contains(args[1], literal=True),
    "like": _like,
    "ilike": _like,
    "convert": lambda call, args: to_type(args[0], call.args[0].type, call.type),
    "bits": _bits,
    "texts_where": _texts_where,
    "entries_where": _entries_where,
    "row_json": _row_json,
    "bit_is_set": lambda call, args: (args[0] & (1 << int(_constant(call, 1)))) != 0,
}
for _subject in (numbers, strings, times, nested, documents):
    BUILDERS |= _subject.BUILDERS
