"""What would grow without end is told before it is built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic.errors import ContractError
from lakelogic.plan.compile import compile_contract, load_checked

LETTERS = "abcdefghijklmnopqrstuvwx"


def said(sql: str, kind: str = "string") -> str:
    """What is wrong with a contract that has this step; nothing where it is sound."""
    document = {
        "source": {"path": "x.csv"},
        "model": {"fields": [{"name": name, "type": kind} for name in LETTERS]},
        "transformations": [{"sql": sql}],
    }
    try:
        compile_contract(load_checked(document))
    except ContractError as error:
        return str(error)
    return ""


def named(count: int, of: Callable[[str], str]) -> str:
    """Queries of WITH, each made of the one before."""
    queries = ["q0 AS (SELECT a FROM source)", *(f"q{i} AS ({of(f'q{i - 1}')})" for i in range(1, count))]
    return f"WITH {', '.join(queries)} SELECT a FROM q{count - 1}"


@pytest.mark.parametrize(
    "groups",
    [
        f"CUBE({', '.join(LETTERS)})",
        f"{', '.join(LETTERS)} WITH CUBE",
        "CUBE(a, b, c, d, e, f, g, h), CUBE(i, j, k, l, m, n, o, p), CUBE(q, r, s, t, u, v, w, x)",
        f"GROUPING SETS (CUBE({', '.join(LETTERS)}), (a))",
    ],
)
def test_sets_of_groups_are_counted_before_they_are_made(groups: str) -> None:
    assert "64 is the most" in said(f"SELECT count(*) AS n FROM source GROUP BY {groups}")


def test_a_cube_of_six_is_still_made() -> None:
    assert said("SELECT a, count(*) AS n FROM source GROUP BY a, b, c, d, e, f WITH CUBE") == ""
    assert said("SELECT a, count(*) AS n FROM source GROUP BY CUBE(a, b, c), ROLLUP(d, e)") == ""


@pytest.mark.parametrize(
    "of",
    [
        lambda q: f"SELECT a FROM {q} UNION ALL SELECT a FROM {q}",
        lambda q: f"SELECT x.a FROM {q} x JOIN {q} y ON x.a = y.a",
        lambda q: f"SELECT a FROM {q} WHERE a IN (SELECT a FROM {q})",
        lambda q: f"SELECT a FROM {q} WHERE a > (SELECT max(a) FROM {q})",
        lambda q: f"WITH unread AS (SELECT a FROM {q}) SELECT a FROM {q}",
    ],
    ids=["union", "join", "in", "value", "unread"],
)
def test_queries_that_double_are_counted_before_they_are_planned(of: Callable[[str], str]) -> None:
    assert "comes to more than 500 queries" in said(named(30, of))
    assert said(named(5, of)) == ""


def test_a_long_chain_of_queries_is_no_trouble() -> None:
    assert said(named(100, lambda q: f"SELECT a FROM {q}")) == ""


def test_types_numbers_and_patterns_have_an_end() -> None:
    assert "more than 50 levels deep" in said("a AS a", "array<" * 20_000 + "int" + ">" * 20_000)
    assert said("a AS a", "array<" * 20 + "int" + ">" * 20) == ""
    assert "more than 38 digits" in said(f"{'9' * 100_000} AS y")
    assert "50 levels" in said(f"a RLIKE '{'(' * 5_000}a{')' * 5_000}' AS y")
