"""An estate: many contracts loaded at once, each resolved, with everything that is wrong told together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lakelogic.catalogs.base import Catalog
from lakelogic.contract import codes
from lakelogic.contract.governance import LAYERS
from lakelogic.contract.reading.check import in_order, nearest
from lakelogic.contract.reading.documents import SUFFIXES, Documents, shown
from lakelogic.contract.reading.load import examine
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.contract.reading.resolve import Overrides
from lakelogic.contract.reading.tree import Branch
from lakelogic.driver.graph import Graph, build_graph
from lakelogic.driver.registry import (
    Listed,
    Member,
    contracts_below,
    has_entries,
    read_registry,
    registries_below,
    systems_below,
)
from lakelogic.errors import CompileError, Diagnostic, LoadError, UsageError, Where
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True)
class Estate:
    """Contracts that belong together: iterate over it for its members, ask it by dataset, look at its graph.

    `problems` holds everything that is wrong (errors) or doubtful (warnings) with documents, contracts and graph;
    `missing` are the files of contracts that a registry lists and that are not there.
    """

    members: tuple[Member, ...]
    graph: Graph
    problems: tuple[Diagnostic, ...] = ()
    registries: tuple[str, ...] = ()
    documents: Documents = field(default_factory=Documents, repr=False, compare=False)
    missing: tuple[Path, ...] = ()

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, dataset: str) -> Member:
        return self.graph.members[dataset]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What stops the estate from running."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def is_valid(self) -> bool:
        """Whether everything can run."""
        return not self.errors

    def check(self) -> Estate:
        """The estate itself; raises LoadError with everything that stops it."""
        if self.errors:
            raise LoadError(self.errors)
        return self

    def select(
        self,
        *,
        layers: Sequence[str] = (),
        entities: Sequence[str] = (),
        contracts: Sequence[str] = (),
        exclude: Sequence[str] = (),
        disabled: bool = False,
    ) -> tuple[Member, ...]:
        """Members by layer, entity and contract, in the order of the graph; a name that means nothing is an error.

        `contracts` and `exclude` take datasets, paths of contracts, or entities. What a registry disables is left
        out unless `disabled` asks for it.
        """
        wanted_layers = {_layer(word) for word in layers}
        known_entities = {member.entity for member in self.members}
        for entity in entities:
            if entity not in known_entities:
                raise _unknown("entity", entity, known_entities)
        chosen = self._named(contracts)
        left_out = self._named(exclude)
        return tuple(
            member
            for member in self.graph.order()
            if (disabled or member.enabled)
            and (not wanted_layers or member.layer in wanted_layers)
            and (not entities or member.entity in entities)
            and (not contracts or member.dataset in chosen)
            and member.dataset not in left_out
        )

    def _named(self, names: Sequence[str]) -> set[str]:
        chosen: set[str] = set()
        for name in names:
            path = Path(os.path.normpath(Path(name).absolute()))
            meant = {m.dataset for m in self.members if name in (m.dataset, m.entity) or m.path == path}
            if not meant:
                raise _unknown("contract", name, [m.dataset for m in self.members])
            chosen |= meant
        return chosen


def _layer(word: str) -> str:
    if word not in LAYERS:
        raise _unknown("layer", word, LAYERS)
    return LAYERS[word]


def _unknown(noun: str, name: str, options: Iterable[str]) -> UsageError:
    words = sorted(options)
    meant = nearest(name, words)
    listed = ", ".join(words[:12]) + (", …" if len(words) > 12 else "")
    return UsageError(
        f"There is no {noun} `{name}`.", hint=f"Did you mean `{meant}`?" if meant else f"Known: {listed}."
    )


def load_estate(
    catalog: Catalog,
    places: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    packs: PackChoice | None = None,
    environ: Mapping[str, str] | None = None,
    compiled: bool = True,
    whole: bool | None = None,
    documents: Documents | None = None,
) -> Estate:
    """Load every contract of some registries, contracts or folders; nothing is raised, `problems` tells all.

    A folder stands for its registries and every contract below it; a registry for what it lists. `overrides` and
    `packs` go to every contract, and so does `env` where a contract or its system has it. Contracts are also compiled
    (without looking at their sources) unless told not to. Of the `whole` estate, which a folder is, an upstream that
    nobody makes is an error; otherwise a warning.
    """
    documents = documents or Documents()
    given = [places] if isinstance(places, str | os.PathLike) else list(places)
    finder = _Finder(documents)
    for place in given:
        finder.look_at(Path(place))
    if whole is None:
        whole = any(Path(place).is_dir() for place in given)
    problems = list(finder.problems)
    members: dict[str, Member] = {}
    for listed in finder.listed.values():
        member, more = _member(listed, env, overrides, packs, environ, documents, compiled)
        problems += more
        if member is None:
            continue
        if member.dataset in members:
            first = members[member.dataset]
            message = f"The dataset `{member.dataset}` is also made by {first.file}."
            where = member.loaded.where("dataset") if member.loaded.origins.get("dataset") else member.where
            hint = "Give one of them another name, or take it out of the estate."
            problems.append(Diagnostic(codes.DUPLICATE_DATASET, message, where, hint))
            continue
        members[member.dataset] = member
    if env is not None:
        problems += _unknown_environment(env, members.values())
    problems += finder.unknown_entities(members.values(), whole=whole)
    graph = build_graph(catalog, members.values(), whole=whole and not _has_unread(problems))
    everything = in_order([*problems, *graph.problems, *_ownerless(members.values())])
    registries, missing = tuple(finder.registries), tuple(finder.missing)
    return Estate(tuple(members.values()), graph, tuple(everything), registries, documents, missing)


def _unknown_environment(env: str, members: Iterable[Member]) -> list[Diagnostic]:
    """Not every contract has environments of its own; one that none of them has is a mistake."""
    environments: dict[str, None] = {}
    for member in members:
        system = member.loaded.around.system
        for section in (member.loaded.tree.get("environments"), system.section("environments") if system else None):
            environments |= dict.fromkeys(section.entries) if isinstance(section, Branch) else {}
    if env in environments:
        return []
    meant = nearest(env, environments)
    listed = ", ".join(f"`{name}`" for name in environments) or "none"
    hint = f"Did you mean `{meant}`?" if meant else f"Known: {listed}."
    message = f"No contract and no system of the estate has the environment `{env}`."
    return [Diagnostic(codes.UNKNOWN_ENVIRONMENT, message, Where(f"--env {env}"), hint)]


def _has_unread(problems: Sequence[Diagnostic]) -> bool:
    """Whether a contract could not be read at all: what it makes is then not unknown, only not seen."""
    unread = {codes.SYNTAX, codes.TAB, codes.EMPTY, codes.NOT_A_MAP, codes.MISSING_FILE, codes.UNREADABLE}
    return any(problem.code in unread for problem in problems)


def _ownerless(members: Iterable[Member]) -> list[Diagnostic]:
    return [
        Diagnostic(
            codes.NO_OWNER,
            f"Nobody answers for `{member.dataset}`.",
            Where(member.loaded.file, path="info.owner"),
            "Name a team under `ownership` of its `_domain.yaml`, or an `owner` under `info`.",
            "warning",
        )
        for member in members
        if member.owner is None
    ]


class _Finder:
    """Collects what is listed, each contract once, and what is wrong with the lists."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.listed: dict[Path, Listed] = {}
        self.registries: list[str] = []
        self.entities: dict[str, tuple[tuple[str, Where], ...]] = {}
        self.problems: list[Diagnostic] = []
        self.missing: list[Path] = []

    def look_at(self, place: Path) -> None:
        if place.is_dir():
            self.folder(place)
        elif place.name.startswith("_") or not place.exists() or has_entries(place):
            self.registry(place)
        else:
            self.add(Listed(Path(os.path.normpath(place.absolute())), where=Where(str(place))))

    def folder(self, place: Path) -> None:
        registries = registries_below(place)
        for file in registries:
            self.registry(file)
        for file in systems_below(place):
            if read_registry(file, self.documents).contracts:
                self.registry(file)
        contracts = contracts_below(place)
        beside = {file.parent.absolute() for file in registries}
        for file in contracts:
            path = Path(os.path.normpath(file.absolute()))
            if path not in self.listed and beside & set(path.parents):
                message = f"No registry lists `{shown(path)}`, so no pass over a registry runs it."
                hint = "Add it to the `_registry.yaml` above it, or move it out of the estate."
                self.problems.append(Diagnostic(codes.UNLISTED, message, Where(shown(path)), hint, "warning"))
            self.add(Listed(path, where=Where(str(file))))
        if not registries and not contracts:
            hint = f"Name a folder with contracts ({', '.join(SUFFIXES)}), or a registry."
            message = f"There is no contract and no registry in `{place}`."
            self.problems.append(Diagnostic(codes.NOTHING_FOUND, message, Where(str(place)), hint))

    def registry(self, place: Path) -> None:
        listing = read_registry(place, self.documents)
        self.registries.append(shown(place.absolute()))
        self.problems += listing.problems
        self.missing += listing.missing
        for entity, depends in listing.entities.items():
            self.entities[entity] = self.entities.get(entity, ()) + depends
        for listed in listing.contracts:
            self.add(listed)

    def unknown_entities(self, members: Iterable[Member], *, whole: bool) -> list[Diagnostic]:
        """Entities that a registry depends on and nobody has; of a part of the estate that is only doubtful."""
        entities = {*self.entities, *(member.entity for member in members)}
        diagnostics = []
        for depends in self.entities.values():
            for entity, where in depends:
                if entity not in entities:
                    meant = nearest(entity, entities)
                    hint = f"Did you mean `{meant}`?" if meant else f"Known: {', '.join(sorted(entities))}."
                    severity: Literal["error", "warning"] = "error" if whole or meant else "warning"
                    message = f"There is no entity `{entity}`."
                    diagnostics.append(Diagnostic(codes.UNKNOWN_ENTITY, message, where, hint, severity))
        return diagnostics

    def add(self, listed: Listed) -> None:
        path = Path(os.path.normpath(listed.path))
        earlier = self.listed.get(path)
        if earlier is None:
            self.listed[path] = listed
        elif listed.registry is not None and earlier.registry is not None and listed.where != earlier.where:
            message = f"`{shown(path)}` is listed twice; first in {earlier.where.file}, line {earlier.where.line}."
            self.problems.append(
                Diagnostic(codes.DUPLICATE_DATASET, message, listed.where, "Keep one of the two lines.", "warning")
            )
        elif earlier.registry is None and listed.registry is not None:
            self.listed[path] = listed


