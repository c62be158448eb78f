"""Look at an estate: its tree, its graph, its owners, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakelogic.contract.reading.documents import Document
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.driver.estate import Estate, layer_counts, load_estate
from lakelogic.driver.graph import Graph
from lakelogic.driver.registry import Member
from lakelogic.driver.selection import narrowed
from lakelogic.errors import Diagnostic, LoadError
from lakelogic.run.surroundings import Surroundings

FORMATS = ("text", "list", "mermaid", "dot", "svg", "html", "json")


@dataclass(frozen=True, slots=True)
class EstateRequest:
    """Which estate (registries, folders or contracts), in which environment, with which packs and overrides."""

    places: tuple[str, ...] = (".",)
    env: str | None = None
    overrides: tuple[str, ...] = ()
    packs: PackChoice = field(default_factory=PackChoice)
    layers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EstateReport:
    """What was found: datasets by domain and system, and what is wrong. `exit_code` is 2 when something cannot run."""

    estate: Estate

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Everything that is wrong or doubtful."""
        return self.estate.problems

    @property
    def exit_code(self) -> int:
        """0 when everything can run."""
        return 0 if self.estate.is_valid else 2

    @property
    def summary(self) -> str:
        """One line: how many datasets of which layers, and how many problems."""
        errors = len(self.estate.errors)
        return summary_of(tuple(self.estate), errors, len(self.problems) - errors)

    def as_dict(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "valid": self.estate.is_valid,
            "registries": list(self.estate.registries),
            "datasets": [_member_data(member) for member in self.estate.graph.order()],
            "diagnostics": [problem.as_dict() for problem in self.problems],
        }


def look_at(around: Surroundings, request: EstateRequest) -> EstateReport:
    """Load an estate, compile its contracts, and say everything that is wrong with it at once."""
    estate = load_estate(
        around.catalog, request.places, env=request.env, overrides=request.overrides or None, packs=request.packs
    )
    if not estate.members and estate.errors:
        raise LoadError(estate.errors)
    if request.select or request.exclude:
        estate = narrowed(around, estate, request.select, request.exclude)
    return EstateReport(estate)


def files_of(around: Surroundings, request: EstateRequest) -> tuple[str, ...]:
    """The contracts of an estate that were selected, by their files."""
    return tuple(member.file for member in look_at(around, request).estate)


def summary_of(members: Sequence[Member], errors: int, warnings: int) -> str:
    """One line about some datasets: how many of which layers, and how many problems."""
    layers = ", ".join(f"{count} {layer}" for layer, count in layer_counts(members).items())
    text = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}" if errors + warnings else "nothing is wrong"
    return f"{_many(len(members), 'dataset')} ({layers or 'none'}): {text}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _member_data(member: Member) -> dict[str, Any]:
    contract = member.loaded.contract
    return {
        "dataset": member.dataset, "entity": member.entity, "layer": member.layer, "domain": member.domain,
        "system": member.system, "data_product": contract.info.data_product, "owner": member.owner,
        "enabled": member.enabled, "file": member.file, "registry": member.registry,
        "strategy": contract.materialization.strategy, "target": contract.materialization.target_path,
        "packs": [pack.text("name") for pack in member.loaded.packs],
    }  # fmt: skip


# — tree —


@dataclass(frozen=True, slots=True)
class Branching:
    """A line of the tree with what hangs below it."""

    title: str
    note: str = ""
    below: tuple[Branching, ...] = ()

    def lines(self, lead: str = "") -> Iterator[tuple[str, str]]:
        """Every line below, with its note."""
        for index, branch in enumerate(self.below):
            is_last = index == len(self.below) - 1
            yield f"{lead}{'└── ' if is_last else '├── '}{branch.title}", branch.note
            yield from branch.lines(lead + ("    " if is_last else "│   "))


