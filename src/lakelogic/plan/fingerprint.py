"""The stable identity of a contract: the same document gives the same fingerprint on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.contract.load import Loaded
from lakelogic.contract.tree import plain

# What can change without changing a single row of the result.
_WORDS_ONLY = {
    "info",
    "metadata",
    "ownership",
    "tags",
    "compliance",
    "downstream",
    "extensions",
    "engine",
    "environments",
    "exports",
    "upstream_policy",
    "upstream_grace_hours",
}


def fingerprint(loaded: Loaded) -> str:
    """A short hash over everything in a contract that can change its rows, as it was written and resolved."""
    contract = loaded.contract
    content: dict[str, Any] = plain(loaded.tree) if loaded.tree.entries else _modelled(contract)
    kept = {key: value for key, value in content.items() if key not in _WORDS_ONLY and not key.startswith("x-")}
    kept["dataset"] = contract.dataset_name
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _modelled(contract: Contract) -> dict[str, Any]:
    """For a contract that was made in Python: there is no document to look at."""
    return contract.model_dump(mode="json", by_alias=True, exclude_defaults=True)
