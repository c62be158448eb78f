"""The day that the name of a file tells, or else the folders it lies in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import PurePosixPath

_DATED = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_PARTS = re.compile(r"(?:year=)?(\d{4})/(?:month=)?(\d{1,2})/(?:day=)?(\d{1,2})$")


def day_of_file(path: str) -> date | None:
    """`claims_2026-02-03.csv`, `claims_20260203.csv`, `day=2026-02-03/…`, `2026/02/03/…`; None where nothing tells.

    The file's own name comes first, then the nearest folder; of several dates in one name, the last.
    """
    parts = PurePosixPath(path.replace("\\", "/"))
    for name in (parts.name, *(folder.name for folder in parts.parents)):
        if found := _last(_DATED.findall(name)):
            return found
    for folder in parts.parents:
        if (match := _PARTS.search(str(folder))) and (found := _day(*match.groups())):
            return found
    return None


def _last(found: Iterable[tuple[str, ...]]) -> date | None:
    days = [_day(year, month, day) for year, _, month, day in found]
    return next((day for day in reversed(days) if day is not None), None)


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
