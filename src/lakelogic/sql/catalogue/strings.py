"""Text: case, blanks, parts. Patterns stand in `matching.py`, bytes and hashes in `octets.py`."""

from __future__ import annotations

from lakelogic.sql.arguments import (
    Args,
    Builder,
    Signatures,
    bounded,
    case,
    constant_text,
    refuse,
    text_function,
    whole,
)
from lakelogic.sql.catalogue import matching, octets
from lakelogic.sql.catalogue.matching import like, matches
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import in_one_column, number, text
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_TYPES
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, array, decimal

FUNCTIONS = (
    scalar("lower", "text", "lower(s); lcase(s)", "Lower case by Unicode.", ("lower('ÀB')", "àb"), ("lower('ΑΣ')", "ας")),
    scalar("upper", "text", "upper(s); ucase(s)", "Upper case by Unicode.", ("upper('àb')", "ÀB"), ("upper('straße')", "STRASSE")),
    scalar("initcap", "text", "initcap(s)", "Lower case, but the first character of every word in upper case; words are parted by spaces.", ("initcap('hELLO wORLD')", "Hello World"), ("initcap('o''neil-smith')", "O'neil-smith"), ("initcap('')", "")),
    scalar("trim", "text", "trim(s); trim(BOTH chars FROM s); btrim(s); btrim(s, chars)", "Without spaces (U+0020 only), or without any of the given characters, at both ends.",
       ("trim('  a b ')", "a b"), ("trim('\t a')", "\t a"), ("trim(BOTH 'xy' FROM 'yxaxy')", "a"), ("btrim('..a.', '.')", "a"), ("btrim('a', '')", "a")),
    scalar("ltrim", "text", "ltrim(s); ltrim(chars, s); trim(LEADING chars FROM s)", "Without leading spaces, or the given characters.", ("ltrim('  a ')", "a "), ("ltrim('0', '007')", "7"), ("trim(LEADING '0' FROM '0070')", "70")),
    scalar("rtrim", "text", "rtrim(s); rtrim(chars, s); trim(TRAILING chars FROM s)", "Without trailing spaces, or the given characters.", ("rtrim(' a  ')", " a"), ("trim(TRAILING '0' FROM '0070')", "007")),
    scalar("length", "text", "length(s); len(s); char_length(s); character_length(s)", "Characters (code points), as int; of bytes their number.", ("length('aß😀')", 3), ("length('')", 0)),
    scalar("substring", "text", "substring(s, start); substring(s, start, n); substr(…); substring(s FROM start FOR n)",
       "From a start that counts from 1, or from the end when negative; 0 is read as 1. A start before the text takes what of the n characters lies in it; a negative n takes nothing.",
       ("substring('abcdef', 2, 3)", "bcd"), ("substring('abc', 3)", "c"), ("substring('abc', 9, 1)", ""), ("substring('abc', -2)", "bc"), ("substring('abc', -5, 3)", "a"), ("substring('abc', 0, 2)", "ab"), ("substring('abc', 2, -1)", "")),
    scalar("left", "text", "left(s, n)", "The first n characters; none when n is not above 0.", ("left('abc', 2)", "ab"), ("left('a', 5)", "a"), ("left('abc', -1)", "")),
    scalar("right", "text", "right(s, n)", "The last n characters; none when n is not above 0.", ("right('abc', 2)", "bc"), ("right('a', 5)", "a"), ("right('abc', 0)", "")),
    scalar("concat", "text", "concat(a, b, …); a || b", "One after the other; NULL when any is NULL.",
       ("concat('a', 'b')", "ab"), ("'a' || NULL", None)),
    scalar("concat_ws", "text", "concat_ws(separator, a, b, …)", "Joined by the separator; NULLs are passed over, arrays of text are joined item by item.",
       ("concat_ws('-', 'a', NULL, 'b')", "a-b"), ("concat_ws(',', NULL)", ""), ("concat_ws(NULL, 'a')", None), ("concat_ws('+', split('a,b', ','), 'c')", "a+b+c")),
    scalar("replace", "text", "replace(s, from, to); replace(s, from)", "Every occurrence of a text; an empty one occurs nowhere.",
       ("replace('a.b.c', '.', '-')", "a-b-c"), ("replace('abc', '', 'x')", "abc"), ("replace('abab', 'b')", "aa")),
    scalar("translate", "text", "translate(s, from, to)", "Each character of `from` becomes the one at its place in `to`, or goes when there is none; both are constants.", ("translate('a-b-c', '-b', '_')", "a__c"), ("translate('aAa', 'aa', 'xy')", "xAx")),
    scalar("reverse", "text", "reverse(s)", "Characters back to front.", ("reverse('abc')", "cba"), ("reverse('a😀')", "😀a")),
    scalar("repeat", "text", "repeat(s, n)", "n times the text.", ("repeat('ab', 3)", "ababab"), ("repeat('a', -1)", "")),
    composed("space", "text", "space(n)", "n spaces.", ("space(3)", "   "), ("space(0)", "")),
    scalar("lpad", "text", "lpad(s, n); lpad(s, n, fill)", "Filled on the left (with spaces unless told) to n characters, or cut to n.",
       ("lpad('7', 3, '0')", "007"), ("lpad('abcd', 2, '0')", "ab"), ("lpad('a', 3, '')", "a"), ("lpad('a', CAST(NULL AS int), 'x')", None), ("lpad('a', 3, NULL)", None)),
    scalar("rpad", "text", "rpad(s, n); rpad(s, n, fill)", "Filled on the right to n characters, or cut to n.", ("rpad('a', 3, '.')", "a.."), ("rpad('a', 3)", "a  ")),
    composed("overlay", "text", "overlay(s PLACING new FROM start FOR n); overlay(s, new, start, n)", "The text with n characters (as many as the new text has, unless told) from a start replaced.",
       ("overlay('abcdef' PLACING 'X' FROM 3 FOR 2)", "abXef"), ("overlay('abcdef', 'XY', 2)", "aXYdef"), ("overlay('abc', 'X', 2, 0)", "aXbc")),
    scalar("position", "text", "position(part IN s); instr(s, part); locate(part, s, start); charindex(part, s, start)",
       "Where a text first occurs, from 1, at or after a start; 0 when it does not. The empty text occurs at 1.",
       ("position('b' IN 'abcb')", 2), ("instr('😀éb', 'b')", 3), ("locate('b', 'abcb', 3)", 4), ("charindex('x', 'abc')", 0), ("instr('abc', '')", 1), ("locate('b', 'abc', 0)", 0)),
    scalar("split_part", "text", "split_part(s, separator, n)", "The n-th piece, from the end when n is negative; '' beyond the last, NULL for 0. An empty separator parts nothing.",
       ("split_part('a,b,c', ',', 2)", "b"), ("split_part('a,b,c', ',', -1)", "c"), ("split_part('a,b', ',', 5)", ""), ("split_part('a', ',', 0)", None), ("split_part('abc', '', 1)", "abc")),
    scalar("substring_index", "text", "substring_index(s, separator, n)", "All before the n-th separator, or after the n-th from the end when n is negative; the whole text when there are fewer.",
       ("substring_index('www.a.org', '.', 2)", "www.a"), ("substring_index('www.a.org', '.', -2)", "a.org"), ("substring_index('abc', '.', 1)", "abc"), ("substring_index('a.b', '.', 0)", "")),
    scalar("ascii", "text", "ascii(s)", "The code point of the first character; 0 for an empty text.", ("ascii('A')", 65), ("ascii('😀x')", 128512), ("ascii('')", 0)),
    scalar("chr", "text", "chr(n); char(n)", "The character with a code point; NULL when there is none.", ("chr(65)", "A"), ("chr(8364)", "€"), ("chr(-1)", None), ("chr(55296)", None)),
    scalar("levenshtein", "text", "levenshtein(a, b); levenshtein(a, b, most)", "How many characters must be changed, added or removed; -1 when that is more than `most`.", ("levenshtein('kitten', 'sitting')", 3), ("levenshtein('é', 'e')", 1), ("levenshtein('abc', 'xyz', 2)", -1)),
    scalar("soundex", "text", "soundex(s)", "Four characters for how a word sounds in English; a text that does not begin with A to Z stays as it is.", ("soundex('Robert')", "R163"), ("soundex('Tymczak')", "T522"), ("soundex('Pfister')", "P236"), ("soundex('123')", "123")),
    scalar("luhn_check", "text", "luhn_check(s)", "Whether a text of digits only ends in its Luhn check digit.", ("luhn_check('79927398713')", True), ("luhn_check('79927398714')", False), ("luhn_check('')", False)),
    scalar("find_in_set", "text", "find_in_set(s, list)", "The place of a text among texts parted by commas, from 1; 0 when it is not there or holds a comma.", ("find_in_set('b', 'a,b,c')", 2), ("find_in_set('x', 'a,b')", 0), ("find_in_set('a,b', 'a,b')", 0)),
    composed("elt", "text", "elt(n, a, b, …)", "The n-th of the values; NULL when there is none.", ("elt(2, 'a', 'b')", "b"), ("elt(3, 'a', 'b')", None)),
    scalar("format_number", "text", "format_number(n, digits)", "With so many decimals (a constant from 0 up), half to even, and commas between thousands.",
       ("format_number(1234567.885, 2)", "1,234,567.88"), ("format_number(-1234, 0)", "-1,234"), ("format_number(CAST(0.5 AS DOUBLE), 1)", "0.5"), ("format_number(-0.4, 0)", "0")),
    scalar("starts_with", "text", "startswith(s, prefix); starts_with(s, prefix)", "Begins with the text.", ("startswith('abc', 'ab')", True), ("startswith('abc', '')", True)),
    scalar("ends_with", "text", "endswith(s, suffix); ends_with(s, suffix)", "Ends with the text.", ("endswith('abc', 'bc')", True), ("endswith('abc', 'b')", False)),
    scalar("contains", "text", "contains(s, part)", "Holds the text.", ("contains('abc', 'b')", True), ("contains('a.c', '.')", True), ("contains('abc', '.')", False)),
    *matching.FUNCTIONS,
    *octets.FUNCTIONS,
)  # fmt: skip


