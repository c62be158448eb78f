"""Comparison, logic, NULLs, conditions, conversion, and what only the plan writes."""

from __future__ import annotations

from datetime import date

from lakelogic.sql.arguments import Args, Builder, Signatures, case, cast, refuse
from lakelogic.sql.catalogue.octets import charset
from lakelogic.sql.catalogue.row import composed, internal, scalar
from lakelogic.sql.coerce import in_one_column, number, text, unify
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_TYPES
from lakelogic.sql.types import BINARY, BOOLEAN, DATE, INT, STRING, TIMESTAMP, Type, parse_type

FUNCTIONS = (
    # comparison: both sides have one type when an engine sees them; a NULL side gives NULL
    scalar("eq", "comparison", "a = b", "Equal. Text by code point, -0 equals 0, NaN equals NaN.",
       ("1 = 1", True), ("'a' = 'A'", False), ("'ß' = 'ss'", False), ("NULL = 1", None), ("'a' = 'a '", False)),
    scalar("ne", "comparison", "a <> b; a != b", "Not equal.", ("1 <> 2", True), ("NULL <> 1", None)),
    scalar("lt", "comparison", "a < b", "Less. NaN is greater than every other number.",
       ("1 < 2", True), ("'Z' < 'a'", True), ("'é' < 'z'", False)),
    scalar("le", "comparison", "a <= b", "Less or equal.", ("2 <= 2", True), ("NULL <= 1", None)),
    scalar("gt", "comparison", "a > b", "Greater.", ("2 > 1", True), ("CAST('NaN' AS DOUBLE) > 1e308", True)),
    scalar("ge", "comparison", "a >= b", "Greater or equal.", ("1 >= 2", False), ("'b' >= 'a'", True)),
    scalar("same", "comparison", "a <=> b", "Equal, where NULL equals NULL; never NULL.",
       ("NULL <=> NULL", True), ("1 <=> NULL", False), ("1 <=> 1", True)),
    scalar("in", "comparison", "x IN (a, b, …)", "x equals one of the values; NULL when none does and x or a value is NULL.",
       ("2 IN (1, 2)", True), ("3 IN (1, NULL)", None), ("NULL IN (1)", None), ("'a' IN ('b')", False)),
    # logic
    scalar("and", "logic", "a AND b", "Three-valued: FALSE wins over NULL.", ("FALSE AND NULL", False), ("TRUE AND NULL", None)),
    scalar("or", "logic", "a OR b", "Three-valued: TRUE wins over NULL.", ("TRUE OR NULL", True), ("FALSE OR NULL", None)),
    scalar("not", "logic", "NOT a", "NOT NULL is NULL.", ("NOT TRUE", False), ("NOT NULL", None)),
    # nulls and conditions
    scalar("is_null", "nulls", "x IS NULL; isnull(x)", "TRUE for NULL; NaN and '' are values.",
       ("NULL IS NULL", True), ("'' IS NULL", False), ("CAST('NaN' AS DOUBLE) IS NULL", False)),
    scalar("coalesce", "nulls", "coalesce(a, b, …); nvl(a, b); ifnull(a, b)", "The first value that is not NULL.",
       ("coalesce(NULL, 'a', 'b')", "a"), ("nvl(NULL, 1)", 1)),
    scalar("nullif", "nulls", "nullif(a, b)", "NULL when a equals b, otherwise a.", ("nullif(1, 1)", None), ("nullif('a', '')", "a")),
    scalar("case", "conditions", "CASE WHEN c THEN a … ELSE z END; if(c, a, z); nvl2(x, a, z)",
       "The value of the first condition that is TRUE; NULL without ELSE. Canonical arguments: c1, v1, c2, v2, …, else.",
       ("CASE WHEN NULL THEN 1 WHEN TRUE THEN 2 ELSE 3 END", 2), ("if(FALSE, 1, 2)", 2), ("CASE 'b' WHEN 'a' THEN 1 END", None)),
    composed("iff", "conditions", "iff(c, a, z)", "As if(c, a, z).", ("iff(TRUE, 1, 2)", 1), ("iff(NULL, 1, 2)", 2)),
    composed("decode", "conditions", "decode(x, a, b, c, d, …, z)", "b when x is a, d when x is c, …, otherwise z (NULL without it); NULL is NULL.",
       ("decode(2, 1, 'one', 2, 'two')", "two"), ("decode(9, 1, 'one', 'many')", "many"), ("decode(NULL, NULL, 'none')", "none")),
    composed("zeroifnull", "nulls", "zeroifnull(a)", "0 for NULL.", ("zeroifnull(NULL)", 0), ("zeroifnull(5)", 5)),
    composed("nullifzero", "nulls", "nullifzero(a)", "NULL for 0.", ("nullifzero(0)", None), ("nullifzero(5)", 5)),
    composed("equal_null", "comparison", "equal_null(a, b)", "As a <=> b.", ("equal_null(NULL, NULL)", True), ("equal_null(1, 2)", False)),
    composed("between", "comparison", "x BETWEEN a AND b; x BETWEEN SYMMETRIC a AND b", "x >= a AND x <= b; SYMMETRIC lets the bounds stand in either order.",
       ("2 BETWEEN 1 AND 2", True), ("2 NOT BETWEEN 3 AND 1", True), ("2 BETWEEN SYMMETRIC 3 AND 1", True), ("NULL BETWEEN 1 AND 2", None)),
    # conversion: examples for each pair of types stand in tests/meaning
    scalar("convert", "conversion", "CAST(x AS type); TRY_CAST(x AS type); to_date(s); to_timestamp(s); int(x) …",
       "The value as another type; what cannot be converted becomes NULL.",
       ("CAST(' 12 ' AS INT)", 12), ("CAST('3.7' AS INT)", None), ("CAST('1e3' AS DOUBLE)", 1000.0), ("CAST('yes' AS BOOLEAN)", True),
       ("CAST('2024-02-30' AS DATE)", None), ("CAST('20240105' AS DATE)", date(2024, 1, 5)), ("CAST('1.005' AS DECIMAL(5,2))", None),
       ("CAST(3.0 AS INT)", 3), ("CAST(3.5 AS INT)", None), ("CAST(1.50 AS STRING)", "1.50"), ("CAST(TRUE AS STRING)", "true")),
    # made by the plan, never written by people
    internal("bits", "Up to 60 booleans (never NULL) as a bigint: argument i sets bit i."),
    internal("texts_where", "flag0, text0, flag1, text1, …: an array of the texts whose flag is TRUE; NULL when none is."),
    internal("entries_where", "flag0, key0, value0, …: map<string,string> of the entries whose flag is TRUE (value may be NULL); NULL when none is."),
    internal("row_json", "name0, value0, …: one JSON object as text with every name in order; values are strings (JSON strings or null), never dropped."),
    internal("bit_is_set", "bits, constant index: TRUE when that bit of a bigint is set."),
)  # fmt: skip