def _member(
    listed: Listed,
    env: str | None,
    overrides: Overrides | None,
    packs: PackChoice | None,
    environ: Mapping[str, str] | None,
    documents: Documents,
    compiled: bool,
) -> tuple[Member | None, list[Diagnostic]]:
    path = Path(os.path.normpath(listed.path))
    loaded, problems = examine(
        shown(path),
        env=env,
        overrides=overrides,
        packs=packs,
        environ=environ,
        documents=documents,
        env_is_needed=False,
    )
    if loaded is None:
        return None, problems
    if compiled:
        from lakelogic.plan.compile import compile_contract
        from lakelogic.sql.problems import NO_COLUMN

        try:
            # Without its source a contract's columns are guessed at: that one is not there is no news.
            problems += [warning for warning in compile_contract(loaded).warnings if warning.code != NO_COLUMN]
        except CompileError as error:
            places = {(d.where.file, d.where.line, d.where.path) for d in problems}
            problems += [d for d in error.diagnostics if (d.where.file, d.where.line, d.where.path) not in places]
    contract = loaded.contract
    if listed.layer is not None and contract.layer != listed.layer:
        words = f"says {contract.layer}" if contract.layer else "says no layer"
        message = f"`{shown(path)}` {words}, and the registry lists it under {listed.layer}."
        hint = f"Write `target_layer: {listed.layer}` into the contract, or move the line."
        problems.append(Diagnostic(codes.WRONG_LAYER, message, listed.where, hint))
    member = Member(
        contract.dataset_name,
        listed.entity or contract.entity,
        contract.layer,
        loaded,
        path,
        listed.enabled,
        listed.depends_on,
        listed.registry,
        listed.where,
    )
    return member, problems


