"""Figures about a list of values, in DuckDB SQL: sorted first, then added one after another, so no order matters.

Parameters of lambdas begin with `ll_`: DuckDB takes a column of the same name for the parameter.
"""

from __future__ import annotations

from lakelogic.engines.duckdb.literals import cast
from lakelogic.sql.types import DOUBLE


def _added(values: str, term: str) -> str:
    # DuckDB adds the elements of a list one after another, from the first to the last.
    return f"list_sum(list_transform({values}, lambda ll_v: {term}))"


def _with(values: str, body: str) -> str:
    """`body` over `ll_s.l`, the sorted values less their mean, and `ll_s.n`, their number; NULL over nothing.

    The smallest is taken away first: equal values then differ from their mean by nothing at all.
    """
    shifted = (
        f"list_transform([list_sort({values})], lambda ll_l: list_transform(ll_l, lambda ll_v: ll_v - ll_l[1]))[1]"
    )
    number = cast("len(ll_l)", DOUBLE)
    about = f"{{'l': ll_l, 'n': {number}, 'm': {_added('ll_l', 'll_v')} / {number}}}"
    mean = f"list_transform([{shifted}], lambda ll_l: {about})"
    less_mean = "list_transform(ll_s.l, lambda ll_v: ll_v - ll_s.m)"
    centred = f"list_transform({mean}, lambda ll_s: {{'l': {less_mean}, 'n': ll_s.n}})"
    return f"CASE WHEN len({values}) > 0 THEN list_transform({centred}, lambda ll_s: {body})[1] END"


def variance(values: str, less: int) -> str:
    """The mean square of the differences from the mean, by n, or n − 1."""
    return _with(values, _mean(_added("ll_s.l", "ll_v * ll_v"), less))


def _mean(total: str, less: int) -> str:
    return f"CASE WHEN ll_s.n > {less} THEN {total} / (ll_s.n - {less}) END" if less else f"{total} / ll_s.n"


def skewness(values: str) -> str:
    """The third moment over the second to the power of three halves."""
    third, second = _added("ll_s.l", "ll_v * ll_v * ll_v"), _added("ll_s.l", "ll_v * ll_v")
    return _with(values, f"CASE WHEN {second} <> 0 THEN sqrt(ll_s.n) * {third} / ({second} * sqrt({second})) END")


def kurtosis(values: str) -> str:
    """The fourth moment over the square of the second, less three."""
    fourth, second = _added("ll_s.l", "ll_v * ll_v * ll_v * ll_v"), _added("ll_s.l", "ll_v * ll_v")
    return _with(values, f"CASE WHEN {second} <> 0 THEN ll_s.n * {fourth} / ({second} * {second}) - 3 END")


def _pairs(pairs: str, body: str) -> str:
    """`body` over `ll_s.l`, the sorted pairs less their means, and `ll_s.n`, their number."""
    less_first = "{'x': ll_v.x - ll_l[1].x, 'y': ll_v.y - ll_l[1].y}"
    shifted = f"list_transform([list_sort({pairs})], lambda ll_l: list_transform(ll_l, lambda ll_v: {less_first}))[1]"
    number = cast("len(ll_l)", DOUBLE)
    means = f"'x': {_added('ll_l', 'll_v.x')} / {number}, 'y': {_added('ll_l', 'll_v.y')} / {number}"
    mean = f"list_transform([{shifted}], lambda ll_l: {{'l': ll_l, 'n': {number}, {means}}})"
    less_mean = "list_transform(ll_s.l, lambda ll_v: {'x': ll_v.x - ll_s.x, 'y': ll_v.y - ll_s.y})"
    centred = f"list_transform({mean}, lambda ll_s: {{'l': {less_mean}, 'n': ll_s.n}})"
    return f"CASE WHEN len({pairs}) > 0 THEN list_transform({centred}, lambda ll_s: {body})[1] END"


def covariance(pairs: str, less: int) -> str:
    """The mean product of the differences from the means, by n, or n − 1."""
    return _pairs(pairs, _mean(_added("ll_s.l", "ll_v.x * ll_v.y"), less))


def correlation(pairs: str) -> str:
    """The covariance over the product of the standard deviations; NULL where one of them is 0."""
    both, left, right = (_added("ll_s.l", term) for term in ("ll_v.x * ll_v.y", "ll_v.x * ll_v.x", "ll_v.y * ll_v.y"))
    return _pairs(pairs, f"CASE WHEN {left} <> 0 AND {right} <> 0 THEN {both} / sqrt({left} * {right}) END")


def percentile(values: str, share: str) -> str:
    """The value at a share of the way through the sorted ones, between two neighbours in a straight line."""
    place = f"(ll_s.n - 1) * {cast(share, DOUBLE)}"
    low = f"CAST(floor({place}) AS BIGINT)"
    lower, upper = (f"CAST(ll_s.l[{low} + {step}] AS DOUBLE)" for step in (1, 2))
    line = f"{lower} + ({upper} - {lower}) * ({place} - floor({place}))"
    body = f"CASE WHEN {place} = floor({place}) THEN {lower} ELSE {line} END"
    return _counted(values, body)


def percentile_disc(values: str, share: str) -> str:
    """The first of the sorted values whose share of the rows reaches the one asked for."""
    return _counted(values, f"ll_s.l[greatest(CAST(ceil(ll_s.n * {cast(share, DOUBLE)}) AS BIGINT), 1)]")


def _counted(values: str, body: str) -> str:
    inside = f"list_transform([list_sort({values})], lambda ll_l: {{'l': ll_l, 'n': {cast('len(ll_l)', DOUBLE)}}})"
    return f"CASE WHEN len({values}) > 0 THEN list_transform({inside}, lambda ll_s: {body})[1] END"


def mode(counts: str) -> str:
    """Of a map of values and how often they occur: the value that occurs most often; of several the smallest."""
    turned = "{'n': -CAST(ll_e.\"value\" AS BIGINT), 'v': ll_e.\"key\"}"
    return f"list_sort(list_transform(map_entries({counts}), lambda ll_e: {turned}))[1].v"
