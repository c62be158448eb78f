"""Whether a stored value is what a mask makes: rows that were written before the mask was declared are not."""

from __future__ import annotations

import binascii
import re
from typing import Any

from lakelogic.plan.nodes import Mask
from lakelogic.privacy.masks import GCM_VERSION, HEADER_BYTES, PREFIX, SIV_VERSION, TAG_BYTES
from lakelogic.privacy.partial import HIDDEN, formatted

_HASH = re.compile(r"[0-9a-f]{64}")
_VERSION = {"encrypt": GCM_VERSION, "encrypt_deterministic": SIV_VERSION}


def is_masked(value: Any, mask: Mask) -> bool:
    """Whether the mask made this value, or could have made it: what could as well be clear text is not taken for it."""
    if value is None:
        return True
    if not isinstance(value, str) or mask.strategy == "nullify":
        return False
    match mask.strategy:
        case "redact":
            return value == HIDDEN
        case "hash":
            return _HASH.fullmatch(value) is not None
        case "partial":
            if mask.format is None:
                return HIDDEN in value
            shape = formatted(mask.format)
            return value == HIDDEN or (shape is not None and shape.fullmatch(value) is not None)
    return sealed_with(value) is not None and sealed_version(value) == _VERSION[mask.strategy]


def sealed_with(value: str) -> str | None:
    """The id of the key that an encrypted value names; None where it is no encrypted value."""
    sealed = _sealed(value)
    return sealed[1:HEADER_BYTES].hex() if sealed is not None else None


def sealed_version(value: str) -> int | None:
    """The layout of an encrypted value."""
    sealed = _sealed(value)
    return sealed[0] if sealed is not None else None


def _sealed(value: str) -> bytes | None:
    if not value.startswith(PREFIX):
        return None
    try:
        sealed = binascii.a2b_base64(value[len(PREFIX) :], strict_mode=True)
    except ValueError:
        return None
    return sealed if len(sealed) >= HEADER_BYTES + TAG_BYTES and sealed[0] in (GCM_VERSION, SIV_VERSION) else None
