"""Row-wise steps in both phases, in written order: values and reasons worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import UnsupportedError

Tried = Callable[..., Any]
PHASES = pytest.mark.parametrize("phase", ["pre", "post"])


def steps(phase: str, *written: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"transformations": [{**step, "phase": phase} for step in written], **parts}


@PHASES
def test_a_bucket_is_the_first_bin_that_fits(tried: Tried, phase: str) -> None:
    bins = [
        {"label": "none", "eq": 0},
        {"label": "low", "lt": 10},
        {"label": "mid", "gte": 10, "lte": 20},
        {"label": "never", "gt": 15, "lt": 18},
        {"label": "high", "gt": 20},
    ]
    plain = {"bucket": {"field": "size", "source": "n", "bins": bins}}
    filled = {"bucket": {"field": "filled", "source": "n", "bins": bins[:2], "default": "other"}}
    found = tried(steps(phase, plain, filled), 'n\n0\n-1\n9.99\n10\n16\n20\n20.01\nx\n""\n')
    assert found.values("n", "size", "filled") == sorted(
        [
            ("0", "none", "none"),
            ("-1", "low", "low"),
            ("9.99", "low", "low"),
            ("10", "mid", "other"),
            ("16", "mid", "other"),
            ("20", "mid", "other"),
            ("20.01", "high", "other"),
            ("x", None, "other"),
            ("", None, "other"),
        ],
        key=repr,
    )


@PHASES
def test_labels_can_be_numbers_and_text_beside_numbers_is_text(tried: Tried, phase: str) -> None:
    numbers = {"bucket": {"field": "a", "source": "n", "bins": [{"label": 1, "lt": 5}, {"label": 2, "gte": 5}]}}
    mixed = {"bucket": {"field": "b", "source": "n", "bins": [{"label": 1, "lt": 5}], "default": "many"}}
    found = tried(steps(phase, numbers, mixed), "n\n1\n7\n")
    assert found.values("n", "a", "b") == [("1", 1, "1"), ("7", 2, "many")]


@PHASES
def test_trim_takes_blanks_from_the_side_it_is_told(tried: Tried, phase: str) -> None:
    written = [
        {"trim": {"fields": ["a"], "side": "left"}},
        {"trim": {"fields": ["b"], "side": "right"}},
        {"trim": ["c"]},
    ]
    found = tried(steps(phase, *written), "a,b,c\n  x ,  y ,  z \n")
    assert found.values("a", "b", "c") == [("x ", "  y", "z")]


@PHASES
def test_map_values_keeps_what_is_not_listed_or_takes_the_default_for_null_too(tried: Tried, phase: str) -> None:
    kept = {"map_values": {"field": "c", "mapping": {"A": 1, "O'Brien": "x'y"}, "output": "kept"}}
    filled = {"map_values": {"field": "c", "mapping": {"A": 1, "B": 2}, "default": 0, "output": "filled"}}
    nothing = {"map_values": {"field": "c", "mapping": {"A": "a"}, "default": None, "output": "nothing"}}
    found = tried(steps(phase, kept, filled, nothing), "id,c\n1,A\n2,O'Brien\n3,Z\n4,\n")
    assert found.values("id", "kept", "filled", "nothing") == [
        ("1", "1", 1, "a"),
        ("2", "x'y", 0, None),
        ("3", "Z", 0, None),
        ("4", None, 0, None),
    ]


@PHASES
def test_coalesce_writes_the_first_present_value_and_loses_no_text(tried: Tried, phase: str) -> None:
    first = {"coalesce": {"field": "a", "sources": ["b", "c"], "default": 0, "output": "first"}}
    own = {"coalesce": {"field": "a", "default": "none"}}
    new = {"coalesce": {"field": "made", "sources": ["c", "b"]}}
    found = tried(steps(phase, first, own, new), "id,a,b,c\n1,x,y,z\n2,,y,z\n3,,,z\n4,,,\n")
    assert found.values("id", "first", "a", "made") == [
        ("1", "x", "x", "z"),
        ("2", "y", "none", "z"),
        ("3", "z", "none", "z"),
        ("4", "0", "none", None),
    ]


@PHASES
def test_a_lookup_gives_its_default_to_keys_it_does_not_know_and_to_absent_ones(tried: Tried, phase: str) -> None:
    lookup = {"lookup": {"field": "name", "reference": "r", "on": "k", "key": "code", "value": "label"}}
    filled = {"lookup": {**lookup["lookup"], "field": "filled", "default_value": "?"}}
    files = {"in.csv": "id,k\n1,A\n2,Z\n3,\n4,B\n", "r.csv": "code,label\nA,Aa\nB,\n"}
    found = tried(steps(phase, lookup, filled, links=[{"name": "r", "path": "r.csv"}]), files)
    assert found.values("id", "name", "filled") == [
        ("1", "Aa", "Aa"),
        ("2", None, "?"),
        ("3", None, "?"),
        ("4", None, "?"),
    ]


@PHASES
def test_steps_run_in_written_order(tried: Tried, phase: str) -> None:
    written = [
        {"trim": ["v"]},
        {"lower": ["v"]},
        {"map_values": {"field": "v", "mapping": {"seven": "7"}}},
        {"cast": {"columns": {"v": "int"}}},
        {"derive": {"field": "v", "sql": "v * 2"}},
        {"rename": {"from": "v", "to": "w"}},
        {"filter": {"sql": "w > 10"}},
    ]
    found = tried(steps(phase, *written), "id,v\n1, SEVEN\n2,5\n3,x\n4,9 \n")
    assert found.values("id", "w") == [("1", 14), ("4", 18)]
    assert found.reasons("id") == {"3": ["Type mismatch: v cannot be cast to int"]}
    assert found.bad[0]["_lakelogic_original"] == [("v", "x")]
    assert found.result.counts.filtered == {"filter_6": 1}


@PHASES
def test_a_step_is_written_in_its_own_grammar(tried: Tried, phase: str) -> None:
    written = [
        {"derive": {"field": "n", "sql": "len(v)"}, "dialect": "tsql"},
        {"sql": "v || '!' AS loud", "dialect": "duckdb"},
    ]
    found = tried(steps(phase, *written), "v\nabc\n")
    assert found.values("n", "loud") == [(3, "abc!")]


@PHASES
def test_a_blank_key_and_a_loser_carry_the_label_of_the_step(tried: Tried, phase: str) -> None:
    step = {"on": ["k"], "sort_by": ["id"], "losers": "quarantine", "blank_keys": "quarantine", "label": "stale"}
    document = {**steps(phase, {"deduplicate": step}), "model": {"fields": [{"name": "id"}, {"name": "k"}]}}
    found = tried(document, "id,k\n1,a\n2,a\n3,\n")
    assert found.values("id") == ["2"]
    assert found.reasons("id") == {
        "1": ["Rule failed: stale (another row of the same k is kept)"],
        "3": ["Rule failed: stale (k is blank)"],
    }
    assert {tuple(row["_lakelogic_rules"]) for row in found.bad} == {("stale",)}


def test_a_step_pinned_to_another_engine_is_refused_by_name_before_anything_is_read(tried: Tried, engine: Any) -> None:
    other = next(name for name in ("duckdb", "polars", "spark") if name != engine.name)
    pinned = {"sql": "1 AS one", "name": "pinned", "engine": other}
    with pytest.raises(UnsupportedError, match=f"`pinned` is pinned to the engine `{other}`"):
        DataProcessor({"source": {"path": "not_there.csv"}, "transformations": [pinned]}, engine).run(materialize=False)
    pinned["engine"] = engine.name
    assert tried({"transformations": [pinned]}, "a\nx\n").values("one") == [1]


@PHASES
def test_date_diff_counts_whole_units_toward_zero(tried: Tried, phase: str) -> None:
    units = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
    written = [{"date_diff": {"field": unit, "from_col": "a", "to_col": "b", "unit": unit}} for unit in units]
    text = "id,a,b\n1,2024-01-31T00:00:00Z,2024-03-30T23:59:59Z\n2,2024-03-01,2024-02-28T12:00:00Z\n3,2024-01-01,\n"
    found = tried(steps(phase, *written), text)
    assert found.values("id", *units) == [
        ("1", 5183999, 86399, 1439, 59, 8, 1, 0),
        ("2", -129600, -2160, -36, -1, 0, 0, 0),
        ("3", None, None, None, None, None, None, None),
    ]


@PHASES
def test_split_takes_its_delimiter_as_it_is_written(tried: Tried, phase: str) -> None:
    written = [
        {"split": {"field": "v", "delimiter": "|", "output": "parts"}},
        {"split": {"field": "w", "delimiter": ". "}},
    ]
    found = tried(steps(phase, *written), 'id,v,w\n1,a|b||,x. y\n2,,a.b\n3,"",z. \n')
    assert found.values("id", "parts", "w") == [
        ("1", ["a", "b", "", ""], ["x", "y"]),
        ("2", None, ["a.b"]),
        ("3", [""], ["z", ""]),
    ]


@PHASES
def test_a_value_out_of_json_is_cast_or_makes_its_row_bad(tried: Tried, phase: str) -> None:
    written = [
        {"json_extract": {"field": "city", "source": "j", "path": "$.a.city"}},
        {"json_extract": {"field": "n", "source": "j", "path": "$.n[0]", "cast": "int"}},
    ]
    lines = [
        ("1", '{"a": {"city": "Bern"}, "n": [7]}'),
        ("2", '{"a": {}, "n": []}'),
        ("3", "no json"),
        ("4", '{"n": ["x"]}'),
        ("5", ""),
    ]
    text = "id,j\n" + "".join(f'{i},"{j.replace(chr(34), chr(34) * 2)}"\n' for i, j in lines)
    found = tried(steps(phase, *written), text)
    assert found.values("id", "city", "n") == [
        ("1", "Bern", 7),
        ("2", None, None),
        ("3", None, None),
        ("5", None, None),
    ]
    assert found.reasons("id") == {"4": ["Type mismatch: n cannot be cast to int"]}
    assert found.bad[0]["_lakelogic_original"] == [("n", "x")]


def test_split_into_a_field_declared_string_is_compact_json(tried: Tried) -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "parts", "type": "string"}]}
    step = {"split": {"field": "v", "delimiter": ",", "output": "parts"}}
    found = tried({"model": model, "transformations": [step]}, 'id,v\n1,"a,b ""q"""\n2,\n')
    assert found.values("id", "parts") == [(1, '["a","b \\"q\\""]'), (2, None)]