def tree(report: EstateReport) -> tuple[Branching, ...]:
    """Domains, their systems, and their data products, as the data mesh nests them."""
    wrong = {problem.where.file for problem in report.estate.errors}
    domains = []
    for domain, of_domain in _grouped(report.estate.members, lambda member: member.domain):
        document = next((m.loaded.around.domain for m in of_domain if m.loaded.around.domain), None)
        systems = []
        for system, of_system in _grouped(of_domain, lambda member: member.system):
            leaves = tuple(_leaf(member, wrong) for member in sorted(of_system, key=lambda m: m.rank))
            file = next((m.loaded.around.system for m in of_system if m.loaded.around.system), None)
            systems.append(Branching(system or "(no system)", _named(file), leaves))
        owner = _owner(document)
        note = " · ".join(filter(None, (f"owner {owner}" if owner else "", _named(document))))
        domains.append(Branching(domain or "(no domain)", note, tuple(systems)))
    return tuple(domains)


def _grouped(
    members: tuple[Member, ...] | list[Member], key: Callable[[Member], str | None]
) -> list[tuple[str | None, list[Member]]]:
    groups: dict[str | None, list[Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or ""))


def _leaf(member: Member, wrong: set[str | None]) -> Branching:
    contract = member.loaded.contract
    target = contract.materialization.target_path
    marks = [member.layer or "no layer", f"owner {member.owner or 'nobody'}"]
    marks += [f"{contract.materialization.strategy} → {target}" if target else "", "" if member.enabled else "disabled"]
    marks += ["WRONG" if member.loaded.file in wrong else ""]
    return Branching(member.dataset, " · ".join(filter(None, marks)))


def _named(document: Document | None) -> str:
    return Path(document.file).name if document else ""


def _owner(document: Document | None) -> str | None:
    section = document.section("ownership") if document else None
    leaf = section.get("domain_owner") if section else None
    return str(leaf.value) if leaf is not None and hasattr(leaf, "value") else None


def tree_data(branches: tuple[Branching, ...]) -> list[dict[str, Any]]:
    """The tree as plain data."""
    return [{"name": branch.title, "note": branch.note, "below": tree_data(branch.below)} for branch in branches]


# — owners —


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """Who answers for what."""

    owner: str | None
    domain: str | None
    contacts: tuple[str, ...]
    datasets: tuple[str, ...]


def owners(report: EstateReport) -> tuple[OwnerRow, ...]:
    """Every owner with the datasets they answer for, and whom to ask; what nobody owns comes last."""
    groups: dict[tuple[str | None, str | None], list[Member]] = {}
    for member in report.estate.members:
        groups.setdefault((member.owner, member.domain), []).append(member)
    rows = []
    for (owner, domain), members in groups.items():
        contacts: dict[str, None] = {}
        for member in members:
            ownership = member.loaded.contract.ownership
            for contact in ownership.contacts if ownership else ():
                contact_text = " ".join(filter(None, (contact.name, f"<{contact.email}>" if contact.email else None)))
                contacts[contact_text + (f" ({contact.role})" if contact.role else "")] = None
        rows.append(OwnerRow(owner, domain, tuple(contacts), tuple(member.dataset for member in members)))
    return tuple(sorted(rows, key=lambda row: (row.owner is None, row.owner or "", row.domain or "")))


# — graph —


def graph(report: EstateReport, request: EstateRequest) -> Graph:
    """The graph of the estate, or of the layers and entities that were asked for."""
    whole = report.estate.graph
    if not request.layers and not request.entities:
        return whole
    chosen = report.estate.select(layers=request.layers, entities=request.entities, disabled=True)
    return whole.only(member.dataset for member in chosen)


def drawn(graph: Graph, form: str, problems: tuple[Diagnostic, ...] = ()) -> str:
    """The graph in one of the formats; all but `json`."""
    from lakelogic.driver.pictures import graphics as pictures
    from lakelogic.driver.pictures import text as text_picture

    if form == "html":
        return pictures.as_html(graph, problems)
    draw: dict[str, Callable[[Graph], str]] = {
        "text": text_picture.as_text,
        "list": text_picture.as_list,
        "mermaid": pictures.as_mermaid,
        "dot": pictures.as_dot,
        "svg": pictures.as_svg,
    }
    return draw[form](graph)


def graph_data(graph: Graph) -> dict[str, Any]:
    """The graph as plain data."""
    from lakelogic.driver.pictures.graphics import as_data

    return as_data(graph)
