"""Regular expressions that mean the same everywhere: text → tree, or a reason why not.

Engines write the tree in their own syntax (`patterns.py` of `engines/exact` and Spark) and never see the
text, so nothing depends on what their libraries make of it. Flags are gone in the tree: case is folded, `.` and `$`
say what they mean. `\\d`, `\\w`, `\\s` and `\\b` are ASCII; `\\p{…}` asks Unicode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from lakelogic.sql.backtracking import trouble
from lakelogic.sql.pattern_tree import (
    CATEGORIES,
    LAST,
    SCRIPTS,
    At,
    Chars,
    Choice,
    Group,
    Node,
    Pattern,
    Place,
    Ranges,
    Repeat,
    Sequence,
    complement,
    folded,
    merged,
)

MOST_REPEATS = 1000
MOST_DEEP = 50


class NotPortable(ValueError):
    """Why a pattern cannot be used, in words for its author."""


def plain_text(pattern: Pattern) -> str | None:
    """The text that a pattern without any choice stands for; None if it is more than that."""
    parts = pattern.root.parts if isinstance(pattern.root, Sequence) else (pattern.root,)
    characters = []
    for part in parts:
        if not isinstance(part, Chars) or part.negated or part.properties or len(part.ranges) != 1:
            return None
        (low, high), *_ = part.ranges
        if low != high:
            return None
        characters.append(chr(low))
    return "".join(characters)


# sets of characters

_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_PERL = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)), "alpha": ((0x41, 0x5A), (0x61, 0x7A)), "ascii": ((0, 0x7F),),
    "blank": ((9, 9), (32, 32)), "cntrl": ((0, 0x1F), (0x7F, 0x7F)), "digit": _DIGIT, "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),), "print": ((0x20, 0x7E),), "space": ((9, 13), (32, 32)), "upper": ((0x41, 0x5A),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "v": 11, "a": 7}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")


# the parser


@dataclass(frozen=True, slots=True)
class _Flags:
    case: bool = False
    lines: bool = False
    dot_all: bool = False


_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([A-Za-z][A-Za-z0-9_]*)>")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)(?:Is)?(\w+)\}|([A-Za-z]))")
_HEX = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_LOOK = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind", "(?>": "atomic groups"}


@lru_cache(maxsize=512)
def parse(text: str) -> Pattern:
    """The tree of a pattern; raises NotPortable."""
    parser = _Parser(text)
    root = parser.choice(_Flags(), None)
    if parser.position < len(text):
        raise NotPortable("there is a `)` without its `(`")
    pattern = Pattern(root, parser.groups, parser.names)
    if _weight(root) > MOST_REPEATS:
        raise NotPortable(f"repeats inside repeats come to more than {MOST_REPEATS} times")
    if (why := trouble(root)) is not None:
        raise NotPortable(why)
    return pattern


def _weight(node: Node) -> int:
    match node:
        case Sequence(parts) | Choice(parts):
            return max((_weight(part) for part in parts), default=1)
        case Group(_, inside):
            return _weight(inside)
        case Repeat(part, least, most):
            return max(least, most or 1, 1) * _weight(part)
    return 1


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.groups = 0
        self.depth = 0
        self.names: dict[str, int] = {}

    def _at(self, *starts: str) -> bool:
        return self.text.startswith(starts, self.position)

    def choice(self, flags: _Flags, until: str | None) -> Node:
        """Options parted by `|`, up to a closing bracket or the end."""
        options: list[Node] = []
        parts: list[Node] = []
        while self.position < len(self.text) and not self._at(until or "\0\0"):
            if self._at(")"):
                break
            if self._at("|"):
                self.position += 1
                options.append(_sequence(parts))
                parts = []
                continue
            match = _FLAGS.match(self.text, self.position)
            if match and match[3] == ")" and (match[1] or match[2]):
                self.position = match.end()
                flags = _changed(flags, match[1], match[2] or "")
                continue
            parts.append(self._repeated(self._atom(flags)))
        options.append(_sequence(parts))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _atom(self, flags: _Flags) -> Node:
        if self._at("("):
            return self._group(flags)
        if self._at("["):
            return self._class(flags)
        if self._at("\\Q"):
            end = self.text.find("\\E", self.position)
            plain = self.text[self.position + 2 : end if end >= 0 else None]
            self.position = len(self.text) if end < 0 else end + 2
            if len(plain) != 1 and self._at("*", "+", "?", "{"):
                raise NotPortable("a repeat after `\\E`: put the quoted text in brackets, `(?:\\Qab\\E)+`")
            return _sequence([_letter(ord(character), flags) for character in plain])
        if self._at("\\"):
            return self._escape(flags)
        character = self.text[self.position]
        self.position += 1
        if character == ".":
            return Chars(((0, LAST),)) if flags.dot_all else Chars(((10, 10),), negated=True)
        if character == "^":
            return At("line_start" if flags.lines else "start")
        if character == "$":
            return At("line_end" if flags.lines else "end")
        if character in "*+?":
            raise NotPortable(f"there is nothing that `{character}` could repeat")
        if 0xD800 <= ord(character) <= 0xDFFF:
            raise NotPortable("half of a surrogate pair is no character")
        return _letter(ord(character), flags)

    def _repeated(self, node: Node) -> Node:
        match = _REPEAT.match(self.text, self.position)
        if match:
            least = int(match[1])
            most = least if match[2] is None else int(match[3]) if match[3] else None
            if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
                raise NotPortable(f"`{match[0]}` is not a count from 0 to {MOST_REPEATS}")
            self.position = match.end()
        elif self._at("*", "+", "?"):
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.text[self.position]]
            self.position += 1
        else:
            return node
        if isinstance(node, At):
            raise NotPortable("a place such as `^`, `$` or `\\b` cannot be repeated")
        lazy = self._at("?")
        self.position += lazy
        if self._at("+"):
            raise NotPortable("possessive repeats (`*+`, `++`, `?+`) are known to Java only")
        if self._at("*", "?") or _REPEAT.match(self.text, self.position):
            raise NotPortable("a repeat directly after a repeat: put the first one in brackets, `(?:a+)*`")
        return Repeat(node, least, most, lazy)

    def _group(self, flags: _Flags) -> Node:
        for start, what in _LOOK.items():
            if self._at(start):
                raise NotPortable(f"{what} (`{start}…)`) is not portable")
        number: int | None = None
        if named := _NAMED.match(self.text, self.position):
            if named[1] in self.names:
                raise NotPortable(f"two groups are called `{named[1]}`")
            self.groups += 1
            number = self.names[named[1]] = self.groups
            self.position = named.end()
        elif match := _FLAGS.match(self.text, self.position):
            flags = _changed(flags, match[1], match[2] or "")
            self.position = match.end()
        elif self._at("(?"):
            raise NotPortable(f"`{self.text[self.position : self.position + 4]}` is not portable")
        else:
            self.groups += 1
            number = self.groups
            self.position += 1
        self.depth += 1
        if self.depth > MOST_DEEP:
            raise NotPortable(f"brackets stand inside brackets more than {MOST_DEEP} levels deep")
        inside = self.choice(flags, ")")
        self.depth -= 1
        if not self._at(")"):
            raise NotPortable("there is a `(` without its `)`")
        self.position += 1
        return inside if number is None else Group(number, inside)

    def _escape(self, flags: _Flags) -> Node:
        letter = self.text[self.position + 1 : self.position + 2]
        places: dict[str, Place] = {"A": "start", "z": "end", "b": "word"}
        if letter in places:
            self.position += 2
            return At(places[letter])
        escape = self._set_escape(flags, outside=True)
        return escape if isinstance(escape, Chars) else _letter(escape, flags)

    def _set_escape(self, flags: _Flags, *, outside: bool) -> Chars | int:
        """What an escape stands for: a set, or one code point."""
        if match := _PROPERTY.match(self.text, self.position):
            name = match[3] or match[4]
            if name not in CATEGORIES and name not in SCRIPTS:
                raise NotPortable(f"the Unicode property `{name}` is not known to all engines")
            if flags.case and name in ("Lu", "Ll", "Lt"):
                raise NotPortable(f"`{match[0]}` under `(?i)` means different things to engines")
            self.position = match.end()
            return Chars(properties=(((match[1] == "P") != bool(match[2]), name),))
        if match := _HEX.match(self.text, self.position):
            code = int(match[1] or match[2] or match[3], 16)
            if code > LAST or 0xD800 <= code <= 0xDFFF:
                raise NotPortable(f"`{match[0]}` is no character")
            self.position = match.end()
            return code
        letter = self.text[self.position + 1 : self.position + 2]
        if letter.lower() in _PERL and letter:
            self.position += 2
            ranges = _PERL[letter.lower()]
            if letter.islower():
                return Chars(ranges)
            return Chars(ranges, negated=True) if outside else Chars(complement(ranges))
        if letter in _CONTROLS or letter in _PUNCTUATION:
            self.position += 2
            return _CONTROLS.get(letter, ord(letter)) if letter else 0
        if letter.isdigit() and letter != "0":
            raise NotPortable(f"the back-reference `\\{letter}` is not portable")
        raise NotPortable(f"`\\{letter}` is not portable" if letter else "a lone backslash stands at the end")

    def _class(self, flags: _Flags) -> Chars:
        start = self.position
        self.position += 1
        negated = self._at("^")
        self.position += negated
        ranges: list[tuple[int, int]] = []  # as written, folded at the end when case does not matter
        fixed: list[tuple[int, int]] = []
        properties: list[tuple[bool, str]] = []
        first = True
        while first or not self._at("]"):
            if self.position >= len(self.text):
                raise NotPortable(f"the `[` of `{self.text[start : start + 12]}` has no `]`")
            first = False
            if self._at("&&["):
                raise NotPortable("sets inside sets (`&&[…]`) are known to Java only")
            if posix := _POSIX_CLASS.match(self.text, self.position):
                if posix[2] not in _POSIX:
                    raise NotPortable(f"`{posix[0]}` is no class of characters")
                fixed += complement(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
                self.position = posix.end()
                continue
            low = self._member(flags)
            if isinstance(low, Chars):
                fixed += low.ranges
                properties += low.properties
                continue
            high = low
            if self._at("-") and not self._at("-]"):
                self.position += 1
                end = self._member(flags)
                if isinstance(end, Chars) or end < low:
                    raise NotPortable("a range inside `[…]` must run from a lower to a higher character")
                high = end
            ranges.append((low, high))
        self.position += 1
        written = folded(merged(ranges)) if flags.case else tuple(ranges)
        return Chars(merged((*written, *fixed)), tuple(properties), negated)

    def _member(self, flags: _Flags) -> Chars | int:
        if self._at("\\"):
            return self._set_escape(flags, outside=False)
        if self.position >= len(self.text):
            raise NotPortable("a `[` has no `]`")
        self.position += 1
        return ord(self.text[self.position - 1])


def _changed(flags: _Flags, on: str, off: str) -> _Flags:
    names = {"i": "case", "m": "lines", "s": "dot_all"}
    if unknown := sorted(set(on + off) - set(names)):
        raise NotPortable(f"the flag `{unknown[0]}` is not portable; i, m and s are")
    return replace(flags, **{names[letter]: letter in on for letter in on + off})


def _letter(code: int, flags: _Flags) -> Chars:
    ranges: Ranges = ((code, code),)
    return Chars(folded(ranges) if flags.case else ranges)


def _sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


# replacements


@lru_cache(maxsize=512)
def replacement(text: str, pattern: str) -> tuple[str | int, ...]:
    """A new text in Spark's notation: `$1` and `${name}` are groups, a backslash makes the next character plain."""
    tree = parse(pattern)
    pieces: list[str | int] = []
    plain: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            if position + 1 == len(text):
                raise NotPortable("a lone backslash stands at the end of the new text; write two")
            plain.append(text[position + 1])
            position += 2
            continue
        if character != "$":
            plain.append(character)
            position += 1
            continue
        number, position = _reference(text, position, tree)
        pieces += ["".join(plain), number]
        plain = []
    pieces.append("".join(plain))
    return tuple(piece for piece in pieces if piece != "")


def _reference(text: str, position: int, tree: Pattern) -> tuple[int, int]:
    if named := re.compile(r"\$\{(\w+)\}").match(text, position):
        if named[1] not in tree.names:
            raise NotPortable(f"the pattern has no group called `{named[1]}`")
        return tree.names[named[1]], named.end()
    digits = re.compile(r"\$([0-9]+)").match(text, position)
    if digits is None:
        raise NotPortable(r"`$` in the new text stands for a group (`$1`); for the sign itself write `\$`")
    written = digits[1]
    # As many digits as still name a group, the first in any case.
    size = next((n for n in range(len(written), 1, -1) if int(written[:n]) <= tree.groups), 1)
    if int(written[:size]) > tree.groups:
        raise NotPortable(f"`${written[:size]}` in the new text: the pattern has {tree.groups} groups")
    return int(written[:size]), position + 1 + size