def count(value: Expression, what: str) -> Expression:
    """A number of characters, or a place among them, as int."""
    converted = number(value, what)
    return convert(converted, INT)


def _trimmed(name: str, subject: Expression, characters: Expression | None) -> Expression:
    return Call(name, (text(subject), *((text(characters),) if characters is not None else ())), STRING)


def trim(name: str, subject: Expression, characters: Expression | None) -> Expression:
    """`trim`, `ltrim` or `rtrim`, of spaces or of given characters."""
    return _trimmed(name, subject, characters)


def substring(a: Args) -> Expression:
    """Part of a text, by place and size."""
    return Call("substring", (text(a[0]), *(count(value, "substring") for value in a[1:])), STRING)


def overlay(a: Args) -> Expression:
    """Part of a text replaced by another text."""
    subject, new, start = text(a[0]), text(a[1]), count(a[2], "overlay")
    size = count(a[3], "overlay") if len(a) > 3 else Call("length", (new,), INT)
    single, wide = Literal(1, BIGINT), convert(start, BIGINT)
    before = Call("left", (subject, convert(Call("subtract", (wide, single), BIGINT), INT)), STRING)
    after = convert(Call("add", (wide, convert(size, BIGINT)), BIGINT), INT)
    return Call("concat", (before, new, Call("substring", (subject, after), STRING)), STRING)


