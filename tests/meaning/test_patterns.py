"""Regular expressions: a table of patterns and texts, the same on every engine."""

import random
import re

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.types import STRING

S = {"s": STRING}


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# pattern → texts in which it is found, texts in which it is not
FOUND = {
    r"\d": (["a1", "0"], ["٣", "", "a"]),
    r"^\D$": (["٣", "a", "\n", "😀"], ["1", "aa"]),
    r"^\w+$": (["a_9Z"], ["é", "a-b", "a\n", ""]),
    r"^\W$": (["é", " ", "😀", "\n"], ["a", "_"]),
    r"^\s$": ([" ", "\t", "\n", "\r", "\x0c"], ["\x0b", "\u00a0", "\u2028", ""]),
    r"^[\s]$": ([" ", "\t"], ["\x0b", "\u00a0"]),
    r"^[\S]+$": (["\x0b", "é"], [" ", "a b"]),
    r"\bcat\b": (["a cat.", "cat", "é cat"], ["concat", "cat_"]),
    r"^.$": (["a", "😀", "\r", "\u2028"], ["\n", "", "ab"]),
    r"(?s)^.$": (["a", "\n"], ["", "ab"]),
    r"a$": (["a", "ba"], ["a\n", "ab", "a\r"]),
    r"(?m)a$": (["a", "a\nb", "a\n"], ["ab", "a\r\n"]),
    r"(?m)^b": (["b", "a\nb"], ["ab", "a\rb"]),
    r"(?m)^\z": (["", "a\n"], ["a"]),
    r"(?i)^k$": (["k", "K", "\u212a"], ["x"]),
    r"(?i)^straße$": (["STRAßE", "straße", "STRAẞE"], ["STRASSE"]),
    r"(?i)^i$": (["i", "I"], ["İ", "ı"]),
    r"(?i)^σ$": (["Σ", "σ", "ς"], ["s"]),
    r"(?i)^[a-c]+$": (["aBC"], ["d"]),
    r"(?i)^[^k]$": (["a"], ["k", "K", "\u212a"]),
    r"^a(?i:b)c$": (["abc", "aBc"], ["Abc", "abC"]),
    r"^\p{L}+$": (["éß漢", "ab"], ["a1", ""]),
    r"^\p{Lu}$": (["É", "A"], ["é", "1"]),
    r"^[^\p{L}]$": (["1", "😀", "\n"], ["a", "漢"]),
    r"^\P{Nd}$": (["a"], ["1", "٣"]),
    r"^\p{Greek}+$": (["αΣ"], ["a"]),
    r"^[[:alpha:]]+$": (["ab"], ["é", "a1"]),
    r"^[[:^digit:]]$": (["a", "٣"], ["1"]),
    r"^[[:space:]]$": (["\x0b", " "], ["\u00a0"]),
    r"^a{2,3}$": (["aa", "aaa"], ["a", "aaaa"]),
    r"^a{2}$": (["aa"], ["a", "aaa"]),
    r"^a{,2}$": (["a{,2}"], ["aa"]),
    r"^[]a]$": (["]", "a"], ["b"]),
    r"^[a-]$": (["-", "a"], ["b"]),
    r"^[a&&b]$": (["a", "&", "b"], ["c"]),
    r"^[$^.]$": (["$", "^", "."], ["a"]),
    r"^\Qa.b\E$": (["a.b"], ["axb"]),
    r"^\x41\x{1F600}\u00e9$": (["A😀é"], ["a😀é"]),
    r"^(?:a|b)*$": (["", "abba"], ["c"]),
    r"^[é-ü]$": (["ö"], ["z"]),
    r"^[😀-😂]$": (["😁"], ["😎", "\ud7ff"]),
    r"it's|\"": (["it's", '"'], ["its"]),
    r"^#\s%$": (["# %"], ["#%"]),
    "": (["", "a"], []),
}


def test_patterns_find_the_same_texts_everywhere(meaning):
    texts = sorted({text for found, missed in FOUND.values() for text in (*found, *missed)})
    outputs = {f"p{i}": bind(f"s RLIKE {quoted(pattern)}", S) for i, pattern in enumerate(FOUND)}
    rows = meaning.rows({"s": (STRING, [*texts, None])}, outputs)
    wrong = []
    for i, (pattern, (found, missed)) in enumerate(FOUND.items()):
        values = dict(zip([*texts, None], (row[f"p{i}"] for row in rows), strict=True))
        wrong += [(pattern, text) for text in found if values[text] is not True]
        wrong += [(pattern, text) for text in missed if values[text] is not False]
        wrong += [(pattern, None)] if values[None] is not None else []
    assert not wrong, f"{meaning.name}: {wrong}"


