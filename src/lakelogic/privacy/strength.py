"""Is a secret hard to guess? What is short, repeats itself or stands in many a document is refused."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

SHORTEST_SALT: Final = 16
_FEWEST_BITS: Final = 40.0  # by how often its characters occur; forty random hex digits have 160, sixteen 64
_FEWEST_BYTES: Final = 8  # different ones in a key; of 32 random bytes about 30 differ
# What stands in documents, and is put there to be replaced.
_PLACEHOLDERS: Final = (
    "changeme", "changethis", "replaceme", "secret", "password", "example", "yoursalt", "yourkey", "mysalt", "mykey",
    "lakelogic", "pepper", "salt",
)  # fmt: skip


def weakness_of_salt(text: str) -> str | None:
    """Why a text cannot keep hashes secret; None where it can."""
    if len(text) < SHORTEST_SALT:
        return f"is shorter than {SHORTEST_SALT} characters"
    if _period(text) <= len(text) // 2:
        return "repeats itself"
    if is_placeholder(text):
        return "is an example"
    if _bits(text) < _FEWEST_BITS:
        return "has too few different characters"
    return None


def weakness_of_key(key: bytes) -> str | None:
    """Why bytes are no key; None where they can be one."""
    if _period(key) <= len(key) // 2:
        return "repeats itself"
    if len(set(key)) < _FEWEST_BYTES:
        return "has too few different bytes"
    return None


def is_placeholder(text: str) -> bool:
    """Whether nothing is left of a text without the words that examples are made of."""
    left = "".join(character for character in text.lower() if character.isalpha())
    for word in _PLACEHOLDERS:
        left = left.replace(word, "")
    rest = sum(character.isdigit() for character in text)
    return len(left) + rest < SHORTEST_SALT // 2


def _period(text: str | bytes) -> int:
    """After how many characters a text begins again."""
    return next(
        size for size in range(1, len(text) + 1) if (text[:size] * (len(text) // size + 1))[: len(text)] == text
    )


def _bits(text: str) -> float:
    counts = Counter(text)
    return -sum(count * math.log2(count / len(text)) for count in counts.values())
