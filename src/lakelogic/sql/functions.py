"""The catalogue: every portable function, what it means, and worked examples that all engines must give.

A row names the canonical function that engines lower. `sql` lists how it is written in a contract.
`examples` are pairs of a contract expression over literals and the value it must have; the meaning
suite runs each of them on every engine, and the reference page of the docs is made from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal as OneOf

Kind = OneOf["scalar", "aggregate", "internal"]


@dataclass(frozen=True, slots=True)
class Function:
    """One row of the catalogue; `group` is the heading it stands under in the docs."""

    name: str
    group: str
    sql: tuple[str, ...]
    meaning: str
    examples: tuple[tuple[str, object], ...] = ()
    kind: Kind = "scalar"


def _f(name: str, group: str, sql: str, meaning: str, *examples: tuple[str, object]) -> Function:
    return Function(name, group, tuple(part.strip() for part in sql.split(";")), meaning, examples)


def _agg(name: str, sql: str, meaning: str) -> Function:
    return Function(name, "aggregates", tuple(part.strip() for part in sql.split(";")), meaning, (), "aggregate")


def _internal(name: str, meaning: str) -> Function:
    return Function(name, "internal", (), meaning, (), "internal")


_ALL = (
    # comparison: both sides have one type when an engine sees them; a NULL side gives NULL
    _f("eq", "comparison", "a = b", "Equal. Text by code point, -0 equals 0, NaN equals NaN.",
       ("1 = 1", True), ("'a' = 'A'", False), ("'ß' = 'ss'", False), ("NULL = 1", None), ("'a' = 'a '", False)),
    _f("ne", "comparison", "a <> b; a != b", "Not equal.", ("1 <> 2", True), ("NULL <> 1", None)),
    _f("lt", "comparison", "a < b", "Less. NaN is greater than every other number.",
       ("1 < 2", True), ("'Z' < 'a'", True), ("'é' < 'z'", False)),
    _f("le", "comparison", "a <= b", "Less or equal.", ("2 <= 2", True)),
    _f("gt", "comparison", "a > b", "Greater.", ("2 > 1", True), ("CAST('NaN' AS DOUBLE) > 1e308", True)),
    _f("ge", "comparison", "a >= b", "Greater or equal.", ("1 >= 2", False)),
    _f("same", "comparison", "a <=> b", "Equal, where NULL equals NULL; never NULL.",
       ("NULL <=> NULL", True), ("1 <=> NULL", False), ("1 <=> 1", True)),
    _f("in", "comparison", "x IN (a, b, …)", "x equals one of the values; NULL when none does and x or a value is NULL.",
       ("2 IN (1, 2)", True), ("3 IN (1, NULL)", None), ("NULL IN (1)", None), ("'a' IN ('b')", False)),
    # logic
    _f("and", "logic", "a AND b", "Three-valued: FALSE wins over NULL.", ("FALSE AND NULL", False), ("TRUE AND NULL", None)),
    _f("or", "logic", "a OR b", "Three-valued: TRUE wins over NULL.", ("TRUE OR NULL", True), ("FALSE OR NULL", None)),
    _f("not", "logic", "NOT a", "NOT NULL is NULL.", ("NOT TRUE", False), ("NOT NULL", None)),
    # nulls and conditions
    _f("is_null", "nulls", "x IS NULL; isnull(x)", "TRUE for NULL; NaN and '' are values.",
       ("NULL IS NULL", True), ("'' IS NULL", False), ("CAST('NaN' AS DOUBLE) IS NULL", False)),
    _f("coalesce", "nulls", "coalesce(a, b, …); nvl(a, b); ifnull(a, b)", "The first value that is not NULL.",
       ("coalesce(NULL, 'a', 'b')", "a"), ("nvl(NULL, 1)", 1)),
    _f("nullif", "nulls", "nullif(a, b)", "NULL when a equals b, otherwise a.", ("nullif(1, 1)", None), ("nullif('a', '')", "a")),
    _f("case", "conditions", "CASE WHEN c THEN a … ELSE z END; if(c, a, z); nvl2(x, a, z)",
       "The value of the first condition that is TRUE; NULL without ELSE. Canonical arguments: c1, v1, c2, v2, …, else.",
       ("CASE WHEN NULL THEN 1 WHEN TRUE THEN 2 ELSE 3 END", 2), ("if(FALSE, 1, 2)", 2), ("CASE 'b' WHEN 'a' THEN 1 END", None)),
    # numbers
    _f("add", "numbers", "a + b", "Whole numbers as bigint; beyond it NULL.",
       ("1 + 2", 3), ("9223372036854775807 + 1", None), ("1.5 + 1.25", Decimal("2.75")), ("NULL + 1", None)),
    _f("subtract", "numbers", "a - b", "As addition.", ("1 - 2", -1), ("-9223372036854775807 - 2", None)),
    _f("multiply", "numbers", "a * b", "As addition; decimals in 38 digits, beyond them NULL.",
       ("3 * 4", 12), ("9223372036854775807 * 2", None), ("1.5 * 2", Decimal("3.0"))),
    _f("divide", "numbers", "a / b", "Always double; a zero divisor gives NULL.", ("7 / 2", 3.5), ("1 / 0", None), ("1.0 / 4", 0.25)),
    _f("modulo", "numbers", "a % b; mod(a, b)", "Remainder with the sign of a; a zero divisor gives NULL.",
       ("7 % 3", 1), ("-7 % 3", -1), ("7 % 0", None)),
    _f("negate", "numbers", "-a", "The opposite.", ("-(3)", -3)),
    _f("abs", "numbers", "abs(a)", "Without the sign.", ("abs(-2.5)", Decimal("2.5")), ("abs(-3)", 3)),
    _f("round", "numbers", "round(a); round(a, digits)",
       "Half away from zero. Doubles stay double, decimals keep their type; digits is a constant from 0 up.",
       ("round(2.5)", Decimal("3")), ("round(-2.5)", Decimal("-3")), ("round(CAST(1.255 AS DOUBLE), 1)", 1.3), ("round(7)", 7)),
    _f("floor", "numbers", "floor(a)", "The bigint below or at a.", ("floor(-1.5)", -2), ("floor(CAST(2.7 AS DOUBLE))", 2)),
    _f("ceil", "numbers", "ceil(a); ceiling(a)", "The bigint above or at a.", ("ceil(1.2)", 2), ("ceil(-1.5)", -1)),
    _f("greatest", "numbers", "greatest(a, b, …)", "The largest value; NULLs are passed over.",
       ("greatest(1, NULL, 3)", 3), ("greatest('a', 'b')", "b")),
    _f("least", "numbers", "least(a, b, …)", "The smallest value; NULLs are passed over.", ("least(2, NULL, 1)", 1)),
    # text
    _f("lower", "text", "lower(s); lcase(s)", "Lower case by Unicode.", ("lower('ÀB')", "àb")),
    _f("upper", "text", "upper(s); ucase(s)", "Upper case by Unicode.", ("upper('àb')", "ÀB")),
    _f("trim", "text", "trim(s)", "Without spaces (U+0020 only) at both ends.", ("trim('  a b ')", "a b"), ("trim('\t a')", "\t a")),
    _f("ltrim", "text", "ltrim(s)", "Without leading spaces.", ("ltrim('  a ')", "a ")),
    _f("rtrim", "text", "rtrim(s)", "Without trailing spaces.", ("rtrim(' a  ')", " a")),
    _f("length", "text", "length(s); char_length(s)", "Characters (code points), as int.", ("length('aß😀')", 3), ("length('')", 0)),
    _f("substring", "text", "substring(s, start); substring(s, start, n); substr(…)",
       "From a 1-based start; start and n are constants, start at least 1, n at least 0.",
       ("substring('abcdef', 2, 3)", "bcd"), ("substring('abc', 3)", "c"), ("substring('abc', 9, 1)", "")),
    _f("left", "text", "left(s, n)", "The first n characters; n is a constant.", ("left('abc', 2)", "ab"), ("left('a', 5)", "a")),
    _f("right", "text", "right(s, n)", "The last n characters; n is a constant.", ("right('abc', 2)", "bc"), ("right('a', 5)", "a")),
    _f("concat", "text", "concat(a, b, …); a || b", "One after the other; NULL when any is NULL.",
       ("concat('a', 'b')", "ab"), ("'a' || NULL", None)),
    _f("concat_ws", "text", "concat_ws(separator, a, b, …)", "Joined by a constant separator; NULLs are passed over.",
       ("concat_ws('-', 'a', NULL, 'b')", "a-b"), ("concat_ws(',', NULL)", "")),
    _f("replace", "text", "replace(s, from, to)", "Every occurrence of a constant text.",
       ("replace('a.b.c', '.', '-')", "a-b-c"), ("replace('abc', '', 'x')", "abc")),
    _f("reverse", "text", "reverse(s)", "Characters back to front.", ("reverse('abc')", "cba")),
    _f("starts_with", "text", "startswith(s, prefix)", "Begins with the text.", ("startswith('abc', 'ab')", True), ("startswith('abc', '')", True)),
    _f("ends_with", "text", "endswith(s, suffix)", "Ends with the text.", ("endswith('abc', 'bc')", True)),
    _f("contains", "text", "contains(s, part)", "Holds the text.", ("contains('abc', 'b')", True), ("contains('a.c', '.')", True), ("contains('abc', '.')", False)),
    _f("like", "text", "s LIKE pattern", "`%` any text (line ends too), `_` one character, `\\` escapes; the pattern is a constant.",
       ("'a@b.c' LIKE '%@%.%'", True), ("'ab' LIKE 'a_'", True), ("'a%' LIKE 'a\\\\%'", True), ("'ab' LIKE 'a\\\\%'", False),
       ("'a\nb' LIKE 'a%b'", True), ("'A' LIKE 'a'", False), ("NULL LIKE '%'", None), ("'a.c' LIKE 'a.c'", True), ("'abc' LIKE 'a.c'", False)),
    _f("ilike", "text", "s ILIKE pattern", "LIKE without case.", ("'ABC' ILIKE 'a%'", True)),
    _f("matches", "text", "s RLIKE pattern; regexp_like(s, pattern)",
       "The constant pattern is found somewhere in s. The portable syntax is that of RE2; `$` is the end of the text.",
       ("'abc' RLIKE 'b'", True), ("'abc' RLIKE '^b'", False), ("'abc\n' RLIKE 'c$'", False), ("'a1' RLIKE '^[a-z][0-9]$'", True)),
    _f("regexp_replace", "text", "regexp_replace(s, pattern, to)", "Every match of a constant pattern becomes a constant text, taken literally.",
       ("regexp_replace('a1b22', '[0-9]+', '#')", "a#b#")),
    _f("lpad", "text", "lpad(s, n, fill)", "Filled on the left to n characters, or cut to n; n and fill are constants.",
       ("lpad('7', 3, '0')", "007"), ("lpad('abcd', 2, '0')", "ab")),
    _f("rpad", "text", "rpad(s, n, fill)", "Filled on the right to n characters, or cut to n.", ("rpad('a', 3, '.')", "a..")),
    # dates and times
    _f("year", "dates", "year(d)", "The year of a date or timestamp (in UTC), as int.", ("year(DATE'2024-02-29')", 2024)),
    _f("month", "dates", "month(d)", "1 to 12, as int.", ("month(DATE'2024-02-29')", 2)),
    _f("day", "dates", "day(d); dayofmonth(d)", "1 to 31, as int.", ("day(DATE'2024-02-29')", 29)),
    _f("hour", "dates", "hour(t)", "0 to 23 (in UTC), as int.", ("hour(TIMESTAMP'2024-01-05 10:30:00Z')", 10)),
    _f("days_between", "dates", "datediff(end, start)", "Calendar days from start to end, as int.",
       ("datediff(DATE'2024-03-01', DATE'2024-02-28')", 2), ("datediff(DATE'2024-01-01', DATE'2024-01-02')", -1)),
    _f("date_add", "dates", "date_add(d, n); date_sub(d, n)", "The date n days later.",
       ("date_add(DATE'2024-02-28', 1)", date(2024, 2, 29)), ("date_sub(DATE'2024-03-01', 1)", date(2024, 2, 29))),
    # hashes
    _f("md5", "hashes", "md5(s)", "Lower-case hex of the UTF-8 bytes.", ("md5('a')", "0cc175b9c0f1b6a831c399e269772661")),
    _f("sha256", "hashes", "sha2(s, 256)", "Lower-case hex of the UTF-8 bytes.",
       ("sha2('a', 256)", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")),
    # conversion: examples for each pair of types stand in tests/meaning
    _f("convert", "conversion", "CAST(x AS type); TRY_CAST(x AS type); to_date(s); to_timestamp(s); int(x) …",
       "The value as another type; what cannot be converted becomes NULL.",
       ("CAST(' 12 ' AS INT)", 12), ("CAST('3.7' AS INT)", None), ("CAST('1e3' AS DOUBLE)", 1000.0), ("CAST('yes' AS BOOLEAN)", True),
       ("CAST('2024-02-30' AS DATE)", None), ("CAST('20240105' AS DATE)", date(2024, 1, 5)), ("CAST('1.005' AS DECIMAL(5,2))", None),
       ("CAST(3.0 AS INT)", 3), ("CAST(3.5 AS INT)", None), ("CAST(1.50 AS STRING)", "1.50"), ("CAST(TRUE AS STRING)", "true")),
    # aggregates: only in rollups and GROUP BY; NULLs are passed over
    _agg("count_all", "count(*)", "Rows."),
    _agg("count", "count(x)", "Values that are not NULL."),
    _agg("count_distinct", "count(DISTINCT x)", "Different values that are not NULL."),
    _agg("sum", "sum(x)", "Whole numbers as bigint, decimals as decimal(38, s), doubles as double; NULL over nothing."),
    _agg("avg", "avg(x); mean(x)", "Always double; NULL over nothing."),
    _agg("min", "min(x)", "The smallest value."),
    _agg("max", "max(x)", "The largest value."),
    _agg("any_true", "bool_or(x); any(x)", "TRUE when any value is TRUE."),
    _agg("every_true", "bool_and(x); every(x)", "FALSE when any value is FALSE."),
    _agg("collect_list", "collect_list(x)", "All values that are not NULL, as an array in ascending order."),
    _agg("collect_set", "collect_set(x)", "The different values that are not NULL, as an array in ascending order."),
    # made by the plan, never written by people
    _internal("bits", "Up to 60 booleans (never NULL) as a bigint: argument i sets bit i."),
    _internal("texts_where", "flag0, text0, flag1, text1, …: an array of the texts whose flag is TRUE; NULL when none is."),
    _internal("entries_where", "flag0, key0, value0, …: map<string,string> of the entries whose flag is TRUE (value may be NULL); NULL when none is."),
    _internal("row_json", "name0, value0, …: one JSON object as text with every name in order; values are strings (JSON strings or null), never dropped."),
    _internal("bit_is_set", "bits, constant index: TRUE when that bit of a bigint is set."),
)  # fmt: skip

CATALOGUE: dict[str, Function] = {function.name: function for function in _ALL}
