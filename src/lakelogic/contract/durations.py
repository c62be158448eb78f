"""Lengths of time as contracts write them: `24h`, `30m`, `7 days`, `P7D`, `PT12H`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "seconds": "seconds",
    "m": "minutes", "min": "minutes", "minute": "minutes", "minutes": "minutes",
    "h": "hours", "hour": "hours", "hours": "hours",
    "d": "days", "day": "days", "days": "days",
    "w": "weeks", "week": "weeks", "weeks": "weeks",
}  # fmt: skip
_PLAIN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)$")
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")


def duration(text: str) -> timedelta:
    """Read a length of time; raises ValueError when it is none."""
    written = text.strip()
    if (match := _PLAIN.match(written)) and match[2] in _UNITS:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    if (match := _ISO.match(written)) and any(match.groups()):
        weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    raise ValueError(f"`{text}` is not a length of time")
