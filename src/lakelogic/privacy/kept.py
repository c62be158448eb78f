"""Under which masks a table was written, and whether those of a contract are still the same."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.plan.nodes import Mask
from lakelogic.privacy.already_masked import is_masked, sealed_with
from lakelogic.privacy.keys import Keys

_CHECK_BYTES = 8


def declared(contract: Contract) -> dict[str, Mask]:
    """The masks that the model declares, by column in small letters."""
    return {
        field.name.lower(): Mask(field.name, field.masking, field.masking_format)
        for field in contract.model.fields
        if field.masking
    }


def remembered(contract: Contract, keys: Keys) -> dict[str, dict[str, str | None]]:
    """What a commit says of its masks: kind, format, and for those that keep equal values equal a check of the secret.

    The check is keyed with the secret itself and tells nothing about it.
    """
    return {
        name: {"mask": mask.strategy, "format": mask.format, "check": _check(mask, keys)}
        for name, mask in sorted(declared(contract).items())
    }


def _check(mask: Mask, keys: Keys) -> str | None:
    """Random nonces make a key free to rotate; what must stay equal is bound to its secret."""
    if mask.strategy == "hash" and keys.salt is not None:
        return hmac.digest(keys.salt, b"lakelogic check of a salt 1", "sha256")[:_CHECK_BYTES].hex()
    if mask.strategy == "encrypt_deterministic" and keys.encryption:
        return keys.encryption[0][0]
    return None


def changed(before: Mapping[str, Any], now: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    """What differs, in words, for the columns that the table has."""
    there = {name.lower(): name for name in columns}
    changes = []
    for name in sorted(there.keys() & now.keys()):
        was, is_ = before.get(name), now[name]
        if was is None:
            changes.append(f"`{there[name]}` was written in clear and is masked with `{is_['mask']}` now")
        elif (was["mask"], was["format"]) != (is_["mask"], is_["format"]):
            kind = f"`{was['mask']}`" if was["mask"] != is_["mask"] else "another masking_format"
            changes.append(f"`{there[name]}` was masked with {kind} and is masked with `{is_['mask']}` now")
        elif was["check"] != is_["check"]:
            secret = "salt" if is_["mask"] == "hash" else "key"
            changes.append(f"`{there[name]}` was masked with another {secret}")
    return changes


def unmasked(rows: Iterable[Mapping[str, Any]], masks: Mapping[str, Mask], keys: Keys) -> list[str]:
    """What rows themselves show, where no commit tells: values that their mask did not make."""
    first = keys.encryption[0][0] if keys.encryption else None
    reasons: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            mask = masks.get(name.lower())
            if mask is None or value is None:
                continue
            if not is_masked(value, mask):
                reasons[name] = f"`{name}` holds values that `{mask.strategy}` did not make"
            elif mask.strategy == "encrypt_deterministic" and sealed_with(str(value)) != first:
                reasons.setdefault(name, f"`{name}` was masked with another key")
    return list(reasons.values())
