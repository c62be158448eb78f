"""Patterns of LIKE and regular expressions, in the forms that engines ask for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from lakelogic.sql.pattern_tree import (
    LAST,
    At,
    Chars,
    Choice,
    Group,
    Node,
    Place,
    Ranges,
    Repeat,
    Sequence,
    complement,
    merged,
)
from lakelogic.sql.patterns import parse

Part: TypeAlias = tuple[Literal["text", "any", "one"], str]


def like_parts(pattern: str) -> tuple[Part, ...]:
    """A LIKE pattern as fixed texts, `any` (%) and `one` (_). A backslash makes the next character plain."""
    parts: list[Part] = []
    plain: list[str] = []

    def flush() -> None:
        if plain:
            parts.append(("text", "".join(plain)))
            plain.clear()

    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\" and position + 1 < len(pattern):
            position += 1
            plain.append(pattern[position])
        elif character in "%_":
            flush()
            parts.append(("any" if character == "%" else "one", ""))
        else:
            plain.append(character)
        position += 1
    flush()
    return tuple(parts)


def like_escaped(parts: tuple[Part, ...]) -> str:
    """The parts as a LIKE pattern in which only `%`, `_` and the backslash are escaped, by a backslash."""
    marks = {"any": "%", "one": "_"}
    return "".join(re.sub(r"([\\%_])", r"\\\1", text) if kind == "text" else marks[kind] for kind, text in parts)


def like_regex(parts: tuple[Part, ...]) -> str:
    """The parts as a regular expression for Rust's regex, to be found in a text: line ends included.

    What may begin or end with anything needs no anchor there, and a search without one is several times as fast.
    """
    marks = {"any": ".*", "one": "."}
    start, end = (r"\A", r"\z")
    if parts and parts[0][0] == "any":
        parts, start = parts[1:], ""
    if parts and parts[-1][0] == "any":
        parts, end = parts[:-1], ""
    body = "".join(re.escape(text) if kind == "text" else marks[kind] for kind, text in parts)
    return rf"(?s){start}{body}{end}"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A fixed text between two `%`, with so many characters of any kind before and after it."""

    before: int
    text: str
    after: int


def like_stretches(parts: tuple[Part, ...]) -> tuple[Stretch, ...] | None:
    """The stretches of a pattern that begins and ends with `%` and has one fixed text between each two of them.

    Such a pattern matches when each text is found after the stretch before it, as early as possible. None for others.
    """
    if len(parts) < 3 or parts[0][0] != "any" or parts[-1][0] != "any":
        return None
    stretches: list[Stretch] = []
    between: list[Part] = []
    for kind, text in parts[1:]:
        if kind != "any":
            between.append((kind, text))
        elif between:
            places = [at for at, (kind, _) in enumerate(between) if kind == "text"]
            if len(places) != 1:
                return None
            stretches.append(Stretch(places[0], between[places[0]][1], len(between) - places[0] - 1))
            between = []
    return tuple(stretches)


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a library writes what its own notation would leave open."""

    places: Mapping[Place, str]
    hexadecimal: Callable[[int], str]
    property: Callable[[bool, str], str]


def _braced(code: int) -> str:
    return f"\\x{{{code:X}}}"


def _property(negated: bool, name: str) -> str:
    return f"\\{'P' if negated else 'p'}{{{name}}}"


@lru_cache(maxsize=64)
def _ranges_of(negated: bool, name: str) -> Ranges:
    codes = (code for code in range(LAST + 1) if unicodedata.category(chr(code)).startswith(name))
    ranges = merged((code, code) for code in codes)
    return complement(ranges) if negated else ranges


def _listed(negated: bool, name: str) -> str:
    """A Unicode category as ranges, for Python, which knows no `\\p`; to stand inside brackets."""
    return "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in _ranges_of(negated, name))


_RE2 = Syntax(
    {"start": r"\A", "end": r"\z", "line_start": "(?m:^)", "line_end": "(?m:$)", "word": r"\b"},
    _braced,
    _property,
)
_RUST = replace(_RE2, places={**_RE2.places, "word": r"(?-u:\b)"})
_PYTHON = Syntax(
    {"start": r"\A", "end": r"\Z", "line_start": "(?m:^)", "line_end": "(?m:$)", "word": r"\b"},
    lambda code: f"\\U{code:08X}",
    _listed,
)


def re2_regex(pattern: str) -> str:
    """A portable pattern for RE2, which DuckDB uses."""
    return written(parse(pattern).root, _RE2)


def rust_regex(pattern: str) -> str:
    """A portable pattern for Rust's regex, which Polars uses."""
    return written(parse(pattern).root, _RUST)


@lru_cache(maxsize=256)
def python_regex(pattern: str) -> re.Pattern[str]:
    """A portable pattern for Python, for what only a backtracking library does as Spark does."""
    return re.compile(written(parse(pattern).root, _PYTHON), re.ASCII)


def written(node: Node, syntax: Syntax) -> str:
    """A tree of `sql/patterns.py` in the notation of a library, without any flags."""
    match node:
        case Chars():
            return _chars(node, syntax)
        case At(place):
            return syntax.places[place]
        case Sequence(parts):
            return "".join(
                f"(?:{written(part, syntax)})" if isinstance(part, Choice) else written(part, syntax) for part in parts
            )
        case Choice(options):
            return "|".join(written(option, syntax) for option in options)
        case Group(_, inside):
            return f"({written(inside, syntax)})"
        case Repeat(part, least, most, lazy):
            inner = written(part, syntax)
            if not isinstance(part, Chars | Group):
                inner = f"(?:{inner})"
            counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            upper = "" if most is None else str(most)
            return inner + counts.get((least, most), f"{{{least},{upper}}}") + ("?" if lazy else "")


def _chars(chars: Chars, syntax: Syntax) -> str:
    single = len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1]
    if single and not chars.properties and not chars.negated:
        return _character(chars.ranges[0][0], syntax)
    if not chars.ranges and len(chars.properties) == 1:
        (negated, name), *_ = chars.properties
        return f"[{'^' if chars.negated else ''}{syntax.property(negated, name)}]"
    members = [
        _character(low, syntax) if low == high else f"{_character(low, syntax)}-{_character(high, syntax)}"
        for low, high in chars.ranges
    ]
    members += [syntax.property(negated, name) for negated, name in chars.properties]
    return f"[{'^' if chars.negated else ''}{''.join(members)}]"


def _character(code: int, syntax: Syntax) -> str:
    character = chr(code)
    if character.isascii() and (character.isalnum() or character in " _@,;:=<>/'\"%!"):
        return character
    if character.isascii() and character.isprintable():
        return "\\" + character
    return character if character.isalpha() else syntax.hexadecimal(code)
