"""Aggregates at their edges: exact sums, ties, NaN and infinities, groups of NULLs and groups of nothing."""

import itertools
import math
import random
from decimal import Decimal

import pytest

from lakelogic.plan.nodes import Aggregate, Assignment, Rollup
from lakelogic.sql.expressions import FALSE, TRUE, Column, Literal
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, STRING, TINYINT, Type, array, decimal

NAN, INF = float("nan"), float("inf")
G, D, E, X, S = Column("g", STRING), Column("d", DOUBLE), Column("e", DOUBLE), Column("x", INT), Column("s", STRING)


def grouped(aggregates, where=TRUE, keys=(("g", G),)):
    made = tuple(
        Aggregate(name, function, value, type_, tuple(more[0]) if more else (), len(more) > 1)
        for name, (function, value, type_, *more) in aggregates.items()
    )
    return Rollup("rollup", where, tuple(Assignment(name, value) for name, value in keys), made)


@pytest.fixture
def by_group(meaning):
    """The aggregates of each group: {group: [values]}."""

    def find(columns, aggregates):
        outputs = {"g": G, **{name: Column(name, one[2]) for name, one in aggregates.items()}}
        rows = meaning.rows(columns, outputs, opening=grouped(aggregates))
        return {row.pop("g"): list(row.values()) for row in rows}

    return find


def columns_of(groups, type_=DOUBLE, name="d"):
    """One group per list of values."""
    keys = [key for key, values in groups.items() for _ in values]
    return {"g": (STRING, keys), name: (type_, [value for values in groups.values() for value in values])}


SUMS = {
    "tenths": ([0.1] * 10, 1.0),
    "cancel": ([1e16, 1.0, -1e16], 1.0),
    "huge": ([1e300, 1.0, -1e300], 1.0),
    "tiny": ([5e-324, 5e-324, 5e-324], 1.5e-323),
    "mixed": ([1e-30, 1.0, -1.0], 1e-30),
    "border": ([9223372036854775808.0, -9223372036854774784.0], 1024.0),
    "minus": ([-0.1, -0.2, -0.3], -0.6),
    "fractions": ([2.0**-40, 2.0**-96, -(2.0**-40)], 2.0**-96),
    "carry": ([4294967295.9999995, 0.00000047683716], 4294967295.9999995 + 0.00000047683716),
    "zero": ([-0.0, -0.0], 0.0),
    "nan": ([1.0, NAN], NAN),
    "up": ([INF, 1.0], INF),
    "down": ([-INF, 1e308], -INF),
    "both": ([INF, -INF], NAN),
    "over": ([1.7e308, 1.7e308], INF),
    "nulls": ([None, None], None),
    "some": ([None, 2.5], 2.5),
}


def test_doubles_are_added_exactly_in_any_order(by_group, same):
    orders = {}
    for name, (values, _) in SUMS.items():
        for number, order in enumerate(itertools.islice(itertools.permutations(values), 6)):
            orders[f"{name}{number}"] = (name, list(order))
    found = by_group(
        columns_of({key: values for key, (_, values) in orders.items()}),
        {"sum": ("sum", D, DOUBLE), "avg": ("avg", D, DOUBLE)},
    )
    wrong = []
    for key, (name, values) in orders.items():
        expected = SUMS[name][1]
        count = sum(value is not None for value in values)
        both = [expected, None if expected is None else expected / count]
        if not same(found[key], both) or (math.copysign(1, found[key][0] or 1.0) < 0 and expected == 0):
            wrong.append((values, both, found[key]))
    assert not wrong


def test_sums_of_ordinary_doubles_are_rounded_once(by_group):
    generator = random.Random(4)
    groups = {
        f"{scale}": [generator.uniform(-1, 1) * 10.0 ** generator.uniform(-3, scale) for _ in range(400)]
        for scale in (1, 4, 8, 12, 16)
    }
    found = by_group(columns_of(groups), {"sum": ("sum", D, DOUBLE)})
    assert {key: values[0] for key, values in found.items()} == {key: math.fsum(v) for key, v in groups.items()}


def test_floats_are_added_as_doubles(by_group):
    tenth = 0.10000000149011612  # the float nearest to 0.1
    found = by_group(columns_of({"a": [0.1] * 3}, FLOAT), {"sum": ("sum", Column("d", FLOAT), DOUBLE)})
    assert found == {"a": [math.fsum([tenth] * 3)]}


