"""Contracts that compile and no longer find what they read: what they hid is hidden until they find it again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from lakelogic.actions.visibility.renamed_datasets import Heirs
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.check import nearest
from lakelogic.contract.source import is_table_name
from lakelogic.driver.registry import Member
from lakelogic.errors import LakeLogicError
from lakelogic.ledger.visibility import KnownColumns
from lakelogic.plan.nodes import Plan
from lakelogic.run.input import pin as window

# By the name that a plan has for it (the source, a link): who makes the place, and how the contract writes it.
Above = Mapping[str, tuple[str | None, str]]


def has_lost_source(
    member: Member,
    above: Above,
    remembered: KnownColumns | None,
    datasets: Collection[str],
    heirs: Heirs,
    catalog: Catalog,
) -> bool:
    """Whether a contract reads something that nobody makes and that is not there, in place of what it read before.

    Of one that was never seen whole that is said of tables only: files may come later, and hide nothing before.
    """
    if remembered is None:
        source = member.loaded.contract.source.path
        return (
            above[Plan.SOURCE][0] is None
            and is_table_name(source or "")
            and not _is_there(Plan.SOURCE, member, catalog)
        )
    facts: Any = remembered.facts
    before = {(dataset, place) for dataset, place, *_ in facts["edges"] if dataset is not None}
    makers = {maker for maker, _ in above.values()}
    lost = {(dataset, place) for dataset, place in before if dataset not in makers}
    if not lost:
        return False
    unmade = {name: place for name, (maker, place) in above.items() if maker is None}
    # The place is read as before, and its maker writes somewhere else now: an old table there is no answer.
    if any((dataset in datasets or heirs.of(dataset)) and place in unmade.values() for dataset, place in lost):
        return True
    return any(not _is_there(name, member, catalog) for name in unmade)


def _is_there(name: str, member: Member, catalog: Catalog) -> bool:
    """Whether a source or a link can be read as it lies there."""
    contract = member.loaded.contract
    try:
        if name == Plan.SOURCE:
            pinned = window.pin_source(contract, catalog)
            return bool(pinned.files) or pinned.pinned.table is not None
        chosen = [link for link in contract.links if link.name == name]
        return name in window.pin_links(contract.model_copy(update={"links": chosen}), catalog)
    except (LakeLogicError, OSError):
        return False  # whoever runs the contract is told why


def meant_by(member: Member, others: Iterable[Member]) -> set[str]:
    """The dataset whose table has nearly the name that a contract reads."""
    targets = {str(other.loaded.contract.materialization.target_path): other.dataset for other in others}
    meant = nearest(str(member.loaded.contract.source.path), targets, 0.8)
    return {targets[meant]} if meant else set()


def missing_files(listed: Collection[Path]) -> frozenset[str]:
    """Files that a registry names and that are not there, written as they are remembered."""
    return frozenset(str(path.resolve()) for path in listed)
