"""Functions of a row among others: ranks, neighbours, values at the edges, and aggregates over stretches of rows."""

import pyarrow as pa
import pytest

from lakelogic.plan.nodes import (
    Account,
    Assignment,
    Bounds,
    Expand,
    Fork,
    Join,
    Keep,
    Order,
    Pairs,
    Publish,
    Rank,
    Rollup,
    Window,
    WindowFunction,
)
from lakelogic.sql.expressions import TRUE, Column, Literal
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, array, decimal

NAN, INF = float("nan"), float("inf")
G, N, X, V, D = Column("g", STRING), Column("n", INT), Column("x", INT), Column("v", STRING), Column("d", DOUBLE)
ALL = Bounds(False, None, None)
PEERS = Bounds(False, None, 0)


def rows(start, end):
    return Bounds(True, start, end)


def whole(number):
    return Literal(number, INT)


def over(functions, order=((N, False, False),), partition=(G,)):
    keys = tuple(Order(value, down, first) for value, down, first in order)
    made = tuple(
        WindowFunction(name, function, tuple(args), type_, bounds, distinct)
        for name, (function, args, type_, bounds, *rest) in functions.items()
        for distinct in [bool(rest and rest[0])]
    )
    return Window("window", tuple(partition), keys, made)


@pytest.fixture
def columns_of(meaning):
    """The new columns of a window over columns, as lists in the order of the input."""

    def find(columns, node):
        outputs = {function.name: Column(function.name, function.type) for function in node.functions}
        found = meaning.rows(columns, outputs, [node])
        return {name: [row[name] for row in found] for name in outputs}

    return find


def test_ranks_of_equal_rows(columns_of):
    columns = {"g": (STRING, ["a"] * 5 + ["b"]), "x": (INT, [20, 10, 20, None, 30, 5])}
    node = over(
        {
            "rank": ("rank", (), BIGINT, None),
            "dense": ("dense_rank", (), BIGINT, None),
            "percent": ("percent_rank", (), DOUBLE, None),
            "share": ("cume_dist", (), DOUBLE, None),
        },
        order=((X, False, False),),
    )
    assert columns_of(columns, node) == {
        "rank": [2, 1, 2, 5, 4, 1],
        "dense": [2, 1, 2, 4, 3, 1],
        "percent": [0.25, 0.0, 0.25, 1.0, 0.75, 0.0],
        "share": [0.6, 0.2, 0.6, 1.0, 0.8, 1.0],
    }


def test_row_numbers_by_keys_in_two_directions_with_nulls_first(columns_of):
    columns = {"g": (STRING, [None, "a", None, "a", None]), "x": (INT, [1, 7, None, 7, 2]), "n": (INT, [1, 2, 3, 4, 5])}
    node = over({"number": ("row_number", (), BIGINT, None)}, order=((X, True, True), (N, True, False)))
    assert columns_of(columns, node) == {"number": [3, 2, 1, 1, 2]}


def test_without_a_partition_all_rows_belong_together(columns_of):
    columns = {"n": (INT, [3, 1, 2])}
    node = over(
        {"number": ("row_number", (), BIGINT, None), "rows": ("count_all", (), BIGINT, ALL)},
        partition=(),
    )
    assert columns_of(columns, node) == {"number": [3, 1, 2], "rows": [3, 3, 3]}


def test_tiles_are_as_even_as_they_can_be_and_the_first_ones_larger(columns_of):
    columns = {"g": (STRING, ["a"] * 7 + ["b"] * 2), "n": (INT, list(range(9)))}
    node = over({"three": ("ntile", (whole(3),), BIGINT, None), "one": ("ntile", (whole(1),), BIGINT, None)})
    assert columns_of(columns, node) == {"three": [1, 1, 1, 2, 2, 3, 3, 1, 2], "one": [1] * 9}


VALUES = {
    "g": (STRING, ["a", "a", "a", "a", "b", "b"]),
    "n": (INT, [1, 2, 3, 4, 1, 2]),
    "v": (STRING, [None, "p", None, "q", "r", None]),
}


def test_neighbours_stay_within_the_partition(columns_of):
    node = over(
        {
            "before": ("lag", (V,), STRING, None),
            "two": ("lag", (V, whole(2), Literal("none", STRING)), STRING, None),
            "after": ("lead", (V, whole(1)), STRING, None),
            "far": ("lead", (V, whole(3), Literal("end", STRING)), STRING, None),
            "itself": ("lag", (V, whole(0)), STRING, None),
        }
    )
    assert columns_of(VALUES, node) == {
        "before": [None, None, "p", None, None, "r"],
        "two": ["none", "none", None, "p", "none", "none"],
        "after": ["p", None, "q", None, None, None],
        "far": ["q", "end", "end", "end", "end", "end"],
        "itself": [None, "p", None, "q", "r", None],
    }


