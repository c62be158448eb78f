"""Nodes that make rows or bring in others: expansions, forks, joins that repeat, pairs, stacks and grouping sets."""

import pytest

from lakelogic.plan.nodes import Aggregate, Assignment, Expand, Fork, Join, Keep, Pairs, Rollup, RowWise, Stack
from lakelogic.sql.expressions import FALSE, TRUE, Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, array

NAN = float("nan")
K, N, X = Column("k", STRING), Column("n", INT), Column("x", STRING)
MAP = Type("map", key=STRING, element=INT)


def values(rows):
    return [tuple(row.values()) for row in rows]


def unordered(rows):
    return sorted(values(rows), key=repr)


def test_a_row_is_repeated_for_every_element_and_a_row_without_any_stays_once(meaning):
    node = Expand("explode", call("ne", K, text("dead")), Column("list", array(INT)), "at", "item")
    columns = {
        "k": (STRING, ["two", "null", "none", "dead", "hole"]),
        "list": (array(INT), [[7, 8], None, [], [1, 2], [None, 3]]),
    }
    outputs = {"k": K, "at": Column("at", INT), "item": Column("item", INT)}
    assert sorted(values(meaning.rows(columns, outputs, [node])), key=lambda row: (row[0], row[1] or 0)) == [
        ("dead", None, None),
        ("hole", 0, None),
        ("hole", 1, 3),
        ("none", None, None),
        ("null", None, None),
        ("two", 0, 7),
        ("two", 1, 8),
    ]


def test_entries_of_a_map_come_by_key(meaning):
    node = Expand("explode", TRUE, Column("map", MAP), "at", "item", "key")
    columns = {"map": (MAP, [[("b", 1), ("a", None), ("Z", 3)], None, []]), "k": (STRING, ["1", "2", "3"])}
    outputs = {"k": K, "at": Column("at", INT), "key": Column("key", STRING), "item": Column("item", INT)}
    assert sorted(values(meaning.rows(columns, outputs, [node])), key=lambda row: (row[0], row[1] or 0)) == [
        ("1", 0, "Z", 3),
        ("1", 1, "a", None),
        ("1", 2, "b", 1),
        ("2", None, None, None),
        ("3", None, None, None),
    ]


def test_the_element_may_be_a_struct(meaning):
    pair = Type("struct", fields=(("a", INT), ("b", STRING)))
    node = Expand("explode", TRUE, Column("list", array(pair)), "at", "item")
    columns = {"list": (array(pair), [[{"a": 1, "b": "x"}, {"a": None, "b": None}]])}
    found = meaning.rows(columns, {"at": Column("at", INT), "item": Column("item", pair)}, [node])
    assert sorted((row["at"], row["item"]["a"], row["item"]["b"]) for row in found) == [(0, 1, "x"), (1, None, None)]


def test_a_join_without_keys_takes_every_row_of_the_link_and_keeps_its_own_over_an_empty_one(meaning, nodes):
    join = nodes.join([], ("code", "code"))
    outputs = {"k": K, "code": Column("code", STRING), "found": Column("found", BOOLEAN)}
    columns = {"k": (STRING, ["a", "b"])}
    many = meaning.rows(columns, outputs, [join], {"link": {"code": (STRING, ["1", None])}})
    assert unordered(many) == [("a", "1", True), ("a", None, True), ("b", "1", True), ("b", None, True)]
    none = meaning.rows(columns, outputs, [join], {"link": {"code": (STRING, [])}})
    assert unordered(none) == [("a", None, False), ("b", None, False)]


def test_several_matches_repeat_the_row(meaning, nodes):
    join = nodes.join([(K, "code")], ("label", "label"))
    link = {"code": (STRING, ["a", "a", "b", None]), "label": (STRING, ["1", "2", "3", "4"])}
    outputs = {"k": K, "label": Column("label", STRING), "found": Column("found", BOOLEAN)}
    found = meaning.rows({"k": (STRING, ["a", "b", "c", None])}, outputs, [join], {"link": link})
    assert unordered(found) == [
        ("a", "1", True),
        ("a", "2", True),
        ("b", "3", True),
        ("c", None, False),
        (None, None, False),
    ]


def test_double_keys_match_by_value(meaning, nodes):
    v = Column("v", DOUBLE)
    join = nodes.join([(v, "w")], ("label", "label"))
    link = {"w": (DOUBLE, [0.0, NAN]), "label": (STRING, ["zero", "nan"])}
    found = meaning.rows({"v": (DOUBLE, [-0.0, NAN, 1.0])}, {"label": Column("label", STRING)}, [join], {"link": link})
    assert values(found) == [("zero",), ("nan",), (None,)]


