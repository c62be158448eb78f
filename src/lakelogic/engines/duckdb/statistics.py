"""Figures about a list of values, in DuckDB SQL: sorted first, then added one after another, so no order matters."""

from __future__ import annotations

from lakelogic.engines.duckdb.literals import cast
from lakelogic.sql.types import DOUBLE

_ZERO = "CAST(0 AS DOUBLE)"


def _added(values: str, term: str) -> str:
    return f"list_reduce(list_transform({values}, lambda v: {term}), lambda a, v: a + v, {_ZERO})"


def _with(values: str, body: str) -> str:
    """`body` over `s.l`, the sorted values less their mean, and `s.n`, their number; NULL over nothing.

    The smallest is taken away first: equal values then differ from their mean by nothing at all.
    """
    shifted = f"list_transform([list_sort({values})], lambda l: list_transform(l, lambda v: v - l[1]))[1]"
    number = cast("len(l)", DOUBLE)
    mean = f"list_transform([{shifted}], lambda l: {{'l': l, 'n': {number}, 'm': {_added('l', 'v')} / {number}}})"
    centred = f"list_transform({mean}, lambda s: {{'l': list_transform(s.l, lambda v: v - s.m), 'n': s.n}})"
    return f"CASE WHEN len({values}) > 0 THEN list_transform({centred}, lambda s: {body})[1] END"


def variance(values: str, less: int) -> str:
    """The mean square of the differences from the mean, by n, or n − 1."""
    return _with(values, _mean(_added("s.l", "v * v"), less))


def _mean(total: str, less: int) -> str:
    return f"CASE WHEN s.n > {less} THEN {total} / (s.n - {less}) END" if less else f"{total} / s.n"


def skewness(values: str) -> str:
    """The third moment over the second to the power of three halves."""
    third, second = _added("s.l", "v * v * v"), _added("s.l", "v * v")
    return _with(values, f"CASE WHEN {second} <> 0 THEN sqrt(s.n) * {third} / ({second} * sqrt({second})) END")


def kurtosis(values: str) -> str:
    """The fourth moment over the square of the second, less three."""
    fourth, second = _added("s.l", "v * v * v * v"), _added("s.l", "v * v")
    return _with(values, f"CASE WHEN {second} <> 0 THEN s.n * {fourth} / ({second} * {second}) - 3 END")


def _pairs(pairs: str, body: str) -> str:
    """`body` over `s.l`, the sorted pairs less their means, and `s.n`, their number."""
    less_first = "{'x': v.x - l[1].x, 'y': v.y - l[1].y}"
    shifted = f"list_transform([list_sort({pairs})], lambda l: list_transform(l, lambda v: {less_first}))[1]"
    number = cast("len(l)", DOUBLE)
    means = f"'x': {_added('l', 'v.x')} / {number}, 'y': {_added('l', 'v.y')} / {number}"
    mean = f"list_transform([{shifted}], lambda l: {{'l': l, 'n': {number}, {means}}})"
    less_mean = "{'x': v.x - s.x, 'y': v.y - s.y}"
    centred = f"list_transform({mean}, lambda s: {{'l': list_transform(s.l, lambda v: {less_mean}), 'n': s.n}})"
    return f"CASE WHEN len({pairs}) > 0 THEN list_transform({centred}, lambda s: {body})[1] END"


def covariance(pairs: str, less: int) -> str:
    """The mean product of the differences from the means, by n, or n − 1."""
    return _pairs(pairs, _mean(_added("s.l", "v.x * v.y"), less))


def correlation(pairs: str) -> str:
    """The covariance over the product of the standard deviations; NULL where one of them is 0."""
    both, left, right = (_added("s.l", term) for term in ("v.x * v.y", "v.x * v.x", "v.y * v.y"))
    return _pairs(pairs, f"CASE WHEN {left} <> 0 AND {right} <> 0 THEN {both} / sqrt({left} * {right}) END")


def percentile(values: str, share: str) -> str:
    """The value at a share of the way through the sorted ones, between two neighbours in a straight line."""
    place = f"(s.n - 1) * {cast(share, DOUBLE)}"
    low = f"CAST(floor({place}) AS BIGINT)"
    lower, upper = (f"CAST(s.l[{low} + {step}] AS DOUBLE)" for step in (1, 2))
    line = f"{lower} + ({upper} - {lower}) * ({place} - floor({place}))"
    body = f"CASE WHEN {place} = floor({place}) THEN {lower} ELSE {line} END"
    return _counted(values, body)


def percentile_disc(values: str, share: str) -> str:
    """The first of the sorted values whose share of the rows reaches the one asked for."""
    return _counted(values, f"s.l[greatest(CAST(ceil(s.n * {cast(share, DOUBLE)}) AS BIGINT), 1)]")


def _counted(values: str, body: str) -> str:
    inside = f"list_transform([list_sort({values})], lambda l: {{'l': l, 'n': {cast('len(l)', DOUBLE)}}})"
    return f"CASE WHEN len({values}) > 0 THEN list_transform({inside}, lambda s: {body})[1] END"


def mode(counts: str) -> str:
    """Of a map of values and how often they occur: the value that occurs most often; of several the smallest."""
    turned = "{'n': -CAST(e.\"value\" AS BIGINT), 'v': e.\"key\"}"
    return f"list_sort(list_transform(map_entries({counts}), lambda e: {turned}))[1].v"
