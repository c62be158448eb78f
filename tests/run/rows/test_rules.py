"""Row rules and dataset rules: which rows are bad, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import CompileError

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


def rules(*row_rules: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"quality": {"row_rules": list(row_rules)}, **parts}


def fields(**types: str) -> dict[str, Any]:
    return {"model": {"fields": [{"name": name, "type": type_} for name, type_ in types.items()]}}


def test_every_shorthand_takes_a_severity_a_label_a_category_and_what_null_means(tried: Tried) -> None:
    found = tried(
        rules(
            {"range": {"field": "n", "min": 1, "max": 9}, "severity": "warning"},
            {"length": {"field": "t", "max": 2}, "nulls": "pass", "label": "long", "category": "style"},
            {"accepted_values": {"field": "t", "values": ["a", "bb", "ccc"]}, "nulls": "pass", "severity": "info"},
            {"not_null": ["n", "t"], "name": "there", "severity": "warning"},
            {"compare": {"left": "n", "op": "<", "right": 100}, "nulls": "pass"},
            **fields(id="int", n="int", t="string"),
        ),
        "id,n,t\n1,5,a\n2,50,bb\n3,,zz\n4,5,\n5,7,ccc\n6,500,a\n7,,\n",
    )
    assert found.values("id", "_lakelogic_warnings") == [
        (1, None),
        (2, ["Rule failed: n_range (n >= 1 AND n <= 9)"]),
        (3, ["Rule failed: n_range (n >= 1 AND n <= 9)", "Rule failed: there (n IS NOT NULL)"]),
        (4, ["Rule failed: there (t IS NOT NULL)"]),
        (
            7,
            [
                "Rule failed: n_range (n >= 1 AND n <= 9)",
                "Rule failed: there (n IS NOT NULL)",
                "Rule failed: there (t IS NOT NULL)",
            ],
        ),
    ]
    assert found.reasons("id") == {
        5: ["Rule failed: t_length (length(t) <= 2)"],
        6: ["Rule failed: n_compare (n < 100)"],
    }
    by_id = {row["id"]: row for row in found.bad}
    assert by_id[5]["_lakelogic_categories"] == ["style"]
    assert by_id[5]["_lakelogic_rules"] == ["long"]
    assert by_id[6]["_lakelogic_categories"] == ["consistency"]
    assert by_id[6]["_lakelogic_warnings"] == ["Rule failed: n_range (n >= 1 AND n <= 9)"]
    counted = {rule["name"]: (rule["failed"], rule["severity"]) for rule in found.result.report["row_rules"]}
    assert counted["n_range"] == (4, "warning")
    assert counted["t_accepted_values"] == (1, "info")
    assert counted["t_length"] == (1, "error")
    assert counted["there"] == (3, "warning")


def test_freshness_counts_from_the_start_of_the_run_and_a_date_is_its_whole_day(tried: Tried) -> None:
    from datetime import UTC, datetime, timedelta

    yesterday = (datetime.now(UTC) - timedelta(hours=24)).date()
    before = yesterday - timedelta(days=1)
    found = tried(
        rules(
            {"freshness": {"field": "at", "max_age": "7 days"}},
            {"freshness": {"field": "day", "max_age": "24h"}, "name": "young"},
            **fields(id="int", at="timestamp", day="date"),
        ),
        f"id,at,day\n1,2999-01-01T00:00:00Z,{yesterday}\n2,2000-01-01T00:00:00Z,2999-01-01\n"
        f"3,2999-01-01T00:00:00Z,{before}\n4,,2999-01-01\n",
    )
    assert found.values("id") == [1]
    assert found.reasons("id") == {
        2: ["Rule failed: at_freshness (at >= now - 7 days)"],
        3: ["Rule failed: young (day >= now - 24h)"],
        4: ["Rule failed: at_freshness (at >= now - 7 days)"],
    }
    assert {tuple(row["_lakelogic_categories"]) for row in found.bad} == {("timeliness",)}


TWINS = "id,a,b,ts\n1,x,1,2024-01-01\n2,x,1,2024-01-03\n3,x,,2024-01-01\n4,x,,2024-01-02\n5,,,1\n6,,,2\n7,y,1,5\n"


def test_unique_marks_every_member_of_a_duplicate_group(tried: Tried) -> None:
    found = tried(rules({"unique": ["a", "b"]}, **fields(id="int")), TWINS)
    assert found.values("id") == [5, 6, 7]
    reason = ["Rule failed: a_b_unique (a, b is unique)"]
    assert found.reasons("id") == {1: reason, 2: reason, 3: reason, 4: reason}
    assert {tuple(row["_lakelogic_categories"]) for row in found.bad} == {("uniqueness",)}


def test_unique_can_keep_the_first_row_by_an_order(tried: Tried) -> None:
    newest = {"unique": {"fields": ["a", "b"], "keep": "first", "order_by": ["ts desc", "id"]}, "name": "newest"}
    found = tried(rules(newest, **fields(id="int", ts="string")), TWINS)
    assert found.values("id") == [2, 4, 5, 6, 7]
    reason = ["Rule failed: newest (another row of the same a, b is kept)"]
    assert found.reasons("id") == {1: reason, 3: reason}


def test_a_row_that_is_bad_for_another_reason_is_nobody_s_duplicate(tried: Tried) -> None:
    found = tried(
        rules(
            {"unique": {"fields": "k", "keep": "first", "order_by": "id"}},
            {"sql": "v > 0"},
            **fields(id="int", k="string", v="int"),
        ),
        "id,k,v\n1,a,-1\n2,a,5\n3,a,6\n4,b,x\n5,b,1\n",
    )
    assert found.values("id") == [2, 5]
    assert found.reasons("id") == {
        1: ["Rule failed: v > 0"],
        3: ["Rule failed: k_unique (another row of the same k is kept)"],
        4: ["Type mismatch: v cannot be cast to int"],
    }


def test_a_rule_is_written_in_its_own_grammar(tried: Tried) -> None:
    found = tried(rules({"sql": "len(v) = 3", "dialect": "tsql"}), "id,v\n1,abc\n2,ab\n")
    assert found.values("id") == ["1"]


def test_rules_beside_a_field_come_before_the_others_and_in_their_phase(tried: Tried) -> None:
    model = {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "n", "type": "int", "max": 90, "rules": [{"sql": "n > 0"}, {"sql": "twice < 20", "name": "t"}]},
        ]
    }
    document = rules({"sql": "n <> 50"}, model=model, transformations=[{"derive": {"field": "twice", "sql": "n * 2"}}])
    found = tried(document, "id,n\n1,5\n2,-5\n3,50\n4,15\n5,99\n6,-200\n")
    assert found.values("id", "twice") == [(1, 10)]
    assert found.reasons("id") == {
        2: ["Rule failed: n > 0"],
        3: ["Rule failed: n <> 50"],
        4: ["Rule failed: t (twice < 20)"],
        5: ["Rule failed: n_max (n <= 90)"],
        6: ["Rule failed: n > 0"],
    }


def test_a_default_stands_where_nothing_landed_and_not_where_a_cast_failed(tried: Tried) -> None:
    model = {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "n", "type": "int", "default": 7, "required": True},
            {"name": "t", "default": "none"},
            {"name": "gone", "type": "date", "default": "2024-02-29"},
        ]
    }
    found = tried({"model": model}, "id,n,t\n1,1,a\n2,,\n3,x,b\n")
    from datetime import date

    leap = date(2024, 2, 29)
    assert found.values("id", "n", "t", "gone") == [(1, 1, "a", leap), (2, 7, "none", leap)]
    assert found.reasons("id") == {3: ["Type mismatch: n cannot be cast to int"]}
    assert found.bad[0]["_lakelogic_original"] == [("n", "x")]


def test_a_generated_field_is_computed_and_a_landed_value_must_agree(tried: Tried) -> None:
    model = {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "n", "type": "int"},
            {"name": "price", "type": "decimal(5,2)"},
            {"name": "total", "type": "decimal(10,2)", "generated": "n * price", "required": True},
            {"name": "large", "type": "boolean", "generated": "total > 10"},
        ]
    }
    found = tried({"model": model}, "id,n,price,total\n1,2,1.50,\n2,2,5.50,11.00\n3,2,5.50,12\n4,,1,\n5,1,1,x\n")
    from decimal import Decimal

    assert found.values("id", "total", "large") == [(1, Decimal("3.00"), False), (2, Decimal("11.00"), True)]
    assert found.reasons("id") == {
        3: ["Rule failed: total_generated (total = n * price)"],
        4: ["Rule failed: total is required"],
        5: ["Type mismatch: total cannot be cast to decimal(10,2)"],
    }


def test_a_generated_field_follows_what_post_steps_make_of_its_parts(tried: Tried) -> None:
    model = {"fields": [{"name": "n", "type": "int"}, {"name": "double", "type": "int", "generated": "n * 2"}]}
    steps = [{"sql": "n + 1 AS n"}, {"sql": "n AS seen"}]
    found = tried({"model": model, "transformations": steps}, "n\n1\n")
    assert found.values("n", "double", "seen") == [(2, 4, 2)]


CITIES = {"in.csv": "id,city\n1,A\n2,Z\n3,\n4,B\n", "cities.csv": "code,name\nA,Aa\nB,Bb\nB,Again\n"}


def test_a_foreign_key_is_found_in_a_link_and_an_absent_value_refers_to_nothing(tried: Tried) -> None:
    key = {"contract": "cities", "column": "code"}
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "city", "foreign_key": key}]}
    links = [{"name": "cities", "path": "cities.csv"}]
    found = tried({"model": model, "links": links}, CITIES)
    assert found.values("id") == [1, 3, 4]
    assert found.reasons("id") == {2: ["Rule failed: city_foreign_key (city IN cities.code)"]}
    assert found.bad[0]["_lakelogic_categories"] == ["consistency"]
    model["fields"][1]["foreign_key"] = {**key, "severity": "warning"}
    assert tried({"model": model, "links": links}, CITIES).values("id") == [1, 2, 3, 4]


def test_a_unique_field_quarantines_all_who_share_a_value(tried: Tried) -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "mail", "unique": True}]}
    found = tried({"model": model}, "id,mail\n1,a\n2,a\n3,\n4,\n5,b\n")
    assert found.values("id") == [3, 4, 5]
    assert found.reasons("id")[1] == ["Rule failed: mail_unique (mail is unique)"]


def test_required_can_be_left_unenforced(tried: Tried) -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "v", "required": True}]}
    found = tried({"model": model, "quality": {"enforce_required": False}}, "id,v\n1,\n")
    assert found.values("id", "v") == [(1, None)]


SUBSCRIBERS = (
    "subscriber_id,start_date,end_date\n"
    "a,2024-01-01,2024-01-31\n"
    "a,2024-03-01,2024-03-31T12:00:00Z\n"
    "b,2024-02-01,\n"
    "c,,2024-02-29\n"
    "d,2024-01-01,not a date\n"
    ",2024-01-01,2024-12-31\n"
)


def test_an_event_lies_in_one_of_the_windows_of_its_key(tried: Tried) -> None:
    window = {
        "event_ts": "event_ts",
        "event_key": "subscriber_id",
        "reference": "subscribers",
        "reference_key": "subscriber_id",
        "start_field": "start_date",
        "end_field": "end_date",
        "end_default": "2024-06-30",
    }
    events = [
        ("1", "a", "2024-01-01T00:00:00Z", True),
        ("2", "a", "2024-01-31T23:59:59.999999Z", True),
        ("3", "a", "2024-02-01T00:00:00Z", False),
        ("4", "a", "2024-03-31T12:00:00Z", True),
        ("5", "a", "2024-03-31T12:00:00.000001Z", False),
        ("6", "b", "2024-06-30T23:00:00Z", True),
        ("7", "b", "2024-07-01T00:00:00Z", False),
        ("8", "c", "0001-01-01T00:00:00Z", True),
        ("9", "c", "2024-02-29T23:59:59Z", True),
        ("10", "c", "2024-03-01T00:00:00Z", False),
        ("11", "d", "2024-01-02T00:00:00Z", False),
        ("12", "unknown", "2024-01-02T00:00:00Z", False),
        ("13", "", "2024-01-02T00:00:00Z", False),
        ("14", "a", "", False),
    ]
    files = {
        "in.csv": "id,subscriber_id,event_ts\n" + "".join(f"{i},{key},{at}\n" for i, key, at, _ in events),
        "subscribers.csv": SUBSCRIBERS,
    }
    document = rules(
        {"lifecycle_window": window},
        links=[{"name": "subscribers", "path": "subscribers.csv"}],
        **fields(id="int", event_ts="timestamp"),
    )
    found = tried(document, files)
    assert found.values("id") == sorted((int(i) for i, _, _, good in events if good), key=repr)
    reason = "Rule failed: event_ts_lifecycle_window (event_ts in subscribers.start_date to end_date)"
    assert found.reasons("id") == {int(i): [reason] for i, _, _, good in events if not good}
    assert {tuple(row["_lakelogic_categories"]) for row in found.bad} == {("consistency",)}
    document["quality"]["row_rules"][0]["nulls"] = "pass"
    assert {13, 14} <= {row["id"] for row in tried(document, files).good}


def test_windows_of_typed_dates_without_a_default_stay_open(tried: Tried, engine: Any) -> None:
    from datetime import UTC, date, datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    windows = pa.table({"k": [1, 1, 2], "from": [date(2024, 1, 1)] * 3, "to": [date(2024, 1, 2), None, None]})
    pq.write_table(windows.slice(0, 1), "one.parquet")
    pq.write_table(windows.slice(2, 1), "two.parquet")
    rule = {"event_ts": "at", "event_key": "k", "reference_key": "k", "start_field": "from", "end_field": "to"}
    links = [{"name": "one", "path": "one.parquet"}, {"name": "two", "path": "two.parquet"}]
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    document = rules(
        {"lifecycle_window": {**rule, "reference": "one"}, "name": "one", "severity": "warning"},
        {"lifecycle_window": {**rule, "reference": "two"}, "name": "two", "severity": "warning"},
        links=links,
        **fields(k="int", at="timestamp"),
    )
    found = tried(document, f"k,at\n1,2024-01-02T23:59:59Z\n1,2024-01-03\n2,{last.isoformat()}\n")
    said = sorted(
        (row["k"], row["at"].day, [w.split(" ")[2] for w in row["_lakelogic_warnings"]]) for row in found.good
    )
    assert said == [(1, 2, ["two"]), (1, 3, ["one", "two"]), (2, 31, ["one"])]


def test_the_text_of_a_failed_cast_is_kept_in_every_account(tried: Tried) -> None:
    document = {
        "model": {"fields": [{"name": "k"}, {"name": "n", "type": "int"}, {"name": "m", "type": "int"}]},
        "transformations": [
            {"rollup": {"group_by": ["k"], "aggregations": {"n": "max(CAST(v AS STRING))"}}, "phase": "pre"},
            {"derive": {"field": "m", "sql": "concat(k, n)"}},
        ],
    }
    found = tried(document, "k,v\n1,x\n1,7\n2,5\na,5\n")
    assert found.values("k", "n", "m") == [("2", 5, 25)]
    assert found.reasons("k") == {
        "1": ["Type mismatch: n cannot be cast to int"],
        "a": ["Type mismatch: m cannot be cast to int"],
    }
    assert {row["k"]: row["_lakelogic_original"] for row in found.bad} == {"1": [("n", "x")], "a": [("m", "a5")]}


def test_lengths_of_arrays_count_elements_and_arrays_can_be_unique(tried: Tried) -> None:
    model = {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "tags", "type": "array<string>", "min_length": 1, "max_length": 2, "unique": True},
        ]
    }
    text = 'id,tags\n1,"[""a"",""b""]"\n2,[]\n3,"[1,2,3]"\n4,\n5,"[ ""a"", ""b"" ]"\n6,"[""b"",""a""]"\n7,nothing\n'
    found = tried({"model": model}, text)
    assert found.values("id") == [4, 6]
    assert found.reasons("id") == {
        1: ["Rule failed: tags_unique (tags is unique)"],
        2: ["Rule failed: tags_min_length (length(tags) >= 1)"],
        3: ["Rule failed: tags_max_length (length(tags) <= 2)"],
        5: ["Rule failed: tags_unique (tags is unique)"],
        7: ["Type mismatch: tags cannot be cast to array<string>"],
    }


def test_a_foreign_key_finds_the_table_of_a_contract_beside_its_own(engine: Any, workspace: Path) -> None:
    Path("contracts").mkdir()
    Path("cities.csv").write_text("code\nA\nB\n")
    Path("orders.csv").write_text("id,city\n1,A\n2,Z\n")
    Path("contracts/cities.yaml").write_text(
        "dataset: ref_cities\nsource: {path: cities.csv}\nmaterialization: {target_path: geo.ref.cities}\n"
    )
    Path("contracts/orders.yaml").write_text(
        "source: {path: orders.csv}\n"
        "model: {fields: [{name: id}, {name: city, foreign_key: {contract: ref_cities, column: code}}]}\n"
        "materialization: {target_path: shop.silver.orders}\n"
    )
    DataProcessor("contracts/cities.yaml", engine).run()
    good, bad = DataProcessor("contracts/orders.yaml", engine).run()
    assert engine.collect(good).column("id").to_pylist() == ["1"]
    assert engine.collect(bad).column("_lakelogic_errors").to_pylist() == [
        ["Rule failed: city_foreign_key (city IN ref_cities.code)"]
    ]


def test_a_foreign_key_to_nowhere_is_refused_with_its_line() -> None:
    key = {"contract": "nowhere", "column": "code"}
    with pytest.raises(CompileError, match="Neither a link nor a contract beside this one is called `nowhere`"):
        DataProcessor({"source": {"path": "a.csv"}, "model": {"fields": [{"name": "c", "foreign_key": key}]}}, "duckdb")


def test_a_share_of_bad_rows_that_is_met_exactly_holds(tried: Tried) -> None:
    quality = {"row_rules": [{"sql": "id <> '1'"}], "max_quarantine_ratio": 0.25}
    assert tried({"quality": quality}, "id\n1\n2\n3\n4\n").result.status == "succeeded"
    gated = tried({"quality": quality}, "id\n1\n2\n3\n")
    assert gated.result.reasons == ("33.3% of the rows are quarantined, at most 25.0% may be",)


CONSTRAINED = """id,d,t,c,m,b,s,f
1,2024-01-01,2024-01-01T00:00:00Z,2024-06-01 12:00:00,9.99,yes,b,1.5
2,2023-12-31,2024-01-01T00:00:00Z,2024-06-01 12:00:00,9.99,yes,b,1.5
3,2024-01-01,2023-12-31T23:59:59.999999Z,2024-06-01 12:00:00,9.99,yes,b,1.5
4,2024-01-01,2024-01-01T00:00:00Z,2999-01-01 00:00:00,9.99,yes,b,1.5
5,2024-01-01,2024-01-01T00:00:00Z,2024-06-01 12:00:00,10,yes,b,1.5
6,2024-01-01,2024-01-01T00:00:00Z,2024-06-01 12:00:00,9.99,no,b,1.5
7,2024-01-01,2024-01-01T00:00:00Z,2024-06-01 12:00:00,9.99,yes,a,1.5
8,2024-01-01,2024-01-01T00:00:00Z,2024-06-01 12:00:00,9.99,yes,b,NaN
9,,,,,,,
"""


def test_constraints_judge_present_values_of_every_type(tried: Tried) -> None:
    model = {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "d", "type": "date", "min": "2024-01-01"},
            {"name": "t", "type": "timestamp", "min": "2024-01-01T00:00:00Z"},
            {"name": "c", "type": "timestamp_ntz", "rules": [{"not_future": "c", "nulls": "pass"}]},
            {"name": "m", "type": "decimal(6,2)", "max": 9.99},
            {"name": "b", "type": "boolean", "accepted_values": [True]},
            {"name": "s", "min": "aa"},
            {"name": "f", "type": "double", "max": 2},
        ]
    }
    found = tried({"model": model}, CONSTRAINED)
    assert found.values("id") == [1, 9]
    assert found.reasons("id") == {
        2: ["Rule failed: d_min (d >= '2024-01-01')"],
        3: ["Rule failed: t_min (t >= '2024-01-01T00:00:00Z')"],
        4: ["Rule failed: c_not_future (c <= now)"],
        5: ["Rule failed: m_max (m <= 9.99)"],
        6: ["Rule failed: b_accepted_values (b IN (true))"],
        7: ["Rule failed: s_min (s >= 'aa')"],
        8: ["Rule failed: f_max (f <= 2)"],
    }


def test_a_unique_field_that_a_post_step_changes_is_judged_as_it_is_published(tried: Tried) -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "mail", "unique": True}]}
    found = tried({"model": model, "transformations": [{"lower": ["mail"]}]}, "id,mail\n1,A\n2,a\n3,b\n")
    assert found.values("id") == [3]
