"""Text for a terminal or a log: what would move the cursor, change colours or begin another line is written out."""

from __future__ import annotations

import re
from typing import Final

# Control characters of ASCII and Latin-1, marks that turn the direction of writing, line separators, lone surrogates.
_UNPRINTABLE: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_IN_A_LINE: Final = re.compile(f"[\n\t{_UNPRINTABLE}]")
_IN_LINES: Final = re.compile(f"[{_UNPRINTABLE}]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def line(text: str) -> str:
    """Text that stays in its line: `a\\nb` has a backslash and an n where the line would end."""
    return _IN_A_LINE.sub(_written, text) if not text.isprintable() else text


def lines(text: str) -> str:
    """Text of several lines of our own, in which only line ends and tabs keep their effect."""
    return _IN_LINES.sub(_written, text)


def in_json(text: str) -> str:
    """A JSON document in which such characters are escaped, too."""
    return _IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _written(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