# Patterns of LIKE that an engine may look for piece by piece, and those near them.
LIKES = [
    "%_@_%._%", "%@%.%", "%a%b%", "%a_%_b%", "%ab%ab%", "%_a%", "%a_%", "%__a__%", "%a%a%a%", "%a%a%b%a%a%", "%😀_%a%",
    "%\\%%a%", "%\\_%_b%", "a%b%", "%a%b", "%a_b%", "%_%_%", "%%a%%b%%", "_%a%_", "%\n%a%", "%é%_%b%",
]  # fmt: skip


def as_regex(pattern):
    """A LIKE pattern for Python, which is asked what is right."""
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    marks = {"%": ".*", "_": "."}
    return re.compile("".join(marks.get(one) or re.escape(one.removeprefix("\\")) for one in pieces), re.DOTALL)


def test_like_finds_pieces_in_their_turn(meaning):
    draw = random.Random(5)
    texts = ["".join(draw.choice("aab@._%é😀\n") for _ in range(draw.randint(0, 9))) for _ in range(1500)]
    texts += ["aabaa", "ab.ab", "person1@mail.example", "@a.b", "a@b.", "a@.b", "a@b.c", "ab", "aab", "aba", ""]
    outputs = {f"p{i}": bind(f"s LIKE {quoted(pattern)}", S) for i, pattern in enumerate(LIKES)}
    rows = meaning.rows({"s": (STRING, [*texts, None])}, outputs)
    for i, pattern in enumerate(LIKES):
        right = [as_regex(pattern).fullmatch(text) is not None for text in texts]
        assert {True, False} == set(right), f"{pattern} says the same of all texts"
        wrong = [text for text, row, is_like in zip(texts, rows, right, strict=False) if row[f"p{i}"] is not is_like]
        assert not wrong, f"{meaning.name}: {pattern}: {wrong[:5]}"
        assert rows[-1][f"p{i}"] is None, f"{meaning.name}: {pattern} of NULL"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A pattern that can be empty is found at every place, and right after a match once more.
        ("regexp_replace(s, 'b*', '-')", ["-a--c-", "-", "-😀-", "-a-\n-", "--a-", None]),
        ("regexp_replace(s, '', '.')", [".a.b.c.", ".", ".😀.", ".a.\n.", ".b.b.a.", None]),
        ("regexp_replace(s, '(?m)^', '>')", [">abc", ">", ">😀", ">a\n>", ">bba", None]),
        ("regexp_replace(s, '$', '!')", ["abc!", "!", "😀!", "a\n!", "bba!", None]),
        ("regexp_replace(s, '(a)|b', '[$1]')", ["[a][]c", "", "😀", "[a]\n", "[][][a]", None]),
        ("regexp_count(s, 'b*')", [4, 1, 2, 3, 3, None]),
        ("regexp_count(s, '.')", [3, 0, 1, 1, 3, None]),
        ("regexp_extract(s, '(b)?(a)', 1)", ["", "", "", "", "b", None]),
        ("regexp_extract(s, 'b|a', 0)", ["a", "", "", "a", "b", None]),
        ("regexp_extract_all(s, '(b)|(a)', 2)", [["a", ""], [], [], ["a"], ["", "", "a"], None]),
        ("regexp_extract_all(s, 'x*', 0)", [[""] * 4, [""], ["", ""], [""] * 3, [""] * 4, None]),
        ("regexp_instr(s, 'a|😀')", [1, 0, 1, 1, 3, None]),
        ("regexp_instr(s, 'c|$')", [3, 1, 2, 3, 4, None]),
        ("regexp_substr(s, 'b+')", ["b", None, None, None, "bb", None]),
        ("split(s, '[bc]')", [["a", "", ""], [""], ["😀"], ["a\n"], ["", "", "a"], None]),
        ("split(s, 'b', 2)", [["a", "c"], [""], ["😀"], ["a\n"], ["", "ba"], None]),
    ],
)  # fmt: skip
def test_matches_begin_and_end_at_the_same_places_everywhere(meaning, text, expected):
    values = ["abc", "", "😀", "a\n", "bba", None]
    assert meaning.column(STRING, values, bind(text.replace("(s,", "(x,"), {"x": STRING})) == expected
