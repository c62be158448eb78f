"""One text for one landed row, whichever engine wrote it down; most texts are recognised as such without being read.

Reading JSON and writing it again costs more than all else about a bad row. Rows of one source have the same keys, so
a pattern is made of the keys of one row: whatever it matches would be written exactly as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import count, islice

import pyarrow as pa

from lakelogic.sql.arrays import strings

FEW = 256  # rows for which a pattern costs more than it saves
MOST_STATES = 5_000  # beyond, a pattern does not fit into the memory that RE2 gives it, and is slower than reading
MOST_SHAPES = 8
LOOKED_AT = 16  # texts of which one must be written as it stands, for a pattern to be made

_READ, _WRITTEN = json.JSONDecoder().decode, json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# What is read and written again as the same characters, by bytes. Strings with the escapes that are written; whole
# numbers but -0; numbers of at most 15 digits (different ones are different doubles, so the shortest text is this
# one) that are not so small that they are written with an exponent.
_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f]))*"'
_WHOLE = r"0|-?[1-9][0-9]*"
_REAL = r"-?0\.(?:0|[0-9]{0,3}[1-9])|-?[1-9][0-9]{0,8}\.(?:0|[0-9]{0,5}[1-9])"
_STATES = 24  # of a value, about
_VALUE = f"(?:{_STRING}|null|true|false|{_WHOLE}|{_REAL})"


def canonical(text: str) -> str:
    """The same text for the same landed row, whichever engine wrote it down."""
    if "\x1f" in text:  # between the values of a row that was not kept; JSON can hold it nowhere
        return text
    try:
        written = _WRITTEN(_READ(text))
        if not written.isascii():
            written.encode()
    except (ValueError, RecursionError):
        return text
    return written


class Shapes:
    """The objects that were met, by their keys. Keys that a pattern spells out once each cannot occur twice."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[str, ...], str] = {}

    def canonical(self, texts: Sequence[str], others: Sequence[int] | None = None) -> list[str]:
        """All texts in the canonical form; `others` are the rows that are not recognised, where that is known."""
        if len(texts) <= FEW:
            return [canonical(text) for text in texts]
        answers = list(texts)
        for row in self.others(strings(texts)) if others is None else others:
            answers[row] = canonical(answers[row])
        return answers

    def others(self, texts: pa.Array) -> Sequence[int]:
        """The rows that no pattern recognises; new patterns are made of what is met."""
        from pyarrow import compute

        left: Sequence[int] = range(len(texts))
        values = texts.cast(pa.binary())  # a pattern over bytes is much smaller than one over characters
        for number in count():
            if len(left) <= FEW or (number == len(self._patterns) and not self._learns(texts, left)):
                return left
            fits = compute.match_substring_regex(values, list(self._patterns.values())[number])
            if fits.false_count == 0:
                return ()
            left = [row for row, fit in zip(left, fits.to_pylist(), strict=True) if not fit]
            values = values.filter(compute.invert(fits))
        raise AssertionError

    def _learns(self, texts: pa.Array, rows: Iterable[int]) -> bool:
        """Whether one of the rows has a shape that was not known."""
        if len(self._patterns) == MOST_SHAPES:
            return False
        for row in islice(rows, LOOKED_AT):
            keys = _keys(texts[row].as_py())
            if keys is not None and keys not in self._patterns:
                self._patterns[keys] = _pattern(keys)
                return True
        return False


def _keys(text: str) -> tuple[str, ...] | None:
    """The keys of a flat object that is written as it stands; None for any other text."""
    if canonical(text) != text:
        return None
    try:
        value = _READ(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or sum(len(key.encode()) + _STATES for key in value) > MOST_STATES:
        return None
    return None if any(isinstance(item, dict | list) for item in value.values()) else tuple(value)


def _pattern(keys: Sequence[str]) -> str:
    pairs = ("".join(f"\\x{byte:02x}" for byte in _WRITTEN(key).encode()) + f":{_VALUE}" for key in keys)
    return r"\A\{" + ",".join(pairs) + r"\}\z"