def position(part: Expression, subject: Expression, start: Expression | None = None) -> Expression:
    """Where a text occurs in another."""
    begin = count(start, "position") if start is not None else Literal(1, INT)
    return Call("position", (text(part), text(subject), begin), INT)


def _ends(name: str) -> Builder:
    return lambda a: Call(name, (text(a[0]), count(a[1], name)), STRING)


def _length(a: Args) -> Expression:
    if a[0].type.kind == "binary":
        return Call("octet_length", (a[0],), INT)
    return Call("length", (text(a[0]),), INT)


def _concat_ws(a: Args) -> Expression:
    parts = [convert(value, array(STRING)) if value.type.kind == "array" else text(value) for value in a[1:]]
    return Call("concat_ws", (text(a[0]), *parts), STRING)


def _replace(a: Args) -> Expression:
    to = text(a[2]) if len(a) > 2 else Literal("", STRING)
    return Call("replace", (text(a[0]), text(a[1]), to), STRING)


def _translate(a: Args) -> Expression:
    old, new = (
        str(constant_text(value, f"translate's {name}").value)
        for value, name in zip(a[1:], ("from", "to"), strict=True)
    )
    # The first of equal characters counts; one after the other, each becomes what stands at its place.
    places = {character: place for place, character in reversed(list(enumerate(old)))}
    kept = [character for character in places if places[character] < len(new)]
    gone = [character for character in places if places[character] >= len(new)]
    targets = "".join(new[places[character]] for character in kept)
    return Call("translate", (text(a[0]), Literal("".join(kept + gone), STRING), Literal(targets, STRING)), STRING)


def _pad(name: str) -> Builder:
    def build(a: Args) -> Expression:
        fill = text(a[2]) if len(a) > 2 else Literal(" ", STRING)
        return Call(name, (text(a[0]), bounded(count(a[1], name), f"{name}'s length"), fill), STRING)

    return build


def _levenshtein(a: Args) -> Expression:
    distance = Call("levenshtein", (text(a[0]), text(a[1])), INT)
    if len(a) == 2:
        return distance
    most = count(a[2], "levenshtein")
    beyond = call("gt", distance, most)
    return case([(call("is_null", most), Literal(None, INT)), (beyond, Literal(-1, INT))], distance)


