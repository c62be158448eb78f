"""Patterns in text: LIKE and regular expressions."""

from __future__ import annotations

from lakelogic.sql.arguments import Args, Signatures, constant_text, portable_pattern, refuse, whole
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import text
from lakelogic.sql.expressions import Call, Expression, Literal
from lakelogic.sql.pattern_tree import Pattern
from lakelogic.sql.patterns import NotPortable, parse, replacement
from lakelogic.sql.problems import BAD_ARGUMENTS
from lakelogic.sql.types import BOOLEAN, INT, STRING, array

FUNCTIONS = (
    scalar("like", "text", "s LIKE pattern; s LIKE pattern ESCAPE '!'", "`%` any text (line ends too), `_` one character, `\\` escapes; the pattern is a constant.",
       ("'a@b.c' LIKE '%@%.%'", True), ("'ab' LIKE 'a_'", True), ("'a%' LIKE 'a\\\\%'", True), ("'ab' LIKE 'a\\\\%'", False),
       ("'a\nb' LIKE 'a%b'", True), ("'A' LIKE 'a'", False), ("NULL LIKE '%'", None), ("'a.c' LIKE 'a.c'", True), ("'abc' LIKE 'a.c'", False)),
    scalar("ilike", "text", "s ILIKE pattern", "LIKE without case.", ("'ABC' ILIKE 'a%'", True), ("'ABC' NOT ILIKE 'b%'", True)),
    composed("like_any", "text", "s LIKE ANY (a, b, …); s LIKE SOME (…); s ILIKE ANY (…)", "Like at least one of the patterns.",
       ("'abc' LIKE ANY ('x%', 'a%')", True), ("'abc' LIKE ANY ('x%', 'y%')", False), ("'abc' NOT LIKE ANY ('x%', 'a%')", True), ("'abc' NOT LIKE ALL ('x%', 'a%')", False), ("NULL LIKE ANY ('a')", None)),
    composed("like_all", "text", "s LIKE ALL (a, b, …); s ILIKE ALL (…)", "Like every one of the patterns.",
       ("'abc' LIKE ALL ('a%', '%c')", True), ("'abc' LIKE ALL ('a%', 'x%')", False), ("'ABC' ILIKE ALL ('a%')", True)),
    scalar("matches", "text", "s RLIKE pattern; regexp_like(s, pattern); regexp(s, pattern); s RLIKE ANY (a, b)",
       "The constant pattern is found somewhere in s. The portable syntax is that of RE2: groups, classes, `\\p{L}`, counts up to 1000, the flags i, m and s; "
       "`\\d`, `\\w`, `\\s` and `\\b` are ASCII; `.` is any character but a line feed; `$` is the end of the text.",
       ("'abc' RLIKE 'b'", True), ("'abc' RLIKE '^b'", False), ("'abc\n' RLIKE 'c$'", False), ("'a1' RLIKE '^[a-z][0-9]$'", True),
       ("'ÉA' RLIKE '(?i)éa'", True), ("'٣' RLIKE '\\\\d'", False), ("'a\nb' RLIKE 'a.b'", False), ("'a\nb' RLIKE '(?m)^b$'", True)),
    scalar("regexp_replace", "text", "regexp_replace(s, pattern, to)",
       "Every match of a constant pattern becomes a constant text, in which `$1` stands for a group, `$0` for the whole match and `\\$` for the sign itself.",
       ("regexp_replace('a1b22', '[0-9]+', '#')", "a#b#"), ("regexp_replace('ab', '(a)(b)', '$2$1')", "ba"), ("regexp_replace('abc', 'b*', '-')", "-a--c-"),
       ("regexp_replace('5', '5', '\\\\$5')", "$5")),
    scalar("regexp_extract", "text", "regexp_extract(s, pattern); regexp_extract(s, pattern, group)",
       "A group (1 unless given, 0 is the whole match) of the first match; '' when nothing matches or the group takes no part.",
       ("regexp_extract('order 66-7', '([0-9]+)-([0-9]+)')", "66"), ("regexp_extract('order 66-7', '([0-9]+)-([0-9]+)', 2)", "7"), ("regexp_extract('x', '([0-9])')", "")),
    scalar("regexp_extract_all", "text", "regexp_extract_all(s, pattern); regexp_extract_all(s, pattern, group)", "A group (1 unless given) of every match, as an array.",
       ("regexp_extract_all('a1b2', '([a-z])([0-9])', 2)", ["1", "2"]), ("regexp_extract_all('a1b2', '[0-9]', 0)", ["1", "2"]), ("regexp_extract_all('x', '([0-9])')", [])),
    scalar("regexp_count", "text", "regexp_count(s, pattern)", "How many matches there are.", ("regexp_count('a1b22', '[0-9]')", 3), ("regexp_count('abc', 'b*')", 4), ("regexp_count('', 'a')", 0)),
    scalar("regexp_instr", "text", "regexp_instr(s, pattern)", "Where the first match begins, from 1; 0 when nothing matches.", ("regexp_instr('😀b1', '[0-9]')", 3), ("regexp_instr('abc', 'x')", 0)),
    scalar("regexp_substr", "text", "regexp_substr(s, pattern)", "The first match; NULL when nothing matches.", ("regexp_substr('a12b', '[0-9]+')", "12"), ("regexp_substr('ab', '[0-9]+')", None)),
    scalar("split", "text", "split(s, pattern); split(s, pattern, limit)",
       "The pieces between matches of a constant pattern, as an array, empty ones included; with a limit above 0, at most so many. The empty pattern gives single characters.",
       ("split('a1b22c', '[0-9]+')", ["a", "b", "c"]), ("split('a,b,', ',')", ["a", "b", ""]), ("split('a,b,c', ',', 2)", ["a", "b,c"]), ("split('', ',')", [""]), ("split('aé😀', '')", ["a", "é", "😀"])),
)  # fmt: skip


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


