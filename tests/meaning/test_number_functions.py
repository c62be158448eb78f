"""Functions of numbers over columns: ends of ranges, NaN, both zeros, halves, 38 digits, the last bit."""

import math
import random
import struct
from decimal import Decimal

import pytest

from lakelogic.engines.exact.floats import FUNCTIONS, computed
from lakelogic.sql.bind import bind
from lakelogic.sql.types import BIGINT, DOUBLE, FLOAT, INT, decimal

NAN, INF = float("nan"), float("inf")
MOST, LEAST = 2**63 - 1, -(2**63)


@pytest.fixture
def table(meaning, same):
    """Each expression over the columns gives its column."""

    def check(columns, expected):
        types = {name: type_ for name, (type_, _) in columns.items()}
        found = meaning.rows(columns, {f"e{i}": bind(text, types) for i, text in enumerate(expected)})
        wrong = [
            f"{text}: expected {want!r}, found {got!r}"
            for i, (text, want) in enumerate(expected.items())
            if not same(got := [row[f"e{i}"] for row in found], want)
        ]
        assert not wrong, f"{meaning.name}: " + "; ".join(wrong)

    return check


def test_whole_quotients_and_remainders(table):
    a, b = [7, -7, 7, LEAST, LEAST, 5, None], [2, 2, -2, -1, 1, 0, 1]
    table(
        {"a": (BIGINT, a), "b": (BIGINT, b)},
        {
            "a div b": [3, -3, -3, None, LEAST, None, None],
            "a % b": [1, -1, 1, 0, 0, None, None],
            "pmod(a, b)": [1, 1, 1, 0, 0, None, None],
            "try_add(a, b)": [9, -5, 5, None, LEAST + 1, 5, None],
            "try_divide(a, b)": [3.5, -3.5, -3.5, 9.223372036854775808e18, -9.223372036854775808e18, None, None],
        },
    )


def test_remainders_of_decimals_are_exact(table):
    table(
        {"m": (decimal(10, 2), [Decimal("7.55"), Decimal("-7.55"), Decimal("0.00"), None])},
        {
            "m % 2": [Decimal("1.55"), Decimal("-1.55"), Decimal("0.00"), None],
            "m % 0.1": [Decimal("0.05"), Decimal("-0.05"), Decimal("0.00"), None],
            "m % 0": [None, None, None, None],
            "pmod(m, 2)": [Decimal("1.55"), Decimal("0.45"), Decimal("0.00"), None],
        },
    )


def test_bits(table):
    n, k = [12, -1, 0, LEAST, MOST, None, 1], [2, 60, 5, 1, 63, 1, 64]
    table(
        {"n": (BIGINT, n), "k": (INT, k)},
        {
            "n & 10": [8, 10, 0, 0, 10, None, 0],
            "n | 1": [13, -1, 1, LEAST + 1, MOST, None, 1],
            "n ^ -1": [-13, 0, -1, MOST, LEAST, None, -2],
            "~n": [-13, 0, -1, MOST, LEAST, None, -2],
            "bit_count(n)": [2, 64, 0, 1, 63, None, 1],
            "shiftleft(n, k)": [48, -(2**60), 0, 0, LEAST, None, None],
            "shiftright(n, k)": [3, -1, 0, -(2**62), 0, None, None],
            "shiftrightunsigned(n, k)": [3, 15, 0, 2**62, 0, None, None],
            "n << -1": [None] * 7,
            "factorial(k)": [2, None, 120, 1, None, 1, None],
        },
    )


