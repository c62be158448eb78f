"""The estate that a service shows: loaded once, loaded again when one of its files changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lakelogic.actions.look.estate import EstateReport, EstateRequest, graph_data, look_at, summary_of, tree, tree_data
from lakelogic.contract.reading.documents import PACK_FOLDER, SUFFIXES
from lakelogic.driver.estate import Estate
from lakelogic.driver.graph import Graph
from lakelogic.driver.registry import Member
from lakelogic.errors import LoadError, NotFound
from lakelogic.run.surroundings import Surroundings

_LOOK_AGAIN_SECONDS = 2.0


class Served:
    """The contracts of a service and where they lie; safe to ask from many threads."""

    def __init__(self, around: Surroundings, request: EstateRequest) -> None:
        self.around = around
        self.request = request
        self._lock = threading.Lock()
        self._stamp: frozenset[tuple[str, int, int]] = frozenset()
        self._looked = float("-inf")
        self._report: EstateReport | None = None
        self._version = 0

    @property
    def version(self) -> int:
        """Another number whenever the estate was loaded again."""
        self.report()
        return self._version

    def report(self) -> EstateReport:
        """The estate as its files are now; a second-old answer is good enough."""
        with self._lock:
            now = time.monotonic()
            if self._report is None or now - self._looked > _LOOK_AGAIN_SECONDS:
                stamp = frozenset(_stamps(self.request.places))
                if self._report is None or stamp != self._stamp:
                    self._report, self._stamp = _loaded(self.around, self.request), stamp
                    self._version += 1
                self._looked = time.monotonic()
            return self._report

    def members(self) -> tuple[Member, ...]:
        """Every dataset, in the order of a pass."""
        return tuple(self.report().estate.graph.order())

    def member(self, dataset: str) -> Member:
        """One dataset by its name."""
        member = self.report().estate.graph.members.get(dataset)
        if member is None:
            raise NotFound(f"There is no dataset `{dataset}` in this estate.", hint="GET /api/v1/datasets lists them.")
        return member

    def domain_of(self, dataset: str | None) -> str | None:
        """The domain of a dataset; None where it is not known."""
        member = self.report().estate.graph.members.get(dataset or "")
        return member.domain if member else None


def _loaded(around: Surroundings, request: EstateRequest) -> EstateReport:
    try:
        return look_at(around, request)
    except LoadError as error:
        # A service with a broken estate still tells what is wrong with it.
        return EstateReport(Estate((), Graph({}, ()), error.diagnostics))


def _stamps(places: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change of every document that the estate may be made of."""
    roots = [Path(place) for place in (*places, PACK_FOLDER)]
    for root in roots:
        folder = root if root.is_dir() else root.parent
        for parent, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if name.endswith(SUFFIXES):
                    path = Path(parent) / name
                    try:
                        stat = path.stat()
                    except OSError:
                        continue  # it went while we looked: the next look sees the folder without it
                    yield str(path), stat.st_size, stat.st_mtime_ns


def estate_view(served: Served, domains: frozenset[str | None] | None = None) -> dict[str, Any]:
    """Domains, systems and contracts with what is wrong; only these domains, where some are named."""
    report = served.report()
    data = report.as_dict()
    kept = [entry for entry in data["datasets"] if domains is None or entry["domain"] in domains]
    files = {entry["file"] for entry in kept}
    branches = tree_data(tree(report))
    for entry in kept:
        as_written = served.member(entry["dataset"]).loaded.as_written
        entry["target"], entry["owner"] = as_written(entry["target"]), as_written(entry["owner"])
    _leave_unsaid(branches, report)
    others = _elsewhere(served, domains)
    diagnostics = [
        diagnostic
        for diagnostic in data["diagnostics"]
        if domains is None
        or (diagnostic["file"] in files and not any(name in diagnostic["message"] for name in others))
    ]
    view = {"valid": data["valid"], "summary": report.summary, "registries": data["registries"]}
    if domains is not None:
        # How much there is of what somebody may not see is nothing that they should learn.
        wrong = sum(diagnostic["severity"] == "error" for diagnostic in diagnostics)
        view = {
            "valid": data["valid"] or (bool(kept) and not wrong),
            "summary": summary_of(
                [branch for branch in report.estate if branch.domain in domains], wrong, len(diagnostics) - wrong
            ),
            "registries": sorted({entry["registry"] for entry in kept if entry["registry"]}),
        }
    return {
        **view,
        "datasets": kept,
        "tree": [branch for branch in branches if domains is None or branch["name"] in domains],
        "diagnostics": diagnostics,
    }


def _leave_unsaid(branches: list[dict[str, Any]], report: EstateReport) -> None:
    """Take out of a tree's notes what contracts took from the environment of this machine."""
    for branch in branches:
        member = None if branch["below"] else report.estate.graph.members.get(branch["name"])
        if member is not None:
            branch["note"] = member.loaded.as_written(branch["note"])
        _leave_unsaid(branch["below"], report)


def graph_view(
    served: Served, domains: frozenset[str | None] | None, focus: str | None = None, up: int = 1, down: int = 1
) -> dict[str, Any]:
    """The graph; with a focus, only what lies so many steps up and down of it, and how much is hidden there."""
    graph = served.report().estate.graph
    names = set(graph.members)
    if focus is not None:
        served.member(focus)
        names = _reach(graph, focus, up, down=False) | _reach(graph, focus, down, down=True)
    data = graph_data(graph.only(names))
    others = _elsewhere(served, domains)
    visible = {m.dataset for m in graph.members.values() if domains is None or m.domain in domains}
    for entry in data["datasets"]:
        name = entry["dataset"]
        hidden_up = [up_ for up_ in graph.upstreams(name) if up_ in visible - names]
        hidden_down = [e.downstream for e in graph.edges if e.upstream == name and e.downstream in visible - names]
        entry["hidden"] = {"upstream": len(set(hidden_up)), "downstream": len(set(hidden_down))}
    return {
        "focus": focus,
        "datasets": [entry for entry in data["datasets"] if entry["dataset"] in visible],
        "edges": [edge for edge in data["edges"] if {edge["upstream"], edge["downstream"]} <= visible],
        "unknown": [
            edge for edge in data["unknown"] if edge["downstream"] in visible and not others & set(edge.values())
        ],
    }


def _elsewhere(served: Served, domains: frozenset[str | None] | None) -> set[str]:
    """What broken contracts of other domains make: it stays as unknown to whoever asks as it was before they broke."""
    if domains is None:
        return set()
    from lakelogic.actions.look.columns import column_graph

    return {
        column_lost.dataset for column_lost in column_graph(served).lost.values() if column_lost.domain not in domains
    }


def _reach(graph: Any, start: str, steps: int, *, down: bool) -> set[str]:
    edges = [(e.upstream, e.downstream) if down else (e.downstream, e.upstream) for e in graph.edges]
    reached, rim = {start}, {start}
    for _ in range(steps):
        rim = {to for source, to in edges if source in rim} - reached
        reached |= rim
    return reached
