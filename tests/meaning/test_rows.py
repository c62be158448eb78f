"""Nodes over many rows: ranks, joins and rollups."""

from datetime import date
from decimal import Decimal

from lakelogic.sql.expressions import FALSE, Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, array, decimal

NAN = float("nan")
K, V, X = Column("k", STRING), Column("v", DOUBLE), Column("x", STRING)
RANK = {"rank": Column("rank", BIGINT)}


def test_ranks_put_nulls_last_in_both_directions(meaning, nodes):
    columns = {"v": (DOUBLE, [3.0, None, NAN, 1.0])}
    up = meaning.rows(columns, RANK, [nodes.rank([], (V, False))])
    down = meaning.rows(columns, RANK, [nodes.rank([], (V, True))])
    assert [row["rank"] for row in up] == [2, 4, 3, 1]
    assert [row["rank"] for row in down] == [2, 4, 1, 3]


def test_ranks_begin_anew_in_each_partition_and_nulls_are_one_partition(meaning, nodes):
    columns = {"k": (STRING, ["a", None, "a", None, "b"]), "x": (STRING, ["1", "1", "2", "2", "1"])}
    found = meaning.rows(columns, RANK, [nodes.rank([K], (X, True))])
    assert [row["rank"] for row in found] == [2, 2, 1, 1, 1]


def test_ranks_by_several_keys_in_different_directions(meaning, nodes):
    columns = {
        "k": (STRING, ["a"] * 5),
        "v": (DOUBLE, [2.0, 2.0, 1.0, None, None]),
        "x": (STRING, ["Z", "a", "b", None, "é"]),
    }
    found = meaning.rows(columns, RANK, [nodes.rank([K], (V, True), (X, False))])
    assert [row["rank"] for row in found] == [1, 2, 3, 5, 4]
    mirrored = meaning.rows(columns, RANK, [nodes.rank([K], (V, False), (X, True))])
    assert [row["rank"] for row in mirrored] == [3, 2, 1, 5, 4]


def test_ranks_by_dates_decimals_and_booleans(meaning, nodes):
    money, d = decimal(5, 2), Decimal
    columns = {
        "a": (DATE, [date(2024, 1, 2), date(2024, 1, 2), date(2024, 1, 1), None]),
        "b": (money, [d("1.50"), d("10.00"), d("9.00"), d("1.00")]),
        "c": (BOOLEAN, [True, False, None, True]),
    }
    a, b, c = Column("a", DATE), Column("b", money), Column("c", BOOLEAN)
    assert [r["rank"] for r in meaning.rows(columns, RANK, [nodes.rank([], (a, True), (b, False))])] == [1, 2, 3, 4]
    assert [r["rank"] for r in meaning.rows(columns, RANK, [nodes.rank([], (c, False), (b, True))])] == [2, 1, 4, 3]


def test_minus_zero_and_zero_are_one_partition(meaning, nodes):
    found = meaning.rows(
        {"v": (DOUBLE, [0.0, -0.0, NAN, NAN]), "x": (STRING, list("abab"))}, RANK, [nodes.rank([V], (X, False))]
    )
    assert [row["rank"] for row in found] == [1, 2, 1, 2]


def test_a_join_keeps_every_row_and_a_null_key_matches_nothing(meaning, nodes):
    link = {"code": (STRING, ["a", "b", None]), "label": (STRING, ["A", None, "nothing"])}
    outputs = {"label~1": Column("label~1", STRING), "found": Column("found", BOOLEAN)}
    join = nodes.join([(K, "code")], ("label", "label~1"))
    found = meaning.rows({"k": (STRING, ["a", "b", "c", None])}, outputs, [join], {"link": link})
    assert [(row["label~1"], row["found"]) for row in found] == [
        ("A", True),
        (None, True),
        (None, False),
        (None, False),
    ]


