"""Registries: which contracts belong together, under which entity and layer, and whether they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lakelogic.contract import codes
from lakelogic.contract.estate import Registry, System
from lakelogic.contract.governance import LAYERS
from lakelogic.contract.reading.check import nearest
from lakelogic.contract.reading.documents import (
    DOMAIN_FILE,
    PACK_FOLDER,
    REGISTRY_FILE,
    SUFFIXES,
    SYSTEM_FILE,
    Documents,
    shown,
)
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.tree import Branch, Items, Leaf, Node
from lakelogic.errors import Diagnostic, Where

LAYER_ORDER = ("reference", "bronze", "silver", "gold")


@dataclass(frozen=True, slots=True)
class Listed:
    """One contract as a registry lists it; `layer` is None where `_system.yaml` lists it without one."""

    path: Path
    entity: str | None = None
    layer: str | None = None
    enabled: bool = True
    depends_on: tuple[tuple[str, Where], ...] = ()
    registry: str | None = None
    where: Where = field(default_factory=Where)


@dataclass(frozen=True, slots=True)
class Member:
    """One contract of an estate, resolved.

    `dataset` is its name in the graph; `entity` is the registry's word for it, or the contract's own; `depends_on`
    are entities that come first, with the line that says so; `where` is the line that lists it.
    """

    dataset: str
    entity: str
    layer: str | None
    loaded: Loaded
    path: Path
    enabled: bool = True
    depends_on: tuple[tuple[str, Where], ...] = ()
    registry: str | None = None
    where: Where = field(default_factory=Where)

    def __str__(self) -> str:
        return self.dataset

    @property
    def domain(self) -> str | None:
        """The domain it belongs to."""
        return self.loaded.contract.domain

    @property
    def system(self) -> str | None:
        """The system its rows come from."""
        return self.loaded.contract.system

    @property
    def file(self) -> str:
        """The contract's path, as people want to read it."""
        return shown(self.path)

    @property
    def rank(self) -> int:
        """The place of its layer in a pass; what has no layer comes last and is ordered by the graph."""
        return LAYER_ORDER.index(self.layer) if self.layer in LAYER_ORDER else len(LAYER_ORDER)

    @property
    def owner(self) -> str | None:
        """Who answers for it: the dataset's owner, else the team, else the owner of its domain."""
        contract = self.loaded.contract
        ownership = contract.ownership
        candidates = [contract.info.owner]
        if ownership is not None:
            candidates += [ownership.owner, ownership.team, ownership.domain_owner]
        return next((name for name in candidates if name), None)


@dataclass(slots=True)
class RegistryListing:
    """What a registry says: its contracts that are there, its entities with what they depend on, its problems."""

    contracts: list[Listed] = field(default_factory=list)
    entities: dict[str, tuple[tuple[str, Where], ...]] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)  # contracts that are listed and not there


def read_registry(place: Path, documents: Documents) -> RegistryListing:
    """What a registry lists; paths of contracts are relative to its folder. `_system.yaml` may be one too."""
    file = place / REGISTRY_FILE if place.is_dir() else place
    if file.name.startswith(SYSTEM_FILE.split(".", maxsplit=1)[0]):
        return _of_system(file, documents)
    document = documents.document(file, Registry)
    listing = RegistryListing(problems=list(document.problems))
    entries = document.tree.get("entries") if document.tree else None
    first: dict[str, Where] = {}
    for index, entry in enumerate(entries.items if isinstance(entries, Items) else ()):
        if not isinstance(entry, Branch):
            continue
        at = f"entries[{index}]"
        entity = _text(entry.get("entity"))
        if entity is None:
            continue
        where = entry.entries["entity"].value.spot.at(f"{at}.entity")
        if entity in first:
            message = f"The entity `{entity}` stands here twice; the first is in line {first[entity].line}."
            hint = "Put their contracts together."
            listing.problems.append(Diagnostic(codes.DUPLICATE_NAME, message, where, hint))
        first.setdefault(entity, where)
        enabled = _value(entry.get("enabled"))
        depends = _depends(entry.get("depends_on"), f"{at}.depends_on")
        listing.entities[entity] = listing.entities.get(entity, ()) + depends
        contracts = entry.get("contracts")
        for layer, listed in contracts.entries.items() if isinstance(contracts, Branch) else ():
            path = _text(listed.value)
            if path is not None and layer in LAYERS:
                spot = listed.value.spot.at(f"{at}.contracts.{layer}")
                listing.contracts.append(
                    Listed(
                        (file.parent / path).absolute(), entity, LAYERS[layer], enabled is not False, depends,
                        document.file, spot,
                    )
                )  # fmt: skip
    return _present(listing)


def has_entries(file: Path) -> bool:
    """Whether a file that is called otherwise is a registry all the same; no contract has `entries` at its root."""
    try:
        return any(line.startswith("entries:") for line in file.read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return False  # whoever reads it says what is wrong


def _of_system(file: Path, documents: Documents) -> RegistryListing:
    document = documents.document(file, System)
    listed = document.tree.get("contracts") if document.tree else None
    contracts = [
        Listed((file.parent / path).absolute(), registry=document.file, where=item.spot.at(f"contracts[{index}]"))
        for index, item in enumerate(listed.items if isinstance(listed, Items) else ())
        if (path := _text(item)) is not None
    ]
    return _present(RegistryListing(contracts, problems=list(document.problems)))


def _present(listing: RegistryListing) -> RegistryListing:
    """The listing with contracts that are there; what is not there is a problem at the line that lists it."""
    there: list[Listed] = []
    for contract in listing.contracts:
        if contract.path.is_file():
            there.append(contract)
            continue
        listing.missing.append(contract.path)
        folder = contract.path.parent
        siblings = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        meant = nearest(contract.path.name, siblings, 0.7)
        hint = f"Did you mean `{meant}`?" if meant else "Paths are relative to the registry's folder."
        message = f"There is no contract `{shown(contract.path)}`."
        listing.problems.append(Diagnostic(codes.MISSING_FILE, message, contract.where, hint))
    listing.contracts = there
    return listing


def _depends(node: Node | None, at: str) -> tuple[tuple[str, Where], ...]:
    items = node.items if isinstance(node, Items) else ()
    named = [(_text(item), item.spot.at(f"{at}[{index}]")) for index, item in enumerate(items)]
    return tuple((name, where) for name, where in named if name is not None)


def _value(node: Node | None) -> object:
    return node.value if isinstance(node, Leaf) else None


def _text(node: Node | None) -> str | None:
    value = _value(node)
    return value if isinstance(value, str) else None


_NO_CONTRACTS = {DOMAIN_FILE, SYSTEM_FILE, REGISTRY_FILE}


def registries_below(folder: Path) -> list[Path]:
    """Every registry at or below a folder, in the order of their paths."""
    return [file for file in _files(folder) if file.name in (REGISTRY_FILE, REGISTRY_FILE.replace(".yaml", ".yml"))]


def systems_below(folder: Path) -> list[Path]:
    """Every system at or below a folder, in the order of their paths."""
    return [file for file in _files(folder) if file.name in (SYSTEM_FILE, SYSTEM_FILE.replace(".yaml", ".yml"))]


def contracts_below(folder: Path) -> list[Path]:
    """Every contract at or below a folder: YAML that is no document around contracts and no policy pack."""
    return [file for file in _files(folder) if not file.name.startswith("_") and file.suffix != ".json"]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == PACK_FOLDER:
            continue
        if path.is_dir():
            if not path.name.startswith("_"):
                yield from _files(path)
        elif path.suffix in SUFFIXES:
            yield path