def _elt(a: Args) -> Expression:
    place = count(a[0], "elt")
    values, _ = in_one_column(a[1:], "elt:")
    branches = [(call("eq", place, Literal(index, INT)), value) for index, value in enumerate(values, 1)]
    return case(branches, None)


def _format_number(a: Args) -> Expression:
    value, digits = number(a[0], "format_number"), whole(a[1], "format_number's digits", 0)
    assert isinstance(digits.value, int)
    if digits.value > 18:
        raise refuse(BAD_TYPES, "format_number has at most 18 decimals.")
    kind = value.type
    if kind.is_integer:
        exact = convert(value, decimal(38, digits.value))
    elif kind.kind == "decimal":
        rounded = Call("bround", (value, digits), decimal(min(38, kind.precision + 1), kind.scale))
        exact = convert(rounded, decimal(38, digits.value))
    else:
        wide = convert(value, DOUBLE)
        exact = convert(Call("bround", (wide, digits), DOUBLE), decimal(38, digits.value))
    return Call("format_number", (exact, digits), STRING)


SIGNATURES: Signatures = {
    "lower": (1, 1, text_function("lower")),
    "lcase": (1, 1, text_function("lower")),
    "upper": (1, 1, text_function("upper")),
    "ucase": (1, 1, text_function("upper")),
    "initcap": (1, 1, text_function("initcap")),
    "trim": (1, 1, text_function("trim")),
    "btrim": (1, 2, lambda a: _trimmed("trim", a[0], a[1] if len(a) > 1 else None)),
    "ltrim": (1, 2, lambda a: _trimmed("ltrim", a[-1], a[0] if len(a) > 1 else None)),
    "rtrim": (1, 2, lambda a: _trimmed("rtrim", a[-1], a[0] if len(a) > 1 else None)),
    "length": (1, 1, _length),
    "len": (1, 1, _length),
    "char_length": (1, 1, _length),
    "character_length": (1, 1, _length),
    "substring": (2, 3, substring),
    "substr": (2, 3, substring),
    "left": (2, 2, _ends("left")),
    "right": (2, 2, _ends("right")),
    "concat": (1, None, text_function("concat")),
    "concat_ws": (2, None, _concat_ws),
    "replace": (2, 3, _replace),
    "translate": (3, 3, _translate),
    "reverse": (1, 1, text_function("reverse")),
    "repeat": (2, 2, lambda a: Call("repeat", (text(a[0]), bounded(count(a[1], "repeat"), "repeat's count")), STRING)),
    "space": (
        1,
        1,
        lambda a: Call("repeat", (Literal(" ", STRING), bounded(count(a[0], "space"), "space's count")), STRING),
    ),
    "lpad": (2, 3, _pad("lpad")),
    "rpad": (2, 3, _pad("rpad")),
    "overlay": (3, 4, overlay),
    "instr": (2, 2, lambda a: position(a[1], a[0])),
    "locate": (2, 3, lambda a: position(a[0], a[1], *a[2:])),
    "charindex": (2, 3, lambda a: position(a[0], a[1], *a[2:])),
    "position": (2, 3, lambda a: position(a[0], a[1], *a[2:])),
    "split_part": (3, 3, lambda a: Call("split_part", (text(a[0]), text(a[1]), count(a[2], "split_part")), STRING)),
    "substring_index": (
        3,
        3,
        lambda a: Call("substring_index", (text(a[0]), text(a[1]), count(a[2], "substring_index")), STRING),
    ),
    "ascii": (1, 1, text_function("ascii", INT)),
    "chr": (1, 1, lambda a: Call("chr", (count(a[0], "chr"),), STRING)),
    "char": (1, 1, lambda a: Call("chr", (count(a[0], "char"),), STRING)),
    "levenshtein": (2, 3, _levenshtein),
    "soundex": (1, 1, text_function("soundex")),
    "luhn_check": (1, 1, text_function("luhn_check", BOOLEAN)),
    "find_in_set": (2, 2, text_function("find_in_set", INT)),
    "elt": (2, None, _elt),
    "format_number": (2, 2, _format_number),
    "startswith": (2, 2, text_function("starts_with", BOOLEAN)),
    "starts_with": (2, 2, text_function("starts_with", BOOLEAN)),
    "endswith": (2, 2, text_function("ends_with", BOOLEAN)),
    "ends_with": (2, 2, text_function("ends_with", BOOLEAN)),
    "contains": (2, 2, text_function("contains", BOOLEAN)),
    **matching.SIGNATURES,
    **octets.SIGNATURES,
}

__all__ = ["FUNCTIONS", "SIGNATURES", "like", "matches", "overlay", "position", "substring", "trim"]
