"""What regular expressions do where the libraries of engines differ, in plain Python: the same as Spark does.

Only a backtracking library finds an empty match right after another match, as Java's does; patterns that can be
empty go this way, and so does what an engine has no function for.
"""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.engines.exact.patterns import python_regex
from lakelogic.sql.patterns import replacement


def replaced(pattern: str, new: str) -> Callable[[str], str]:
    """Every match becomes the new text."""
    regex, pieces = python_regex(pattern), replacement(new, pattern)

    def replace_in(text: str) -> str:
        return regex.sub(
            lambda match: "".join(piece if isinstance(piece, str) else match[piece] or "" for piece in pieces), text
        )

    return replace_in


def extracted_all(pattern: str, group: int) -> Callable[[str], list[str]]:
    """A group of every match; '' where the group took no part."""
    regex = python_regex(pattern)
    return lambda text: [match[group] or "" for match in regex.finditer(text)]


def counted(pattern: str) -> Callable[[str], int]:
    """How many matches there are."""
    regex = python_regex(pattern)
    return lambda text: sum(1 for _ in regex.finditer(text))


def parted(pattern: str, most: int) -> Callable[[str], list[str]]:
    """The text between matches; with `most` above 0, the last of so many pieces holds the rest."""
    regex = python_regex(pattern)

    def parts_of(text: str) -> list[str]:
        pieces: list[str] = []
        start = 0
        for match in regex.finditer(text):
            if 0 < most <= len(pieces) + 1:
                break
            pieces.append(text[start : match.start()])
            start = match.end()
        return [*pieces, text[start:]]

    return parts_of