def test_doubles_are_rounded_as_they_are_written_and_have_no_negative_zero(table):
    d = [2.5, -2.5, 1.005, -0.2, 0.125, 1250.0, NAN, INF, None, 1e300, 1.5e20]
    table(
        {"d": (DOUBLE, d)},
        {
            "round(d)": [3.0, -3.0, 1.0, 0.0, 0.0, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "CAST(round(d) AS STRING)": ["3.0", "-3.0", "1.0", "0.0", "0.0", "1250.0", "NaN", "Infinity", None, "1e+300", "1.5e+20"],
            "bround(d)": [2.0, -2.0, 1.0, 0.0, 0.0, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "bround(d, 2)": [2.5, -2.5, 1.0, -0.2, 0.12, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "round(d, 2)": [2.5, -2.5, 1.01, -0.2, 0.13, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "round(d, -2)": [0.0, 0.0, 0.0, 0.0, 0.0, 1300.0, NAN, INF, None, 1e300, 1.5e20],
            "bround(d, -2)": [0.0, 0.0, 0.0, 0.0, 0.0, 1200.0, NAN, INF, None, 1e300, 1.5e20],
            "truncate(d)": [2.0, -2.0, 1.0, 0.0, 0.0, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "truncate(d, 2)": [2.5, -2.5, 1.0, -0.2, 0.12, 1250.0, NAN, INF, None, 1e300, 1.5e20],
            "CAST(truncate(d, -1) AS STRING)": ["0.0", "0.0", "0.0", "0.0", "0.0", "1250.0", "NaN", "Infinity", None, "1e+300", "1.5e+20"],
            "sign(d)": [1.0, -1.0, 1.0, -1.0, 1.0, 1.0, NAN, 1.0, None, 1.0, 1.0],
            "isnan(d)": [False, False, False, False, False, False, True, False, False, False, False],
            "nanvl(d, 7)": [2.5, -2.5, 1.005, -0.2, 0.125, 1250.0, 7.0, INF, None, 1e300, 1.5e20],
        },
    )  # fmt: skip


def test_decimals_and_whole_numbers_are_rounded_exactly(table):
    m = [Decimal("2.500"), Decimal("-2.500"), Decimal("999999.999"), Decimal("0.125"), None]
    table(
        {"m": (decimal(9, 3), m), "n": (BIGINT, [1250, -1250, MOST, 4, None])},
        {
            "round(m)": [Decimal("3"), Decimal("-3"), Decimal("1000000"), Decimal("0"), None],
            "bround(m)": [Decimal("2"), Decimal("-2"), Decimal("1000000"), Decimal("0"), None],
            "truncate(m)": [Decimal("2"), Decimal("-2"), Decimal("999999"), Decimal("0"), None],
            "bround(m, 2)": [Decimal("2.50"), Decimal("-2.50"), Decimal("1000000"), Decimal("0.12"), None],
            "round(m, -3)": [Decimal("0"), Decimal("0"), Decimal("1000000"), Decimal("0"), None],
            "round(n, -2)": [1300, -1300, 9223372036854775800, 0, None],
            "bround(n, -2)": [1200, -1200, 9223372036854775800, 0, None],
            "round(n, -3)": [1000, -1000, None, 0, None],
            "truncate(n, -2)": [1200, -1200, 9223372036854775800, 0, None],
        },
    )


def test_all_38_digits_are_kept(table):
    wide = decimal(38, 10)
    w = [Decimal("9" * 28 + "." + "9" * 10), Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("0E-10")]
    table(
        {"w": (wide, w)},
        {
            "-w": [w[1], w[0], Decimal(0)],
            "abs(w)": [w[0], w[0], Decimal(0)],
            "CAST(w AS STRING)": [f"{w[0]:f}", f"{w[1]:f}", "0.0000000000"],
            "round(w)": [None, None, Decimal(0)],
            "truncate(w)": [Decimal("9" * 28), Decimal("-" + "9" * 28), Decimal(0)],
            "CAST(w AS BIGINT)": [None, None, 0],
            "w + w": [None, None, Decimal(0)],
        },
    )


def test_doubles_and_floats_become_the_same_text_and_decimals(table):
    values = [1e-7, 1e21, 123456789.125, 1e16, 0.1, -0.0, 5e-324, 1e22, NAN, -INF, 9007199254740993.0, None]
    texts = [
        "1e-07",
        "1e+21",
        "123456789.125",
        "1e+16",
        "0.1",
        "-0.0",
        "5e-324",
        "1e+22",
        "NaN",
        "-Infinity",
        "9007199254740992.0",
        None,
    ]
    # A computed value is rounded half up; NaN, infinities and what has no room become NULL.
    whole = [0, 10**21, 123456789, 10**16, 0, 0, 0, 10**22, None, None, 9007199254740992, None]
    table(
        {"d": (DOUBLE, values)},
        {
            "CAST(d AS STRING)": texts,
            "CAST(d AS DECIMAL(38,0))": [None if value is None else Decimal(value) for value in whole],
            "CAST(d AS DECIMAL(38,3))": [None if value is None else Decimal(value) for value in [*whole[:2], Decimal("123456789.125"), *whole[3:4], Decimal("0.1"), *whole[5:]]],
        },
    )  # fmt: skip
    table(
        {"f": (FLOAT, [0.1, 764.16, 16777216.0, 3.4028234663852886e38, 1e-45, None])},
        {
            "CAST(f AS STRING)": ["0.1", "764.16", "16777216.0", "3.4028235e+38", "1e-45", None],
            "CAST(f AS DECIMAL(20,5))": [Decimal("0.1"), Decimal("764.16"), Decimal(16777216), None, Decimal(0), None],
            "f = 0.1": [False, False, False, False, False, None],
        },
    )


def test_buckets(table):
    d = [5.3, -1.0, 10.6, 0.2, NAN, INF, None]
    table(
        {"d": (DOUBLE, d)},
        {
            "width_bucket(d, 0.2, 10.6, 5)": [3, 0, 6, 1, None, None, None],
            "width_bucket(d, 10, 0, 5)": [3, 6, 0, 5, None, None, None],
            "width_bucket(d, 0, 10, 0)": [None] * 7,
            "width_bucket(d, 1, 1, 5)": [None] * 7,
        },
    )


def test_reals_are_the_same_to_the_last_bit(meaning):
    generator = random.Random(20)
    x = [0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 1000.0, 5e-324, 1e-310, 1e300, INF, -INF, NAN, 1e6, 709.9, -745.5, None]
    x += [struct.unpack("d", generator.randbytes(8))[0] for _ in range(15)]
    x += [generator.uniform(-10, 10) for _ in range(15)] + [generator.uniform(-1, 1) for _ in range(10)]
    y = [generator.choice([0.0, 0.5, 2.0, -3.0, 1024.0, 2000.5, INF, NAN, None, 1.7]) for _ in x]
    two = ("power", "atan2")
    outputs = {
        name: bind(f"{name}(x, y)" if name in two else f"{name}(x)", {"x": DOUBLE, "y": DOUBLE}) for name in FUNCTIONS
    }
    rows = meaning.rows({"x": (DOUBLE, x), "y": (DOUBLE, y)}, outputs)
    wrong = []
    for one, other, row in zip(x, y, rows, strict=True):
        for name in outputs:
            given = (one, other) if name in two else (one,)
            want = None if None in given else computed(name)(*given)
            if repr(want) != repr(row[name]):
                wrong.append(f"{name}{given}: expected {want!r}, found {row[name]!r}")
    assert not wrong, f"{meaning.name}: " + "; ".join(wrong[:10])


@pytest.mark.parametrize(
    "name", ["exp", "log10", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "cbrt", "expm1", "log1p"]
)
def test_reals_are_right_to_fifteen_digits(name):
    generator = random.Random(21)
    function, known = computed(name), getattr(math, name)
    for _ in range(500):
        value = generator.uniform(0.001, 1.0) if name in ("asin", "acos") else generator.uniform(0.001, 50.0)
        assert function(value) == pytest.approx(known(value), rel=2e-15, abs=2e-16)