def test_totals_and_averages_of_whole_numbers_and_decimals(by_group):
    n, long = Column("n", BIGINT), decimal(38, 2)
    m = Column("m", long)
    most = Decimal("9" * 36 + ".00")
    columns = {
        "g": (STRING, ["big", "big", "small", "small", "small"]),
        "n": (BIGINT, [2**63 - 1, 2**63 - 1, 1, 2, 2]),
        "m": (long, [most, Decimal("1.00"), Decimal("0.10"), Decimal("0.20"), Decimal("0.20")]),
    }
    found = by_group(
        columns,
        {
            "sum": ("sum", n, BIGINT),
            "avg": ("avg", n, DOUBLE),
            "once": ("avg", n, DOUBLE, (), True),
            "total": ("sum", m, long),
            "different": ("sum", m, long, (), True),
        },
    )
    assert found == {
        "big": [None, float(2**63 - 1), float(2**63 - 1), None, None],
        "small": [5, 5 / 3, 1.5, Decimal("0.50"), Decimal("0.30")],
    }


def test_different_doubles_count_once(by_group):
    values = {"a": [0.0, -0.0, 1.5, 1.5, None], "b": [NAN, NAN], "c": [None]}
    found = by_group(
        columns_of(values),
        {
            "sum": ("sum", D, DOUBLE, (), True),
            "avg": ("avg", D, DOUBLE, (), True),
            "count": ("count_distinct", D, BIGINT),
            "set": ("collect_set", D, array(DOUBLE)),
        },
    )
    assert found["a"] == [1.5, 0.75, 2, [0.0, 1.5]]
    assert math.copysign(1, found["a"][3][0]) == 1
    assert (math.isnan(found["b"][0]), math.isnan(found["b"][1]), found["b"][2], len(found["b"][3])) == (
        True,
        True,
        1,
        1,
    )
    assert found["c"] == [None, None, 0, []]


def test_combinations_are_counted_where_nothing_is_null(by_group):
    columns = {
        "g": (STRING, ["a"] * 6),
        "x": (INT, [1, 1, 1, None, 2, 1]),
        "s": (STRING, ["p", "p", None, "p", "p", "q"]),
    }
    assert by_group(columns, {"n": ("count_distinct", X, BIGINT, (S,))}) == {"a": [3]}


def test_conditions_are_counted_and_bits_joined(by_group):
    columns = {
        "g": (STRING, ["a", "a", "a", "b"]),
        "f": (BOOLEAN, [True, False, None, None]),
        "t": (TINYINT, [6, 3, None, None]),
    }
    f, t = Column("f", BOOLEAN), Column("t", TINYINT)
    aggregates = {
        "true": ("count_if", f, BIGINT),
        "and": ("bits_and", t, TINYINT),
        "or": ("bits_or", t, TINYINT),
        "xor": ("bits_xor", t, TINYINT),
    }
    assert by_group(columns, aggregates) == {"a": [1, 2, 7, 5], "b": [0, None, None, None]}


def test_the_value_where_another_is_extreme(by_group):
    columns = {
        "g": (STRING, ["a"] * 5 + ["b"] * 2 + ["c"] * 3),
        "s": (STRING, ["p", "q", "r", "z", None, "x", "y", "one", None, "two"]),
        "d": (DOUBLE, [2.0, 1.0, 2.0, None, 2.0, None, None, NAN, NAN, -0.0]),
    }
    aggregates = {"min": ("min_by", S, STRING, (D,)), "max": ("max_by", S, STRING, (D,))}
    assert by_group(columns, aggregates) == {"a": ["q", "r"], "b": [None, None], "c": ["two", "one"]}
    ties = {"min": ("min_by", D, DOUBLE, (S,)), "max": ("max_by", D, DOUBLE, (S,))}
    columns = {"g": (STRING, ["a"] * 4), "s": (STRING, ["k"] * 4), "d": (DOUBLE, [3.0, None, 1.0, NAN])}
    ((smallest, largest),) = by_group(columns, ties).values()
    assert smallest == 1.0
    assert math.isnan(largest)


def test_percentiles_lie_between_neighbours(by_group):
    values = {"four": [4.0, 1.0, None, 3.0, 2.0], "one": [7.0], "none": [None], "odd": [INF, 1.0, NAN, -INF]}
    share = lambda part: (Literal(part, DOUBLE),)  # noqa: E731
    found = by_group(
        columns_of(values),
        {
            "0": ("percentile", D, DOUBLE, share(0.0)),
            "25": ("percentile", D, DOUBLE, share(0.25)),
            "50": ("percentile", D, DOUBLE, share(0.5)),
            "100": ("percentile", D, DOUBLE, share(1.0)),
            "d0": ("percentile_disc", D, DOUBLE, share(0.0)),
            "d50": ("percentile_disc", D, DOUBLE, share(0.5)),
            "d51": ("percentile_disc", D, DOUBLE, share(0.51)),
        },
    )
    assert found["four"] == [1.0, 1.75, 2.5, 4.0, 1.0, 2.0, 3.0]
    assert found["one"] == [7.0] * 7
    assert found["none"] == [None] * 7
    assert found["odd"][0] == -INF
    assert found["odd"][2] == INF
    assert math.isnan(found["odd"][3])


