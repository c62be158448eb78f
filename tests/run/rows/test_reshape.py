"""Steps that change which rows there are, and what the run counts of them, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from lakelogic.errors import CompileError, LoadError

FIELDS = [{"name": "id", "type": "int"}, {"name": "k", "type": "int"}, {"name": "v", "type": "int"}, {"name": "tags"}]
ROWS = "id,k,v,tags\n1,1,5,a b\n2,2,6,c\n3,2,7,\n4,3,8,d e f\n5,,9,g\n"
REF = "k,name,w\n1,one,10\n2,two,20\n2,deux,21\n4,four,40\n"


def contract(*steps: dict[str, Any], fields: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "dataset": "things",
        "model": {"fields": FIELDS if fields is None else fields},
        "links": [{"name": "ref", "path": "ref.csv"}],
        "transformations": list(steps),
        "lineage": {"enabled": False},
        **more,
    }


@pytest.fixture
def reshaped(tried: Callable[..., Any]) -> Callable[..., Any]:
    return lambda document, text=ROWS: tried(document, {"in.csv": text, "ref.csv": REF})


def test_a_split_text_explodes_into_rows_and_an_empty_one_stays(reshaped: Any) -> None:
    outcome = reshaped(
        contract(
            {"split": {"field": "tags", "delimiter": " ", "output": "parts"}},
            {"explode": {"field": "parts", "output": "tag"}},
            {"drop": {"columns": ["parts"]}},
        )
    )
    assert outcome.values("id", "tag") == [
        (1, "a"), (1, "b"), (2, "c"), (3, None), (4, "d"), (4, "e"), (4, "f"), (5, "g"),
    ]  # fmt: skip
    counts = outcome.result.counts
    assert (counts.source, counts.good, counts.expanded) == (5, 8, {"explode_1": 3})


def test_rows_without_elements_are_filtered_when_the_step_says_so(reshaped: Any) -> None:
    step = {"explode": {"field": "parts", "output": "tag", "keep_empty": False}}
    outcome = reshaped(contract({"sql": "split(tags, ' ') AS parts"}, step))
    counts = outcome.result.counts
    assert (counts.source, counts.good, counts.filtered, counts.expanded) == (5, 7, {"explode_1": 1}, {"explode_1": 3})


def test_text_that_is_no_array_makes_its_row_bad(reshaped: Any) -> None:
    text = 'id,k,v,tags\n1,1,1,"[""a"",""b""]"\n2,1,1,no array\n'
    outcome = reshaped(contract({"explode": {"field": "tags"}}), text)
    assert outcome.values("id", "tags") == [(1, "a"), (1, "b")]
    assert outcome.reasons("id") == {2: ["Type mismatch: tags cannot be cast to array<string>"]}


def test_rows_that_were_bad_before_are_neither_exploded_nor_joined(reshaped: Any) -> None:
    document = contract(
        {"sql": "split(tags, ' ') AS parts"},
        {"explode": {"field": "parts", "output": "tag"}},
        {"join": {"reference": "ref", "on": "k", "fields": ["name"]}},
        quality={"row_rules": [{"name": "small", "sql": "v < 6"}]},
    )
    outcome = reshaped(document)
    assert outcome.values("id", "tag", "name") == [(1, "a", "one"), (1, "b", "one")]
    assert sorted(outcome.reasons("id")) == [2, 3, 4, 5]
    assert outcome.result.counts.quarantined == 4


def test_a_range_of_dates_becomes_a_row_for_each_and_a_row_without_range_stays(reshaped: Any) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "a", "type": "date"}, {"name": "b", "type": "date"}]
    text = "id,a,b\n1,2024-02-28,2024-03-01\n2,2024-01-02,2024-01-01\n3,2024-01-01,\n"
    step = {"date_range_explode": {"output": "d", "start_col": "a", "end_col": "b"}}
    outcome = reshaped(contract(step, fields=fields), text)
    assert outcome.values("id", "d") == [
        (1, date(2024, 2, 28)), (1, date(2024, 2, 29)), (1, date(2024, 3, 1)), (2, None), (3, None),
    ]  # fmt: skip


def test_a_range_in_months_keeps_to_the_end_of_short_ones(reshaped: Any) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "a"}, {"name": "b"}]
    step = {"date_range_explode": {"output": "d", "start_col": "a", "end_col": "b", "interval": "1 month"}}
    outcome = reshaped(contract(step, fields=fields), "id,a,b\n1,2024-01-31,2024-04-30\n2,nonsense,2024-01-01\n")
    assert outcome.values("id", "d") == [
        (1, date(2024, 1, 31)), (1, date(2024, 2, 29)), (1, date(2024, 3, 31)), (1, date(2024, 4, 30)), (2, None),
    ]  # fmt: skip


def test_columns_become_rows_and_rows_columns_again(reshaped: Any) -> None:
    turned = {"unpivot": {"id_vars": ["id"], "value_vars": ["k", "v"]}}
    outcome = reshaped(contract(turned))
    assert outcome.values("id", "key", "value") == [
        (1, "k", 1), (1, "v", 5), (2, "k", 2), (2, "v", 6), (3, "k", 2), (3, "v", 7), (4, "k", 3), (4, "v", 8),
        (5, "v", 9),
    ]  # fmt: skip
    again = {
        "pivot": {
            "id_vars": ["id"], "pivot_col": "key", "value_col": "value", "values": ["k", "v", "w"], "agg": "sum",
            "fill_value": 0, "name_template": "{value}_{value_col}",
        }
    }  # fmt: skip
    outcome = reshaped(contract(turned, again))
    assert outcome.values("id", "k_value", "v_value", "w_value") == [
        (1, 1, 5, 0), (2, 2, 6, 0), (3, 2, 7, 0), (4, 3, 8, 0), (5, 0, 9, 0),
    ]  # fmt: skip
    assert outcome.result.counts.grouped == {"pivot_1": 9}


def test_a_join_repeats_rows_for_each_match_and_counts_them(reshaped: Any) -> None:
    step = {"join": {"reference": "ref", "on": "k", "fields": ["name"], "prefix": "r_", "defaults": {"name": "none"}}}
    outcome = reshaped(contract(step))
    assert outcome.values("id", "r_name") == [
        (1, "one"), (2, "deux"), (2, "two"), (3, "deux"), (3, "two"), (4, "none"), (5, "none"),
    ]  # fmt: skip
    assert outcome.result.counts.expanded == {"join_0": 2}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", [(1, 1, "one"), (2, 2, "deux"), (2, 2, "two"), (3, 2, "deux"), (3, 2, "two")]),
        ("right", [(1, 1, "one"), (2, 2, "deux"), (2, 2, "two"), (3, 2, "deux"), (3, 2, "two"), (None, 4, "four")]),
        ("full", [(1, 1, "one"), (2, 2, "deux"), (2, 2, "two"), (3, 2, "deux"), (3, 2, "two"), (4, 3, None),
                  (5, None, None), (None, 4, "four")]),
    ],
)  # fmt: skip
def test_a_join_keeps_the_rows_that_its_type_says(reshaped: Any, kind: str, expected: list[Any]) -> None:
    outcome = reshaped(contract({"join": {"reference": "ref", "on": "k", "fields": ["name"], "type": kind}}))
    assert outcome.values("id", "k", "name") == expected


def test_a_pivot_must_say_its_values(reshaped: Any) -> None:
    with pytest.raises(CompileError, match="which values become columns"):
        reshaped(contract({"pivot": {"id_vars": ["id"], "pivot_col": "tags", "value_col": "v"}}))


QUESTIONS = [
    ({"sql": "count(*) = 5"}, True, True),
    ({"sql": "SELECT count(*) FROM source WHERE v > 6", "must_be": 3}, True, 3),
    ({"sql": "SELECT max(v) < 5 FROM things"}, False, False),
    ({"sql": "SELECT count(*) = 0 FROM (SELECT k FROM source GROUP BY k HAVING count(*) > 1) d"}, False, False),
    ({"sql": "SELECT v > 50 AS b FROM source WHERE id = 99 LIMIT 1"}, False, None),
    ({"sql": "sum(v) / count(*)", "must_be_between": [6, 7]}, True, 7.0),
    ({"sql": "SELECT count(*) FROM source s JOIN ref r ON r.k = s.k", "must_be_less_than": 5}, False, 5),
    ({"reconcile": {"reference": "ref", "sql": "SELECT count(*) FROM source", "tolerance": 1}}, True, 5),
    ({"reconcile": {"reference": "ref", "sql": "sum(v)", "reference_sql": "sum(w)", "tolerance": 55.9}}, False, 35),
]  # fmt: skip


def test_questions_are_asked_of_the_whole_batch(reshaped: Any) -> None:
    rules = [{**rule, "name": f"r{index}"} for index, (rule, _, _) in enumerate(QUESTIONS)]
    outcome = reshaped(contract(quality={"dataset_rules": rules}))
    found = {rule["name"]: (rule["passed"], rule["value"]) for rule in outcome.result.report["dataset_rules"]}
    assert found == {f"r{index}": (passed, value) for index, (_, passed, value) in enumerate(QUESTIONS)}
    assert outcome.result.status == "gated"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"sql": "v > 1"}, "asks about all rows at once"),
        ({"sql": "SELECT count(*) AS a, 1 AS b FROM source"}, "yields 2 columns"),
        ({"sql": "max(tags)"}, "must yield TRUE, FALSE or a number"),
        ({"sql": "count(*)"}, "nothing says what it must be"),
        ({"sql": "count(*) > 1", "must_be": 3}, "a bound is for numbers"),
        ({"sql": "max(nope) > 1"}, "There is no column `nope`"),
        ({"reconcile": {"reference": "rf", "sql": "count(*)"}}, "There is no link called `rf`"),
    ],
)
def test_a_question_without_one_clear_answer_is_refused(reshaped: Any, rule: dict[str, Any], says: str) -> None:
    with pytest.raises((CompileError, LoadError), match=says):
        reshaped(contract(quality={"dataset_rules": [rule]}))


def test_two_expansions_in_a_row_are_counted_one_by_one(reshaped: Any) -> None:
    outcome = reshaped(
        contract(
            {"sql": "array(1, 2) AS p, array(5, 6, 7) AS r"}, {"explode": {"field": "p"}}, {"explode": {"field": "r"}}
        ),
        "id,k,v,tags\n1,1,1,a\n2,2,2,b\n",
    )
    counts = outcome.result.counts
    assert (counts.source, counts.good, counts.expanded) == (2, 12, {"explode_1": 2, "explode_2": 8})
