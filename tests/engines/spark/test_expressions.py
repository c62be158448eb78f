"""The catalogue on Spark: every worked example, and what is peculiar to Spark's own functions."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.engines.spark import SparkEngine
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, text
from lakelogic.sql.functions import LOWERED
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, decimal

pytestmark = pytest.mark.spark


def test_every_function_of_the_catalogue_is_lowered() -> None:
    assert SparkEngine.capabilities.functions == LOWERED


def test_wide_conditions_do_not_break_the_planner(evaluate: Any) -> None:
    condition: Expression = call("eq", Column("x", INT), Literal(-1, INT))
    for number in range(900):
        condition = call("or", condition, call("eq", Column("x", INT), Literal(number, INT)))
    table = pa.table({"x": pa.array([5, 5000], pa.int32())})
    assert evaluate([condition], table) == [[True, False]]


def test_constants_come_through_as_they_are(evaluate: Any) -> None:
    hostile = [
        "O'Brien",
        "back\\slash",
        "${spark.app.name}",
        "line\nend\t\0",
        "`tick`",
        '"quoted"',
        "é😀",
        "\\'",
        "%_\\%",
    ]
    assert evaluate([text(value) for value in hostile]) == [[value] for value in hostile]


def test_names_come_through_as_they_are(evaluate: Any) -> None:
    names = ["a b", "dot.ted", "tick`ed", "~file", "select", "${x}", "é"]
    table = pa.table({name: pa.array([name]) for name in names})
    assert evaluate([Column(name, STRING) for name in names], table) == [[name] for name in names]


def test_numbers_that_have_no_plain_literal(evaluate: Any) -> None:
    values: list[tuple[Any, Type]] = [
        (-(2**63), BIGINT),
        (2**63 - 1, BIGINT),
        (-5, INT),
        (1e-320, DOUBLE),
        (float("inf"), DOUBLE),
        (float("-inf"), DOUBLE),
    ]
    assert evaluate([Literal(value, kind) for value, kind in values]) == [[value] for value, _ in values]
    assert math.isnan(evaluate([Literal(float("nan"), DOUBLE)])[0][0])


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("c$", "abc", "abc\n"),
        ("^a.c$", "a\rc", "a\nc"),
        ("(?s)^a.c$", "a\nc", "abbc"),
        ("(?m)^b$", "a\nb\nc", "a\nbc"),
        ("[[:digit:]]+$", "x1", "x"),
        ("^[a[]$", "[", "b"),
        ("^[]a]$", "]", "b"),
        ("^[a&&b]$", "&", "c"),
        (r"\bcafe\b", "a cafe b", "acafe"),
        (r"^\s$", "\t", "\x0b"),
        ("^a{,2}$", "a{,2}", "aa"),
        ("(?i)^É$", "é", "e"),
        (r"^\p{Greek}+$", "αβγ", "abc"),
        (r"^\p{Lu}$", "A", "a"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        ("(?P<year>[0-9]{4})", "in 2024", "in 24"),
        ("it's", "it's", "its"),
        ("^\\$[0-9]", "$5", "5"),
        ("[$]$", "a$", "a"),
    ],
)
def test_patterns_match_as_in_re2(evaluate: Any, pattern: str, matching: str, other: str) -> None:
    table = pa.table({"s": [matching, other, None]})
    assert evaluate([call("matches", Column("s", STRING), text(pattern))], table) == [[True, False, None]]


def test_odd_escapes_in_like_stand_for_the_character(evaluate: Any) -> None:
    cases = [("a\\bc", "abc"), ("a\\", "a\\"), ("a\\\\b", "a\\b"), ("100\\%", "100%")]
    assert evaluate([call("like", text(subject), text(pattern)) for pattern, subject in cases]) == [[True]] * 4


def test_doubles_are_rounded_half_away_from_zero_as_they_are_written(evaluate: Any) -> None:
    values = [(2.5, 0, 3.0), (-2.5, 0, -3.0), (0.49999999999999994, 0, 0.0), (1.005, 2, 1.01), (1e308, 5, 1e308)]
    found = evaluate([Call("round", (Literal(v, DOUBLE), Literal(d, INT)), DOUBLE) for v, d, _ in values])
    assert found == [[expected] for _, _, expected in values]


def test_arithmetic_beyond_its_type_is_null(evaluate: Any) -> None:
    big = Literal(2**63 - 1, BIGINT)
    low = Literal(-(2**63), BIGINT)
    wide = decimal(38, 0)
    nines = Literal(__import__("decimal").Decimal("9" * 38), wide)
    cases = [
        Call("add", (big, big), BIGINT),
        Call("negate", (low,), BIGINT),
        Call("abs", (low,), BIGINT),
        Call("multiply", (nines, nines), wide),
        Call("add", (nines, nines), wide),
        Call("floor", (Literal(1e300, DOUBLE),), BIGINT),
        Call("ceil", (Literal(float("nan"), DOUBLE),), BIGINT),
        Call("modulo", (low, Literal(0, BIGINT)), BIGINT),
    ]
    assert evaluate(cases) == [[None]] * len(cases)


def test_packed_reasons_are_unpacked_in_order(evaluate: Any) -> None:
    def reasons(*bits: tuple[str, int]) -> Expression:
        args: list[Expression] = []
        for column, bit in bits:
            args += [Call("bit_is_set", (Column(column, BIGINT), Literal(bit, INT)), BOOLEAN), text(f"{column}{bit}")]
        return Call("texts_where", tuple(args), Type("array", element=STRING))

    table = pa.table({"m": pa.array([0, 1, 6, 2**59], pa.int64()), "n": pa.array([0, 0, 1, 1], pa.int64())})
    found = evaluate([reasons(("m", 0), ("m", 1), ("m", 2), ("n", 0)), reasons(("m", 59), ("m", 1))], table)
    assert found == [[None, ["m0"], ["m1", "m2", "n0"], ["n0"]], [None, None, ["m1"], ["m59"]]]


def test_what_the_plan_makes_for_itself(evaluate: Any) -> None:
    yes, no = Literal(True, BOOLEAN), Literal(False, BOOLEAN)
    null = Literal(None, STRING)
    texts = Type("array", element=STRING)
    entries = Type("map", key=STRING, element=STRING)
    found = evaluate(
        [
            Call("bits", (yes, no, yes), BIGINT),
            Call("texts_where", (yes, text("a"), no, text("b")), texts),
            Call("texts_where", (no, text("a")), texts),
            Call("entries_where", (yes, text("k"), null, no, text("l"), text("x")), entries),
            Call("entries_where", (no, text("k"), null), entries),
            Call("row_json", (text("a"), null, text("b c"), text('say "hi"\n')), STRING),
        ]
    )
    assert found == [[5], [["a"]], [None], [[("k", None)]], [None], ['{"a":null,"b c":"say \\"hi\\"\\n"}']]
