"""Show a part of a text and hide the rest: what `masking: partial` and `masking_format` mean.

Without a format, an e-mail keeps its first character and its domain (`j***@example.com`), other text its last
four characters (`***1234`), and text shorter than eight characters becomes `***`.

A format is fixed text with `{first1}` to `{first9}`, `{last1}` to `{last9}` and `{domain}` in it. In a format
with `{domain}` the first and last characters are counted before the `@`. A text that has no more characters than
the format would show, or no domain where it asks for one, becomes `***`: a mask never shows everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable

HIDDEN = "***"
PLACEHOLDERS = "{first1} to {first9}, {last1} to {last9}, {domain}"

_EMAIL = re.compile(r"([^@\s]+)@([^@\s]+\.[^@\s]+)")
_PLACEHOLDER = re.compile(r"\{(?:(first|last)([1-9])|(domain))\}")
_BRACED = re.compile(r"\{[^{}]*\}|[{}]")


def check_format(text: str) -> str | None:
    """What is wrong with a `masking_format`; None where nothing is."""
    seen: set[str] = set()
    for part in _BRACED.findall(text):
        match = _PLACEHOLDER.fullmatch(part)
        if match is None:
            if len(part) == 1:
                return f"`{text}` has a `{part}` without its partner; the placeholders are {PLACEHOLDERS}."
            return f"`{part}` is not a placeholder of a masking format; there are {PLACEHOLDERS}."
        kind = match[1] or match[3]
        if kind in seen:
            return f"`{text}` uses `{{{kind}…}}` twice." if match[1] else f"`{text}` uses `{{domain}}` twice."
        seen.add(kind)
    if not seen:
        return f"`{text}` has no placeholder, so every value would look the same: use {PLACEHOLDERS}, or `redact`."
    return None


def partial_text(format_: str | None) -> Callable[[str], str]:
    """The function that shortens one text; raises ValueError for a format that `check_format` refuses."""
    if format_ is None:
        return _shorten
    if problem := check_format(format_):
        raise ValueError(problem)
    asked = [(match[1], int(match[2])) for match in _PLACEHOLDER.finditer(format_) if match[1]]
    shown = sum(count for _, count in asked)
    with_domain = "{domain}" in format_

    def fill(text: str) -> str:
        body, domain = text, ""
        if with_domain:
            email = _EMAIL.fullmatch(text)
            if email is None:
                return HIDDEN
            body, domain = email[1], email[2]
        if shown >= len(body):
            return HIDDEN

        def piece(match: re.Match[str]) -> str:
            if match[3]:
                return domain
            count = int(match[2])
            return body[:count] if match[1] == "first" else body[-count:]

        return _PLACEHOLDER.sub(piece, format_)

    return fill


def _shorten(text: str) -> str:
    if email := _EMAIL.fullmatch(text):
        return f"{email[1][0]}{HIDDEN}@{email[2]}"
    return HIDDEN if len(text) < 8 else f"{HIDDEN}{text[-4:]}"


def formatted(format_: str) -> re.Pattern[str] | None:
    """What texts of a format look like; None where they look like any text, for nothing in them is fixed."""
    parts = re.split(r"(\{(?:first[1-9]|last[1-9]|domain)\})", format_)
    if not any(part.strip() for part in parts[::2]):
        return None
    shapes = [re.escape(part) if at % 2 == 0 else _shape(part) for at, part in enumerate(parts)]
    return re.compile("".join(shapes), re.DOTALL)


def _shape(placeholder: str) -> str:
    return r"[^@\s]+\.[^@\s]+" if placeholder == "{domain}" else f".{{{placeholder[-2]}}}"
