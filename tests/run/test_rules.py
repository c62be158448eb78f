"""Row rules and dataset rules: which rows are bad, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tried = Callable[..., Any]

LINES = "id,v\n1,a\n2,b,c,d\n3,c\n"


@pytest.mark.parametrize(
    "step",
    [
        {"filter": {"sql": "v = 'nothing'"}},
        {"select": ["id"]},
        {"deduplicate": {"on": ["id"]}},
        {"rollup": {"group_by": ["v"], "aggregations": {"n": "count(*)"}}},
        {"sql": "SELECT id FROM source WHERE id = '9'"},
    ],
    ids=["filter", "select", "deduplicate", "rollup", "sql"],
)
def test_no_step_loses_a_line_that_could_not_be_read(tried: Tried, step: dict[str, Any]) -> None:
    found = tried({"transformations": [{**step, "phase": "pre"}]}, LINES)
    [broken] = found.bad
    assert broken["_lakelogic_errors"][0].startswith("Unreadable line: ")
    assert broken["_lakelogic_raw"] == "2,b,c,d"
    assert found.result.counts.quarantined == 1
    assert found.result.counts.source == 3


def test_a_broken_line_carries_no_reason_but_its_own(tried: Tried) -> None:
    model = {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "v", "required": True}]}
    found = tried({"model": model, "quality": {"row_rules": [{"sql": "id > 1"}]}}, LINES)
    assert found.values("id") == [3]
    texts = sorted(reason for row in found.bad for reason in row["_lakelogic_errors"])
    assert texts[0] == "Rule failed: id > 1"
    assert texts[1].startswith("Unreadable line: ")
    assert len(texts) == 2
