"""Which link a foreign key means: a declared one, or the table of a contract that lies beside this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.resolve import entity_of
from lakelogic.contract.source import Link, is_table_name

_SUFFIXES = (".yaml", ".yml")


def link_of(links: Sequence[Link], contract: str) -> str | None:
    """The name of the link that holds a contract's rows: called like it, or with a table of that name."""
    by_name = next((link.name for link in links if link.name.lower() == contract.lower()), None)
    if by_name is not None:
        return by_name
    for link in links:
        place = link.table or link.path or ""
        if contract.lower() in (place.lower(), place.rsplit(".", 1)[-1].lower()) and is_table_name(place):
            return link.name
    return None


def with_references(
    contract: Contract,
    file: str | None,
    read: Callable[[Path], Contract | None],
    listed: Callable[[Path], Sequence[Path]] | None = None,
) -> Contract:
    """The contract with a link for every foreign key that names a contract whose table can be found.

    `read` loads a contract file without following its own references; None for a file that is none. `listed` may
    remember the contracts in and beside a folder.
    """
    wanted = {
        field.foreign_key.contract
        for field in contract.model.fields
        if field.foreign_key is not None and link_of(contract.links, field.foreign_key.contract) is None
    }
    if not wanted or file is None:
        return contract
    added: list[Link] = []
    for name in sorted(wanted):
        target = _target(name, Path(file), read, listed or neighbours)
        if target is not None:
            added.append(Link.model_validate({"name": name, "table": target}))
    return contract.model_copy(update={"links": (*contract.links, *added)}) if added else contract


def neighbours(folder: Path) -> list[Path]:
    """The contracts of a folder and of the folders beside it."""
    files = sorted([*folder.glob("*.y*ml"), *folder.parent.glob("*/*.y*ml")])
    return [other for other in files if other.suffix in _SUFFIXES and not other.name.startswith("_")]


def _target(
    name: str, file: Path, read: Callable[[Path], Contract | None], listed: Callable[[Path], Sequence[Path]]
) -> str | None:
    if name.lower().endswith(_SUFFIXES):
        contract = read(file.parent / name)
        return contract.materialization.target_path if contract else None
    here = file.resolve()
    # A file is mostly called like its entity: those are looked at first, and the others seldom need to be read.
    likely = sorted(listed(here.parent), key=lambda other: entity_of(other.name).lower() not in name.lower())
    for other in likely:
        if other != here:
            contract = read(other)
            if contract is not None and contract.dataset_name.lower() == name.lower():
                return contract.materialization.target_path
    return None
