"""Canonical expressions → Polars expressions: arrays, maps, structs and lambdas.

A lambda's body is an expression over its parameters and columns of the row. It is evaluated over a frame that has a
row per element (`by_element.py`), so it costs what the same expression over a column would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from lakelogic.engines.polars.functions import by_element
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call, Lambda, columns_of

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]


def _over_batch(values: Sequence[pl.Expr], function: Callable[[pl.Series], pl.Series], to: object) -> pl.Expr:
    return pl.struct(values).map_batches(function, return_dtype=to, is_elementwise=True)  # type: ignore[arg-type]


def _lambda(call: Call) -> Lambda:
    return next(argument for argument in call.args if isinstance(argument, Lambda))


def _row(call: Call, items: pl.Expr, *more: pl.Expr) -> list[pl.Expr]:
    """The array, and the columns around it that the lambda reads."""
    outer = sorted(columns_of(_lambda(call)))
    return [items.alias(by_element.ITEMS), *more, *(pl.col(name) for name in outer)]


def _by_element(make: Callable[[Sequence[str], pl.Expr], Callable[[pl.Series], pl.Series]]) -> Builder:
    def build(call: Call, args: Args) -> pl.Expr:
        names = [parameter.name for parameter in _lambda(call).parameters]
        body = args[1].cast(dtype(_lambda(call).type))
        return _over_batch(_row(call, args[0]), make(names, body), dtype(call.type))

    return build


def _aggregate(call: Call, args: Args) -> pl.Expr:
    names = [parameter.name for parameter in _lambda(call).parameters]
    start = args[1].cast(dtype(call.type)).alias(by_element.START)
    function = by_element.aggregate(names, args[2].cast(dtype(call.type)))
    return _over_batch(_row(call, args[0], start), function, dtype(call.type))


def _array(call: Call, args: Args) -> pl.Expr:
    assert call.type.element is not None
    if not args:
        return pl.lit([], dtype=dtype(call.type))
    if not call.type.element.is_nested:
        return pl.concat_list(args).cast(dtype(call.type))
    # Lists would be put one after the other; inside a struct they are elements.
    wrapped = pl.concat_list([pl.struct(value.alias("v")) for value in args])
    return wrapped.list.eval(pl.element().struct.field("v"))


def _struct(call: Call, args: Args) -> pl.Expr:
    names = [name for name, _ in call.type.fields]
    return pl.struct(value.alias(name) for name, value in zip(names, args[1::2], strict=True))


def _item(_call: Call, args: Args) -> pl.Expr:
    values, position = args
    return pl.when(position >= 0).then(values.list.get(position, null_on_oob=True))


def _size(call: Call, args: Args) -> pl.Expr:
    length = args[0].map.len() if call.args[0].type.kind == "map" else args[0].list.len()
    return length.cast(pl.Int32)


def _pair(call: Call, args: Args, function: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    fields = [value.alias(f"~{index}") for index, value in enumerate(args)]
    return _over_batch(fields, function, dtype(call.type))


def _alone(call: Call, args: Args, function: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    return args[0].map_batches(function, return_dtype=dtype(call.type), is_elementwise=True)


def _map_entries(call: Call, args: Args) -> pl.Expr:
    return args[0].cast(dtype(call.type)).list.sort()


BUILDERS: dict[str, Builder] = {
    "struct": _struct,
    "field": lambda call, args: args[0].struct.field(str(call.constant(1))),
    "array": _array,
    "item": _item,
    "size": _size,
    "array_contains": lambda call, args: _pair(call, args, by_element.contains),
    "array_distinct": lambda call, args: _alone(call, args, by_element.distinct),
    "array_sort": lambda call, args: args[0].list.sort(descending=bool(call.constant(1)), nulls_last=True),
    "array_reverse": lambda _call, args: args[0].list.reverse(),
    "array_concat": lambda _call, args: pl.concat_list(args),
    "flatten": lambda call, args: _alone(call, args, by_element.flatten),
    "sequence": lambda call, args: _pair(call, args, by_element.sequence(dtype(call.type))),
    "array_join": lambda call, args: args[0].list.join(str(call.constant(1)), ignore_nulls=True),
    "arrays_zip": lambda call, args: _pair(call, args, by_element.zipped(dtype(call.type))),
    "transform": _by_element(by_element.transform),
    "filter": _by_element(by_element.keep),
    "exists": _by_element(lambda names, body: by_element.quantified(names, body, decisive=True)),
    "forall": _by_element(lambda names, body: by_element.quantified(names, body, decisive=False)),
    "aggregate": _aggregate,
    "map_from_entries": lambda call, args: _alone(call, args, by_element.as_map(dtype(call.type))),
    "map_entries": _map_entries,
    "map_item": lambda _call, args: args[0].map.get(args[1]),
}
