"""Masks in a plan: who inherits them, and what may be asked of masked columns."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.errors import CompileError
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING


def compiled(masking: str, **document: Any) -> Compiled:
    fields = [{"name": "id", "type": "int"}, {"name": "email", "pii": True, "masking": masking}, {"name": "s"}]
    base = {
        "source": {"path": "in.csv"},
        "model": {"fields": fields},
        "materialization": {"target_path": "a.b.rows"},
    }
    landed = tuple(Landed(name, STRING) for name in ("id", "email", "s"))
    links = {"c": SourceColumns("csv", (Landed("mail", STRING), Landed("v", STRING)))}
    return compile_contract(load({**base, "links": [{"name": "c", "path": "c.csv"}], **document}),
                            SourceColumns("csv", landed), links)  # fmt: skip


def masks(plan: Compiled) -> dict[str, str]:
    return {mask.column: mask.strategy for mask in plan.plan.masks}


def test_a_warning_names_the_columns_that_are_redacted_because_a_field_is_masked_in_part() -> None:
    plan = compiled("partial", transformations=[{"sql": "email AS copied, reverse(email) AS turned"}])
    assert masks(plan) == {"email": "partial", "copied": "partial", "turned": "redact"}
    (told,) = [warning for warning in plan.warnings if warning.code == "LL-C219"]
    assert "`turned` is made of `email`" in told.message
    assert told.where.path == "model.fields[1].masking"


def test_the_default_of_a_window_function_is_masked_like_its_value() -> None:
    plan = compiled("hash", transformations=[{"sql": "lag(s, 1, email) OVER (ORDER BY id) AS before"}])
    assert masks(plan) == {"email": "hash", "before": "hash"}


def test_of_two_queries_in_a_union_the_stricter_mask_stands() -> None:
    union = "SELECT upper(email) AS x FROM source UNION ALL SELECT email FROM source"
    plan = compiled("partial", transformations=[{"sql": union}])
    assert masks(plan)["x"] == "redact"


@pytest.mark.parametrize(
    "steps",
    [
        [{"sql": "SELECT c.mail, c.v FROM source CROSS JOIN c WHERE c.mail = source.email AND id IN (SELECT v FROM c)"}],
        [{"sql": "SELECT c.mail, c.v FROM source CROSS JOIN c QUALIFY c.mail IN (source.email, s)"}],
        [{"sql": "SELECT c.mail, c.v, email AS e, s FROM source CROSS JOIN c"}, {"filter": "mail <=> e"}, {"drop": ["e"]}],
    ],
)  # fmt: skip
def test_a_column_that_a_condition_equates_with_a_masked_one_is_masked(steps: list[dict[str, Any]]) -> None:
    plan = compiled("hash", transformations=steps)
    assert (masks(plan).get("mail"), masks(plan).get("v")) == ("hash", None)


def test_a_condition_over_a_masked_column_and_another_one_masks_nothing() -> None:
    step = "SELECT c.mail, c.v FROM source CROSS JOIN c WHERE c.v > '3' AND email IS NOT NULL AND email LIKE '%@%'"
    assert masks(compiled("hash", transformations=[{"sql": step}])) == {"email": "hash"}  # on the bad side only


EQUALITY = [
    {"unique": "email"},
    {"distinct_count": {"field": "email", "min": 1}},
    {"null_ratio": {"field": "email", "max": 0.5}},
    {"row_count_between": {"min": 1}},
    {"sql": "SELECT count(DISTINCT email) = count(email) FROM source"},
    {"sql": "SELECT count(*) = 0 FROM source WHERE email IS NULL"},
    {"sql": "SELECT max(n) < 3 FROM (SELECT email, count(*) AS n FROM source GROUP BY email)"},
    {"sql": "SELECT count(*) < 9 FROM (SELECT DISTINCT email AS e FROM source)"},
    {
        "sql": "SELECT count(*) = 0 FROM (SELECT row_number() OVER (PARTITION BY s ORDER BY id) AS r FROM source) WHERE r > 9"
    },
]
OTHERS = [
    {"sql": "SELECT count(*) = 0 FROM source WHERE email NOT LIKE '%@%'"},
    {"sql": "max(length(email)) < 50"},
    {"sql": "SELECT count(*) = 0 FROM source WHERE email = 'ann@x.com'"},
    {"sql": "SELECT count(*) = 0 FROM (SELECT email AS e FROM source GROUP BY email) WHERE e LIKE 'a%'"},
    {"sql": "SELECT count(*) = 0 FROM source JOIN c ON c.mail = source.email"},
    {"sql": "SELECT max(id) < 9 FROM (SELECT id FROM source ORDER BY email LIMIT 1)"},
]  # fmt: skip


@pytest.mark.parametrize("mask", ["hash", "encrypt_deterministic"])
@pytest.mark.parametrize("rule", EQUALITY, ids=str)
def test_a_mask_that_keeps_values_apart_can_be_asked_what_is_equal(rule: dict[str, Any], mask: str) -> None:
    compiled(mask, quality={"dataset_rules": [rule]})


@pytest.mark.parametrize("rule", OTHERS, ids=str)
def test_a_rule_over_the_value_behind_a_mask_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(CompileError) as caught:
        compiled("hash", quality={"dataset_rules": [rule]})
    (told,) = [found for found in caught.value.diagnostics if found.severity == "error"]
    assert told.code == "LL-C215"
    assert "`email` is masked with `hash`" in told.message
    assert "row rule" in str(told.hint)


@pytest.mark.parametrize("mask", ["nullify", "redact", "partial", "encrypt"])
def test_a_primary_key_needs_a_mask_that_keeps_keys_apart(mask: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(mask, primary_key=["email"])
    assert [found.code for found in caught.value.diagnostics if found.severity == "error"] == ["LL-C215"]


@pytest.mark.parametrize("mask", ["hash", "encrypt_deterministic"])
def test_a_primary_key_may_be_hashed(mask: str) -> None:
    compiled(mask, primary_key=["email"])
