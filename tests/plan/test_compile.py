"""A contract becomes a plan: order, phases, silence, masks; and trouble with its line."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.errors import CompileError, Diagnostic
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.explain import as_data, as_text
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import INT, STRING


def compiled(document: dict[str, Any], *landed: str) -> Compiled:
    base = {"source": {"path": "in.csv"}, "materialization": {"target_path": "a.b.c"}}
    source = SourceColumns("csv", tuple(Landed(name, STRING) for name in landed)) if landed else None
    return compile_contract(load({**base, **document}), source)


def trouble(document: dict[str, Any], *landed: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        compiled(document, *landed)
    return list(caught.value.diagnostics)


def texts(plan: Compiled) -> list[str]:
    return [reason.text for reason in plan.plan.reasons]


def good(plan: Compiled) -> dict[str, str]:
    return {c.name: str(c.type) for c in plan.plan.columns if c.on_good and not c.name.startswith(("_lakelogic", "~"))}


def test_reasons_come_in_the_order_schema_required_constraints_rules() -> None:
    plan = compiled(
        {
            "model": {"fields": [{"name": "n", "type": "int", "required": True, "min": 1}]},
            "quality": {"row_rules": [{"sql": "n < 9"}, {"name": "even", "sql": "n % 2 = 0"}]},
        },
        "n",
    )
    assert texts(plan) == [
        "Unreadable line: {}",
        "Type mismatch: n cannot be cast to int",
        "Rule failed: n is required",
        "Rule failed: n_min (n >= 1)",
        "Rule failed: n < 9",
        "Rule failed: even (n % 2 = 0)",
    ]


def test_fields_are_published_in_the_model_s_spelling_and_order_then_the_rest() -> None:
    plan = compiled({"model": {"fields": [{"name": "Id", "type": "int"}, {"name": "name"}]}}, "NAME", "id", "extra")
    assert good(plan) == {"Id": "int", "name": "string", "extra": "string"}


def test_a_missing_field_is_published_as_null_and_an_unknown_one_can_be_dropped() -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "late", "type": "date"}]}
    plan = compiled({"model": model, "schema_policy": {"unknown_fields": "drop"}}, "id", "extra")
    assert good(plan) == {"id": "int", "late": "date"}


def test_a_rule_that_reads_what_only_a_post_step_makes_is_judged_after_it() -> None:
    plan = compiled(
        {
            "model": {"fields": [{"name": "a"}]},
            "transformations": [{"derive": {"field": "b", "sql": "upper(a)"}}],
            "quality": {"row_rules": [{"sql": "b <> 'X'"}, {"sql": "a <> 'y'"}]},
        },
        "a",
    )
    labels = [node.label for account in plan.plan.accounts for node in account.nodes]
    assert labels == ["judge", "judge", "derive", "judge"]
    assert texts(plan)[-1] == "Rule failed: b <> 'X'"


def test_columns_made_from_a_masked_field_are_masked_too_unless_declared_clear() -> None:
    document = {
        "model": {
            "fields": [
                {"name": "email", "pii": True, "masking": "hash"},
                {"name": "domain", "pii": False},
            ]
        },
        "transformations": [{"sql": "lower(email) AS e2, length(email) AS size, right(email, 3) AS domain"}],
    }
    plan = compiled(document, "email")
    assert {mask.column: mask.strategy for mask in plan.plan.masks} == {"email": "hash", "e2": "hash", "size": "hash"}
    assert good(plan)["size"] == "string"


def test_a_rollup_opens_a_new_account() -> None:
    plan = compiled(
        {
            "model": {"fields": [{"name": "day"}, {"name": "amount", "type": "int"}]},
            "transformations": [
                {"rollup": {"group_by": ["day"], "aggregations": {"total": "SUM(amount)"}, "keys": "day"}}
            ],
        },
        "day",
        "amount",
    )
    assert len(plan.plan.accounts) == 2
    assert good(plan) == {"day": "string", "total": "bigint"}
    published = {column.name: str(column.type) for column in plan.plan.columns}
    assert published["_lakelogic_rollup_keys"] == "array<string>"
    assert published["_lakelogic_rollup_keys_count"] == "bigint"
    assert [fate.kind for fate in plan.plan.fates] == ["grouped"]


def test_an_unknown_column_is_an_error_once_the_source_was_seen_and_a_warning_before() -> None:
    document = {"quality": {"row_rules": [{"sql": "emial IS NOT NULL"}]}, "model": {"fields": [{"name": "email"}]}}
    [found] = trouble(document, "email")
    assert (found.code, found.where.path, found.hint) == (
        "LL-C203",
        "quality.row_rules[0].sql",
        "did you mean `email`?",
    )
    [doubt] = compiled(document).warnings
    assert doubt.severity == "warning"


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        ({"model": {"fields": [{"name": "a", "type": "intt"}]}}, "LL-C210", "`intt` is not a type"),
        ({"transformations": [{"rename": {"from": "x", "to": "b"}}]}, "LL-C203", "There is no column `x`"),
        ({"transformations": [{"rename": {"from": "a", "to": "b"}}]}, "LL-C213", "There is a column `b` already"),
        ({"transformations": [{"sql": "upper(a)"}]}, "LL-C205", "has no name"),
        ({"transformations": [{"sql": "SELECT a FROM elsewhere"}]}, "LL-C212", "There is no link `elsewhere`"),
        ({"transformations": [{"sql": "SELECT a, b FROM source GROUP BY a"}]}, "LL-C203", "neither grouped nor"),
        ({"transformations": [{"filter": {"sql": "a"}}]}, "LL-C206", "must be a condition"),
        ({"quality": {"dataset_rules": [{"sum_between": {"field": "a", "min": 1}}]}}, "LL-C206", "not a number"),
        ({"quality": {"dataset_rules": [{"distinct_count": {"field": "a"}, "must_be": True}]}}, "LL-C206", "`true` is no number"),
        ({"quality": {"dataset_rules": [{"unique": "a", "must_be": "many"}]}}, "LL-C206", "`many` is no number"),
        ({"model": {"fields": [{"name": "a", "type": "int", "default": 1.5}]}}, "LL-C206", "The default `1.5` is no int"),
        ({"model": {"fields": [{"name": "a", "type": "date", "default": "soon"}]}}, "LL-C206", "`soon` can never be"),
        ({"model": {"fields": [{"name": "a", "generated": "nowhere + 1"}]}}, "LL-C203", "There is no column `nowhere`"),
        ({"transformations": [{"split": {"field": "a", "delimiter": ""}}]}, "LL-C213", "The delimiter is empty"),
        ({"transformations": [{"map_values": {"field": "n", "mapping": {"x": 1}}}],
          "model": {"fields": [{"name": "n", "type": "int"}]}}, "LL-C206", "`x` can never be compared with int"),
        ({"quality": {"row_rules": [{"unique": {"fields": "a", "keep": "first", "order_by": "zz desc"}}]}}, "LL-C203",
         "There is no column `zz`"),
    ],
)  # fmt: skip
def test_trouble_has_a_code_and_says_what_is_wrong(document: dict[str, Any], code: str, says: str) -> None:
    found = trouble(document, "a", "b")
    assert any(d.code == code and says in d.message for d in found), [str(d) for d in found]


def test_a_swap_renames_both_columns() -> None:
    plan = compiled({"transformations": [{"rename": {"mappings": {"a": "b", "b": "a"}}}]}, "a", "b")
    assert list(good(plan)) == ["b", "a"]


def test_words_about_a_contract_do_not_change_its_fingerprint_and_rules_do() -> None:
    one = {"source": {"path": "in.csv"}, "dataset": "d", "info": {"title": "A"}}
    assert fingerprint(load(one)) == fingerprint(load({**one, "info": {"title": "B"}}))
    assert fingerprint(load(one)) != fingerprint(load({**one, "quality": {"row_rules": [{"sql": "1 = 1"}]}}))


def test_a_plan_can_be_read_by_people_and_by_programs() -> None:
    plan = compiled({"model": {"fields": [{"name": "n", "type": "int", "min": 1}]}}, "n")
    text = as_text(plan.plan, plan.checks, "a.b.c", "append")
    assert "Rule failed: n_min (n >= 1)" in text
    assert text.splitlines()[-1].split() == ["Write", "append", "into", "a.b.c"]
    data = as_data(plan.plan, plan.checks)
    assert data["read"]["columns"] == [{"name": "n", "type": str(STRING)}]
    assert {"name": "n", "type": str(INT), "good": True, "bad": True} in data["columns"]


def test_a_partition_column_that_nobody_publishes_is_found_before_a_run() -> None:
    document = {"materialization": {"target_path": "a.b.c", "partition_by": ["dai"], "cluster_by": ["Shop"]}}
    [found] = trouble(document, "day", "shop")
    assert (found.where.path, found.hint) == ("materialization.partition_by[0]", "did you mean `day`?")
    assert "There is no column `dai`" in found.message
    kept = {"materialization": {**document["materialization"], "partition_by": ["is_current"], "strategy": "scd2"}}
    history = {"scd2": {"timestamp_field": "day"}, "primary_key": ["shop"]}
    compiled({"materialization": kept["materialization"] | history}, "day", "shop")
