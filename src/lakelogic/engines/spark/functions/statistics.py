"""Figures about an array of values, in Spark SQL: sorted first, then added one after another, so no order matters."""

from __future__ import annotations

from lakelogic.engines.spark.functions.sums import added


def _added(values: str, term: str) -> str:
    return added(f"transform({values}, v -> {term})")


def _made(start: str, *steps: str) -> str:
    """A chain of lambdas over one value: each step reads what the one before made as `s`."""
    chain = f"array({start})"
    for step in steps:
        chain = f"transform({chain}, s -> {step})"
    return f"get({chain}, 0)"


def _with(values: str, body: str) -> str:
    """`body` over `s.l`, the sorted values less their mean, and `s.n`, their number; NULL over nothing.

    The smallest is taken away first: equal values then differ from their mean by nothing at all.
    """
    result = _made(
        f"sort_array({values})",
        "named_struct('l', transform(s, v -> v - get(s, 0)), 'n', CAST(size(s) AS DOUBLE))",
        f"named_struct('l', s.l, 'n', s.n, 'm', {_added('s.l', 'v')} / s.n)",
        "named_struct('l', transform(s.l, v -> v - s.m), 'n', s.n)",
        body,
    )
    return f"CASE WHEN size({values}) > 0 THEN {result} END"


def _mean(total: str, less: int) -> str:
    return f"CASE WHEN s.n > {less} THEN {total} / (s.n - {less}) END" if less else f"{total} / s.n"


def variance(values: str, less: int) -> str:
    """The mean square of the differences from the mean, by n, or n − 1."""
    return _with(values, _mean(_added("s.l", "v * v"), less))


def skewness(values: str) -> str:
    """The third moment over the second to the power of three halves."""
    third, second = _added("s.l", "v * v * v"), _added("s.l", "v * v")
    return _with(values, f"CASE WHEN {second} <> 0D THEN sqrt(s.n) * {third} / ({second} * sqrt({second})) END")


def kurtosis(values: str) -> str:
    """The fourth moment over the square of the second, less three."""
    fourth, second = _added("s.l", "v * v * v * v"), _added("s.l", "v * v")
    return _with(values, f"CASE WHEN {second} <> 0D THEN s.n * {fourth} / ({second} * {second}) - 3D END")


def _pairs(pairs: str, body: str) -> str:
    """`body` over `s.l`, the sorted pairs less their means, and `s.n`, their number."""
    less_first = "named_struct('x', v.x - get(s, 0).x, 'y', v.y - get(s, 0).y)"
    means = f"'x', {_added('s.l', 'v.x')} / s.n, 'y', {_added('s.l', 'v.y')} / s.n"
    result = _made(
        f"sort_array({pairs})",
        f"named_struct('l', transform(s, v -> {less_first}), 'n', CAST(size(s) AS DOUBLE))",
        f"named_struct('l', s.l, 'n', s.n, {means})",
        "named_struct('l', transform(s.l, v -> named_struct('x', v.x - s.x, 'y', v.y - s.y)), 'n', s.n)",
        body,
    )
    return f"CASE WHEN size({pairs}) > 0 THEN {result} END"


def covariance(pairs: str, less: int) -> str:
    """The mean product of the differences from the means, by n, or n − 1."""
    return _pairs(pairs, _mean(_added("s.l", "v.x * v.y"), less))


def correlation(pairs: str) -> str:
    """The covariance over the product of the standard deviations; NULL where one of them is 0."""
    both, left, right = (_added("s.l", term) for term in ("v.x * v.y", "v.x * v.x", "v.y * v.y"))
    quotient = f"{both} / sqrt({left} * {right})"
    return _pairs(pairs, f"CASE WHEN {left} <> 0D AND {right} <> 0D THEN {quotient} END")


def percentile(values: str, share: str) -> str:
    """The value at a share of the way through the sorted ones, between two neighbours in a straight line."""
    place = f"((CAST(size(s) AS DOUBLE) - 1D) * CAST({share} AS DOUBLE))"
    low = f"CAST(floor({place}) AS INT)"
    lower, upper = f"CAST(get(s, {low}) AS DOUBLE)", f"CAST(get(s, {low} + 1) AS DOUBLE)"
    line = f"{lower} + ({upper} - {lower}) * ({place} - floor({place}))"
    return _made(f"sort_array({values})", f"CASE WHEN {place} = floor({place}) THEN {lower} ELSE {line} END")


def percentile_disc(values: str, share: str) -> str:
    """The first of the sorted values whose share of the rows reaches the one asked for."""
    place = f"greatest(CAST(ceil(CAST(size(s) AS DOUBLE) * CAST({share} AS DOUBLE)) AS INT), 1) - 1"
    return _made(f"sort_array({values})", f"get(s, {place})")
