"""Patterns of LIKE and regular expressions, in the forms that engines ask for."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Part: TypeAlias = tuple[Literal["text", "any", "one"], str]

# RE2 reads these as ASCII; Rust's regex would read them as Unicode.
_ASCII_CLASSES = {
    "d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\x0c\r ",
}  # fmt: skip


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
    """The parts as a regular expression for Rust's regex: the whole text, line ends included."""
    marks = {"any": ".*", "one": "."}
    body = "".join(re.escape(text) if kind == "text" else marks[kind] for kind, text in parts)
    return rf"(?s)\A{body}\z"


def rust_regex(pattern: str) -> str:
    """An RE2 pattern for Rust's regex: the same, but for ASCII classes and what Rust reads inside brackets."""
    out: list[str] = []
    position, inside = 0, False
    while position < len(pattern):
        character = pattern[position]
        following = pattern[position + 1 : position + 2]
        if character == "\\" and following:
            out.append(_escape(following, inside))
            position += 2
            continue
        if inside:
            if character == "]":
                inside = False
            elif character == "[" and following != ":":
                character = r"\["
            elif character == "[":
                end = pattern.find(":]", position)
                if end >= 0:
                    out.append(pattern[position : end + 2])
                    position = end + 2
                    continue
            elif character in "&~-" and following == character:
                character = "\\" + character
        elif character == "[":
            inside = True
            out.append("[")
            position += 1
            for first in ("^", "]"):  # a bracket right after the opening one is plain
                if pattern[position : position + 1] == first:
                    out.append(r"\]" if first == "]" else first)
                    position += 1
            continue
        out.append(character)
        position += 1
    return "".join(out)


def _escape(letter: str, inside: bool) -> str:
    if letter in _ASCII_CLASSES:
        return _ASCII_CLASSES[letter] if inside else f"[{_ASCII_CLASSES[letter]}]"
    if letter.lower() in _ASCII_CLASSES and letter.isupper():
        return f"[^{_ASCII_CLASSES[letter.lower()]}]"
    if letter in "bB" and not inside:
        return rf"(?-u:\{letter})"
    return "\\" + letter
