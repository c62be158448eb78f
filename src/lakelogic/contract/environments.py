"""What an environment changes of a contract, and which environments share their tables on purpose."""

from __future__ import annotations

from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.documents import Around
from lakelogic.contract.reading.tree import Branch, Leaf

# For readers and for the driver: no row is another one for them.
_FOR_READERS = frozenset(
    {
        "version", "info", "metadata", "extensions", "engine", "environments", "downstream", "schedule", "compliance",
        "notifications", "cost", "ownership", "tags", "service_levels", "upstream_policy", "upstream_grace_hours",
    }
)  # fmt: skip


def concerns_rows(contract: Contract) -> dict[str, Any]:
    """What decides about rows and where they go; an environment that changes nothing of it makes no other rows."""
    return {**contract.model_dump(exclude=set(_FOR_READERS)), "dataset_name": contract.dataset_name}


def names_of(contract: Contract, around: Around) -> tuple[str, ...]:
    """The environments of a contract and of its system."""
    return tuple(dict.fromkeys((*contract.environments, *_of_system(around))))


def sharing(contract: Contract, around: Around) -> frozenset[str]:
    """The environments that say `shares_target: true`; the contract's word stands over that of its system."""
    shared = {name: _says_shared(environment) for name, environment in _of_system(around).items()}
    for name, environment in contract.environments.items():
        if "shares_target" in environment.model_fields_set or name not in shared:
            shared[name] = environment.shares_target
    return frozenset(name for name, shared in shared.items() if shared)


def _of_system(around: Around) -> dict[str, Any]:
    section = around.system.section("environments") if around.system else None
    return {name: entry.value for name, entry in section.entries.items()} if section else {}


def _says_shared(node: Any) -> bool:
    leaf = node.get("shares_target") if isinstance(node, Branch) else None
    return isinstance(leaf, Leaf) and leaf.value is True
