"""Dataset rules: exact bounds, both ends, what closes the gate and what only reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakelogic.plan.rules.datasets import Limit, between, said

Tried = Callable[..., Any]

ROWS = "id,k,v\n1,a,0.1\n2,a,0.2\n3,,\n4,b,\n"


def dataset(*rules: dict[str, Any], **quality: Any) -> dict[str, Any]:
    fields = [{"name": "id", "type": "int"}, {"name": "k"}, {"name": "v", "type": "decimal(4,1)"}]
    return {"model": {"fields": fields}, "quality": {"dataset_rules": list(rules), **quality}}


def outcomes(found: Any) -> dict[str, tuple[bool, Any, str]]:
    return {o["name"]: (o["passed"], o["value"], o["expected"]) for o in found.result.report["dataset_rules"]}


def test_bounds_are_exact_and_include_their_ends(tried: Tried) -> None:
    found = tried(
        dataset(
            {"null_ratio": {"field": "v", "max": 0.5}},
            {"null_ratio": {"field": "k"}, "must_be_less_than": 0.25, "name": "few"},
            {"row_count_between": {"min": 4, "max": 4}},
            {"distinct_count": {"field": "k"}, "must_be": 2},
            {"sum_between": {"field": "v", "max": 0.3}},
            {"sum_between": {"field": "v"}, "must_be_greater_than": 0.3, "name": "more"},
            {"mean_between": {"field": "v", "min": 0.15, "max": 0.15}},
            {"unique": "id"},
            {"unique": "k", "must_be_at_most": 1, "name": "one_twin"},
            {"unique": ["k", "v"], "name": "pairs"},
            {"distinct_count": {"field": "k", "min": 1}, "must_be_between": [3, 9], "name": "both"},
        ),
        ROWS,
    )
    assert outcomes(found) == {
        "v_null_ratio": (True, 0.5, "at most 0.5"),
        "few": (False, 0.25, "less than 0.25"),
        "row_count_between": (True, 4, "4 to 4"),
        "k_distinct_count": (True, 2, "2"),
        "v_sum_between": (True, 0.3, "at most 0.3"),
        "more": (False, 0.3, "more than 0.3"),
        "v_mean_between": (True, pytest.approx(0.15), "0.15 to 0.15"),
        "id_unique": (True, 0, "no duplicates"),
        "one_twin": (True, 1, "at most 1 duplicate keys"),
        "pairs": (True, 0, "no duplicates"),
        "both": (False, 2, "at least 1 and at least 3 and at most 9"),
    }
    assert found.result.status == "gated"


def test_a_key_that_is_absent_in_part_is_compared_by_value(tried: Tried) -> None:
    text = "id,k,v\n1,x,\n2,x,\n3,,1\n4,,1\n5,,\n6,,\n7,x,1\n"
    found = tried(dataset({"unique": ["k", "v"]}), text)
    assert outcomes(found) == {"k_v_unique": (False, 2, "no duplicates")}


def test_a_batch_larger_than_a_look_at_the_files_gives_the_same_count(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run.publish import measures

    monkeypatch.setattr(measures, "SMALL", 0)
    text = "id,k,v\n1,x,\n2,x,\n3,,1\n4,,1\n5,,\n6,,\n7,x,1\n8,x,1\n"
    found = tried(dataset({"unique": ["k", "v"]}, {"unique": "k", "name": "k"}), text)
    assert outcomes(found) == {"k_v_unique": (False, 3, "no duplicates"), "k": (False, 1, "no duplicates")}


def test_no_rows_have_no_mean_and_no_nulls(tried: Tried) -> None:
    document = dataset(
        {"null_ratio": {"field": "v", "max": 0}},
        {"mean_between": {"field": "v", "min": 0}, "severity": "warning"},
        {"sum_between": {"field": "v", "min": 0}, "severity": "info"},
        {"unique": "k"},
        {"row_count_between": {"min": 0, "max": 5}},
        {"distinct_count": {"field": "k", "max": 0}},
    )
    document["transformations"] = [{"filter": {"sql": "id > 100"}}]
    found = tried(document, ROWS)
    assert outcomes(found) == {
        "v_null_ratio": (True, 0.0, "at most 0"),
        "v_mean_between": (False, None, "at least 0"),
        "v_sum_between": (False, None, "at least 0"),
        "k_unique": (True, 0, "no duplicates"),
        "row_count_between": (True, 0, "0 to 5"),
        "k_distinct_count": (True, 0, "at most 0"),
    }
    assert found.result.status == "succeeded"


def test_a_warning_reports_and_an_error_closes_the_gate_unless_told_not_to(tried: Tried) -> None:
    warned = tried(dataset({"row_count_between": {"min": 9}, "severity": "warning"}), ROWS, materialize=True)
    assert (warned.result.status, warned.result.published) == ("succeeded", True)
    gated = tried(dataset({"row_count_between": {"min": 9}}), f"{ROWS}\n", materialize=True)
    assert (gated.result.status, gated.result.published) == ("gated", False)
    assert gated.result.reasons == ("dataset rule `row_count_between` failed: 4, expected at least 9",)
    told = dataset({"row_count_between": {"min": 9}}, fail_pipeline_on_dataset_error=False)
    reported = tried(told, f"{ROWS}\n\n", materialize=True)
    assert (reported.result.status, reported.result.published) == ("succeeded", True)
    assert outcomes(reported)["row_count_between"][0] is False


def test_limits_compare_exactly_and_speak_plainly() -> None:
    from decimal import Decimal
    from fractions import Fraction

    assert Limit("<=", 0.1).holds(Decimal("0.1"))
    assert not Limit("<", 0.1).holds(Fraction(1, 10))
    assert Limit("=", 0.3).holds(Fraction(3, 10))
    assert not Limit(">=", 0).holds(float("nan"))
    assert said(between(1, None)) == "at least 1"
    assert said(between(1, 2)) == "1 to 2"
