"""The graph between datasets: what each is made of, in which order they run, and what is wrong with it."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from lakelogic.catalogs.base import Catalog
from lakelogic.contract import codes
from lakelogic.contract.reading.check import in_order, nearest
from lakelogic.contract.source import is_table_name
from lakelogic.driver.registry import LAYER_ORDER, Member
from lakelogic.errors import Diagnostic, LakeLogicError, LoadError, Where
from lakelogic.run.places import places
from lakelogic.run.state.overlap import nested
from lakelogic.run.surroundings import Surroundings

Kind = Literal["upstream", "source", "link", "foreign_key", "depends_on"]


@dataclass(frozen=True, slots=True)
class Edge:
    """`downstream` needs `upstream`: how that is known, and the first line that says so."""

    upstream: str
    downstream: str
    kinds: tuple[Kind, ...]
    where: Where


@dataclass(frozen=True, slots=True)
class UnknownUpstream:
    """An upstream that no member makes: another pass may, or nobody."""

    downstream: str
    upstream: str
    where: Where
    meant: str | None = None


@dataclass(frozen=True)
class Graph:
    """Datasets and what they need. Members stand in the order in which they were listed."""

    members: Mapping[str, Member]
    edges: tuple[Edge, ...] = ()
    unknown: tuple[UnknownUpstream, ...] = ()
    problems: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @cached_property
    def _up(self) -> dict[str, tuple[str, ...]]:
        return self._next("downstream", "upstream")

    @cached_property
    def _down(self) -> dict[str, tuple[str, ...]]:
        return self._next("upstream", "downstream")

    def _next(self, here: str, there: str) -> dict[str, tuple[str, ...]]:
        neighbours: dict[str, list[str]] = {dataset: [] for dataset in self.members}
        for edge in self.edges:
            neighbours[getattr(edge, here)].append(getattr(edge, there))
        return {dataset: tuple(others) for dataset, others in neighbours.items()}

    def upstreams(self, dataset: str) -> tuple[str, ...]:
        """What a dataset is made of, directly."""
        return self._up[dataset]

    def downstreams(self, dataset: str) -> tuple[str, ...]:
        """What is made of a dataset, directly."""
        return self._down[dataset]

    def ancestors(self, dataset: str) -> frozenset[str]:
        """Everything a dataset is made of, however far up."""
        return _reached(dataset, self._up)

    def descendants(self, dataset: str) -> frozenset[str]:
        """Everything that is made of a dataset, however far down."""
        return _reached(dataset, self._down)

    def order(self) -> tuple[Member, ...]:
        """Every member after what it needs; among those that are ready, by layer, then as listed.

        Members of a circle (which is a problem) come last, as listed.
        """
        place = {dataset: index for index, dataset in enumerate(self.members)}
        waiting = {dataset: len(self._up[dataset]) for dataset in self.members}
        ready = [(self.members[d].rank, place[d], d) for d, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        done: list[str] = []
        while ready:
            _, _, dataset = heapq.heappop(ready)
            done.append(dataset)
            for below in self._down[dataset]:
                waiting[below] -= 1
                if waiting[below] == 0:
                    heapq.heappush(ready, (self.members[below].rank, place[below], below))
        done += [dataset for dataset in self.members if waiting[dataset] > 0]
        return tuple(self.members[dataset] for dataset in done)

    def depths(self) -> dict[str, int]:
        """How many steps of the longest way up from a dataset there are; 0 for what needs nothing."""
        depth: dict[str, int] = {}
        for member in self.order():
            above = [depth[up] for up in self._up[member.dataset] if up in depth]
            depth[member.dataset] = max(above, default=-1) + 1
        return depth

    def waves(self) -> tuple[tuple[Member, ...], ...]:
        """Members in waves: everything of one wave may run at once when the waves before it are done."""
        depth = self.depths()
        layers: list[list[Member]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for member in self.order():
            layers[depth[member.dataset]].append(member)
        return tuple(tuple(wave) for wave in layers)

    def only(self, datasets: Iterable[str]) -> Graph:
        """The graph of some members; what they need through members that are left out still comes first."""
        kept = set(datasets)
        members = {dataset: member for dataset, member in self.members.items() if dataset in kept}
        edges: dict[tuple[str, str], Edge] = {}
        direct = {(edge.upstream, edge.downstream): edge for edge in self.edges}
        for dataset, member in members.items():
            waiting, seen = list(self._up[dataset]), set[str]()
            while waiting:
                up = waiting.pop()
                if up in seen:
                    continue
                seen.add(up)
                if up in kept:
                    edge = direct.get((up, dataset))
                    edges[up, dataset] = edge or Edge(up, dataset, (), Where(member.file))
                else:
                    waiting += self._up[up]
        order = {dataset: index for index, dataset in enumerate(members)}
        listed = sorted(edges.values(), key=lambda edge: (order[edge.downstream], order[edge.upstream]))
        return Graph(members, tuple(listed), tuple(edge for edge in self.unknown if edge.downstream in kept))

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Datasets that need one another in a circle, each circle once, in the order of need."""
        return tuple(_circle(group, self._up) for group in _knots(self._up))