def test_a_fork_of_the_rows_is_joined_back_to_them(meaning):
    totals = Fork(
        "totals",
        "per_k",
        None,
        (
            Keep("where", call("gt", N, Literal(0, INT))),
            Rollup("group", TRUE, (Assignment("code", K),), (Aggregate("total", "sum", N, BIGINT),)),
            RowWise("derive", (Assignment("big", call("gt", Column("total", BIGINT), Literal(5, BIGINT))),)),
        ),
    )
    join = Join("join", "per_k", ((K, "code"),), (("total", "total"), ("big", "big")), "found")
    outputs = {"n": N, "total": Column("total", BIGINT), "big": Column("big", BOOLEAN)}
    columns = {"k": (STRING, ["a", "a", "b", "c", "a"]), "n": (INT, [1, 2, 9, -1, -5])}
    assert values(meaning.rows(columns, outputs, [totals, join])) == [
        (1, 3, False),
        (2, 3, False),
        (9, 9, True),
        (-1, None, None),
        (-5, 3, False),
    ]


def test_a_fork_of_a_link_and_one_of_a_fork(meaning):
    longer = Fork("long", "long", "link", (Keep("where", call("gt", Column("size", INT), Literal(1, INT))),))
    named = Fork("upper", "upper", "long", (RowWise("derive", (Assignment("up", call("upper", X, type=STRING)),)),))
    join = Join("join", "upper", ((K, "x"),), (("up", "up"),), "found")
    link = {"x": (STRING, ["a", "bb"]), "size": (INT, [1, 2])}
    found = meaning.rows(
        {"k": (STRING, ["a", "bb"])}, {"up": Column("up", STRING)}, [longer, named, join], {"link": link}
    )
    assert values(found) == [(None,), ("BB",)]


LEFT = {"k": (STRING, ["a", "b", "c", None, "dead"]), "n": (INT, [1, 2, 3, 4, 5])}
RIGHT = {"k": (STRING, ["a", "a", "c", None, "z"]), "m": (INT, [1, 5, 2, 9, 7])}
PAIRED = {
    "n": N,
    "m": Column("m~1", INT),
    "l": Column("l", BOOLEAN),
    "r": Column("r", BOOLEAN),
}


def paired(kind, on, condition=None):
    alive = call("not", call("same", K, text("dead")))
    return Pairs("join", alive, "link", kind, on, condition, (("k", "k~1"), ("m", "m~1")), "l", "r")


BY_KEY = ((K, "k"),)
BOTH_A = [(1, 1, True, True), (1, 5, True, True), (3, 2, True, True)]
ONLY_LEFT = [(2, None, True, False), (4, None, True, False)]
ONLY_RIGHT = [(None, 7, False, True), (None, 9, False, True)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", BOTH_A),
        ("left", BOTH_A + ONLY_LEFT),
        ("right", BOTH_A + ONLY_RIGHT),
        ("full", BOTH_A + ONLY_LEFT + ONLY_RIGHT),
    ],
)
def test_pairs_by_equal_keys(meaning, kind, expected):
    found = meaning.rows(LEFT, PAIRED, opening=paired(kind, BY_KEY), links={"link": RIGHT})
    assert unordered(found) == sorted(expected, key=repr)


SMALLER = call("lt", N, Column("m~1", INT))
KEPT = [(1, 5, True, True)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", KEPT),
        ("left", [*KEPT, (2, None, True, False), (3, None, True, False), (4, None, True, False)]),
        ("right", [*KEPT, *[(None, m, False, True) for m in (1, 2, 7, 9)]]),
        (
            "full",
            [
                *KEPT,
                *[(n, None, True, False) for n in (2, 3, 4)],
                *[(None, m, False, True) for m in (1, 2, 7, 9)],
            ],
        ),
    ],
)
def test_pairs_by_keys_and_a_condition(meaning, kind, expected):
    found = meaning.rows(LEFT, PAIRED, opening=paired(kind, BY_KEY, SMALLER), links={"link": RIGHT})
    assert unordered(found) == sorted(expected, key=repr)


def test_pairs_by_a_condition_alone_and_by_nothing(meaning):
    far = call("lt", Column("m~1", INT), N)
    found = meaning.rows(LEFT, PAIRED, opening=paired("full", (), far), links={"link": RIGHT})
    expected = [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (1, None), (None, 5), (None, 7), (None, 9)]
    assert sorted(((row["n"], row["m"]) for row in found), key=repr) == sorted(expected, key=repr)
    every = meaning.rows(LEFT, PAIRED, opening=paired("inner", ()), links={"link": RIGHT})
    assert len(every) == 20