def test_a_join_by_two_keys_and_by_an_expression(meaning, nodes):
    link = {"code": (STRING, ["a", "a", "b"]), "n": (INT, [1, 2, None]), "label": (STRING, ["a1", "a2", "b?"])}
    join = nodes.join([(call("lower", K, type=STRING), "code"), (Column("n", INT), "n")], ("label", "label"))
    outputs = {"label": Column("label", STRING), "found": Column("found", BOOLEAN), "k": K}
    found = meaning.rows(
        {"k": (STRING, ["A", "a", "b", "a"]), "n": (INT, [1, 2, None, 3])}, outputs, [join], {"link": link}
    )
    assert [tuple(row.values()) for row in found] == [
        ("a1", True, "A"),
        ("a2", True, "a"),
        (None, False, "b"),
        (None, False, "a"),
    ]


def test_a_link_that_has_columns_of_the_same_name_hides_nothing(meaning, nodes):
    link = {"k": (STRING, ["a"]), "x": (STRING, ["of the link"])}
    outputs = {"mine": X, "theirs": Column("x~1", STRING)}
    join = nodes.join([(K, "k")], ("x", "x~1"))
    found = meaning.rows({"k": (STRING, ["a"]), "x": (STRING, ["of the row"])}, outputs, [join], {"link": link})
    assert found == [{"mine": "of the row", "theirs": "of the link"}]


def columns_of(**types):
    return {name: Column(name, type_) for name, type_ in types.items()}


def test_rollups_group_nulls_together_and_pass_over_them_in_aggregates(meaning, nodes):
    n, b = Column("n", BIGINT), Column("b", BOOLEAN)
    rollup = nodes.rollup(
        {"k": K},
        {
            "rows": ("count_all", None, BIGINT),
            "count": ("count", n, BIGINT),
            "distinct": ("count_distinct", n, BIGINT),
            "sum": ("sum", n, BIGINT),
            "avg": ("avg", n, DOUBLE),
            "min": ("min", n, BIGINT),
            "max": ("max", n, BIGINT),
            "any": ("any_true", b, BOOLEAN),
            "every": ("every_true", b, BOOLEAN),
            "list": ("collect_list", n, array(BIGINT)),
            "set": ("collect_set", n, array(BIGINT)),
        },
    )
    outputs = columns_of(
        k=STRING, rows=BIGINT, count=BIGINT, distinct=BIGINT, sum=BIGINT, avg=DOUBLE, min=BIGINT, max=BIGINT,
        any=BOOLEAN, every=BOOLEAN, list=array(BIGINT), set=array(BIGINT),
    )  # fmt: skip
    found = meaning.rows(
        {
            "k": (STRING, ["a", "a", "a", "a", None, None, "b"]),
            "n": (BIGINT, [3, 1, 3, None, 5, 6, None]),
            "b": (BOOLEAN, [True, False, None, True, True, True, None]),
        },
        outputs,
        rollup=rollup,
    )
    by_key = {row.pop("k"): tuple(row.values()) for row in found}
    assert by_key == {
        "a": (4, 3, 2, 7, 7 / 3, 1, 3, True, False, [1, 3, 3], [1, 3]),
        None: (2, 2, 2, 11, 5.5, 5, 6, True, True, [5, 6], [5, 6]),
        "b": (1, 0, 0, None, None, None, None, None, None, [], []),
    }


def test_a_rollup_without_keys_is_one_row_even_over_nothing(meaning, nodes):
    aggregates = {
        "rows": ("count_all", None, BIGINT),
        "sum": ("sum", V, DOUBLE),
        "max": ("max", X, STRING),
        "list": ("collect_list", X, array(STRING)),
    }
    outputs = columns_of(rows=BIGINT, sum=DOUBLE, max=STRING, list=array(STRING))
    columns = {"v": (DOUBLE, [1.5, 2.0]), "x": (STRING, ["Z", "a"])}
    assert meaning.rows(columns, outputs, rollup=nodes.rollup({}, aggregates)) == [
        {"rows": 2, "sum": 3.5, "max": "a", "list": ["Z", "a"]}
    ]
    nothing = meaning.rows(columns, outputs, rollup=nodes.rollup({}, aggregates, FALSE))
    assert nothing == [{"rows": 0, "sum": None, "max": None, "list": []}]
    assert meaning.rows(columns, {"k": K, **outputs}, rollup=nodes.rollup({"k": X}, aggregates, FALSE)) == []


