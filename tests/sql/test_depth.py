"""Long chains have no depth, and what is too deep is told in words."""

from __future__ import annotations

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Call, Expression, Lambda
from lakelogic.sql.parse import parse_select
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import INT, STRING

COLUMNS = {"a": INT, "s": STRING}


def depth(value: Expression) -> int:
    parts = value.args if isinstance(value, Call) else (value.body,) if isinstance(value, Lambda) else ()
    return 1 + max((depth(part) for part in parts), default=0)


@pytest.mark.parametrize("operator", ["OR", "AND"])
def test_three_thousand_conditions_are_a_flat_tree(operator: str) -> None:
    bound = bind(f" {operator} ".join(f"a = {number}" for number in range(3000)), COLUMNS)
    assert depth(bound) <= 16  # twelve times halved, the comparison, its sides


def test_conditions_keep_their_order() -> None:
    assert bind("a = 1 OR a = 2 OR a = 3", COLUMNS) == bind("(a = 1) OR (a = 2 OR a = 3)", COLUMNS)


def test_joined_texts_are_one_call() -> None:
    bound = bind(" || ".join(["s"] * 600), COLUMNS)
    assert isinstance(bound, Call)
    assert (bound.function, len(bound.args)) == ("concat", 600)


def test_brackets_have_no_depth() -> None:
    assert bind("(" * 300 + "a" + ")" * 300, COLUMNS) == bind("a", COLUMNS)


def test_sixty_cases_in_one_another() -> None:
    bound = bind("CASE WHEN a = 1 THEN 1 ELSE " * 60 + "0" + " END" * 60, COLUMNS)
    assert depth(bound) == 62  # the comparison and its column are below the last one


@pytest.mark.parametrize(
    "text",
    [
        "replace(" * 400 + "s" + ", 'a', 'b')" * 400,
        " + ".join(["a"] * 600),
        "replace(" * 4_000 + "s" + ", 'a', 'b')" * 4_000,
    ],
)
def test_what_is_too_deep_is_told(text: str) -> None:
    with pytest.raises(SqlProblems) as caught:
        bind(text, COLUMNS)
    assert [problem.message for problem in caught.value.problems] == ["The SQL is nested deeper than 150 levels."]


def test_too_many_queries_below_one_another_are_told() -> None:
    with pytest.raises(SqlProblems, match="nested deeper"):
        parse_select(" UNION ALL ".join(["SELECT a FROM source"] * 600))