def test_neighbours_that_are_not_null(columns_of):
    node = over(
        {
            "before": ("lag_present", (V,), STRING, None),
            "after": ("lead_present", (V, whole(1), Literal("end", STRING)), STRING, None),
            "second": ("lead_present", (V, whole(2)), STRING, None),
        }
    )
    assert columns_of(VALUES, node) == {
        "before": [None, None, "p", "p", None, "r"],
        "after": ["p", "q", "q", "end", "end", "end"],
        "second": ["q", None, None, None, None, None],
    }


def test_first_last_and_nth_values_of_a_stretch(columns_of):
    node = over(
        {
            "first": ("first_value", (V,), STRING, rows(-1, 1)),
            "last": ("last_value", (V,), STRING, rows(-1, 1)),
            "second": ("nth_value", (V, whole(2)), STRING, rows(None, None)),
            "so far": ("nth_value", (V, whole(2)), STRING, PEERS),
            "next": ("first_value", (V,), STRING, rows(1, 2)),
        }
    )
    assert columns_of(VALUES, node) == {
        "first": [None, None, "p", None, "r", "r"],
        "last": ["p", None, "q", "q", None, None],
        "second": ["p", "p", "p", "p", None, None],
        "so far": [None, "p", "p", "p", None, None],
        "next": ["p", None, "q", None, None, None],
    }


def test_first_last_and_nth_values_that_are_not_null(columns_of):
    node = over(
        {
            "first": ("first_value_present", (V,), STRING, rows(0, None)),
            "last": ("last_value_present", (V,), STRING, rows(None, 0)),
            "second": ("nth_value_present", (V, whole(2)), STRING, ALL),
            "near": ("last_value_present", (V,), STRING, rows(-2, -1)),
        }
    )
    assert columns_of(VALUES, node) == {
        "first": ["p", "p", "q", "q", "r", None],
        "last": [None, "p", "p", "q", "r", "r"],
        "second": ["q", "q", "q", "q", None, None],
        "near": [None, None, "p", "p", None, "r"],
    }


NUMBERS = {
    "g": (STRING, ["a"] * 5 + ["b"]),
    "n": (INT, [1, 2, 2, 3, 4, 1]),
    "x": (INT, [5, None, 1, 4, 2, None]),
    "d": (DOUBLE, [0.5, None, -1.5, 0.25, 4.0, None]),
}


def test_aggregates_up_to_the_last_peer(columns_of):
    node = over(
        {
            "rows": ("count_all", (), BIGINT, PEERS),
            "count": ("count", (X,), BIGINT, PEERS),
            "sum": ("sum", (X,), BIGINT, PEERS),
            "total": ("sum", (D,), DOUBLE, PEERS),
            "avg": ("avg", (X,), DOUBLE, PEERS),
            "min": ("min", (X,), INT, PEERS),
            "max": ("max", (X,), INT, PEERS),
            "set": ("collect_set", (X,), array(INT), PEERS),
        }
    )
    assert columns_of(NUMBERS, node) == {
        "rows": [1, 3, 3, 4, 5, 1],
        "count": [1, 2, 2, 3, 4, 0],
        "sum": [5, 6, 6, 10, 12, None],
        "total": [0.5, -1.0, -1.0, -0.75, 3.25, None],
        "avg": [5.0, 3.0, 3.0, 10 / 3, 3.0, None],
        "min": [5, 1, 1, 1, 1, None],
        "max": [5, 5, 5, 5, 5, None],
        "set": [[5], [1, 5], [1, 5], [1, 4, 5], [1, 2, 4, 5], []],
    }


ORDERED = {**NUMBERS, "n": (INT, [1, 2, 3, 4, 5, 1])}


def test_aggregates_of_stretches_of_rows(columns_of):
    node = over(
        {
            "sum": ("sum", (X,), BIGINT, rows(-1, 1)),
            "total": ("sum", (D,), DOUBLE, rows(-1, 0)),
            "after": ("sum", (X,), BIGINT, rows(1, None)),
            "rows": ("count_all", (), BIGINT, rows(2, 3)),
            "max": ("max", (X,), INT, rows(-2, 0)),
            "min": ("min", (D,), DOUBLE, rows(None, -1)),
            "list": ("collect_list", (X,), array(INT), rows(-1, 1)),
            "avg": ("avg", (D,), DOUBLE, rows(0, 1)),
        }
    )
    assert columns_of(ORDERED, node) == {
        "sum": [5, 6, 5, 7, 6, None],
        "total": [0.5, 0.5, -1.5, -1.25, 4.25, None],
        "after": [7, 7, 6, 2, None, None],
        "rows": [2, 2, 1, 0, 0, 0],
        "max": [5, 5, 5, 4, 4, None],
        "min": [None, 0.5, 0.5, -1.5, -1.5, None],
        "list": [[5], [1, 5], [1, 4], [1, 2, 4], [2, 4], []],
        "avg": [0.5, -1.5, -0.625, 2.125, 4.0, None],
    }


