"""Text: case, blanks, parts, patterns, hashes."""

from __future__ import annotations

from lakelogic.sql.arguments import (
    Args,
    Builder,
    Signatures,
    constant,
    constant_text,
    portable_pattern,
    refuse,
    text_function,
    whole,
)
from lakelogic.sql.catalogue.row import scalar
from lakelogic.sql.coerce import text
from lakelogic.sql.expressions import Call, Expression, Literal
from lakelogic.sql.problems import BAD_ARGUMENTS
from lakelogic.sql.types import BOOLEAN, INT, STRING

FUNCTIONS = (
    # text
    scalar("lower", "text", "lower(s); lcase(s)", "Lower case by Unicode.", ("lower('ÀB')", "àb")),
    scalar("upper", "text", "upper(s); ucase(s)", "Upper case by Unicode.", ("upper('àb')", "ÀB")),
    scalar("trim", "text", "trim(s)", "Without spaces (U+0020 only) at both ends.", ("trim('  a b ')", "a b"), ("trim('\t a')", "\t a")),
    scalar("ltrim", "text", "ltrim(s)", "Without leading spaces.", ("ltrim('  a ')", "a ")),
    scalar("rtrim", "text", "rtrim(s)", "Without trailing spaces.", ("rtrim(' a  ')", " a")),
    scalar("length", "text", "length(s); char_length(s)", "Characters (code points), as int.", ("length('aß😀')", 3), ("length('')", 0)),
    scalar("substring", "text", "substring(s, start); substring(s, start, n); substr(…)",
       "From a 1-based start; start and n are constants, start at least 1, n at least 0.",
       ("substring('abcdef', 2, 3)", "bcd"), ("substring('abc', 3)", "c"), ("substring('abc', 9, 1)", "")),
    scalar("left", "text", "left(s, n)", "The first n characters; n is a constant.", ("left('abc', 2)", "ab"), ("left('a', 5)", "a")),
    scalar("right", "text", "right(s, n)", "The last n characters; n is a constant.", ("right('abc', 2)", "bc"), ("right('a', 5)", "a")),
    scalar("concat", "text", "concat(a, b, …); a || b", "One after the other; NULL when any is NULL.",
       ("concat('a', 'b')", "ab"), ("'a' || NULL", None)),
    scalar("concat_ws", "text", "concat_ws(separator, a, b, …)", "Joined by a constant separator; NULLs are passed over.",
       ("concat_ws('-', 'a', NULL, 'b')", "a-b"), ("concat_ws(',', NULL)", "")),
    scalar("replace", "text", "replace(s, from, to)", "Every occurrence of a constant text.",
       ("replace('a.b.c', '.', '-')", "a-b-c"), ("replace('abc', '', 'x')", "abc")),
    scalar("reverse", "text", "reverse(s)", "Characters back to front.", ("reverse('abc')", "cba")),
    scalar("starts_with", "text", "startswith(s, prefix)", "Begins with the text.", ("startswith('abc', 'ab')", True), ("startswith('abc', '')", True)),
    scalar("ends_with", "text", "endswith(s, suffix)", "Ends with the text.", ("endswith('abc', 'bc')", True)),
    scalar("contains", "text", "contains(s, part)", "Holds the text.", ("contains('abc', 'b')", True), ("contains('a.c', '.')", True), ("contains('abc', '.')", False)),
    scalar("like", "text", "s LIKE pattern", "`%` any text (line ends too), `_` one character, `\\` escapes; the pattern is a constant.",
       ("'a@b.c' LIKE '%@%.%'", True), ("'ab' LIKE 'a_'", True), ("'a%' LIKE 'a\\\\%'", True), ("'ab' LIKE 'a\\\\%'", False),
       ("'a\nb' LIKE 'a%b'", True), ("'A' LIKE 'a'", False), ("NULL LIKE '%'", None), ("'a.c' LIKE 'a.c'", True), ("'abc' LIKE 'a.c'", False)),
    scalar("ilike", "text", "s ILIKE pattern", "LIKE without case.", ("'ABC' ILIKE 'a%'", True)),
    scalar("matches", "text", "s RLIKE pattern; regexp_like(s, pattern)",
       "The constant pattern is found somewhere in s. The portable syntax is that of RE2; `$` is the end of the text.",
       ("'abc' RLIKE 'b'", True), ("'abc' RLIKE '^b'", False), ("'abc\n' RLIKE 'c$'", False), ("'a1' RLIKE '^[a-z][0-9]$'", True)),
    scalar("regexp_replace", "text", "regexp_replace(s, pattern, to)", "Every match of a constant pattern becomes a constant text, taken literally.",
       ("regexp_replace('a1b22', '[0-9]+', '#')", "a#b#")),
    scalar("lpad", "text", "lpad(s, n, fill)", "Filled on the left to n characters, or cut to n; n and fill are constants.",
       ("lpad('7', 3, '0')", "007"), ("lpad('abcd', 2, '0')", "ab")),
    scalar("rpad", "text", "rpad(s, n, fill)", "Filled on the right to n characters, or cut to n.", ("rpad('a', 3, '.')", "a..")),
    # hashes
    scalar("md5", "hashes", "md5(s)", "Lower-case hex of the UTF-8 bytes.", ("md5('a')", "0cc175b9c0f1b6a831c399e269772661")),
    scalar("sha256", "hashes", "sha2(s, 256)", "Lower-case hex of the UTF-8 bytes.",
       ("sha2('a', 256)", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")),
)  # fmt: skip


def _substring(a: Args) -> Expression:
    start = whole(a[1], "substring's start", 1)
    size = (whole(a[2], "substring's length", 0),) if len(a) > 2 else ()
    return Call("substring", (text(a[0]), start, *size), STRING)


def _ends(name: str) -> Builder:
    return lambda a: Call(name, (text(a[0]), whole(a[1], f"{name}'s length", 0)), STRING)


def _concat_ws(a: Args) -> Expression:
    return Call("concat_ws", (constant_text(a[0], "concat_ws's separator"), *(text(v) for v in a[1:])), STRING)


def _replace(a: Args) -> Expression:
    to = constant_text(a[2], "replace's new text") if len(a) > 2 else Literal("", STRING)
    return Call("replace", (text(a[0]), constant_text(a[1], "replace's old text"), to), STRING)


def matches(subject: Expression, pattern: Expression) -> Expression:
    """A regular expression that is found somewhere in the text."""
    return Call("matches", (text(subject), portable_pattern(pattern)), BOOLEAN)


def like(name: str, subject: Expression, pattern: Expression, escape: str | None = None) -> Expression:
    """LIKE or ILIKE, with the escape character written as a backslash."""
    written = str(constant_text(pattern, f"the pattern of {name.upper()}").value)
    if escape is not None and escape != "\\":
        if len(escape) != 1:
            raise refuse(BAD_ARGUMENTS, "ESCAPE takes one character.")
        written = written.replace("\\", "\\\\").replace(escape * 2, "\0").replace(escape, "\\").replace("\0", escape)
    return Call(name, (text(subject), Literal(written, STRING)), BOOLEAN)


def _regexp_replace(a: Args) -> Expression:
    return Call(
        "regexp_replace",
        (text(a[0]), portable_pattern(a[1]), constant_text(a[2], "the new text")),
        STRING,
    )


def _pad(name: str) -> Builder:
    def build(a: Args) -> Expression:
        fill = constant_text(a[2], f"{name}'s fill") if len(a) > 2 else Literal(" ", STRING)
        if fill.value == "":
            raise refuse(BAD_ARGUMENTS, f"{name}'s fill must not be empty.")
        return Call(name, (text(a[0]), whole(a[1], f"{name}'s length", 0), fill), STRING)

    return build


def _sha2(a: Args) -> Expression:
    if constant(a[1], "sha2's length") not in (256, 0):
        raise refuse(BAD_ARGUMENTS, "Only sha2(x, 256) is portable.", "write sha2(x, 256)")
    return Call("sha256", (text(a[0]),), STRING)


SIGNATURES: Signatures = {
    "lower": (1, 1, text_function("lower")),
    "lcase": (1, 1, text_function("lower")),
    "upper": (1, 1, text_function("upper")),
    "ucase": (1, 1, text_function("upper")),
    "trim": (1, 1, text_function("trim")),
    "ltrim": (1, 1, text_function("ltrim")),
    "rtrim": (1, 1, text_function("rtrim")),
    "length": (1, 1, text_function("length", INT)),
    "len": (1, 1, text_function("length", INT)),
    "char_length": (1, 1, text_function("length", INT)),
    "character_length": (1, 1, text_function("length", INT)),
    "substring": (2, 3, _substring),
    "substr": (2, 3, _substring),
    "left": (2, 2, _ends("left")),
    "right": (2, 2, _ends("right")),
    "concat": (1, None, text_function("concat")),
    "concat_ws": (2, None, _concat_ws),
    "replace": (2, 3, _replace),
    "reverse": (1, 1, text_function("reverse")),
    "startswith": (2, 2, text_function("starts_with", BOOLEAN)),
    "starts_with": (2, 2, text_function("starts_with", BOOLEAN)),
    "endswith": (2, 2, text_function("ends_with", BOOLEAN)),
    "ends_with": (2, 2, text_function("ends_with", BOOLEAN)),
    "contains": (2, 2, text_function("contains", BOOLEAN)),
    "regexp_like": (2, 2, lambda a: matches(a[0], a[1])),
    "rlike": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp_replace": (3, 3, _regexp_replace),
    "lpad": (2, 3, _pad("lpad")),
    "rpad": (2, 3, _pad("rpad")),
    "md5": (1, 1, lambda a: Call("md5", (text(a[0]),), STRING)),
    "sha2": (2, 2, _sha2),
}
