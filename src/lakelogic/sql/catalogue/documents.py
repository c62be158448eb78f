"""JSON documents kept as text."""

from __future__ import annotations

import json
import re

from lakelogic.sql.arguments import Args, Signatures, case, constant_text, refuse
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import text
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.expressions import text as text_literal
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import BOOLEAN, INT, JSON, STRING, Type, array, parse_fields

FUNCTIONS = (
    scalar("get_json_object", "json", "get_json_object(s, '$.a.b[0]')",
       "The value at a constant path (`$`, `.name`, `['name']`, `[n]`) as text: texts without quotes, numbers as they are written, objects and arrays as compact JSON. NULL where there is none, or the text is no JSON.",
       ("get_json_object('{\"a\": {\"b\": [1, 2.50]}}', '$.a.b[1]')", "2.50"), ("get_json_object('{\"a\": { \"b\" : [1, \"x\"] }}', '$.a')", '{"b":[1,"x"]}'),
       ("get_json_object('{\"a\": \"x y\"}', '$.a')", "x y"), ("get_json_object('{\"a\": null}', '$.a')", None), ("get_json_object('{\"a\": true}', '$.a')", "true"),
       ("get_json_object('{\"a\": 1', '$.a')", None), ("get_json_object('{\"a b\": 12345678901234567890123}', '$[\\'a b\\']')", "12345678901234567890123"),
       ("get_json_object('[1, {\"a\": 2}]', '$[1].a')", "2"), ("get_json_object('{\"a\": \"{\\\\\"b\\\\\": 1}\"}', '$.a.b')", None)),
    composed("json_extract_string", "json", "json_extract_string(s, '$.a.b[0]')", "Another name of get_json_object.", ("json_extract_string('{\"a\": [1.0]}', '$.a[0]')", "1.0")),
    scalar("from_json", "json", "from_json(s, 'a INT, b ARRAY<STRING>'); from_json(s, 'type')",
       "The document as a value of a type that is written out. A value that does not fit is NULL in the field of a struct where it stands; an array or map with an element that does not fit is NULL, and so is everything that is no JSON.",
       ("from_json('{\"a\": 1, \"b\": [\"x\", null]}', 'a INT, b ARRAY<STRING>')", {"a": 1, "b": ["x", None]}), ("from_json('{\"a\": \"x\", \"c\": 2}', 'a INT, c INT')", {"a": None, "c": 2}),
       ("from_json('[1, \"2\", 3]', 'ARRAY<INT>')", [1, 2, 3]), ("from_json('[1, \"x\"]', 'ARRAY<INT>')", None), ("from_json('{', 'a INT')", None), ("from_json('7', 'a INT')", None),
       ("from_json('{\"a\": 0.10}', 'a DECIMAL(10,2)').a = 0.10", True), ("from_json('{\"k\": 1}', 'MAP<STRING,INT>')", [("k", 1)])),
    composed("to_json", "json", "to_json(x)", "An array, map or struct as compact JSON: fields in their order and with their NULLs, maps in order of their keys, numbers as in a cast to text, other scalars as text in quotes.",
       ("to_json(named_struct('a', 1, 'b', NULL, 'c', array('é', 'q\"')))", '{"a":1,"b":null,"c":["é","q\\""]}'), ("to_json(map('b', 1.50, 'a', NULL))", '{"a":null,"b":1.50}'),
       ("to_json(array(1e0, CAST('NaN' AS DOUBLE)))", '[1.0,"NaN"]'), ("to_json(array(DATE'2024-01-05'))", '["2024-01-05"]'), ("to_json(array(TRUE, NULL))", "[true,null]"), ("to_json(array())", "[]")),
    scalar("json_object_keys", "json", "json_object_keys(s)", "The keys of an object, in order; NULL for anything else.",
       ("json_object_keys('{\"b\": 1, \"a\": {\"c\": 2}}')", ["b", "a"]), ("json_object_keys('[1]')", None), ("json_object_keys('{} x')", None)),
    scalar("json_array_length", "json", "json_array_length(s)", "How many values an array has, as int; NULL for anything else.",
       ("json_array_length('[1, [2, 3], null]')", 3), ("json_array_length('{}')", None), ("json_array_length('[1,')", None), ("json_array_length('[]')", 0)),
    composed("is_valid_json", "json", "is_valid_json(s); json_valid(s)", "Whether a text is one JSON document.",
       ("is_valid_json('{\"a\": [1, null]}')", True), ("is_valid_json('{a: 1}')", False), ("is_valid_json('NaN')", False), ("is_valid_json(NULL)", None), ("is_valid_json('1 2')", False)),
)  # fmt: skip

_STEP = re.compile(r"""\.([^.\[\]'"\s]+)|\[(?:'([^']*)'|"([^"]*)"|([0-9]{1,6}))\]""")


def _path(value: Expression) -> Literal:
    """A path as a JSON array of keys and positions."""
    written = str(constant_text(value, "the path").value).strip()
    steps: list[str | int] = []
    at = 1
    while written.startswith("$") and at < len(written):
        match = _STEP.match(written, at)
        if match is None:
            break
        named = next((part for part in match.groups()[:3] if part is not None), None)
        steps.append(int(match[4]) if named is None else named)
        at = match.end()
    if not written.startswith("$") or at < len(written):
        raise refuse(
            BAD_ARGUMENTS,
            f"`{written}` is no portable path into JSON.",
            "write $.name, $['name'] and [0]; wildcards, slices and filters are not portable",
        )
    return text_literal(json.dumps(steps, ensure_ascii=False))


def _get_json_object(a: Args) -> Expression:
    return Call("get_json_object", (text(a[0]), _path(a[1])), STRING)


def _from_json(a: Args) -> Expression:
    written = str(constant_text(a[1], "from_json's type").value)
    try:
        type_: Type = parse_fields(written)
    except ValueError as error:
        raise refuse(BAD_TYPES, f"from_json: {error}.", "write it as 'a INT, b ARRAY<STRING>'") from error
    if not type_.is_nested:
        raise refuse(BAD_TYPES, f"from_json makes arrays, maps and structs, not {type_}.", "CAST(s AS …) reads scalars")
    return Call("from_json", (text(a[0]),), type_)


def _to_json(a: Args) -> Expression:
    if not a[0].type.is_nested:
        raise refuse(BAD_TYPES, f"to_json takes an array, map or struct, not {a[0].type}.", "wrap it: struct(x)")
    return convert(a[0], STRING)


def _is_valid_json(a: Args) -> Expression:
    value = convert(text(a[0]), STRING)
    valid = call("not", call("is_null", convert(value, JSON)))
    return case([(call("is_null", value), Literal(None, BOOLEAN))], valid)


SIGNATURES: Signatures = {
    "get_json_object": (2, 2, _get_json_object),
    "json_extract_string": (2, 2, _get_json_object),
    "from_json": (2, 2, _from_json),
    "to_json": (1, 1, _to_json),
    "json_object_keys": (1, 1, lambda a: Call("json_object_keys", (text(a[0]),), array(STRING))),
    "json_array_length": (1, 1, lambda a: Call("json_array_length", (text(a[0]),), INT)),
    "is_valid_json": (1, 1, _is_valid_json),
    "json_valid": (1, 1, _is_valid_json),
}