def _reached(start: str, nearer: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    datasets: set[str] = set()
    waiting = list(nearer[start])
    while waiting:
        dataset = waiting.pop()
        if dataset not in datasets:
            datasets.add(dataset)
            waiting += nearer[dataset]
    return frozenset(datasets)


def _knots(up: Mapping[str, tuple[str, ...]]) -> list[set[str]]:
    """Groups of datasets that reach one another (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[set[str]] = []
    for root in up:
        if root in index:
            continue
        work = [(root, iter(up[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            at, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(up[other])))
                    break
                if other in on_stack:
                    low[at] = min(low[at], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    group: set[str] = set()
                    while at not in group:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.add(member)
                    if len(group) > 1 or at in up[at]:
                        groups.append(group)
    return groups


def _circle(group: set[str], up: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """One way around a knot, beginning with its first name."""
    start = min(group)
    waiting: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while waiting:
        way = waiting.pop(0)
        for other in up[way[-1]]:
            if other == start:
                return way
            if other in group and other not in seen:
                seen.add(other)
                waiting.append((*way, other))
    return (start,)


def build_graph(catalog: Catalog, members: Iterable[Member], *, whole: bool = True) -> Graph:
    """The graph of all members, with what is wrong with it.

    An edge is known from `upstream`, from a source or a link that is another's target, from a foreign key, and
    from a registry's `depends_on`. Where not the `whole` estate is at hand, an unknown upstream is a warning.
    """
    builder = _GraphBuilder(catalog, {member.dataset: member for member in members})
    for member in builder.members.values():
        builder.look_at(member)
    order = {dataset: index for index, dataset in enumerate(builder.members)}
    edges = sorted(builder.edges.values(), key=lambda e: (order[e.downstream], order[e.upstream]))
    graph = Graph(builder.members, tuple(edges), tuple(builder.unknown))
    problems = [*builder.problems, *_circles(graph), *_backwards(graph)]
    for edge in graph.unknown:
        message = f"`{edge.downstream}` needs `{edge.upstream}`, which no contract {'' if whole else 'of these '}makes."
        hint = f"Did you mean `{edge.meant}`?" if edge.meant else "Add its contract, or take the name out."
        if not whole and not edge.meant:
            hint = "It is taken as it is; add its registry to let it run first."
        severity: Literal["error", "warning"] = "error" if whole else "warning"
        problems.append(Diagnostic(codes.UNKNOWN_UPSTREAM, message, edge.where, hint, severity))
    return Graph(graph.members, graph.edges, graph.unknown, tuple(in_order(problems)))


class _GraphBuilder:
    def __init__(self, catalog: Catalog, members: dict[str, Member]) -> None:
        self.catalog = catalog
        self.members = members
        self.edges: dict[tuple[str, str], Edge] = {}
        self.unknown: list[UnknownUpstream] = []
        self.problems: list[Diagnostic] = []
        self.by_name = {dataset.lower(): dataset for dataset in members}
        self.by_file = {member.path: dataset for dataset, member in members.items()}
        self.by_target: dict[str, list[str]] = {}
        self.by_entity: dict[str, list[Member]] = {}
        for dataset, member in members.items():
            settings = member.loaded.contract.materialization
            places = [settings.target_path, *(other.target_path for other in settings.secondary_targets)]
            for place in filter(None, places):
                self.by_target.setdefault(_same_place(place), []).append(dataset)
            self.by_entity.setdefault(member.entity, []).append(member)
        self._shared_targets()
        self._nested_targets()

    def _shared_targets(self) -> None:
        for place, makers in self.by_target.items():
            for dataset in makers[1:]:
                where = self.members[dataset].loaded.where("materialization.target_path")
                message = f"`{dataset}` and `{makers[0]}` write the same table, {place}."
                hint = "Give each its own table, or let one contract read both sources."
                self.problems.append(Diagnostic(codes.SHARED_TARGET, message, where, hint, "warning"))

    def _nested_targets(self) -> None:
        """Tables in one another's folders: removing or cleaning the outer one would take the inner one along."""
        locations: dict[str, list[str]] = {}
        makers: dict[str, tuple[str, str]] = {}
        for dataset, member in self.members.items():
            try:
                where = places(member.loaded.contract, self.catalog)
            except LakeLogicError:  # told where the contract itself is looked at
                continue
            named = [("materialization.target_path", where.target_location)]
            named += [("quarantine.target", where.quarantine_location)]
            named += [("materialization.secondary_targets", other.location) for other in where.others]
            for path, location in named:
                makers.setdefault(location, (dataset, path))
                locations[location] = [location]
        for outer, inner in nested(locations):
            (dataset, path), (around, _) = makers[inner], makers[outer]
            message = f"A table of `{dataset}`, {inner}, would lie inside the one of `{around}`, {outer}."
            hint = "Give each a folder of its own: removing or cleaning one would take the other along."
            self.problems.append(
                Diagnostic(codes.NESTED_TARGET, message, self.members[dataset].loaded.where(path), hint)
            )

    def look_at(self, member: Member) -> None:
        """Everything that one member says about what it needs."""
        contract, where = member.loaded.contract, member.loaded.where
        named = [(name, f"upstream[{index}]") for index, name in enumerate(contract.upstream)]
        named += [
            (source.dataset, f"upstream_sources[{i}].dataset") for i, source in enumerate(contract.upstream_sources)
        ]
        for name, path in named:
            upstream = self.by_name.get(name.lower()) or next(iter(self.by_target.get(_same_place(name), ())), None)
            if upstream is None:
                # Names share their prefixes, so a name must be close to be meant.
                meant = nearest(name, [dataset for dataset in self.members if dataset != member.dataset], 0.8)
                self.unknown.append(UnknownUpstream(member.dataset, name, where(path), meant))
            else:
                self.add(upstream, member.dataset, "upstream", where(path))
        if contract.source.path:
            self.add_makers(contract.source.path, member.dataset, "source", where("source.path"))
        for index, link in enumerate(contract.links):
            if place := link.table or link.path:
                self.add_makers(place, member.dataset, "link", where(f"links[{index}]"))
        for index, declared in enumerate(contract.model.fields):
            if declared.foreign_key is not None:
                named_by = declared.foreign_key.contract
                upstream = self.by_name.get(named_by.lower()) or self.by_file.get(_beside(member.path, named_by))
                if upstream is not None:
                    self.add(upstream, member.dataset, "foreign_key", where(f"model.fields[{index}].foreign_key"))
        for entity, at in member.depends_on:
            self.depends(member, entity, at)

    def depends(self, member: Member, entity: str, where: Where) -> None:
        """A registry's `depends_on`: what the other entity has in this layer, or in the last before it, comes first."""
        others = [other for other in self.by_entity.get(entity, ()) if other is not member]
        earlier = max((other.rank for other in others if other.rank <= member.rank), default=None)
        for other in others:
            if earlier is None or other.rank == earlier:
                self.add(other.dataset, member.dataset, "depends_on", where)

    def add_makers(self, place: str, dataset: str, kind: Kind, where: Where) -> None:
        """A place that other members make is an edge from each of them."""
        for maker in self.by_target.get(_same_place(place), ()):
            self.add(maker, dataset, kind, where)

    def add(self, upstream: str, downstream: str, kind: Kind, where: Where) -> None:
        """One more reason for an edge; a table that reads itself is none, but `upstream` that names itself is."""
        if upstream == downstream and kind != "upstream":
            return
        edge = self.edges.get((upstream, downstream))
        if edge is None:
            self.edges[upstream, downstream] = Edge(upstream, downstream, (kind,), where)
        elif kind not in edge.kinds:
            self.edges[upstream, downstream] = Edge(upstream, downstream, (*edge.kinds, kind), edge.where)


def _same_place(place: str) -> str:
    """Two spellings of one table as one: names without case, local paths in full, addresses without a slash."""
    if is_table_name(place):
        return place.lower()
    if "://" in place:
        return place.rstrip("/")
    return os.path.normpath(Path(place).absolute())


def _beside(path: Path, name: str) -> Path:
    return Path(os.path.normpath(path.parent / name))


def _circles(graph: Graph) -> list[Diagnostic]:
    where = {(edge.upstream, edge.downstream): edge.where for edge in graph.edges}
    diagnostics = []
    for circle in graph.cycles():
        around = " needs ".join(f"`{dataset}`" for dataset in (*circle, circle[0]))
        at = where[(*circle, circle[0])[1], circle[0]]
        hint = "Take one of these needs out: no order satisfies them all."
        diagnostics.append(Diagnostic(codes.CYCLE, f"{around}.", at, hint))
    return diagnostics


def _backwards(graph: Graph) -> list[Diagnostic]:
    return [
        Diagnostic(
            codes.BACKWARDS,
            f"`{edge.downstream}` ({low.layer}) needs `{edge.upstream}` ({high.layer}), which is made later.",
            edge.where,
            "Move one of them to another layer, or leave the layers out of the pass's order.",
            "warning",
        )
        for edge in graph.edges
        if (high := graph.members[edge.upstream]).rank > (low := graph.members[edge.downstream]).rank
        and high.rank < len(LAYER_ORDER)
    ]


def build_dag_from_upstream(registry: Iterable[Member]) -> Graph:
    """The graph of loaded contracts; raises LoadError for circles and unknown upstreams, all at once."""
    graph = build_graph(Surroundings.here().catalog, registry)
    errors = [problem for problem in graph.problems if problem.severity == "error"]
    if errors:
        raise LoadError(errors)
    return graph


def topo_sort(graph: Graph) -> list[Member]:
    """The members, each after everything it needs: `for node in topo_sort(dag): …`."""
    return list(graph.order())
