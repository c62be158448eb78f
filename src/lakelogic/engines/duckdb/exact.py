"""What DuckDB asks Python for: rare values and rare functions, one call per row.

Registering a function costs milliseconds at every start, so there are only two, and they take a name: one gives a
text, one a list of texts. Numbers and bytes travel as text (bytes as hex digits).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal

from lakelogic.engines.duckdb.literals import cast, text
from lakelogic.engines.exact import matching as exact_patterns
from lakelogic.engines.exact import text as exact_text

ONE, MANY = "ll_exact", "ll_exact_list"


def _digest(name: str) -> Callable[[str], str]:
    return lambda data: hashlib.new(name, bytes.fromhex(data)).hexdigest()


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


_TEXTS: dict[str, Callable[..., str | int | float | Decimal | None]] = {
    "lower": str.lower,
    "upper": str.upper,
    "initcap": exact_text.initcap,
    "levenshtein": exact_text.levenshtein,
    "soundex": exact_text.soundex,
    "luhn_check": exact_text.luhn_check,
    "crc32": lambda data: exact_text.crc32(bytes.fromhex(data)),
    "sha224": _digest("sha224"),
    "sha384": _digest("sha384"),
    "sha512": _digest("sha512"),
    "unbase64": lambda value: _hex(exact_text.unbase64(value)),
    "url_encode": exact_text.url_encode,
    "url_decode": exact_text.url_decode,
    "shift_left": lambda value, by: exact_text.shift_left(int(value), int(by)),
    "shift_right": lambda value, by: exact_text.shift_right(int(value), int(by)),
    "shift_right_unsigned": lambda value, by: exact_text.shift_right_unsigned(int(value), int(by)),
    "rounded": lambda value, digits, how: format(exact_text.rounded(Decimal(value), int(digits), how), "f"),
    "rounded_real": lambda value, digits, how: repr(exact_text.rounded_real(float(value), int(digits), how)),
    "format_number": lambda value, digits: f"{Decimal(value):,.{int(digits)}f}",
    "regexp_replace": lambda value, pattern, new: exact_patterns.replaced(pattern, new)(value),
    "regexp_count": lambda value, pattern: exact_patterns.counted(pattern)(value),
}
_LISTS: dict[str, Callable[..., list[str]]] = {
    "regexp_extract_all": lambda value, pattern, group: exact_patterns.extracted_all(pattern, int(group))(value),
    "split": lambda value, pattern, most: exact_patterns.parted(pattern, int(most))(value),
}
_SIZES = {
    name: function.__code__.co_argcount
    for name, function in {**_TEXTS, **_LISTS}.items()
    if hasattr(function, "__code__")
}


def ll_exact(name: str, first: str | None, second: str | None, third: str | None) -> str | None:
    """The function of that name as a text; NULL when an argument is."""
    given = (first, second, third)[: _SIZES.get(name, 1)]
    if None in given:
        return None
    result = _TEXTS[name](*given)
    return None if result is None else str(result)


def ll_exact_list(name: str, first: str | None, second: str | None, third: str | None) -> list[str] | None:
    """The function of that name as a list of texts; NULL when an argument is."""
    if first is None or second is None or third is None:
        return None
    return _LISTS[name](first, second, third)


REGISTERED = ((ONE, ll_exact, "VARCHAR"), (MANY, ll_exact_list, "VARCHAR[]"))


def exact(name: str, *args: str) -> str:
    """SQL that asks for a text."""
    function = MANY if name in _LISTS else ONE
    given = [*args, *["''"] * (3 - len(args))]
    return f"{function}({text(name)}, {', '.join(given)})"


def as_text(sql: str) -> str:
    """A number, to be handed over."""
    return cast(sql, "VARCHAR")