def _coalesce(a: Args) -> Expression:
    values, type_ = in_one_column(a, "coalesce:")
    return Call("coalesce", values, type_)


def _nullif(a: Args) -> Expression:
    (left, right), _ = unify(a, "nullif:")
    return case([(call("eq", left, right), Literal(None, a[0].type))], a[0])


def _decode(a: Args) -> Expression:
    if len(a) == 2:
        charset(a[1])
        value = a[0] if a[0].type.kind == "binary" else convert(text(a[0]), BINARY)
        return convert(value, STRING)
    subject, pairs = a[0], a[1:]
    branches = []
    for option, value in zip(pairs[::2], pairs[1::2], strict=False):
        (left, right), _ = unify((subject, option), "decode:")
        branches.append((call("same", left, right), value))
    return case(branches, pairs[-1] if len(pairs) % 2 else None)


def _if(a: Args) -> Expression:
    if a[0].type.kind not in ("boolean", "null"):
        raise refuse(BAD_TYPES, f"iff's first argument must be a condition, not {a[0].type}.", "compare it: x = …")
    return case([(convert(a[0], BOOLEAN), a[1])], a[2])


def _equal_null(a: Args) -> Expression:
    (left, right), _ = unify(a, "equal_null:")
    return call("same", left, right)


def _to(type_: Type) -> Builder:
    return lambda a: cast(a[0], type_)


SIGNATURES: Signatures = {
    "isnull": (1, 1, lambda a: call("is_null", a[0])),
    "isnotnull": (1, 1, lambda a: call("not", call("is_null", a[0]))),
    "coalesce": (1, None, _coalesce),
    "nvl": (2, 2, _coalesce),
    "ifnull": (2, 2, _coalesce),
    "nullif": (2, 2, _nullif),
    "nvl2": (3, 3, lambda a: case([(call("not", call("is_null", a[0])), a[1])], a[2])),
    "iff": (3, 3, _if),
    "decode": (2, None, _decode),
    "equal_null": (2, 2, _equal_null),
    "zeroifnull": (1, 1, lambda a: _coalesce((number(a[0], "zeroifnull"), Literal(0, INT)))),
    "nullifzero": (1, 1, lambda a: _nullif((number(a[0], "nullifzero"), Literal(0, INT)))),
    "to_date": (1, 1, _to(DATE)),
    "to_timestamp": (1, 1, _to(TIMESTAMP)),
}
SIGNATURES |= {
    name: (1, 1, _to(parse_type(name)))
    for name in ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp")
}
