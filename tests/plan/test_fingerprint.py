"""Only what can change a row changes a contract's fingerprint."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.plan.fingerprint import fingerprint, is_of

BASE: dict[str, Any] = {
    "dataset": "orders",
    "version": "1.0.0",
    "info": {"title": "Orders"},
    "source": {"path": "in.csv", "load_mode": "incremental"},
    "model": {"fields": [{"name": "id", "type": "int"}, {"name": "mail", "type": "string"}]},
    "transformations": [{"filter": {"sql": "id > 0"}}, {"drop": ["junk"]}],
    "quality": {"row_rules": [{"name": "mail", "sql": "mail LIKE '%@%'"}]},
    "materialization": {"target_path": "a.b.c", "primary_key": ["id"]},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(BASE)
    at: Any = document
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if step.isdigit() else at.setdefault(step, {})
    at[int(last) if last.isdigit() else last] = value
    return document


def mark(document: Any) -> str:
    return fingerprint(load(document))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("info.title", "All orders"),
        ("info.owner", "team-a"),
        ("info.description", "What was bought"),
        ("version", "1.0.1"),
        ("model.fields.0.description", "The number of the order"),
        ("model.fields.1.classification", "internal"),
        ("model.grain", "one order"),
        ("quality.row_rules.0.description", "agreed with sales"),
        ("transformations.0.name", "only_real_ones"),
        ("transformations.0.filter.sql", "id  >\n 0 -- real ones"),
        ("source.empty_behavior", "fail"),
        ("source.identity", "content"),
        ("schema_policy", {"evolution": "allow"}),
        ("tags", ["sales"]),
        ("service_levels", {"freshness": "24h"}),
        ("quarantine.retention", "30 days"),
        ("upstream", ["other"]),
        ("x-note", "seen by nobody"),
    ],
)
def test_what_is_there_for_readers_or_is_the_default_changes_nothing(path: str, value: Any) -> None:
    assert mark(changed(path, value)) == mark(BASE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("source.path", "other.csv"),
        ("model.fields.0.type", "bigint"),
        ("model.fields.0.required", True),
        ("model.fields.1.pii", False),  # written, it frees what is made of masked fields
        ("transformations.0.filter.sql", "id > 1"),
        ("transformations.1", {"select": ["junk"]}),
        ("quality.row_rules.0.name", "mail_has_an_at"),
        ("quality.row_rules.0.sql", "mail LIKE '%@%.%'"),
        ("quality.row_rules.0.severity", "warning"),
        ("materialization.primary_key", ["mail"]),
        ("materialization.strategy", "merge"),
        ("dialect", "duckdb"),
        ("lineage.enabled", False),
        ("layer", "gold"),
    ],
)
def test_what_can_change_a_row_changes_it(path: str, value: Any) -> None:
    assert mark(changed(path, value)) != mark(BASE)


def test_blanks_inside_a_text_of_sql_count() -> None:
    one = changed("transformations.0.filter.sql", "mail = 'a b'")
    assert mark(one) != mark(changed("transformations.0.filter.sql", "mail = 'a  b'"))


def test_comments_order_and_form_of_a_document_do_not_count(tmp_path: Any) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text("dataset: d\nsource: {path: in.csv}\nprimary_key: [id]\n")
    other.write_text("# seen\nmaterialization:\n  primary_key: [id]\nsource:\n    path: 'in.csv'\ndataset: d\n")
    assert mark(one) == mark(other)


def test_a_step_whose_name_is_a_reason_is_known_by_it() -> None:
    step = {"deduplicate": {"on": ["id"], "sort_by": ["mail"], "losers": "quarantine"}}
    one = {**BASE, "transformations": [{**step, "name": "a"}]}
    assert mark(one) != mark({**BASE, "transformations": [{**step, "name": "b"}]})


def test_a_fingerprint_of_the_first_way_of_counting_is_still_known() -> None:
    document = {"dataset": "d", "source": {"path": "in.csv"}, "info": {"title": "A"}}
    # Worked out from what that way hashed: {"dataset": "d", "source": {"path": "in.csv"}} as sorted JSON.
    assert is_of(load(document), "88599123b07ac4e1")
    assert not is_of(load({**document, "source": {"path": "other.csv"}}), "88599123b07ac4e1")
