"""How people write tables: as names of one to three parts, or as paths."""

from __future__ import annotations

import re

from lakelogic.errors import UsageError

_MOST_PARTS = 3
# A part becomes a folder: no leading underscore or dot, because tools and VACUUM pass such folders by.
_PART = re.compile(r"[^\W_][\w-]*")


def is_path(target: str) -> bool:
    """Whether a target is written as a path or URI rather than as a name."""
    return "/" in target or "\\" in target or target.startswith("~") or target in (".", "..")


def parts(name: str) -> tuple[str, ...]:
    """The parts of a table name; refuses parts that could not safely be folders."""
    written = tuple(name.split("."))
    wrong = [part for part in written if not _PART.fullmatch(part)]
    if wrong or len(written) > _MOST_PARTS:
        reason = f"`{wrong[0]}` cannot be part of it" if wrong else f"it has {len(written)} parts"
        raise UsageError(
            f"`{name}` is not a table name: {reason}.",
            hint="Write one to three parts of letters, digits, - and _ (catalog.schema.table), or a path with a slash.",
        )
    return written
