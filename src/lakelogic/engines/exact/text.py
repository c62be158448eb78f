"""What functions of text, bytes and numbers mean, in plain Python, where an engine would do otherwise."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from math import isfinite
from urllib.parse import quote_plus, unquote_to_bytes

_WIDE = Context(prec=400)
_SOUNDS = "01230127022455012623017202"  # of A to Z; 7 is passed over, 0 parts equal sounds
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
ROUNDINGS = {"round": ROUND_HALF_UP, "bround": ROUND_HALF_EVEN, "truncate": ROUND_DOWN}


def initcap(text: str) -> str:
    """Words, parted by spaces, with the first character in upper case."""
    return " ".join(word[:1].upper() + word[1:] for word in text.lower().split(" "))


def levenshtein(first: str, second: str) -> int:
    """Changed, added and removed characters between two texts."""
    if len(first) < len(second):
        first, second = second, first
    row = list(range(len(second) + 1))
    for place, left in enumerate(first, 1):
        corner, row[0] = row[0], place
        for index, right in enumerate(second, 1):
            corner, row[index] = row[index], min(row[index] + 1, row[index - 1] + 1, corner + (left != right))
    return row[-1]


def soundex(text: str) -> str:
    """The letter and three digits of how a word sounds in English."""
    upper = "".join(chr(ord(c) - 32) if "a" <= c <= "z" else c for c in text)
    if not upper or not "A" <= upper[0] <= "Z":
        return text
    sounds, last = upper[0], _SOUNDS[ord(upper[0]) - 65]
    for letter in upper[1:]:
        if not "A" <= letter <= "Z":
            last = "0"
            continue
        code = _SOUNDS[ord(letter) - 65]
        if code == "7":
            continue
        if code not in ("0", last):
            sounds += code
        last = code
        if len(sounds) == 4:
            break
    return sounds.ljust(4, "0")


def luhn_check(text: str) -> bool:
    """Whether digits end in their check digit."""
    if not text or not all("0" <= c <= "9" for c in text):
        return False
    total = 0
    for index, digit in enumerate(reversed(text)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def find_in_set(text: str, among: str) -> int:
    """The place of a text among others that are parted by commas."""
    if "," in text:
        return 0
    pieces = among.split(",")
    return pieces.index(text) + 1 if text in pieces else 0


def position(part: str, text: str, start: int) -> int:
    """Where a part occurs from a start on."""
    if start < 1:
        return 0
    return 1 if not part else text.find(part, start - 1) + 1


def split_part(text: str, separator: str, number: int) -> str | None:
    """The n-th piece of a text."""
    if number == 0:
        return None
    pieces = text.split(separator) if separator else [text]
    index = number - 1 if number > 0 else len(pieces) + number
    return pieces[index] if 0 <= index < len(pieces) else ""


def substring_index(text: str, separator: str, number: int) -> str:
    """What stands before the n-th separator, or after the n-th from the end."""
    if not separator or number == 0:
        return ""
    pieces = text.split(separator)
    return separator.join(pieces[:number] if number > 0 else pieces[number:])


def chr_or_none(code: int) -> str | None:
    """The character with a code point."""
    return chr(code) if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None


def octets(value: str | bytes) -> bytes:
    """The bytes of a text."""
    return value.encode("utf-8") if isinstance(value, str) else bytes(value)


def crc32(value: str | bytes) -> int:
    """The checksum of bytes."""
    return zlib.crc32(octets(value))


def unhex(text: str) -> bytes | None:
    """Bytes from hex digits."""
    try:
        # Not `bytes.fromhex`, which passes over blanks.
        return binascii.unhexlify(text.zfill(len(text) + len(text) % 2))
    except (binascii.Error, ValueError):
        return None


def unbase64(text: str) -> bytes | None:
    """Bytes from padded base64."""
    return base64.b64decode(text) if _BASE64.fullmatch(text) else None


def url_encode(text: str) -> str:
    """A text as a form sends it."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def url_decode(text: str) -> str | None:
    """The text that a form sent."""
    if _BROKEN_PERCENT.search(text):
        return None
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
    except UnicodeDecodeError:
        return None


def hex_number(value: int) -> str:
    """Hex digits of a number, a negative one in 64 bits."""
    return f"{value & 0xFFFFFFFFFFFFFFFF:X}"


def bin_number(value: int) -> str:
    """Binary digits of a number, a negative one in 64 bits."""
    return f"{value & 0xFFFFFFFFFFFFFFFF:b}"


def shift_left(value: int, by: int) -> int | None:
    """Bits moved to the left in 64."""
    if not 0 <= by <= 63:
        return None
    moved = (value << by) & 0xFFFFFFFFFFFFFFFF
    return moved - 2**64 if moved >= 2**63 else moved


def shift_right(value: int, by: int) -> int | None:
    """Bits moved to the right, the sign kept."""
    return value >> by if 0 <= by <= 63 else None


def shift_right_unsigned(value: int, by: int) -> int | None:
    """Bits moved to the right, zeros from the left."""
    if not 0 <= by <= 63:
        return None
    moved = (value & 0xFFFFFFFFFFFFFFFF) >> by
    return moved - 2**64 if moved >= 2**63 else moved


def rounded(value: Decimal, digits: int, function: str) -> Decimal:
    """A decimal at so many digits after the point, or before it when negative."""
    result = value.quantize(Decimal(1).scaleb(-digits), rounding=ROUNDINGS[function], context=_WIDE)
    return result if result else Decimal(0)


def rounded_real(value: float, digits: int, function: str) -> float:
    """A double rounded as it is written; the zero it may become has no sign."""
    if not isfinite(value):
        return value
    return float(rounded(Decimal(repr(value)), digits, function)) + 0.0
