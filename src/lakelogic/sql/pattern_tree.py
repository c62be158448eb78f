"""The tree of a portable pattern: its parts, the sets of characters in it, and what can be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

LAST = 0x10FFFF
Ranges: TypeAlias = tuple[tuple[int, int], ...]
Place: TypeAlias = Literal["start", "end", "line_start", "line_end", "word"]


CATEGORIES = frozenset(
    {
        "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf",
        "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs", "Cc", "Cf", "Co",
    }
)  # fmt: skip
SCRIPTS = frozenset(
    {
        "Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Gujarati", "Han",
        "Hangul", "Hebrew", "Hiragana", "Katakana", "Khmer", "Lao", "Latin", "Mongolian", "Myanmar", "Tamil", "Telugu",
        "Thai", "Tibetan",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set: ranges of code points, and Unicode properties (negated?, name)."""

    ranges: Ranges = ()
    properties: tuple[tuple[bool, str], ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class At:
    """A place between characters."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first option that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group, numbered from 1 by its opening bracket."""

    number: int
    inside: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part so many times; `most` None is without end."""

    part: Node
    least: int
    most: int | None
    lazy: bool


Node: TypeAlias = Chars | At | Sequence | Choice | Group | Repeat


@dataclass(frozen=True, slots=True)
class Pattern:
    """A whole pattern; `names` are those of its groups."""

    root: Node
    groups: int
    names: dict[str, int] = field(hash=False, default_factory=dict)

    @property
    def can_be_empty(self) -> bool:
        """Whether it matches an empty text somewhere."""
        return _nullable(self.root)

    @property
    def repeats_the_empty(self) -> bool:
        """Whether a repeated part can itself be empty: engines differ in what the repeat then takes."""
        return any(isinstance(n, Repeat) and n.most != 1 and _nullable(n.part) for n in _walk(self.root))

    @property
    def scripts(self) -> bool:
        """Whether it asks for a script, which Python's own tables do not know."""
        return any(isinstance(n, Chars) and any(name in SCRIPTS for _, name in n.properties) for n in _walk(self.root))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from _walk(part)
        case Group(_, inside):
            yield from _walk(inside)
        case Repeat(part):
            yield from _walk(part)


def _nullable(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Sequence(parts):
            return all(_nullable(part) for part in parts)
        case Choice(options):
            return any(_nullable(option) for option in options)
        case Group(_, inside):
            return _nullable(inside)
        case Repeat(part, least):
            return least == 0 or _nullable(part)
    return True


def complement(ranges: Ranges) -> Ranges:
    """All code points that are not in the ranges."""
    gaps, start = [], 0
    for low, high in merged(ranges):
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, LAST)) if start <= LAST else tuple(gaps)


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges in order, without overlaps."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


@lru_cache(maxsize=1)
def _variants() -> dict[int, tuple[int, ...]]:
    """Every character that has others of the same letter: their code points, itself included."""
    orbits: dict[str, list[int]] = {}
    for code in range(0x1F000):
        if 0xD800 <= code <= 0xDFFF:
            continue
        character = chr(code)
        folded = character.casefold()
        if len(folded) != 1:
            folded = character.lower() if len(character.lower()) == 1 else character
        orbits.setdefault(folded, []).append(code)
    return {code: tuple(codes) for codes in orbits.values() if len(codes) > 1 for code in codes}


def folded(ranges: Ranges) -> Ranges:
    """The ranges with all cases of their letters."""
    if all(low == high and chr(low).isascii() and not chr(low).isalpha() for low, high in ranges):
        return ranges
    others = [
        (code, code)
        for letter, codes in _variants().items()
        if any(low <= letter <= high for low, high in ranges)
        for code in codes
    ]
    return merged((*ranges, *others))