def load_all_contracts(
    folder: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = "contracts",
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    policy_pack: Sequence[str] = (),
    policy_pack_dir: str | None = None,
) -> Estate:
    """Load every contract of a folder (or of registries); raises LoadError with all that is wrong, at once."""
    return load_estate(
        Surroundings.here().catalog,
        folder,
        env=env,
        overrides=overrides,
        packs=PackChoice(tuple(policy_pack), policy_pack_dir),
    ).check()


def layer_counts(members: Iterable[Member]) -> dict[str, int]:
    """How many members each layer has, in the order of the layers."""
    counted = Counter(member.layer or "no layer" for member in members)
    order = ("reference", "bronze", "silver", "gold", "no layer")
    return {layer: counted[layer] for layer in order if counted[layer]}


def resolved_again(
    estate: Estate,
    members: Iterable[Member],
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    packs: PackChoice | None = None,
) -> tuple[tuple[Member, ...], tuple[Diagnostic, ...]]:
    """Some members with overrides and packs that are meant only for them, compiled; and what is wrong with them."""
    resolved: list[Member] = []
    problems: list[Diagnostic] = []
    for given in members:
        listed = Listed(
            given.path, given.entity, given.layer, given.enabled, given.depends_on, given.registry, given.where
        )
        member, more = _member(listed, env, overrides, packs, None, estate.documents, compiled=True)
        problems += more
        resolved += [member] if member is not None else []
    return tuple(resolved), tuple(in_order(problems))