def _cut(value: Expression, *, python: bool = False) -> tuple[Literal, Pattern]:
    """A pattern whose matches are cut out: engines must agree in where each begins and ends."""
    literal = portable_pattern(value)
    written = str(literal.value)
    tree = parse(written)
    if tree.repeats_the_empty:
        raise refuse(
            BAD_ARGUMENTS,
            f"The pattern `{written}` repeats a part that can be empty.",
            "engines differ in what such a repeat takes: write `a*` instead of `(a*)*`",
        )
    if python and tree.scripts:
        raise refuse(
            BAD_ARGUMENTS, f"Scripts in the pattern `{written}` are not available here.", "use a category: \\p{L}"
        )
    return literal, tree


def _replace(a: Args) -> Expression:
    pattern, tree = _cut(a[1])
    if tree.can_be_empty:
        _cut(a[1], python=True)
    new = constant_text(a[2], "the new text")
    try:
        replacement(str(new.value), str(pattern.value))
    except NotPortable as reason:
        raise refuse(BAD_ARGUMENTS, f"The new text `{new.value!s}` cannot be used: {reason}.") from None
    return Call("regexp_replace", (text(a[0]), pattern, new), STRING)


def _group(a: Args, tree: Pattern) -> Literal:
    number = whole(a[2], "the group", 0) if len(a) > 2 else Literal(1, INT)
    assert isinstance(number.value, int)
    if number.value > tree.groups:
        raise refuse(
            BAD_ARGUMENTS,
            f"The pattern has {tree.groups} groups; group {number.value} is not among them.",
            "write brackets around what is wanted, or take group 0, the whole match",
        )
    return number


def _extract(a: Args) -> Expression:
    pattern, tree = _cut(a[1])
    return Call("regexp_extract", (text(a[0]), pattern, _group(a, tree)), STRING)


def _extract_all(a: Args) -> Expression:
    pattern, tree = _cut(a[1], python=True)
    return Call("regexp_extract_all", (text(a[0]), pattern, _group(a, tree)), array(STRING))


def _count(a: Args) -> Expression:
    return Call("regexp_count", (text(a[0]), _cut(a[1], python=True)[0]), INT)


def _split(a: Args) -> Expression:
    pattern, tree = _cut(a[1], python=True)
    most = whole(a[2], "the limit", -1) if len(a) > 2 else Literal(-1, INT)
    if tree.can_be_empty and (pattern.value != "" or most.value not in (-1, 0)):
        raise refuse(
            BAD_ARGUMENTS,
            f"split's pattern `{pattern.value!s}` can match the empty text.",
            "write one that takes at least a character, or '' for single characters",
        )
    return Call("split", (text(a[0]), pattern, most), array(STRING))


SIGNATURES: Signatures = {
    "regexp_like": (2, 2, lambda a: matches(a[0], a[1])),
    "rlike": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp_matches": (2, 2, lambda a: matches(a[0], a[1])),
    "like": (2, 2, lambda a: like("like", a[0], a[1])),
    "ilike": (2, 2, lambda a: like("ilike", a[0], a[1])),
    "regexp_replace": (3, 3, _replace),
    "regexp_extract": (2, 3, _extract),
    "regexp_extract_all": (2, 3, _extract_all),
    "regexp_count": (2, 2, _count),
    "regexp_instr": (2, 2, lambda a: Call("regexp_instr", (text(a[0]), _cut(a[1])[0]), INT)),
    "regexp_substr": (2, 2, lambda a: Call("regexp_substr", (text(a[0]), _cut(a[1])[0]), STRING)),
    "split": (2, 3, _split),
}