def test_a_rollup_counts_only_rows_where_the_condition_is_true(meaning, nodes):
    rollup = nodes.rollup({}, {"rows": ("count_all", None, BIGINT)}, call("gt", V, Literal(1.0, DOUBLE)))
    assert meaning.rows({"v": (DOUBLE, [0.5, 2.0, None, NAN])}, columns_of(rows=BIGINT), rollup=rollup) == [{"rows": 2}]


def test_totals_beyond_the_type_are_null(meaning, nodes):
    n, long = Column("n", BIGINT), decimal(38, 2)
    d, most = Column("d", long), Decimal("9" * 36 + ".99")
    rollup = nodes.rollup({"k": K}, {"n": ("sum", n, BIGINT), "d": ("sum", d, long)})
    found = meaning.rows(
        {
            "k": (STRING, ["over", "over", "fits", "fits"]),
            "n": (BIGINT, [9223372036854775807, 1, 9223372036854775807, -1]),
            "d": (long, [most, Decimal("0.01"), Decimal("-1.25"), Decimal("0.50")]),
        },
        columns_of(k=STRING, n=BIGINT, d=long),
        rollup=rollup,
    )
    by_key = {row["k"]: (row["n"], row["d"]) for row in found}
    assert by_key == {"over": (None, None), "fits": (9223372036854775806, Decimal("-0.75"))}


def test_aggregates_of_doubles_decimals_and_text(meaning, nodes):
    money = decimal(10, 2)
    m = Column("m", money)
    rollup = nodes.rollup(
        {},
        {
            "max": ("max", V, DOUBLE),
            "min": ("min", V, DOUBLE),
            "distinct": ("count_distinct", V, BIGINT),
            "sum": ("sum", m, decimal(38, 2)),
            "avg": ("avg", m, DOUBLE),
            "first": ("min", X, STRING),
            "texts": ("collect_set", X, array(STRING)),
        },
    )
    outputs = columns_of(
        max=DOUBLE, min=DOUBLE, distinct=BIGINT, sum=decimal(38, 2), avg=DOUBLE, first=STRING, texts=array(STRING)
    )
    d = Decimal
    (found,) = meaning.rows(
        {
            "v": (DOUBLE, [NAN, 1.0, 0.0, -0.0, None]),
            "m": (money, [d("1.50"), d("2.00"), None, d("-0.50"), d("0.00")]),
            "x": (STRING, ["b", "a", "Z", "a", "é"]),
        },
        outputs,
        rollup=rollup,
    )
    assert str(found["max"]) == "nan"
    assert (found["min"], found["distinct"], found["sum"], found["avg"], found["first"]) == (
        0.0,
        3,
        d("3.00"),
        0.75,
        "Z",
    )
    assert found["texts"] == ["Z", "a", "b", "é"]


def test_rollup_keys_may_be_expressions_and_reuse_a_name(meaning, nodes):
    rollup = nodes.rollup({"x": call("lower", X, type=STRING)}, {"n": ("count_all", None, BIGINT)})
    found = meaning.rows({"x": (STRING, ["A", "a", "B"])}, columns_of(x=STRING, n=BIGINT), rollup=rollup)
    assert sorted((row["x"], row["n"]) for row in found) == [("a", 2), ("b", 1)]


def test_columns_that_differ_only_in_case_stay_apart(meaning, nodes):
    columns = {"id": (STRING, ["1"]), "ID": (INT, [2]), "Id": (DOUBLE, [3.0])}
    outputs = {"a": Column("ID", INT), "b": Column("id", STRING), "c": Column("Id", DOUBLE)}
    assert meaning.rows(columns, outputs) == [{"a": 2, "b": "1", "c": 3.0}]


def test_constants_alone_give_one_value_per_row(meaning):
    assert meaning.rows({"x": (STRING, ["a", "b"])}, {"y": text("c")}) == [{"y": "c"}, {"y": "c"}]
