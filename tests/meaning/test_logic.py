"""Comparison, NULL and three-valued logic."""

from decimal import Decimal

from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, decimal

NAN = float("nan")
A, B = Column("a", BOOLEAN), Column("b", BOOLEAN)
THREE = [True, False, None]


def pairs(values):
    return [left for left in values for _ in values], [right for _ in values for right in values]


def test_and_or_not_have_three_values(meaning):
    left, right = pairs(THREE)
    outputs = {"and": call("and", A, B), "or": call("or", A, B), "not": call("not", A)}
    found = meaning.rows({"a": (BOOLEAN, left), "b": (BOOLEAN, right)}, outputs)
    assert [row["and"] for row in found] == [True, False, None, False, False, False, None, False, None]
    assert [row["or"] for row in found] == [True, True, True, True, False, None, True, None, None]
    assert [row["not"] for row in found] == [False] * 3 + [True] * 3 + [None] * 3


def test_text_compares_by_code_point(meaning):
    left = ["a", "a", "Z", "é", "ß", "a", "", "\ue000", None]
    right = ["a", "A", "a", "z", "ss", "a ", "a", "😀", "a"]
    a, b = Column("a", STRING), Column("b", STRING)
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    found = meaning.rows({"a": (STRING, left), "b": (STRING, right)}, {name: call(name, a, b) for name in names})
    assert [row["eq"] for row in found] == [True] + [False] * 7 + [None]
    assert [row["ne"] for row in found] == [False] + [True] * 7 + [None]
    # U+E000 is below U+1F600, although UTF-16 would put it above.
    assert [row["lt"] for row in found] == [False, False, True, False, False, True, True, True, None]
    assert [row["ge"] for row in found] == [True, True, False, True, True, False, False, False, None]
    assert [row["le"] for row in found] == [True, False, True, False, False, True, True, True, None]
    assert [row["gt"] for row in found] == [False, True, False, True, True, False, False, False, None]


def test_nan_equals_itself_and_is_above_every_number(meaning):
    left, right = [NAN, NAN, 1.0, float("inf"), 0.0, NAN], [NAN, 1e308, NAN, NAN, -0.0, None]
    a, b = Column("a", DOUBLE), Column("b", DOUBLE)
    outputs = {name: call(name, a, b) for name in ("eq", "lt", "gt", "ge", "same")}
    found = meaning.rows({"a": (DOUBLE, left), "b": (DOUBLE, right)}, outputs)
    assert [row["eq"] for row in found] == [True, False, False, False, True, None]
    assert [row["lt"] for row in found] == [False, False, True, True, False, None]
    assert [row["gt"] for row in found] == [False, True, False, False, False, None]
    assert [row["ge"] for row in found] == [True, True, False, False, True, None]
    assert [row["same"] for row in found] == [True, False, False, False, True, False]


def test_same_is_never_null(meaning):
    a, b = Column("a", INT), Column("b", INT)
    found = meaning.rows({"a": (INT, [1, 1, None, None]), "b": (INT, [1, None, 1, None])}, {"y": call("same", a, b)})
    assert [row["y"] for row in found] == [True, False, False, True]


def test_in_with_a_null_among_its_values_is_true_or_null(meaning):
    x, none = Column("x", INT), Literal(None, INT)
    one, two = Literal(1, INT), Literal(2, INT)
    found = meaning.rows(
        {"x": (INT, [1, 3, None]), "z": (INT, [9, 3, 1])},
        {
            "plain": call("in", x, one, two),
            "with_null": call("in", x, one, none),
            "with_column": call("in", x, one, Column("z", INT)),
            "only_null": call("in", x, none),
        },
    )
    assert [row["plain"] for row in found] == [True, False, None]
    assert [row["with_null"] for row in found] == [True, None, None]
    assert [row["with_column"] for row in found] == [True, True, None]
    assert [row["only_null"] for row in found] == [None, None, None]


def test_in_finds_text_doubles_and_decimals(meaning):
    money = decimal(5, 2)
    quote = text("O'Brien")
    meaning.maps(
        STRING, call("in", Column("x", STRING), text("a"), quote), [("O'Brien", True), ("b", False), ("", False)]
    )
    numbers = call("in", Column("x", DOUBLE), Literal(NAN, DOUBLE), Literal(0.0, DOUBLE))
    meaning.maps(DOUBLE, numbers, [(NAN, True), (-0.0, True), (1.0, False), (None, None)])
    amounts = call("in", Column("x", money), Literal(Decimal("1.50"), money))
    meaning.maps(money, amounts, [(Decimal("1.50"), True), (Decimal("1.51"), False)])


def test_null_is_not_nan_and_not_an_empty_text(meaning):
    meaning.maps(DOUBLE, call("is_null", Column("x", DOUBLE)), [(NAN, False), (None, True), (0.0, False)])
    meaning.maps(STRING, call("is_null", Column("x", STRING)), [("", False), (None, True)])


def test_coalesce_nullif_and_case(meaning):
    x, other = Column("x", STRING), text("z")
    meaning.maps(
        STRING, call("coalesce", x, Literal(None, STRING), other, type=STRING), [("a", "a"), (None, "z"), ("", "")]
    )
    meaning.maps(STRING, call("nullif", x, other, type=STRING), [("z", None), ("a", "a"), (None, None)])
    number = Column("x", BIGINT)
    big, small = call("gt", number, Literal(9, BIGINT)), call("lt", number, Literal(0, BIGINT))
    chosen = call("case", big, text("big"), small, text("small"), text("fine"), type=STRING)
    meaning.maps(BIGINT, chosen, [(10, "big"), (-1, "small"), (5, "fine"), (None, "fine")])


def test_greatest_and_least_pass_over_nulls(meaning):
    a, b = Column("a", DOUBLE), Column("b", DOUBLE)
    outputs = {name: call(name, a, b, type=DOUBLE) for name in ("greatest", "least")}
    found = meaning.rows({"a": (DOUBLE, [1.0, None, NAN, None]), "b": (DOUBLE, [2.0, 3.0, 4.0, None])}, outputs)
    assert [str(row["greatest"]) for row in found] == ["2.0", "3.0", "nan", "None"]
    assert [row["least"] for row in found] == [1.0, 3.0, 4.0, None]
