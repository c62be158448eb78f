"""Windows on Polars: rows are sorted once, then every function reads its neighbours by position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from lakelogic.engines.polars.expressions import expression
from lakelogic.engines.polars.frame import Links
from lakelogic.engines.polars.functions.aggregates import SAFE_DIGITS, Summary, plain, summary
from lakelogic.engines.polars.functions.sums import SHIFTS
from lakelogic.engines.polars.literals import dtype
from lakelogic.plan.nodes import Bounds, Window, WindowFunction
from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import Type

PEERS = Bounds(False, None, 0)
_ROW, _AT, _PART, _PEER = "~row", "~at", "~part", "~peer"
_FIRST, _LAST, _PEER_FIRST, _PEER_LAST = "~first", "~last", "~peer_first", "~peer_last"
_I = pl.col(_AT)
_FAR = 2**40  # further than any row is from another


def window(frame: pl.LazyFrame, node: Window, _links: Links) -> pl.LazyFrame:
    """New columns that look at other rows."""
    parts = [plain(expression(value), value.type).alias(f"~part{i}") for i, value in enumerate(node.partition)]
    orders = [plain(expression(key.value), key.value.type).alias(f"~order{i}") for i, key in enumerate(node.order)]
    values = [
        expression(value).alias(f"~value{index}.{i}")
        for index, function in enumerate(node.functions)
        for i, value in enumerate(function.args)
    ]
    before = frame.collect_schema()
    added = {function.name: dtype(function.type) for function in node.functions}
    ready = frame.with_columns(*parts, *orders, *values).with_row_index(_ROW)
    return ready.map_batches(
        lambda rows: _windowed(rows, node, list(before)),
        schema={**before, **added},
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _windowed(rows: pl.DataFrame, node: Window, columns: list[str]) -> pl.DataFrame:
    """All rows, in their own order, with the new columns."""
    placed = _placed(rows, node)
    for index, function in enumerate(node.functions):
        column = _column(placed, function, index)
        placed = placed.with_columns(column.cast(dtype(function.type), strict=False).alias(function.name))
    return placed.sort(_ROW).select([*columns, *(function.name for function in node.functions)])


def _placed(rows: pl.DataFrame, node: Window) -> pl.DataFrame:
    """The rows in the order of the window, with the places where their partition and their peers begin and end."""
    parts = [f"~part{i}" for i in range(len(node.partition))]
    orders = [f"~order{i}" for i in range(len(node.order))]
    keys = [*parts, *orders, _ROW]
    descending = [*(False for _ in parts), *(key.descending for key in node.order), False]
    nulls_last = [*(True for _ in parts), *(not key.nulls_first for key in node.order), True]
    ordered = rows.sort(keys, descending=descending, nulls_last=nulls_last)
    ordered = ordered.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_AT))
    starts = pl.any_horizontal(_I == 0, *(pl.col(key).ne_missing(pl.col(key).shift(1)) for key in parts))
    ordered = ordered.with_columns(starts.alias("~starts"))
    peers = pl.any_horizontal("~starts", *(pl.col(key).ne_missing(pl.col(key).shift(1)) for key in orders))
    ordered = ordered.with_columns(peers.alias("~differs"))
    return ordered.with_columns(
        pl.col("~starts").cum_sum().cast(pl.Int64).alias(_PART),
        pl.col("~differs").cum_sum().cast(pl.Int64).alias(_PEER),
        *_edges("~starts", _FIRST, _LAST),
        *_edges("~differs", _PEER_FIRST, _PEER_LAST),
    )


def _edges(starts: str, first: str, last: str) -> tuple[pl.Expr, pl.Expr]:
    begins = pl.col(starts)
    ends = begins.shift(-1).fill_null(True)
    return (
        pl.when(begins).then(_I).forward_fill().alias(first),
        pl.when(ends).then(_I).backward_fill().alias(last),
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The places of the first and the last row that a function sees; nothing where the first is after the last."""

    start: pl.Expr
    end: pl.Expr

    @property
    def is_there(self) -> pl.Expr:
        """There is any row."""
        return self.start <= self.end


