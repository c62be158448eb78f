"""Arithmetic: whole numbers in 64 bits, decimals in 38 digits, beyond them NULL; division is always double."""

from decimal import Decimal

from lakelogic.sql.expressions import Column, Literal, call
from lakelogic.sql.types import BIGINT, DOUBLE, INT, decimal

MOST, LEAST = 9223372036854775807, -9223372036854775808
NAN, INF = float("nan"), float("inf")


def test_whole_numbers_beyond_64_bits_are_null(meaning):
    left = [1, MOST, LEAST, MOST, LEAST, 3037000500, None, -7]
    right = [2, 1, -1, 2, -1, 3037000500, 1, 3]
    a, b = Column("a", BIGINT), Column("b", BIGINT)
    outputs = {name: call(name, a, b, type=BIGINT) for name in ("add", "subtract", "multiply")}
    found = meaning.rows({"a": (BIGINT, left), "b": (BIGINT, right)}, outputs)
    assert [row["add"] for row in found] == [3, None, None, None, None, 6074001000, None, -4]
    assert [row["subtract"] for row in found] == [-1, MOST - 1, LEAST + 1, MOST - 2, LEAST + 1, 0, None, -10]
    assert [row["multiply"] for row in found] == [2, MOST, None, None, None, None, None, -21]


def test_narrow_whole_numbers_add_up_as_bigint(meaning):
    x = Column("x", INT)
    meaning.maps(INT, call("add", x, x, type=BIGINT), [(2147483647, 4294967294), (-5, -10)])


def test_decimals_are_exact_and_beyond_their_digits_null(meaning):
    type_, total, product = decimal(38, 2), decimal(38, 2), decimal(38, 4)
    high = Decimal("9" * 36 + ".99")
    a, b = Column("a", type_), Column("b", type_)
    found = meaning.rows(
        {
            "a": (type_, [Decimal("1.50"), high, high, None]),
            "b": (type_, [Decimal("1.25"), Decimal("0.01"), Decimal("0.00"), Decimal("1.00")]),
        },
        {
            "add": call("add", a, b, type=total),
            "subtract": call("subtract", a, b, type=total),
            "multiply": call("multiply", a, b, type=product),
        },
    )
    below = Decimal("9" * 36 + ".98")
    assert [row["add"] for row in found] == [Decimal("2.75"), None, high, None]
    assert [row["subtract"] for row in found] == [Decimal("0.25"), below, high, None]
    assert [row["multiply"] for row in found] == [Decimal("1.8750"), Decimal("9" * 34 + ".9999"), Decimal(0), None]
    many = call("multiply", Column("x", type_), Literal(Decimal("9.99"), type_), type=product)
    meaning.maps(type_, many, [(high, None), (Decimal("2.00"), Decimal("19.9800"))])


def test_a_whole_number_and_a_decimal_multiply_exactly(meaning):
    price = decimal(5, 2)
    product = call("multiply", Column("x", price), Literal(3, INT), type=decimal(15, 2))
    meaning.maps(price, product, [(Decimal("1.35"), Decimal("4.05")), (None, None)])


def test_division_is_double_and_by_zero_null(meaning):
    a, b = Column("a", BIGINT), Column("b", BIGINT)
    found = meaning.rows(
        {"a": (BIGINT, [7, 1, 0, -1, None]), "b": (BIGINT, [2, 0, 5, 3, 1])}, {"y": call("divide", a, b, type=DOUBLE)}
    )
    assert [row["y"] for row in found] == [3.5, None, 0.0, -1 / 3, None]
    money = decimal(5, 2)
    meaning.maps(money, call("divide", Column("x", money), Literal(4, INT), type=DOUBLE), [(Decimal("1.00"), 0.25)])
    real = call("divide", Literal(1.0, DOUBLE), Column("x", DOUBLE), type=DOUBLE)
    meaning.maps(DOUBLE, real, [(0.0, None), (-0.0, None), (4.0, 0.25), (NAN, NAN), (INF, 0.0)])


