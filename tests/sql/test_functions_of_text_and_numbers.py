"""Functions of text and numbers: their types, the ways they are written, and what is refused."""

from __future__ import annotations

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.functions import CATALOGUE
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.signatures import FORBIDDEN_FUNCTIONS, REFUSED, SIGNATURES, UNSTABLE_FUNCTIONS
from lakelogic.sql.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, STRING, array, decimal

COLUMNS = {"s": STRING, "n": INT, "d": DOUBLE, "f": FLOAT, "m": decimal(10, 2), "b": BINARY, "day": DATE, "ok": BOOLEAN}
GROUPS = (
    "comparison",
    "logic",
    "nulls",
    "conditions",
    "conversion",
    "numbers",
    "reals",
    "bits",
    "text",
    "hashes",
    "bytes",
)


def problem(text: str) -> tuple[str, str, str]:
    with pytest.raises(SqlProblems) as caught:
        bind(text, COLUMNS)
    first = caught.value.problems[0]
    return first.code, first.message, first.hint or ""


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("n div 2", BIGINT), ("m % 3", decimal(12, 2)), ("d % 3", DOUBLE), ("n % 3", BIGINT), ("round(n, -1)", BIGINT),
        ("round(m)", decimal(11, 2)), ("round(m, 2)", decimal(10, 2)), ("round(f, 1)", DOUBLE), ("sqrt(m)", DOUBLE),
        ("n & 3", BIGINT), ("bit_count(n)", INT), ("shiftleft(n, 1)", BIGINT), ("sign(m)", DOUBLE), ("power(n, 2)", DOUBLE),
        ("split(s, ',')", array(STRING)), ("regexp_extract_all(s, '(a)')", array(STRING)), ("length(b)", INT),
        ("instr(s, 'a')", INT), ("unhex(s)", BINARY), ("hex(n)", STRING), ("crc32(s)", BIGINT), ("encode(s, 'UTF-8')", BINARY),
        ("decode(b, 'UTF-8')", STRING), ("decode(n, 1, 'a', 'b')", STRING), ("levenshtein(s, 'a')", INT), ("X'6162'", BINARY),
        ("format_number(d, 2)", STRING), ("zeroifnull(m)", decimal(12, 2)), ("nanvl(d, 0)", DOUBLE), ("pi()", DOUBLE),
    ],
)  # fmt: skip
def test_the_type_of_a_function_is_settled(text: str, type_: object) -> None:
    assert bind(text, COLUMNS).type == type_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("position('a' IN s)", "instr(s, 'a')"), ("locate('a', s)", "charindex('a', s)"), ("trim(BOTH 'x' FROM s)", "btrim(s, 'x')"),
        ("trim(LEADING 'x' FROM s)", "ltrim('x', s)"), ("substring(s FROM 2 FOR 3)", "substr(s, 2, 3)"), ("s LIKE ANY ('a', 'b')", "s LIKE 'a' OR s LIKE 'b'"),
        ("s NOT LIKE ALL ('a', 'b')", "NOT (s LIKE 'a') AND NOT (s LIKE 'b')"), ("overlay(s PLACING 'x' FROM 2)", "overlay(s, 'x', 2)"),
        ("equal_null(s, 'a')", "s <=> 'a'"), ("iff(ok, 1, 2)", "if(ok, 1, 2)"), ("mod(n, 3)", "n % 3"), ("shiftleft(n, 2)", "n << 2"),
        ("sha(s)", "sha1(s)"), ("sha2(s, 0)", "sha2(s, 256)"), ("log(10, d)", "log10(d)"), ("log(d)", "ln(d)"), ("pow(d, 2)", "power(d, 2)"),
        ("try_add(n, 1)", "n + 1"), ("char(n)", "chr(n)"), ("space(3)", "repeat(' ', 3)"), ("s RLIKE ANY ('a', 'b')", "s RLIKE 'a' OR s RLIKE 'b'"),
    ],
)  # fmt: skip
def test_ways_of_writing_the_same(one: str, other: str) -> None:
    assert bind(one, COLUMNS) == bind(other, COLUMNS)


@pytest.mark.parametrize(
    ("text", "code", "says", "hint"),
    [
        ("hash(s)", "LL-C204", "`hash`", "sha2(x, 256)"), ("mask(s)", "LL-C204", "`mask`", "masking"),
        ("printf('%d', n)", "LL-C204", "`printf`", "format_number"), ("to_number(s, '999')", "LL-C204", "`to_number`", "CAST"),
        ("uuid()", "LL-C202", "`uuid`", "re-run"), ("d div 2", "LL-C206", "whole numbers", "CAST"), ("m & 1", "LL-C206", "whole numbers", "CAST"),
        ("n & 1 | 2", "LL-C205", "Different bit operators", "brackets"), ("sha2(s, 100)", "LL-C205", "no length 100", "256"),
        ("encode(s, 'UTF-16')", "LL-C205", "UTF-16", "UTF-8"), ("round(d, n)", "LL-C205", "must be a constant", "value itself"),
        ("substring(s)", "LL-C205", "`substring` takes 2 to 3 arguments, not 1.", ""), ("translate(s, s, 'a')", "LL-C205", "must be a constant", ""),
        ("s LIKE s", "LL-C205", "must be a constant", ""), ("sqrt(day)", "LL-C206", "needs numbers", ""),
        ("iff(n, 1, 2)", "LL-C206", "must be a condition", ""), ("truncate(d, 6)", "LL-C205", "at most 5 decimals", "DECIMAL"), ("round(n, -19)", "LL-C205", "-18 to 38", ""),
        ("hex(m)", "LL-C206", "whole numbers, text or bytes", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_a_way_out(text: str, code: str, says: str, hint: str) -> None:
    found, message, way = problem(text)
    assert found == code
    assert says in message
    assert hint in way


def test_no_function_is_both_available_and_refused() -> None:
    available = set(SIGNATURES)
    assert not available & set(REFUSED)
    assert not available & (FORBIDDEN_FUNCTIONS | UNSTABLE_FUNCTIONS)


def test_every_function_of_these_subjects_has_worked_examples() -> None:
    rows = [f for f in CATALOGUE.values() if f.group in GROUPS]
    assert len(rows) >= 110
    few = [f.name for f in rows if len(f.examples) < 2]
    assert set(few) <= {"pi", "e"}  # there is but one way to write them