def _stretch(bounds: Bounds) -> _Stretch:
    first, last = pl.col(_FIRST), pl.col(_LAST)
    if not bounds.rows:
        return _Stretch(first, last if bounds.end is None else pl.col(_PEER_LAST))
    start = first if bounds.start is None else pl.max_horizontal(first, _I + bounds.start)
    return _Stretch(start, last if bounds.end is None else pl.min_horizontal(last, _I + bounds.end))


def _column(placed: pl.DataFrame, function: WindowFunction, index: int) -> pl.Series:
    """One new column, in the order of the window."""
    own = _OWN.get(function.function)
    if own is not None:
        return placed.select(own(function, f"~value{index}.0")).to_series()
    return _aggregated(placed, function, index)


# functions of their own


def _whole(function: WindowFunction, index: int, otherwise: int) -> int:
    if len(function.args) <= index:
        return otherwise
    constant = function.args[index]
    assert isinstance(constant, Literal)
    assert isinstance(constant.value, int)
    return constant.value


def _size() -> pl.Expr:
    return pl.col(_LAST) - pl.col(_FIRST) + 1


def _percent_rank(_function: WindowFunction, _value: str) -> pl.Expr:
    others = (_size() - 1).cast(pl.Float64)
    return pl.when(others > 0).then((pl.col(_PEER_FIRST) - pl.col(_FIRST)).cast(pl.Float64) / others).otherwise(0.0)


def _cume_dist(_function: WindowFunction, _value: str) -> pl.Expr:
    return (pl.col(_PEER_LAST) - pl.col(_FIRST) + 1).cast(pl.Float64) / _size().cast(pl.Float64)


def _dense_rank(_function: WindowFunction, _value: str) -> pl.Expr:
    return pl.col(_PEER) - pl.col(_PEER).gather(pl.col(_FIRST)) + 1


