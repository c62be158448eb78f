"""What a masked field is made of is hidden on the bad side, and what conditions tie to it is masked."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.plan.columns.publish import BAD_PREFIX
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING


def compiled(masking: str = "hash", landed: str = "id email s", **document: Any) -> Compiled:
    fields = [{"name": "id", "type": "int", "required": True}, {"name": "email", "pii": True, "masking": masking}]
    base = {
        "source": {"path": "in.csv"},
        "model": {"fields": fields},
        "links": [{"name": "c", "path": "c.csv"}, {"name": "d", "path": "d.csv"}],
        "schema_policy": {"unknown_fields": "allow"},
        "materialization": {"target_path": "a.b.rows"},
    }
    links = {
        "c": SourceColumns("csv", (Landed("mail", STRING), Landed("v", STRING), Landed("k", STRING))),
        "d": SourceColumns("csv", (Landed("other", STRING), Landed("w", STRING))),
    }
    columns = tuple(Landed(name, STRING) for name in landed.split())
    return compile_contract(load({**base, **document}), SourceColumns("csv", columns), links)


def masks(plan: Compiled) -> dict[str, str]:
    return {mask.column: mask.strategy for mask in plan.plan.masks}


def good_and_bad(plan: Compiled, name: str) -> tuple[str | None, str | None]:
    """The masks of a column on the good and on the bad side."""
    found = masks(plan)
    shared = next((c for c in plan.plan.columns if c.name == name), None)
    bad = name if shared is not None and shared.on_bad else BAD_PREFIX + name
    return (found.get(name) if shared is not None and shared.on_good else None, found.get(bad))


@pytest.mark.parametrize(("mask", "shown_as"), [("redact", "redact"), ("partial", "redact"), ("encrypt", "encrypt")])
def test_the_landed_column_that_a_masked_field_is_made_of_is_hidden_on_the_bad_side(mask: str, shown_as: str) -> None:
    step = {"sql": "SELECT id, lower(raw_mail) AS email FROM source"}
    plan = compiled(mask, "id raw_mail other", transformations=[step])
    assert good_and_bad(plan, "raw_mail") == (None, shown_as)
    assert good_and_bad(plan, "other") == (None, None)


@pytest.mark.parametrize(
    "steps",
    [
        [{"sql": "trim(raw_mail) AS scratch"}, {"sql": "lower(scratch) AS email"}, {"drop": ["scratch"]}],
        [{"sql": "concat(raw_mail, '@', host) AS email"}],
        [{"sql": "CASE WHEN raw_mail LIKE '%@%' THEN 'a' ELSE 'b' END AS email"}],
        [{"sql": "max(CAST(raw_mail AS STRING)) OVER (PARTITION BY id) AS email"}],
        [{"sql": "SELECT id, max(CAST(raw_mail AS STRING)) AS email FROM source GROUP BY id"}],
        [{"sql": "SELECT id, a AS email FROM (SELECT id, raw_mail AS a FROM source) AS t"}],
        [{"sql": "SELECT id, x AS email FROM source LATERAL VIEW explode(split(raw_mail, ',')) t AS x"}],
    ],
)
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_whatever_the_way_is_what_flows_into_the_field_is_hidden(steps: list[dict[str, Any]], phase: str) -> None:
    plan = compiled("redact", "id raw_mail host", transformations=[{**step, "phase": phase} for step in steps])
    bad = {c.name.removeprefix(BAD_PREFIX) for c in plan.plan.columns if c.on_bad}
    for name in {"raw_mail", "scratch"} & bad:
        assert good_and_bad(plan, name)[1] == "redact", name


def test_a_declared_field_that_good_rows_show_is_shown_in_quarantine_too() -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "raw"}, {"name": "email", "masking": "redact"}]
    plan = compiled("redact", "id raw", model={"fields": fields}, transformations=[{"sql": "lower(raw) AS email"}])
    assert good_and_bad(plan, "raw") == (None, None)
    gone = compiled("redact", "id raw", model={"fields": fields},
                    transformations=[{"sql": "lower(raw) AS email"}, {"drop": ["raw"]}])  # fmt: skip
    assert good_and_bad(gone, "raw") == (None, "redact")


CONDITIONS = [
    "c.mail BETWEEN source.email AND source.email",
    "NOT (NOT (c.mail = source.email))",
    "NOT (c.mail <> source.email)",
    "array_contains(array(source.email), c.mail)",
    "startswith(c.mail, source.email) AND startswith(source.email, c.mail)",
    "c.mail >= source.email AND c.mail <= source.email",
    "CASE WHEN c.mail = source.email THEN TRUE ELSE FALSE END",
    "coalesce(c.mail = source.email, FALSE)",
    "concat('x', c.mail) = concat('x', source.email)",
    "instr(c.mail, source.email) = 1",
    "(source.email = 'a@x' AND c.mail = 'a@x') OR (source.email = 'b@x' AND c.mail = 'b@x')",
    "c.mail IN (SELECT email FROM source)",
    "EXISTS (SELECT 1 FROM source AS z WHERE z.email = c.mail)",
    "c.mail IN (source.email)",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_whatever_ties_a_links_column_to_a_masked_value_masks_it(condition: str) -> None:
    step = {"sql": f"SELECT id, c.mail, c.v FROM source CROSS JOIN c WHERE {condition}"}
    plan = compiled(transformations=[step])
    assert (masks(plan).get("mail"), masks(plan).get("v")) == ("hash", None)


@pytest.mark.parametrize("condition", [c for c in CONDITIONS if "SELECT" not in c])
def test_the_same_in_the_condition_of_a_join(condition: str) -> None:
    plan = compiled(transformations=[{"sql": f"SELECT id, c.mail, c.v FROM source LEFT JOIN c ON {condition}"}])
    assert (masks(plan).get("mail"), masks(plan).get("v")) == ("hash", None)


@pytest.mark.parametrize(
    "steps",
    [
        [{"sql": "SELECT id, c.mail, d.other FROM source JOIN d ON d.w = source.id JOIN c ON c.mail = d.other "
                 "WHERE d.other = source.email"}],
        [{"sql": "SELECT id, email, c.mail, c.v FROM source JOIN c ON c.k = source.id"},
         {"sql": "upper(mail) AS m"}, {"filter": "m = upper(email)"}],
        [{"sql": "SELECT id, email, c.mail, c.mail = source.email AS hit FROM source JOIN c ON c.k = source.id"},
         {"filter": "hit"}, {"drop": ["hit"]}],
        [{"lookup": {"field": "mail", "reference": "c", "on": "id", "key": "k", "value": "mail"}},
         {"sql": "mail AS copy"}, {"filter": "copy = email"}],
    ],
)  # fmt: skip
def test_ties_reach_over_several_conditions_and_steps(steps: list[dict[str, Any]]) -> None:
    plan = compiled(transformations=steps)
    assert masks(plan).get("mail") == "hash"
    assert masks(plan).get("v") is None


def test_a_rule_that_good_rows_meet_ties_too() -> None:
    steps = [{"sql": "SELECT id, email, c.mail, c.v FROM source JOIN c ON c.k = source.id", "phase": "pre"}]
    plan = compiled(transformations=steps, quality={"row_rules": [{"sql": "mail = email"}, {"sql": "v > 'a'"}]})
    assert (masks(plan).get("mail"), masks(plan).get("v")) == ("hash", None)


@pytest.mark.parametrize(
    "condition",
    [
        "c.k = source.id AND source.email LIKE '%@%'",
        "c.k = source.id AND source.email IS NOT NULL",
        "c.k = source.id AND NOT (source.email IS NULL OR c.v = 'x')",
    ],
)
def test_what_only_stands_beside_a_masked_value_is_not_masked(condition: str) -> None:
    step = {"sql": f"SELECT id, c.mail, c.k, c.v FROM source JOIN c ON {condition}"}
    plan = compiled(transformations=[step])
    assert {name: masks(plan).get(name) for name in ("mail", "k", "v")} == {"mail": None, "k": None, "v": None}
