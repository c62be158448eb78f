"""What a contract's author is told when a name is not there: what was meant, or what there is."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.errors import CompileError
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING


def hints(**document: Any) -> list[tuple[str, str | None]]:
    base = {"source": {"path": "in.csv"}, "materialization": {"target_path": "a.b.rows"}}
    source = SourceColumns("csv", tuple(Landed(name, STRING) for name in ("a", "b")))
    links = {"c": SourceColumns("csv", (Landed("key", STRING), Landed("v", STRING)))}
    with pytest.raises(CompileError) as caught:
        compile_contract(load({**base, "links": [{"name": "c", "path": "c.csv"}], **document}), source, links)
    return [(found.message, found.hint) for found in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"trim": {"fields": ["qq"]}}, "There is no column `qq`."),
        ({"coalesce": {"field": "x", "sources": ["qq"]}}, "There is no column `qq`."),
        ({"lookup": {"field": "x", "reference": "c", "on": "qq", "value": "v"}}, "There is no column `qq`."),
        ({"rollup": {"group_by": ["qq"], "aggregations": {"n": "count(*)"}}}, "There is no column `qq`."),
        ({"sql": "SELECT * EXCEPT (qq) FROM source"}, "There is no column `qq` to leave out."),
    ],
)
def test_a_name_that_is_like_no_other_is_answered_with_the_columns(step: dict[str, Any], message: str) -> None:
    assert hints(transformations=[step]) == [(message, "the columns here are `a`, `b`")]


@pytest.mark.parametrize(
    "step",
    [
        {"lookup": {"field": "x", "reference": "c", "on": "a", "key": "qq", "value": "v"}},
        {"join": {"reference": "c", "on": "a", "key": "qq"}},
    ],
)
def test_a_name_that_a_link_does_not_have_is_answered_with_those_it_has(step: dict[str, Any]) -> None:
    assert hints(transformations=[step]) == [("The link `c` has no column `qq`.", "it has `key`, `v`")]


def test_a_pre_rule_that_misses_what_a_post_step_makes_is_told_so() -> None:
    ((message, hint),) = hints(
        transformations=[{"derive": {"field": "z", "sql": "a || b"}}],
        quality={"row_rules": [{"phase": "pre", "sql": "z <> ''"}]},
    )
    assert message == "There is no column `z`."
    assert hint == "the post step `derive_0` makes it: leave out `phase: pre`, or give that step `phase: pre`"