def test_percentiles_of_texts_and_dates_are_values_that_occur(by_group):
    from datetime import date

    columns = {
        "g": (STRING, ["a"] * 3),
        "s": (STRING, ["é", "Z", "a"]),
        "t": (DATE, [date(2024, 2, 29), date(1, 1, 1), None]),
    }
    middle = (Literal(0.5, DOUBLE),)
    aggregates = {
        "s": ("percentile_disc", S, STRING, middle),
        "t": ("percentile_disc", Column("t", DATE), DATE, middle),
    }
    assert by_group(columns, aggregates) == {"a": ["a", date(1, 1, 1)]}


def test_the_most_frequent_value_is_the_smallest_of_several(by_group, same):
    values = {
        "a": [2.0, 1.0, 2.0, 1.0, 9.0, None, None, None],
        "b": [None],
        "c": [-0.0, 0.0, 5.0],
        "d": [NAN, NAN, 1.0],
    }
    found = by_group(columns_of(values), {"mode": ("mode", D, DOUBLE)})
    assert same(found, {"a": [1.0], "b": [None], "c": [0.0], "d": [NAN]}) or found["d"][0] != found["d"][0]
    assert (found["a"], found["b"], found["c"]) == ([1.0], [None], [0.0])
    texts = by_group(columns_of({"a": ["b", "a", None, "B", "a", "b"]}, STRING, "s"), {"mode": ("mode", S, STRING)})
    assert texts == {"a": ["a"]}


STATISTICS = {
    "var_samp": ("var_samp", D, DOUBLE),
    "var_pop": ("var_pop", D, DOUBLE),
    "stddev_samp": ("stddev_samp", D, DOUBLE),
    "stddev_pop": ("stddev_pop", D, DOUBLE),
    "skewness": ("skewness", D, DOUBLE),
    "kurtosis": ("kurtosis", D, DOUBLE),
}


def test_variances_of_few_equal_and_far_values(by_group, same):
    values = {
        "plain": [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0],
        "equal": [0.1, 0.1, 0.1],
        "far": [1e9 + 1, 1e9 + 2, 1e9 + 3],
        "one": [5.0, None],
        "none": [None],
        "nan": [1.0, NAN],
        "endless": [1.0, INF],
    }
    found = by_group(columns_of(values), STATISTICS)
    assert found["plain"][1] == 4.0
    assert found["plain"][0] == 32 / 7
    assert found["plain"][3] == 2.0
    assert found["plain"][4] == 42 * math.sqrt(8) / (32 * math.sqrt(32))
    assert found["plain"][5] == 8 * 356 / (32 * 32) - 3
    assert found["equal"] == [0.0, 0.0, 0.0, 0.0, None, None]
    assert found["far"][:4] == [1.0, 2 / 3, 1.0, math.sqrt(2 / 3)]
    assert found["one"] == [None, 0.0, None, 0.0, None, None]
    assert found["none"] == [None] * 6
    assert same(found["nan"], [NAN] * 6)
    assert same(found["endless"], [NAN] * 6)


def test_pairs_vary_together_where_both_are_there(by_group):
    columns = {
        "g": (STRING, ["line"] * 4 + ["flat"] * 2 + ["half"] * 2 + ["none"]),
        "d": (DOUBLE, [1.0, 2.0, 3.0, None, 1.0, 2.0, 1.0, 2.0, None]),
        "e": (DOUBLE, [-2.0, -4.0, -6.0, 5.0, 3.0, 3.0, 1.0, None, None]),
    }
    aggregates = {
        "samp": ("covar_samp", D, DOUBLE, (E,)),
        "pop": ("covar_pop", D, DOUBLE, (E,)),
        "corr": ("corr", D, DOUBLE, (E,)),
    }
    assert by_group(columns, aggregates) == {
        "line": [-2.0, -4 / 3, -1.0],
        "flat": [0.0, 0.0, None],
        "half": [None, 0.0, None],
        "none": [None, None, None],
    }


