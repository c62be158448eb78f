"""Regular expressions are read once, into a tree that means the same everywhere, or refused with a reason."""

from __future__ import annotations

import pytest

from lakelogic.engines.exact.patterns import python_regex, re2_regex, rust_regex
from lakelogic.engines.spark.functions.patterns import java_pattern
from lakelogic.sql.bind import bind
from lakelogic.sql.patterns import NotPortable, parse, plain_text, replacement
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import STRING


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)b", "look-ahead"), ("(?!a)", "look-ahead"), ("(?<=a)b", "look-behind"), ("(?<!a)b", "look-behind"),
        ("(?>a)", "atomic"), ("a++", "possessive"), ("a*+", "possessive"), (r"(a)\1", "back-reference"),
        ("a**", "repeat directly after a repeat"), ("a{2}{3}", "repeat directly after a repeat"), ("*a", "nothing that"),
        ("^*", "cannot be repeated"), ("(a", "without its"), ("a)", "without its"), ("[a", "no `]`"), ("a\\", "lone backslash"),
        (r"\B", "not portable"), (r"\Z", "not portable"), (r"\h", "not portable"), ("(?x)a", "flag `x`"), ("(?U)a", "flag `U`"),
        ("a{1001}", "1000"), ("(a{100}){100}", "1000"), ("a{3,2}", "not a count"), ("[z-a]", "lower to a higher"),
        (r"[a-\d]", "lower to a higher"), (r"\p{Klingon}", "Klingon"), (r"(?i)\p{Lu}", "(?i)"), ("[a-z&&[^b]]", "Java only"),
        (r"\x{D800}", "no character"), ("[[:nope:]]", "no class"), ("(?P<a>x)(?P<a>y)", "two groups"), ("(?#x)", "not portable"),
    ],
)  # fmt: skip
def test_what_engines_would_read_differently_is_refused_with_its_reason(pattern: str, reason: str) -> None:
    with pytest.raises(NotPortable, match=None) as caught:
        parse(pattern)
    assert reason in str(caught.value)


def test_flags_are_gone_from_what_engines_see() -> None:
    assert re2_regex("(?i)ab") == "[Aa][Bb]"
    assert re2_regex("(?i)k") == "[Kk\u212a]"
    assert re2_regex("a(?i:b)c") == "a[Bb]c"
    assert re2_regex("^a.$") == r"\Aa[^\x{A}]\z"
    assert re2_regex("(?ms)^.$") == r"(?m:^)[\x{0}-\x{10FFFF}](?m:$)"


def test_classes_are_ascii_and_written_out() -> None:
    assert rust_regex(r"\d[\w-]") == r"[0-9][\-0-9A-Z_a-z]"
    assert java_pattern(r"[[:alpha:]]\s") == r"[A-Za-z][\x{9}-\x{A}\x{C}-\x{D} ]"
    assert rust_regex(r"\ba") == r"(?-u:\b)a"


def test_a_bracket_and_a_dash_at_the_edge_are_plain() -> None:
    assert re2_regex("[]a]") == r"[\]a]"
    assert re2_regex("[a-]") == r"[\-a]"
    assert re2_regex("{a}") == r"\{a\}"
    assert re2_regex(r"\Qa.b\E") == r"a\.b"


def test_java_does_not_look_into_the_middle_of_a_character() -> None:
    assert java_pattern("x*") == r"(?![\x{DC00}-\x{DFFF}])(?:x*)"
    assert java_pattern("x+") == "x+"


def test_python_knows_categories_by_their_code_points() -> None:
    regex = python_regex(r"^\p{Lu}\P{Lu}$")
    assert regex.search("Éa")
    assert not regex.search("éa")


def test_what_a_pattern_can_do_is_known_before_it_runs() -> None:
    assert parse("a*").can_be_empty
    assert parse(r"\b").can_be_empty
    assert not parse("a+|b").can_be_empty
    assert parse("(a?)*").repeats_the_empty
    assert not parse("(ab?)*").repeats_the_empty
    assert parse("(?P<x>a)(b)").groups == 2
    assert plain_text(parse(r"a\.b")) == "a.b"
    assert plain_text(parse("a.b")) is None


def test_a_new_text_names_groups_as_spark_does() -> None:
    assert replacement("<$1>", "(a)") == ("<", 1, ">")
    assert replacement("$12", "(a)") == (1, "2")
    assert replacement("${x}", "(?P<x>a)") == (1,)
    assert replacement(r"\$1\\", "a") == ("$1\\",)
    for broken in ("$", "$2", "${y}", "a\\"):
        with pytest.raises(NotPortable):
            replacement(broken, "(a)")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("s RLIKE '(?=a)'", "look-ahead"), ("regexp_replace(s, '(a?)*', 'x')", "repeats a part that can be empty"),
        ("regexp_extract(s, 'a')", "group 1 is not among them"), ("regexp_replace(s, 'a', '$1')", "0 groups"),
        ("split(s, 'a*')", "can match the empty text"), ("s RLIKE s", "must be a constant"),
    ],
)  # fmt: skip
def test_the_binder_tells_what_is_wrong_with_a_pattern(text: str, says: str) -> None:
    with pytest.raises(SqlProblems) as caught:
        bind(text, {"s": STRING})
    assert says in caught.value.problems[0].message