def test_pairs_over_an_empty_side(meaning):
    nothing = {"k": (STRING, []), "m": (INT, [])}
    found = meaning.rows(LEFT, PAIRED, opening=paired("full", (), SMALLER), links={"link": nothing})
    assert unordered(found) == [(n, None, True, False) for n in (1, 2, 3, 4)]


def test_pairs_with_a_fork_of_the_same_rows(meaning):
    other = Fork("other", "other", None, (RowWise("derive", (Assignment("k2", K), Assignment("n2", N))),))
    node = Pairs(
        "self", TRUE, "other", "inner", ((K, "k2"),), call("lt", N, Column("b", INT)), (("n2", "b"),), "l", "r"
    )
    columns = {"k": (STRING, ["a", "a", "b", "a"]), "n": (INT, [1, 2, 3, 4])}
    found = meaning.rows(columns, {"a": N, "b": Column("b", INT)}, [other], opening=node)
    assert unordered(found) == [(1, 2), (1, 4), (2, 4)]


def test_rows_are_stacked_below_the_ones_that_count(meaning):
    node = Stack(
        "union",
        call("gt", N, Literal(1, INT)),
        ("k", "tag"),
        (K, text("own")),
        (("link", (Column("code", STRING), text("link"))), ("again", (call("upper", X, type=STRING), text("again")))),
    )
    links = {"link": {"code": (STRING, ["x", None])}, "again": {"x": (STRING, ["y"])}}
    columns = {"k": (STRING, ["a", "b", "c"]), "n": (INT, [1, 2, None])}
    found = meaning.rows(columns, {"k": K, "tag": Column("tag", STRING)}, opening=node, links=links)
    assert unordered(found) == [("Y", "again"), ("b", "own"), ("x", "link"), (None, "link")]


def test_openings_are_nodes_of_forks_too(meaning):
    side = Fork(
        "side",
        "side",
        None,
        (
            Stack("union", TRUE, ("s", "v"), (K, N), (("link", (Column("k", STRING), Column("m", INT))),)),
            Pairs("join", TRUE, "link", "inner", ((Column("s", STRING), "k"),), None, (("m", "w"),), "l", "r"),
            Rollup(
                "group",
                TRUE,
                (Assignment("s", Column("s", STRING)),),
                (Aggregate("total", "sum", Column("w", INT), BIGINT),),
            ),
        ),
    )
    join = Join("join", "side", ((K, "s"),), (("total", "total"),), "found")
    found = meaning.rows(LEFT, {"total": Column("total", BIGINT)}, [side, join], {"link": RIGHT})
    # `a` stands once in the rows and twice in the link: three rows, each paired with 1 and 5.
    assert values(found) == [(18,), (None,), (4,), (None,), (None,)]


def cube(where=TRUE):
    return Rollup(
        "cube",
        where,
        (Assignment("k", K), Assignment("flag", call("gt", N, Literal(2, INT)))),
        (Aggregate("rows", "count_all", None, BIGINT), Aggregate("total", "sum", N, BIGINT)),
        sets=((0, 1), (0,), (1,), ()),
        grouping="level",
    )


CUBED = {
    "k": K,
    "flag": Column("flag", BOOLEAN),
    "rows": Column("rows", BIGINT),
    "total": Column("total", BIGINT),
    "level": Column("level", BIGINT),
}


def test_grouping_sets_group_once_for_each(meaning):
    columns = {"k": (STRING, ["a", "a", None]), "n": (INT, [1, 3, 5])}
    assert unordered(meaning.rows(columns, CUBED, opening=cube())) == sorted(
        [
            ("a", False, 1, 1, 0),
            ("a", True, 1, 3, 0),
            (None, True, 1, 5, 0),
            ("a", None, 2, 4, 1),
            (None, None, 1, 5, 1),
            (None, False, 1, 1, 2),
            (None, True, 2, 8, 2),
            (None, None, 3, 9, 3),
        ],
        key=repr,
    )


def test_the_empty_set_is_one_row_even_over_nothing(meaning):
    columns = {"k": (STRING, ["a"]), "n": (INT, [1])}
    assert values(meaning.rows(columns, CUBED, opening=cube(FALSE))) == [(None, None, 0, None, 3)]
