"""Tables that are opened once: within `kept_open`, a table stays open until somebody commits to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass(slots=True)
class Kept:
    """A table as it was opened, and what was read of it since; `is_newest` asks the place itself, cheaply."""

    table: Any
    version: int
    is_newest: Callable[[], bool]
    read: dict[Any, Any] = field(default_factory=dict)

    def once(self, name: Any, read: Callable[[], Value]) -> Value:
        """Something about this version, read when it is first asked for."""
        if name not in self.read:
            self.read[name] = read()
        value: Value = self.read[name]
        return value


_open: ContextVar[dict[str, Kept] | None] = ContextVar("open_tables", default=None)


@contextmanager
def kept_open() -> Iterator[None]:
    """Whoever asks for the same table more than once in here opens it once; of this thread, and while it lasts."""
    if _open.get() is not None:
        yield
        return
    token = _open.set({})
    try:
        yield
    finally:
        _open.reset(token)


def is_open(root: str) -> bool:
    """Whether the table is open already."""
    return root in (_open.get() or {})


def newest(root: str, look: Callable[[], Kept | None]) -> Kept | None:
    """The newest version of a table: the one that is open, unless somebody has committed; else what `look` finds."""
    tables = _open.get()
    if tables is None:
        return look()
    kept = tables.get(root)
    if kept is None or not kept.is_newest():
        tables.pop(root, None)
        if (kept := look()) is not None:
            tables[root] = kept
    return kept