def test_the_remainder_has_the_sign_of_the_dividend(meaning):
    a, b = Column("a", BIGINT), Column("b", BIGINT)
    found = meaning.rows(
        {"a": (BIGINT, [7, -7, 7, -7, 7, LEAST, None]), "b": (BIGINT, [3, 3, -3, -3, 0, -1, 2])},
        {"y": call("modulo", a, b, type=BIGINT)},
    )
    assert [row["y"] for row in found] == [1, -1, 1, -1, None, 0, None]
    real = call("modulo", Column("x", DOUBLE), Literal(2.0, DOUBLE), type=DOUBLE)
    meaning.maps(DOUBLE, real, [(7.5, 1.5), (-7.5, -1.5), (None, None)])
    money = decimal(5, 2)
    amounts = call("modulo", Column("x", money), Literal(Decimal("2.00"), money), type=money)
    meaning.maps(money, amounts, [(Decimal("-7.50"), Decimal("-1.50")), (Decimal("7.50"), Decimal("1.50"))])


def test_negate_and_abs(meaning):
    x = Column("x", BIGINT)
    meaning.maps(BIGINT, call("negate", x, type=BIGINT), [(3, -3), (LEAST, None), (None, None), (0, 0)])
    meaning.maps(BIGINT, call("abs", x, type=BIGINT), [(-3, 3), (LEAST, None), (MOST, MOST)])
    money = decimal(5, 2)
    meaning.maps(money, call("abs", Column("x", money), type=money), [(Decimal("-2.50"), Decimal("2.50"))])
    meaning.maps(DOUBLE, call("abs", Column("x", DOUBLE), type=DOUBLE), [(-INF, INF), (-1.5, 1.5)])


def test_halves_round_away_from_zero(meaning):
    x, money = Column("x", DOUBLE), decimal(10, 3)
    whole = call("round", x, Literal(0, INT), type=DOUBLE)
    meaning.maps(
        DOUBLE,
        whole,
        [(2.5, 3.0), (-2.5, -3.0), (0.49999999999999994, 0.0), (1e300, 1e300), (NAN, NAN), (INF, INF), (None, None)],
    )
    # A double is rounded as it is written, so 1.005 goes up although its binary value is a little less.
    cents = call("round", x, Literal(2, INT), type=DOUBLE)
    meaning.maps(
        DOUBLE,
        cents,
        [
            (1.005, 1.01),
            (2.675, 2.68),
            (0.285, 0.29),
            (-1.255, -1.26),
            (1e20, 1e20),
            (1e-7, 0.0),
            (NAN, NAN),
            (INF, INF),
            (None, None),
        ],
    )
    amount = Column("x", money)
    meaning.maps(
        money,
        call("round", amount, Literal(2, INT), type=money),
        [
            (Decimal("2.345"), Decimal("2.350")),
            (Decimal("-2.345"), Decimal("-2.350")),
            (Decimal("2.344"), Decimal("2.340")),
        ],
    )
    meaning.maps(money, call("round", amount, Literal(5, INT), type=money), [(Decimal("2.345"), Decimal("2.345"))])


def test_floor_and_ceil_are_bigint(meaning):
    x, money = Column("x", DOUBLE), decimal(4, 1)
    meaning.maps(DOUBLE, call("floor", x, type=BIGINT), [(-1.5, -2), (2.7, 2), (1e30, None), (NAN, None), (INF, None)])
    meaning.maps(DOUBLE, call("ceil", x, type=BIGINT), [(1.2, 2), (-1.5, -1), (-0.5, 0), (None, None)])
    meaning.maps(money, call("floor", Column("x", money), type=BIGINT), [(Decimal("-1.5"), -2), (Decimal("3.0"), 3)])
    meaning.maps(money, call("ceil", Column("x", money), type=BIGINT), [(Decimal("1.2"), 2), (Decimal("-1.5"), -1)])
