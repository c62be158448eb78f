"""Which tables would lie in one another: decided from places alone."""

from __future__ import annotations

import pytest

from lakelogic.run.state.overlap import nested


@pytest.mark.parametrize(
    ("places", "pairs"),
    [
        ({"a": ["/lake/a"], "b": ["/lake/b"]}, []),
        ({"a": ["/lake/a"], "ab": ["/lake/ab"]}, []),  # a name is not a folder
        ({"a": ["/lake/a"], "b": ["/lake/a"]}, []),  # the same place is another question
        ({"b": ["/lake/a/b"], "a": ["/lake/a"]}, [("a", "b")]),
        ({"a": ["/lake/a"], "b": ["/lake/a/b"], "c": ["/lake/a/b/c"]}, [("a", "b"), ("a", "c"), ("b", "c")]),
        ({"a": ["/lake/a", "/lake/x"], "b": ["/lake/x/b"]}, [("a", "b")]),
    ],
)
def test_pairs_of_tables_the_outer_first(places: dict[str, list[str]], pairs: list[tuple[str, str]]) -> None:
    assert sorted(nested(places)) == pairs
