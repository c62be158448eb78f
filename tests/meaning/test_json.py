"""JSON documents that stay text, and documents that become values: the same on every engine."""

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Column, convert
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import JSON, STRING

TYPES = {"x": STRING}


def test_a_path_leads_to_the_text_of_a_value(meaning):
    document = '{"a": {"b": [1.10, "two", {"c": null}], "é b": true}, "n": 1e400, "a.b": 7, "t": "{\\"b\\": 1}"}'
    paths = {
        "$.a.b[0]": "1.10",
        "$.a.b[1]": "two",
        "$.a.b[2]": '{"c":null}',
        "$.a.b[2].c": None,
        "$.a.b[9]": None,
        "$.a['é b']": "true",
        '$["a.b"]': "7",
        "$.n": "1e400",
        "$.t": '{"b": 1}',
        "$.t.b": None,
        "$.a[0]": None,
        "$.missing.more": None,
        "$": '{"a":{"b":[1.10,"two",{"c":null}],"é b":true},"n":1e400,"a.b":7,"t":"{\\"b\\": 1}"}',
    }
    outputs = {path: bind(f"get_json_object(x, {path!r})", TYPES) for path in paths}
    (row,) = meaning.rows({"x": (STRING, [document])}, outputs)
    assert row == paths


def test_a_text_that_is_no_document_has_no_values(meaning):
    texts = [
        "",
        " ",
        "{",
        '{"a":1}}',
        '{"a":1,}',
        "{'a':1}",
        '{"a":NaN}',
        '{"a":01}',
        '{"a":.5}',
        '{"a":"\\q"}',
        "nul",
        None,
    ]
    outputs = {
        "path": bind("get_json_object(x, '$.a')", TYPES),
        "keys": bind("json_object_keys(x)", TYPES),
        "valid": bind("is_valid_json(x)", TYPES),
        "whole": bind("from_json(x, 'a STRING')", TYPES),
    }
    rows = meaning.rows({"x": (STRING, texts)}, outputs)
    assert [row["path"] for row in rows] == [None] * len(texts)
    assert [row["keys"] for row in rows] == [None] * len(texts)
    assert [row["whole"] for row in rows] == [None] * len(texts)
    assert [row["valid"] for row in rows] == [False] * (len(texts) - 1) + [None]


def test_the_json_type_keeps_a_document_as_it_is_written(meaning):
    kept = ['{"a": 1.10}', "[1, 2 ]", '"text"', "12", "null", "true", '{"a":"NaN, inf ,]"}', " {} "]
    lost = ["", "abc", "{a:1}", "[1,]", '{"a":1,}', "NaN", "[Infinity]", "1 2", None]
    meaning.converts(STRING, JSON, [(text, text) for text in kept] + [(text, None) for text in lost])


def test_half_a_surrogate_pair_is_no_json(meaning):
    texts = {
        '{"a":"\\ud800"}': False,
        '{"a":"\\udc00\\ud800"}': False,
        '{"\\uD83D":1}': False,
        '["\\ud83d\\ud83d\\ude00"]': False,
        '["\\ud83d\\ude00"]': True,
        '["\\\\ud800"]': True,
        '["\\u00e9\\n"]': True,
    }
    outputs = {"valid": bind("is_valid_json(x)", TYPES), "kept": convert(Column("x", STRING), JSON)}
    rows = meaning.rows({"x": (STRING, list(texts))}, outputs)
    assert {text: row["valid"] for text, row in zip(texts, rows, strict=True)} == texts
    assert [row["kept"] for row in rows] == [text if valid else None for text, valid in texts.items()]


def test_what_does_not_fit_is_null_in_its_field_only(meaning):
    texts = {
        '{"a": 1, "b": {"c": "2024-01-05", "d": [1, 2]}}': {"a": 1, "b": {"c": "2024-01-05", "d": [1, 2]}},
        '{"a": "1.5", "b": {"c": 5, "d": [1, "x"]}}': {"a": None, "b": {"c": "5", "d": None}},
        '{"a": {}, "b": []}': {"a": None, "b": None},
        '{"b": {"d": {"e": 1}}}': {"a": None, "b": {"c": None, "d": None}},
        "{}": {"a": None, "b": None},
        "[]": None,
        '"x"': None,
    }
    value = bind("from_json(x, 'a INT, b STRUCT<c: STRING, d: ARRAY<INT>>')", TYPES)
    assert meaning.column(STRING, list(texts), value) == list(texts.values())


def test_keys_and_lengths(meaning):
    texts = ['{"b": 1, "a": {}, "b": 2}', "[1, [2], {}]", "7", "{}", "[]"]
    outputs = {"keys": bind("json_object_keys(x)", TYPES), "size": bind("json_array_length(x)", TYPES)}
    rows = meaning.rows({"x": (STRING, texts)}, outputs)
    assert [row["keys"] for row in rows] == [["b", "a"], None, None, [], None]
    assert [row["size"] for row in rows] == [None, 3, None, None, 0]


def test_a_document_inside_a_lambda(meaning):
    value = bind("transform(from_json(x, 'ARRAY<STRING>'), d -> get_json_object(d, '$.n'))", TYPES)
    found = meaning.column(STRING, ['[{"n": 1.0}, {"n": "b"}, {}, "x", null]', None], value)
    assert found == [["1.0", "b", None, None, None], None]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("get_json_object(x, '$..a')", "no portable path"),
        ("get_json_object(x, '$.a[*]')", "no portable path"),
        ("get_json_object(x, 'a')", "no portable path"),
        ("get_json_object(x, x)", "must be a constant"),
        ("from_json(x, 'INT')", "makes arrays, maps and structs"),
        ("from_json(x, 'a WRONG')", "not a type"),
        ("to_json(x)", "takes an array, map or struct"),
        ("parse_json(x)", "not in the portable catalogue"),
        ("json_tuple(x, 'a')", "not in the portable catalogue"),
    ],
)
def test_what_is_not_portable_is_refused(written, said):
    with pytest.raises(SqlProblems, match="(?s)" + said):
        bind(written, TYPES)