def _ntile(function: WindowFunction, _value: str) -> pl.Expr:
    # The number of tiles is the first argument: there is no value.
    tiles = _whole(function, 0, 1)
    at, small, longer = _I - pl.col(_FIRST), _size() // tiles, _size() % tiles
    in_longer = at < longer * (small + 1)
    rest = pl.when(small > 0).then(longer + (at - longer * (small + 1)) // small)
    return pl.when(in_longer).then(at // (small + 1)).otherwise(rest) + 1


def _taken(value: str, place: pl.Expr, is_there: pl.Expr) -> pl.Expr:
    """The value at a place, where that exists."""
    return pl.col(value).gather(pl.when(is_there).then(place))


def _neighbour(sign: int) -> Callable[[WindowFunction, str], pl.Expr]:
    def build(function: WindowFunction, value: str) -> pl.Expr:
        place = _I + sign * _whole(function, 1, 1)
        inside = place.is_between(pl.col(_FIRST), pl.col(_LAST))
        return _or_default(function, value, _taken(value, place, inside), inside)

    return build


def _or_default(function: WindowFunction, value: str, is_there: pl.Expr, inside: pl.Expr) -> pl.Expr:
    if len(function.args) < 3:
        return is_there
    return pl.when(inside).then(is_there).otherwise(pl.col(value.removesuffix("0") + "2"))


def _counted(value: str) -> pl.Expr:
    """How many values that are not NULL stand up to each row, over all partitions."""
    return pl.col(value).is_not_null().cum_sum().cast(pl.Int64)


def _present_at(value: str, number: pl.Expr, is_there: pl.Expr) -> pl.Expr:
    """The value that is the so-manyth (from 1, over all partitions) that is not NULL."""
    return pl.col(value).drop_nulls().gather(pl.when(is_there).then(number - 1))


def _before(value: str, place: pl.Expr) -> pl.Expr:
    """How many values that are not NULL stand before a place."""
    return pl.when(place > 0).then(_counted(value).gather(pl.max_horizontal(place - 1, pl.lit(0)))).otherwise(0)


def _present_neighbour(sign: int) -> Callable[[WindowFunction, str], pl.Expr]:
    def build(function: WindowFunction, value: str) -> pl.Expr:
        step = _whole(function, 1, 1)
        if sign < 0:
            number = _before(value, _I) - step + 1
        else:
            number = _counted(value) + step
        inside = (number > _before(value, pl.col(_FIRST))) & (number <= _counted(value).gather(pl.col(_LAST)))
        return _or_default(function, value, _present_at(value, number, inside), inside)

    return build


def _nth(from_end: bool = False) -> Callable[[WindowFunction, str], pl.Expr]:
    def build(function: WindowFunction, value: str) -> pl.Expr:
        stretch = _stretch(function.bounds or PEERS)
        place = stretch.end if from_end else stretch.start + _whole(function, 1, 1) - 1
        return _taken(value, place, stretch.is_there & (place <= stretch.end))

    return build


def _nth_present(from_end: bool = False) -> Callable[[WindowFunction, str], pl.Expr]:
    def build(function: WindowFunction, value: str) -> pl.Expr:
        stretch = _stretch(function.bounds or PEERS)
        before = _before(value, pl.min_horizontal(stretch.start, pl.col(_LAST)))
        until = _counted(value).gather(pl.when(stretch.is_there).then(stretch.end))
        number = until if from_end else before + _whole(function, 1, 1)
        return _present_at(value, number, stretch.is_there & (number > before) & (number <= until))

    return build


_OWN: dict[str, Callable[[WindowFunction, str], pl.Expr]] = {
    "row_number": lambda _function, _value: _I - pl.col(_FIRST) + 1,
    "rank": lambda _function, _value: pl.col(_PEER_FIRST) - pl.col(_FIRST) + 1,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lag": _neighbour(-1),
    "lead": _neighbour(1),
    "lag_present": _present_neighbour(-1),
    "lead_present": _present_neighbour(1),
    "first_value": _nth(),
    "last_value": _nth(from_end=True),
    "nth_value": _nth(),
    "first_value_present": _nth_present(),
    "last_value_present": _nth_present(from_end=True),
    "nth_value_present": _nth_present(),
}

NAMES = frozenset(_OWN)


# aggregates


def _aggregated(placed: pl.DataFrame, function: WindowFunction, index: int) -> pl.Series:
    """An aggregate over the rows that each row sees."""
    bounds = function.bounds or PEERS
    name = f"~made{index}"
    values = [pl.col(f"~value{index}.{i}") for i in range(len(function.args))]
    calls = summary(function.function, name, values, function.args, function.type, distinct=function.distinct)
    ready = placed.with_columns(part.alias(column) for column, part in calls.before.items())
    terms = None if function.distinct else _terms(function, name, values)
    if bounds.start is None and bounds.end is None:
        inner = _per_partition(ready, calls)
    elif terms is not None and _all_ordinary(ready, calls):
        inner = _by_running(ready, calls, terms, bounds)
    elif function.function in ("min", "max") and bounds.start is None and _is_simple(ready, function, index):
        inner = _by_extreme(ready, function, index, bounds)
    else:
        inner = _by_rolling(ready, calls, bounds)
    return inner.select(calls.outer.alias(name)).to_series()


def _listed(calls: Summary) -> list[pl.Expr]:
    return [part.alias(column) for column, part in calls.inner.items()]


def _per_partition(ready: pl.DataFrame, calls: Summary) -> pl.DataFrame:
    grouped = ready.group_by(_PART).agg(_listed(calls))
    return ready.select(_PART).join(grouped, on=_PART, how="left", maintain_order="left")


def _terms(function: WindowFunction, name: str, values: list[pl.Expr]) -> dict[str, pl.Expr] | None:
    """What each row adds to the columns of an aggregate that is a sum of whole numbers or decimals; None for others."""
    if function.function == "count_all":
        return {name: (_I >= 0).cast(pl.Int64)}
    value = values[0]
    there = value.is_not_null().cast(pl.Int64)
    match function.function:
        case "count":
            return {name: there}
        case "count_if":
            return {name: value.fill_null(False).cast(pl.Int64)}
        case "sum":
            return _sum_terms(name, value, function.args[0].type, there)
        case "avg":
            total = _sum_terms(f"{name}~sum", value, function.args[0].type, there)
            return None if total is None else {**total, f"{name}~number": there}
    return None


def _sum_terms(name: str, value: pl.Expr, source: Type, there: pl.Expr) -> dict[str, pl.Expr] | None:
    if source.is_integer:
        return {name: value.cast(pl.Int128).fill_null(0), f"{name}~there": there}
    if source.kind == "decimal":
        if source.precision > SAFE_DIGITS:
            return None
        return {name: value.cast(pl.Decimal(38, source.scale)).fill_null(0), f"{name}~there": there}
    digits = {f"{name}~{i}": pl.col(f"{name}~{i}").fill_null(0) for i in range(len(SHIFTS))}
    return {**digits, f"{name}~count": there}


def _all_ordinary(ready: pl.DataFrame, calls: Summary) -> bool:
    """No value stands apart from the sums of whole numbers."""
    return all(ready[column].null_count() == ready.height for column in calls.before if column.endswith("~odd"))


def _by_running(ready: pl.DataFrame, calls: Summary, terms: dict[str, pl.Expr], bounds: Bounds) -> pl.DataFrame:
    """Differences of running totals: exact, because all totals are of whole numbers."""
    stretch = _stretch(bounds)
    totals = {column: _difference(term, stretch) for column, term in terms.items()}
    columns = [total.alias(column) for column, total in totals.items()]
    columns += [pl.lit(None, dtype=pl.Float64).alias(column) for column in calls.before if column.endswith("~odd")]
    running = ready.select(columns)
    empty = [column for column in terms if column.endswith("~there")]
    return running.with_columns(
        pl.when(pl.col(there) > 0).then(pl.col(there.removesuffix("~there"))).alias(there.removesuffix("~there"))
        for there in empty
    )


def _difference(term: pl.Expr, stretch: _Stretch) -> pl.Expr:
    running = term.cum_sum()
    until = running.gather(pl.when(stretch.is_there).then(stretch.end))
    since = running.gather(pl.when(stretch.is_there & (stretch.start > 0)).then(stretch.start - 1))
    return (until - since.fill_null(0)).fill_null(0)


def _is_simple(ready: pl.DataFrame, function: WindowFunction, index: int) -> bool:
    """The running extreme is native: a number or a time, and nowhere NaN."""
    source = function.args[0].type
    if source.kind in ("float", "double"):
        return not ready[f"~value{index}.0"].is_nan().any()
    return source.is_integer or source.kind in ("date", "timestamp", "timestamp_ntz")


def _by_extreme(ready: pl.DataFrame, function: WindowFunction, index: int, bounds: Bounds) -> pl.DataFrame:
    value = plain(pl.col(f"~value{index}.0"), function.args[0].type)
    running = (value.cum_min() if function.function == "min" else value.cum_max()).forward_fill().over(_PART)
    stretch = _stretch(bounds)
    extremes = pl.col("~running").gather(pl.when(stretch.is_there).then(stretch.end))
    return ready.with_columns(running.alias("~running")).select(extremes.alias(f"~made{index}"))


def _by_rolling(ready: pl.DataFrame, calls: Summary, bounds: Bounds) -> pl.DataFrame:
    """Every row with its own stretch of rows: any aggregate, at the price of reading each stretch."""
    index = _AT if bounds.rows else _PEER
    start = -_FAR if bounds.start is None or not bounds.rows else bounds.start
    end = 0 if not bounds.rows else _FAR if bounds.end is None else bounds.end
    rolled = ready.rolling(index, period=f"{end - start + 1}i", offset=f"{start - 1}i", closed="right", group_by=_PART)
    rolled_values = rolled.agg(_listed(calls)).unique([_PART, index], keep="any")
    return ready.select(_PART, index).join(rolled_values, on=[_PART, index], how="left", maintain_order="left")