def test_aggregates_of_the_whole_partition(columns_of):
    money = decimal(10, 2)
    node = over(
        {
            "distinct": ("count_distinct", (X,), BIGINT, ALL),
            "once": ("sum", (X,), BIGINT, ALL, True),
            "any": ("any_true", (Column("f", BOOLEAN),), BOOLEAN, ALL),
            "money": ("sum", (Column("m", money),), decimal(38, 2), ALL),
            "deviation": ("stddev_pop", (D,), DOUBLE, ALL),
        }
    )
    from decimal import Decimal

    columns = {
        "g": (STRING, ["a", "a", "a", "b"]),
        "n": (INT, [1, 2, 3, 1]),
        "x": (INT, [2, 2, 3, None]),
        "f": (BOOLEAN, [False, None, True, None]),
        "m": (money, [Decimal("0.10"), Decimal("0.20"), None, None]),
        "d": (DOUBLE, [1.0, 3.0, None, None]),
    }
    assert columns_of(columns, node) == {
        "distinct": [2, 2, 2, 0],
        "once": [5, 5, 5, None],
        "any": [True, True, True, None],
        "money": [Decimal("0.30")] * 3 + [None],
        "deviation": [1.0, 1.0, 1.0, None],
    }


def test_running_totals_of_values_that_are_not_ordinary(columns_of, same):
    columns = {
        "g": (STRING, ["a"] * 6),
        "n": (INT, list(range(6))),
        "d": (DOUBLE, [1e300, 1.0, -1e300, 5e-324, INF, -INF]),
    }
    node = over({"total": ("sum", (D,), DOUBLE, rows(None, 0)), "near": ("sum", (D,), DOUBLE, rows(-1, 0))})
    found = columns_of(columns, node)
    assert same(found["total"], [1e300, 1e300, 1.0, 1.0, INF, NAN])
    assert same(found["near"], [1e300, 1e300, -1e300, -1e300, INF, NAN])


def test_zero_and_minus_zero_are_one_partition_and_one_peer(columns_of):
    columns = {"d": (DOUBLE, [0.0, -0.0, NAN, NAN]), "n": (INT, [1, 2, 3, 4])}
    node = over({"rows": ("count_all", (), BIGINT, ALL)}, partition=(D,))
    assert columns_of(columns, node) == {"rows": [2, 2, 2, 2]}
    node = over({"rank": ("rank", (), BIGINT, None)}, order=((D, False, False),), partition=())
    assert columns_of(columns, node) == {"rank": [1, 1, 3, 3]}


def test_windows_over_nothing_are_nothing(columns_of):
    columns = {"n": (INT, []), "g": (STRING, [])}
    node = over({"number": ("row_number", (), BIGINT, None), "sum": ("sum", (N,), BIGINT, rows(-1, 0))})
    assert columns_of(columns, node) == {"number": [], "sum": []}


def test_ranks_can_begin_with_nulls(meaning):
    node = Rank("rank", (), (Order(X, False, True), Order(N, True, False)), "rank")
    columns = {"x": (INT, [2, None, 1, None]), "n": (INT, [1, 2, 3, 4])}
    found = meaning.rows(columns, {"rank": Column("rank", BIGINT)}, [node])
    assert [row["rank"] for row in found] == [4, 2, 3, 1]


def test_what_an_engine_will_run_can_be_shown(meaning):
    fork = Fork("fork", "side", None, (Keep("keep", TRUE), Rollup("r", TRUE, (Assignment("k", G),), ())))
    nodes = (
        fork,
        Expand("expand", TRUE, Column("l", array(INT)), "at", "item"),
        Join("join", "side", ((G, "k"),), (("k", "k2"),), "found"),
        over({"row": ("row_number", (), BIGINT, None), "sum": ("sum", (D,), DOUBLE, PEERS)}),
    )
    pairs = Pairs("pairs", TRUE, "side", "full", ((G, "k"),), None, (("k", "k3"),), "a", "b")
    publish = Publish((Assignment("g", G),), Literal(0, INT), Literal("good", STRING))
    schema = {"g": pa.string(), "n": pa.int32(), "d": pa.float64(), "l": pa.list_(pa.int32())}
    table = pa.table({name: pa.array([], type_) for name, type_ in schema.items()})
    frame, _ = meaning.engine.adopt(table)
    lowered = meaning.engine.lower(frame, [Account(None, nodes, publish), Account(pairs, (), publish)], {})
    assert "ll_side" in meaning.engine.sql(lowered)
