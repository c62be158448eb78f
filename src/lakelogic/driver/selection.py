"""What a pass runs: members chosen by layer, entity and name, why each is in, and why others are not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

from lakelogic.contract.governance import LAYERS
from lakelogic.contract.reading.check import nearest
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.driver import selectors
from lakelogic.driver.estate import Estate, load_estate, resolved_again
from lakelogic.driver.graph import Graph
from lakelogic.driver.registry import Member
from lakelogic.errors import Diagnostic, LoadError, SourceError, UsageError
from lakelogic.ledger.ask import newest_runs
from lakelogic.ledger.store import Ledger
from lakelogic.run.input.pin import source_format, source_path
from lakelogic.run.surroundings import Surroundings
from lakelogic.storage.local import list_files


@dataclass(frozen=True, slots=True)
class Selectors:
    """What somebody asks for. Names of contracts are datasets, entities or paths; `select` takes selectors."""

    registries: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    env: str | None = None
    overrides: tuple[str, ...] = ()
    packs: PackChoice = field(default_factory=PackChoice)


@dataclass(frozen=True)
class Selection:
    """The members of a pass in the order of the graph, resolved with everything that was asked for.

    `why` says for each why it is in; `left_out` why others of the registries are not; `passed_by` are members that
    were chosen and have nothing to do with the files that the overrides name.
    """

    estate: Estate
    members: Mapping[str, Member]
    graph: Graph
    why: Mapping[str, str]
    left_out: Mapping[str, str]
    passed_by: Mapping[str, str]
    warnings: tuple[Diagnostic, ...] = ()


def choose(around: Surroundings, choice: Selectors) -> Selection:
    """Load the registries and choose; everything that is wrong with what would run is raised at once.

    Overrides and packs are meant for what was chosen, so that `--layers bronze --set source.path=…` says nothing
    about the silver contracts of the same registry.
    """
    places = choice.registries or tuple(name for name in choice.contracts if Path(name).is_file())
    if not places:
        raise UsageError("A pass needs a registry.", hint="Add --registry contracts/_registry.yaml.")
    estate = load_estate(around.catalog, places, env=choice.env, compiled=False)
    if estate.errors:
        raise LoadError(estate.errors)
    chosen = _chosen(around, estate, choice)
    resolved, problems = resolved_again(
        estate, chosen, env=choice.env, overrides=choice.overrides or None, packs=choice.packs
    )
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise LoadError(errors)
    members = {member.dataset: member for member in resolved}
    if list(members) != [member.dataset for member in chosen]:
        raise UsageError(
            "--set may not change the name of a dataset in a pass over several.",
            hint="Run that contract alone: lakelogic run contract.yaml --set …",
        )
    named = {member.dataset: _named_files(member, members[member.dataset]) for member in chosen if choice.overrides}
    passed_by = {
        member.dataset: f"its files are `{member.loaded.contract.source.pattern}`, and --set source.pattern names "
        f"{', '.join(named[member.dataset].strange[:3])}"
        for member in chosen
        if choice.overrides and named[member.dataset].are_all_strange
    }
    _refuse_mixed({dataset: files for dataset, files in named.items() if dataset not in passed_by and files.any})
    warnings = [p for p in (*estate.problems, *problems) if p.severity == "warning"]
    return Selection(
        estate,
        members,
        estate.graph.only(members),
        {member.dataset: _why(member, choice) for member in chosen},
        {m.dataset: _why_not(m, choice) for m in estate.graph.order() if m.dataset not in members},
        passed_by,
        tuple(dict.fromkeys(warnings)),
    )


def _chosen(around: Surroundings, estate: Estate, choice: Selectors) -> tuple[Member, ...]:
    """The members that are meant; a name that means none of them is an error."""
    wanted = {_layer(word, estate) for word in choice.layers}
    within = [member for member in estate if not wanted or member.layer in wanted]
    entities = sorted({member.entity for member in estate})
    for entity in choice.entities:
        if not any(member.entity == entity for member in within):
            raise _no_match("entity", entity, entities, choice.layers)
    datasets = [member.dataset for member in estate]
    for name in (*choice.contracts, *(word for word in choice.exclude if not is_selector(word))):
        if not any(_is_named(member, [name]) for member in within):
            raise _no_match("contract", name, datasets, choice.layers)
    wanted_by_name = _selected(around, estate, choice.select) if choice.select else None
    members = tuple(
        member
        for member in estate.select(
            layers=choice.layers, entities=choice.entities, contracts=choice.contracts,
            exclude=_excluded(around, estate, choice.exclude),
        )
        if wanted_by_name is None or member.dataset in wanted_by_name
    )  # fmt: skip
    if not members:
        if not len(estate):
            raise UsageError(
                "Nothing is left to run: no contract is listed.", hint=f"Add entries to {', '.join(choice.registries)}."
            )
        why = sorted({_why_not(member, choice) for member in within})
        raise UsageError("Nothing is left to run.", hint=f"What was chosen is out: {'; '.join(why[:3])}.")
    return members


def is_selector(word: str) -> bool:
    """Whether a word is more than the name of one dataset, entity or contract."""
    return any(mark in word for mark in "*?[+:")


def _selected(around: Surroundings, estate: Estate, words: Sequence[str]) -> frozenset[str]:
    return selectors.selected(
        estate.members, estate.graph, words, lambda datasets: newest_states(around.ledger, datasets)
    )


def _excluded(around: Surroundings, estate: Estate, words: Sequence[str]) -> tuple[str, ...]:
    """Names that are left out; selectors among them become the datasets they mean."""
    plain = [word for word in words if not is_selector(word)]
    return (*plain, *sorted(_selected(around, estate, [word for word in words if is_selector(word)])))


def narrowed(around: Surroundings, estate: Estate, select: Sequence[str], exclude: Sequence[str]) -> Estate:
    """The part of an estate that is selected, with what is wrong about it and about what lies around it."""
    kept = _selected(around, estate, select) if select else frozenset(estate.graph.members)
    kept -= _selected(around, estate, exclude) if exclude else frozenset()
    if not kept:
        raise UsageError("Nothing is left of what was selected.", hint="Take words out of --exclude.")
    members = tuple(member for member in estate.members if member.dataset in kept)
    others = {member.file for member in estate.members if member.dataset not in kept}
    problems = tuple(problem for problem in estate.problems if problem.where.file not in others)
    return replace(estate, members=members, graph=estate.graph.only(kept), problems=problems)


def newest_states(ledger: Ledger, datasets: Sequence[str]) -> dict[str, str]:
    """How the newest run of each dataset came out; one that has not run is not in it."""
    newest = newest_runs(ledger.database, datasets, 1, ("run_id", "dataset", "status", "started_at"))
    return {dataset: str(runs[0]["status"]) for dataset, runs in newest.items() if runs}


def _layer(word: str, estate: Estate) -> str:
    if word not in LAYERS:
        raise _no_match("layer", word, LAYERS, ())
    layer = LAYERS[word]
    there = sorted({member.layer or "none" for member in estate})
    if layer not in there:
        hint = "Add --reference-registry." if layer == "reference" else f"There are: {', '.join(there)}."
        raise UsageError(f"These registries have no contract of the layer `{word}`.", hint=hint)
    return layer


def _no_match(noun: str, name: str, options: Iterable[str], layers: Sequence[str]) -> UsageError:
    words = list(options)
    if name in words:
        message = f"The {noun} `{name}` has nothing in the layers {', '.join(layers)}."
        return UsageError(message, hint="Add its layer to --layers, or take the name out.")
    meant = nearest(name, words)
    listed = ", ".join(words[:12]) + (", …" if len(words) > 12 else "")
    return UsageError(
        f"There is no {noun} `{name}`.", hint=f"Did you mean `{meant}`?" if meant else f"Known: {listed}."
    )


def _is_named(member: Member, names: Sequence[str]) -> bool:
    return any(
        name in (member.dataset, member.entity) or str(member.path) == os.path.normpath(Path(name).absolute())
        for name in names
    )


def _why(member: Member, choice: Selectors) -> str:
    reasons = [f"layer {member.layer}"] if choice.layers else []
    reasons += [f"entity {member.entity}"] if choice.entities else []
    reasons += ["named by --contracts"] if choice.contracts else []
    reasons += [f"selected by {' '.join(choice.select)}"] if choice.select else []
    where = member.where
    listed = f"listed in {where.file}" + (f", line {where.line}" if where.line else "")
    return "; ".join([*reasons, listed])


def _why_not(member: Member, choice: Selectors) -> str:
    wanted = {LAYERS[word] for word in choice.layers}
    if wanted and member.layer not in wanted:
        return f"the layer {member.layer} was not asked for"
    if choice.entities and member.entity not in choice.entities:
        return f"the entity {member.entity} was not asked for"
    if _is_named(member, choice.exclude):
        return "taken out by --exclude"
    if not member.enabled:
        return "its registry says enabled: false"
    if choice.select or any(is_selector(word) for word in choice.exclude):
        return "not selected" if choice.select else "taken out by --exclude"
    return "not named by --contracts"


@dataclass(frozen=True, slots=True)
class _Files:
    """The names of files that `--set source.pattern=…` means for a contract, its own ones by its pattern and others."""

    own: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.own or self.strange)

    @property
    def are_all_strange(self) -> bool:
        return bool(self.strange) and not self.own


def _named_files(own: Member, overridden: Member) -> _Files:
    """Which files a contract would read; none where no pattern was set, or where there are none."""
    pattern, asked = own.loaded.contract.source.pattern, overridden.loaded.contract.source.pattern
    if pattern is None or asked is None or asked == pattern:
        return _Files()
    contract = overridden.loaded.contract
    try:
        files = list_files(source_path(contract), file_format=source_format(contract), pattern=asked)
    except (SourceError, UsageError):
        return _Files()  # its run says what is wrong with the place
    names = [Path(file.path).name for file in files]
    is_own = [fnmatch(name, Path(pattern).name) for name in names]
    return _Files(
        tuple(name for name, mine in zip(names, is_own, strict=True) if mine),
        tuple(name for name, mine in zip(names, is_own, strict=True) if not mine),
    )


def _refuse_mixed(named: Mapping[str, _Files]) -> None:
    """A pattern that is set for a whole pass is one of some contracts: two of them would read rows of one another."""
    dataset, strange = next(((name, files.strange) for name, files in named.items() if files.strange), (None, ()))
    if dataset is not None and len(named) > 1:
        raise UsageError(
            f"With --set source.pattern `{dataset}` would read files that its own pattern leaves to others: "
            f"{', '.join(strange[:3])}.",
            hint="Name files of one contract, or choose that one with --entities or --contracts.",
        )
