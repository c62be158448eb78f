"""Patterns that would let Java try for ever are refused; those that people write are not."""

from __future__ import annotations

import pytest

from lakelogic.sql.patterns import NotPortable, parse


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(.*a){20}",
        "(a*)*b",
        "(a|a)*b",
        "(a|ab|b)+c",
        "(?:a{1,3})*b",
        r"^(\w+\s?)*$",
        r"^\w+([.-]?\w+)*@\w+$",
        r"(\w{1,20}\s?){1,10}!",
        r"(\p{L}+-?)*x",
        "(?i)(x+X+)+y",
        ".*a.*b.*c.*d.*e",
        "((a+)+)+",
        r"([^,]*,?)*;",
    ],
)
def test_a_pattern_that_can_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(NotPortable, match="longer than anybody waits"):
        parse(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$",
        r"^([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}$",
        r"(\d+,)*\d+",
        r"(?:\d{1,3}\.){3}\d{1,3}",
        r"^([A-Z0-9]{4} ?){1,8}$",
        r"^([A-Z0-9]{1,4} ?){1,8}$",
        r"(\d{3})*",
        r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$",
        r"^\+?[0-9 ()-]{7,20}$",
        r".*foo.*bar.*",
        r"(?i)^(mr|mrs|ms)\.?\s+\w+$",
        r"(\p{L}+ )*\p{L}+",
        r"[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*",
        r"\d+-\d+-\d+-\d+-\d+-\d+",
        r"(a|b)*c",
        r"(?:[^\"]|\"\")*",
        r"^(\w+\s)*\w+$",
        "(ab|cd|ef)+" * 40,
    ],
)
def test_what_people_write_stays(pattern: str) -> None:
    parse(pattern)


def test_brackets_have_a_depth() -> None:
    parse("(" * 50 + "a" + ")" * 50)
    with pytest.raises(NotPortable, match="50 levels"):
        parse("(" * 5000 + "a" + ")" * 5000)
