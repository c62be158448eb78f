"""Secret material for masks: where keys come from, and how they are made."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Keys:
    """Secret material for masks, held by the process and never printed or put into a plan or SQL text."""

    encryption: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)  # (key id, 32 bytes); the first encrypts
    salt: bytes | None = field(default=None, repr=False)
