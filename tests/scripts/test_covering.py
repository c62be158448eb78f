"""Few of many combinations: every three values that can meet do meet."""

import importlib.util
import sys
from itertools import combinations, product
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def covering():
    file = Path(__file__).parents[2] / "scripts" / "covering.py"
    spec = importlib.util.spec_from_file_location("covering", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["covering"] = module
    spec.loader.exec_module(module)
    return module.covering


def met(rows, strength):
    return {part for row in rows for part in combinations(enumerate(row), strength)}


def test_every_three_values_meet_in_far_fewer_rows(covering):
    rows = list(product("abcdefg", "xyz", range(9), range(4)))
    chosen = covering(rows, tuple)
    assert met(chosen, 3) == met(rows, 3)
    assert 7 * 9 * 4 <= len(chosen) < len(rows) / 2


def test_what_cannot_meet_is_not_asked_for(covering):
    rows = [row for row in product("ab", "xy", "12") if row != ("a", "x", "1")]
    assert set(covering(rows, tuple)) == set(rows)


def test_pairs_need_fewer_than_threes_and_keep_their_order(covering):
    rows = list(product(range(5), range(5), range(5)))
    chosen = covering(rows, tuple, strength=2)
    assert met(chosen, 2) == met(rows, 2)
    assert chosen == sorted(chosen)
    assert len(chosen) < 50


def test_nothing_of_nothing(covering):
    assert covering([], tuple) == []