def test_texts_are_joined_in_order(by_group):
    columns = columns_of({"a": ["b", None, "a", "b", "", "é"], "b": [None]}, STRING, "s")
    comma = (Literal(", ", STRING),)
    aggregates = {"all": ("string_agg", S, STRING, comma), "once": ("string_agg", S, STRING, comma, True)}
    assert by_group(columns, aggregates) == {"a": [", a, b, b, é", ", a, b, é"], "b": [None, None]}


def test_structs_are_collected_by_their_fields_with_nulls_last(by_group):
    inner = Type("struct", fields=(("k", INT),))
    pair = Type("struct", fields=(("a", STRING), ("b", INT), ("c", inner)))
    rows = [
        {"a": "y", "b": 1, "c": {"k": 1}},
        {"a": None, "b": 0, "c": {"k": 0}},
        {"a": "x", "b": None, "c": {"k": 2}},
        {"a": "x", "b": 2, "c": {"k": None}},
        {"a": "x", "b": 2, "c": {"k": 5}},
        {"a": "x", "b": 2, "c": {"k": 5}},
        None,
    ]
    columns = {"g": (STRING, ["a"] * 7), "p": (pair, rows)}
    p = Column("p", pair)
    found = by_group(columns, {"l": ("collect_list", p, array(pair)), "s": ("collect_set", p, array(pair))})
    ordered = [rows[4], rows[5], rows[3], rows[2], rows[0], rows[1]]
    assert found["a"] == [ordered, ordered[1:]]


def test_over_nothing_counts_are_zero_arrays_empty_and_all_else_null(meaning):
    half = (Literal(0.5, DOUBLE),)
    aggregates = {
        "rows": ("count_all", None, BIGINT),
        "count": ("count_distinct", X, BIGINT, (S,)),
        "if": ("count_if", Column("f", BOOLEAN), BIGINT),
        "sum": ("sum", D, DOUBLE),
        "avg": ("avg", X, DOUBLE),
        "by": ("max_by", S, STRING, (X,)),
        "percentile": ("percentile", D, DOUBLE, half),
        "disc": ("percentile_disc", S, STRING, half),
        "mode": ("mode", S, STRING),
        "corr": ("corr", D, DOUBLE, (E,)),
        "text": ("string_agg", S, STRING, (Literal(",", STRING),)),
        "set": ("collect_set", S, array(STRING)),
        **STATISTICS,
    }
    columns = {
        "g": (STRING, ["a"]),
        "x": (INT, [1]),
        "s": (STRING, ["a"]),
        "d": (DOUBLE, [1.0]),
        "e": (DOUBLE, [1.0]),
        "f": (BOOLEAN, [True]),
    }
    outputs = {name: Column(name, one[2]) for name, one in aggregates.items()}
    (found,) = meaning.rows(columns, outputs, opening=grouped(aggregates, FALSE, ()))
    assert found == {
        name: 0 if name in ("rows", "count", "if") else [] if name == "set" else None for name in aggregates
    }


def one_after_another(values):
    total = 0.0
    for value in values:
        total += value
    return total


def differences(values):
    shifted = [value - values[0] for value in values]
    mean = one_after_another(shifted) / len(values)
    return [value - mean for value in shifted]


def test_many_values_are_added_in_ascending_order(by_group):
    generator = random.Random(7)
    values = [generator.gauss(3, 1) * 10.0 ** generator.randint(-3, 6) for _ in range(7000)]
    others = [generator.gauss(0, 1) + value for value in values]
    found = by_group(
        {"g": (STRING, ["a"] * 7000), "d": (DOUBLE, values), "e": (DOUBLE, others)},
        {**STATISTICS, "covar_pop": ("covar_pop", D, DOUBLE, (E,)), "corr": ("corr", D, DOUBLE, (E,))},
    )
    size, apart = 7000.0, differences(sorted(values))
    second = one_after_another(x * x for x in apart)
    third = one_after_another(x * x * x for x in apart)
    fourth = one_after_another(x * x * x * x for x in apart)
    pairs = sorted(zip(values, others, strict=True))
    left, right = (differences([pair[side] for pair in pairs]) for side in (0, 1))
    together = one_after_another(x * y for x, y in zip(left, right, strict=True))
    squares = [one_after_another(x * x for x in side) for side in (left, right)]
    assert found["a"] == [
        second / (size - 1),
        second / size,
        math.sqrt(second / (size - 1)),
        math.sqrt(second / size),
        math.sqrt(size) * third / (second * math.sqrt(second)),
        size * fourth / (second * second) - 3,
        together / size,
        together / math.sqrt(squares[0] * squares[1]),
    ]
