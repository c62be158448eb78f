"""Which column came from which, through which steps, over all datasets of an estate; up and down."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lakelogic.actions.look.served import Served
from lakelogic.actions.visibility.lost_sources import Above, has_lost_source, meant_by, missing_files
from lakelogic.actions.visibility.renamed_datasets import Heirs, documents_of, lost_masks
from lakelogic.catalogs.base import Catalog
from lakelogic.contract import formats
from lakelogic.driver.registry import Member
from lakelogic.errors import CompileError, LakeLogicError, NotFound
from lakelogic.ledger.visibility import ColumnMemory, KnownColumns
from lakelogic.plan.columns.publish import BAD_PREFIX
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.lineage import EVERY_COLUMN, Origin, bad_origins, column_origins
from lakelogic.plan.nodes import Landed, Mask, Plan
from lakelogic.run.input import pin as window
from lakelogic.run.places import places
from lakelogic.sql.types import Type

Domains = frozenset[str | None] | None
_STAMPS = "_lakelogic_"
_FILLED = re.compile(r"\{\w+\}|env:")  # a name that something else fills in
_Place = tuple[str, str]  # a dataset, table or file, and one of its columns


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """One column flows into another. `dataset` is None where no contract of the estate makes the upper one."""

    dataset: str | None
    name: str  # of the table or the files
    column: str
    below: str
    below_column: str
    origin: Origin

    @property
    def above_id(self) -> str:
        """The upper column in the whole graph."""
        return f"{self.dataset or self.name}.{self.column}"

    @property
    def below_id(self) -> str:
        """The lower one."""
        return f"{self.below}.{self.below_column}"


@dataclass(slots=True)
class ColumnGraph:
    """All columns of an estate. `unknown` are datasets whose plan cannot be made without their source."""

    types: dict[str, dict[str, Type]] = field(default_factory=dict)
    masks: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[ColumnEdge] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    cleared: dict[str, frozenset[str]] = field(default_factory=dict)  # fields that say `pii: false`
    beside: list[ColumnEdge] = field(
        default_factory=list
    )  # into columns that only bad rows have, or that are remembered
    shapes: dict[str, dict[str, Mask]] = field(default_factory=dict)  # the masks of both sides, names in small letters
    lost: dict[str, KnownColumns] = field(default_factory=dict)  # by place: tables of contracts that are broken now
    unsure: frozenset[str] = frozenset()  # datasets of which nobody can say what is hidden
    _hidden: frozenset[_Place] | None = None

    def above(self, dataset: str, column: str) -> list[ColumnEdge]:
        """What a column is made of."""
        return [edge for edge in self.edges if edge.below == dataset and edge.below_column == column]

    def below(self, dataset: str, column: str) -> list[ColumnEdge]:
        """What is made of a column."""
        return [edge for edge in self.edges if edge.dataset == dataset and edge.column == column]

    def concealed(self, dataset: str, columns: Iterable[str] = ()) -> frozenset[str]:
        """Columns that show here, in clear, what is masked somewhere else on the way of its values.

        That is every column that a masked one is made of. Where it is made of one alone, that column is what is
        masked, and whatever else is made of it shows it too: an envelope that was packed in the first table holds the
        address that the second one masks. What only counts values, or says that they are there, does not; and a
        field that says `pii: false` is believed. While nobody can say what is masked further down, because a contract
        there is broken and was never seen whole, all of `columns` are hidden.
        """
        if dataset in self.unsure:
            return frozenset([*columns, *self.types.get(dataset, ())])
        if self._hidden is None:
            self._hidden = self._hiding()
        own = self.masks.get(dataset, {})
        return frozenset(column for name, column in self._hidden if name == dataset and column not in own)

    def _hiding(self) -> frozenset[_Place]:
        masked = {(name, column) for name, masks in self.masks.items() for column in masks}
        above: defaultdict[_Place, set[_Place]] = defaultdict(set)
        below: defaultdict[_Place, set[_Place]] = defaultdict(set)
        for edge in (*self.edges, *self.beside):
            if edge.column != EVERY_COLUMN:
                upper, lower = (edge.dataset or edge.name, edge.column), (edge.below, edge.below_column)
                above[lower].add(upper)
                if edge.origin.tells and lower not in masked and lower[1] not in self.cleared.get(lower[0], ()):
                    below[upper].add(lower)
        alone = {lower: uppers for lower, uppers in above.items() if len(uppers) == 1}
        return _closure(masked, above) | _closure(_closure(masked, alone) - masked, below)


def _closure(start: AbstractSet[_Place], steps: Mapping[_Place, AbstractSet[_Place]]) -> frozenset[_Place]:
    """These places and all that lie behind them."""
    reached, waiting = set(start), list(start)
    while waiting:
        further = steps.get(waiting.pop(), frozenset()) - reached
        reached |= further
        waiting += further
    return frozenset(reached)


@lru_cache(maxsize=4)
def _graph(served: Served, version: int) -> ColumnGraph:
    del version  # it only says for how long the answer holds
    graph, catalog = ColumnGraph(), served.around.catalog
    members = served.members()
    datasets = frozenset(member.dataset for member in members)
    made_at = {where: member.dataset for member in members if (where := _target(member, catalog)) is not None}
    memory = ColumnMemory(served.around.ledger.database)
    remembered = memory.recall()
    missing = missing_files(served.report().estate.missing)
    absent = _absent(remembered, members, missing)
    made_at = {**{lost.target: lost.dataset for lost in absent.values() if lost.target}, **made_at}
    graph.lost = {lost.target: lost for lost in absent.values() if lost.target}
    heirs = Heirs.among(members, remembered, absent)
    held = set(absent)  # what is known of these stands beside what they say now, until they are whole again
    strays: set[str] = set()
    now: list[KnownColumns] = []
    for member in members:
        above = _above(member, made_at, catalog)
        added = _added(graph, member, above, catalog)
        if has_lost_source(member, above, remembered.get(member.dataset), datasets, heirs, catalog):
            strays.add(member.dataset)
        held |= _unmasked(graph, member, remembered)
        is_held = member.dataset in held | strays or any(maker in held for maker, _ in above.values())
        if added is None or is_held:
            held.add(member.dataset)
        else:
            now.append(added)
    for name in sorted(held & remembered.keys()):
        held |= _recalled(graph, remembered[name], heirs)
    memory.remember(
        columns for columns in now if columns.dataset not in held and remembered.get(columns.dataset) != columns
    )
    never_whole = datasets - graph.types.keys() - remembered.keys()
    graph.unsure = _unsure(served, graph, remembered, never_whole, strays - remembered.keys() - never_whole, missing)
    return graph


def _above(member: Member, made_at: Mapping[str, str], catalog: Catalog) -> Above:
    """What a dataset reads: its source and its links, with who makes them."""
    contract = member.loaded.contract
    source = contract.source.path or (contract.server.path if contract.server else None)
    as_written = member.loaded.as_written
    above = {Plan.SOURCE: (_maker(source, made_at, catalog), str(as_written(source) or Plan.SOURCE))}
    for link in contract.links:
        place = link.table or link.path
        above[link.name] = (_maker(place, made_at, catalog), str(as_written(place) or link.name))
    return above


def _added(graph: ColumnGraph, member: Member, above: Above, catalog: Catalog) -> KnownColumns | None:
    """Put a dataset into the graph; what is to be remembered of it, where its plan can be made."""
    contract = member.loaded.contract
    plan = _planned(member, above, graph, catalog)
    graph.shapes[member.dataset] = {
        field.name.lower(): Mask(field.name, field.masking, field.masking_format)
        for field in contract.model.fields
        if field.masking
    }
    if plan is None:
        return None
    graph.types[member.dataset] = {
        column.name: column.type
        for column in plan.columns
        if column.on_good and not column.name.startswith(("~", _STAMPS))
    }
    graph.masks[member.dataset] = {mask.column: mask.strategy for mask in plan.masks if "~" not in mask.column}
    graph.shapes[member.dataset] |= {
        name: mask for mask in plan.masks if "~" not in (name := mask.column.removeprefix(BAD_PREFIX).lower())
    }
    graph.cleared[member.dataset] = frozenset(
        field.name for field in contract.model.fields if "pii" in field.model_fields_set and not field.pii
    )
    good = {name: origins for name, origins in column_origins(plan).items() if name in graph.types[member.dataset]}
    scratch = {name: origins for name, origins in bad_origins(plan).items() if name not in good}
    for columns, edges in ((good, graph.edges), (scratch, graph.beside)):
        for column, origins in columns.items():
            for origin in origins:
                dataset, name = above.get(origin.place, (None, origin.place))
                edges.append(ColumnEdge(dataset, name, origin.column, member.dataset, column, origin))
    return _to_remember(graph, member, catalog)


def _to_remember(graph: ColumnGraph, member: Member, catalog: Catalog) -> KnownColumns:
    edges = [
        [edge.dataset, edge.name, edge.column, edge.below_column, edge.origin.tells]
        for edge in (*graph.edges, *graph.beside)
        if edge.below == member.dataset
    ]
    facts = {
        "masks": dict(sorted(graph.masks[member.dataset].items())),
        "cleared": sorted(graph.cleared[member.dataset]),
        "edges": sorted(edges, key=str),
        "documents": documents_of(member.loaded),
    }
    return KnownColumns(member.dataset, _path(member.path), member.domain, _target(member, catalog), facts)


def _path(file: str | Path) -> str:
    return str(Path(file).resolve())


def _absent(
    remembered: Mapping[str, KnownColumns], members: Iterable[Member], missing: AbstractSet[str]
) -> dict[str, KnownColumns]:
    """Datasets whose contract is still there, or is missing where a registry names it, and cannot be read any more."""
    names = {member.dataset for member in members}
    files = {_path(member.path) for member in members}
    return {
        name: columns
        for name, columns in remembered.items()
        if name not in names and columns.file not in files and (columns.file in missing or Path(columns.file).exists())
    }


def _unmasked(graph: ColumnGraph, member: Member, records: Mapping[str, KnownColumns]) -> set[str]:
    """The names, this one and earlier ones, under which a contract masked more before a document around it vanished."""
    now, cleared = graph.masks.get(member.dataset, {}), graph.cleared.get(member.dataset, frozenset())
    file = _path(member.path)
    return {name for name, record in records.items() if record.file == file and lost_masks(record, now, cleared)}


def _recalled(graph: ColumnGraph, record: KnownColumns, heirs: Heirs) -> set[str]:
    """Put what a dataset was when its contract was last seen whole beside what is said of it now.

    The answer are datasets that may be another one by now, of which this one masks something: they are not whole yet.
    """
    facts: Any = record.facts
    cleared = frozenset(facts["cleared"])
    graph.masks[record.dataset] = dict(facts["masks"]) | graph.masks.get(record.dataset, {})
    graph.cleared[record.dataset] = cleared & graph.cleared.get(record.dataset, cleared)
    hidden: set[str] = set()
    for dataset, name, column, below, tells in facts["edges"]:
        origin = Origin(name, column, "derived", (), tells)
        graph.beside.append(ColumnEdge(dataset, name, column, record.dataset, below, origin))
        for heir, its_column in heirs.columns(dataset, column, graph.types) if heirs.of(dataset) else ():
            graph.beside.append(ColumnEdge(heir, name, its_column, record.dataset, below, origin))
            hidden.add(heir)
    return hidden


def _unsure(
    served: Served,
    graph: ColumnGraph,
    recall: Mapping[str, KnownColumns],
    broken: AbstractSet[str],
    strays: AbstractSet[str],
    missing: AbstractSet[str],
) -> frozenset[str]:
    """Datasets around contracts that are broken and were never seen whole: nobody knows what these would mask.

    What such a contract reads is taken from its text; where that may be filled in from elsewhere, it may be anything.
    So may what a registry names and nobody has ever seen.
    """
    members = {member.dataset: member for member in served.members()}
    around: defaultdict[str, set[str]] = defaultdict(set)
    for edge in (*graph.edges, *graph.beside):
        if edge.dataset is not None:
            around[edge.dataset].add(edge.below)
            around[edge.below].add(edge.dataset)
    remembered = {columns.file for columns in recall.values()}
    whole = {_path(member.path) for name, member in members.items() if name in graph.types}
    files = {_path(error.where.file) for error in served.report().estate.errors if error.where.file}
    files |= {_path(members[name].path) for name in broken}
    near = set(broken)
    for file in sorted(files - remembered - whole):
        near |= _read_by(file, members)
    for name in strays:
        others = {other: member for other, member in members.items() if other != name}
        near |= _read_by(_path(members[name].path), others) | meant_by(members[name], others.values())
    if missing - remembered:
        near |= members.keys()
    reached, waiting = set(near), list(near)
    while waiting:
        further = around.get(waiting.pop(), set()) - reached
        reached |= further
        waiting += further
    return frozenset(reached)


def _read_by(file: str, members: Mapping[str, Member]) -> set[str]:
    """The datasets that a contract which cannot be read may read."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return set()  # it is gone: then nothing is made by it
    named = {
        name
        for name, member in members.items()
        if name.lower() in text or str(member.loaded.contract.materialization.target_path or name).lower() in text
    }
    return set(members) if not named and _FILLED.search(text) else named


def column_graph(served: Served) -> ColumnGraph:
    """The columns of an estate; made once for each state of its contracts."""
    return _graph(served, served.version)


def _target(member: Member, catalog: Catalog) -> str | None:
    try:
        return places(member.loaded.contract, catalog).target_location
    except LakeLogicError:
        return None


def _maker(place: Any, made_at: Mapping[str, str], catalog: Catalog) -> str | None:
    if not place:
        return None
    try:
        return made_at.get(catalog.resolve(str(place)))
    except LakeLogicError:
        return None


def _planned(
    member: Member, above: Mapping[str, tuple[str | None, str]], graph: ColumnGraph, catalog: Catalog
) -> Plan | None:
    """The plan of a dataset over what the plans before it make, and over files as they lie there now."""
    looked = _glimpse(member, catalog)

    def landed(name: str) -> SourceColumns | None:
        types = graph.types.get(above[name][0] or "")
        if types is None:
            return looked.get(name)
        return SourceColumns("delta", tuple(Landed(column, type_) for column, type_ in types.items()))

    def tried(look: Callable[[str], SourceColumns | None]) -> tuple[SourceColumns | None, dict[str, SourceColumns]]:
        return look(Plan.SOURCE), {
            n: link_columns for n in above if n != Plan.SOURCE and (link_columns := look(n)) is not None
        }

    # What plans say, then what tables have (they may have more), then the contract alone.
    for source, links in (tried(landed), tried(looked.get), (None, {})):
        try:
            plan = compile_contract(member.loaded, source, links or None).plan
        except CompileError as error:
            graph.unknown[member.dataset] = error.message
        else:
            graph.unknown.pop(member.dataset, None)
            return plan
    return None


def _glimpse(member: Member, catalog: Catalog) -> dict[str, SourceColumns]:
    """The columns of a source and of links that can be told without an engine: the header of one file, a schema."""
    contract = member.loaded.contract
    slices: dict[str, window.Slice] = {}
    with suppress(LakeLogicError, OSError):  # not there yet: then the contract alone tells its columns
        pinned = window.pin_source(contract, catalog)
        newest = max(pinned.files, key=lambda file: file.mtime_ns, default=None)
        if newest is not None:
            pinned = window.pin_files((newest,), pinned.format, pinned.described)
        if newest is not None or pinned.pinned.table is not None:
            slices[Plan.SOURCE] = pinned
    with suppress(LakeLogicError, OSError):  # what is looked up in a link that is not there has no origin
        slices |= window.pin_links(contract, catalog)
    columns_by_name: dict[str, SourceColumns] = {}
    for name, slice_ in slices.items():
        if formats.has_header(slice_.format):
            try:
                columns_by_name[name] = window.glimpse(contract if name == Plan.SOURCE else None, slice_)
            except (LakeLogicError, OSError):
                continue
    return columns_by_name


def columns_of(
    served: Served, dataset: str, column: str | None = None, depth: int = 10, domains: Domains = None
) -> dict[str, Any]:
    """The columns of a dataset (or one of them): what each is made of, what is made of it, and the way as a graph."""
    member, graph = served.member(dataset), column_graph(served)
    types = graph.types.get(dataset, {})
    if column is not None:
        match = next((name for name in types if name.lower() == column.lower()), None)
        if match is None:
            raise NotFound(
                f"`{dataset}` has no column `{column}`.", hint=f"It has {', '.join(list(types)[:20]) or 'none known'}."
            )
        types = {match: types[match]}
    seen = {member_.dataset for member_ in served.members() if domains is None or member_.domain in domains}
    seen |= {lost.dataset for lost in graph.lost.values() if domains is None or lost.domain in domains}

    def is_seen(edge: ColumnEdge) -> bool:
        return edge.below in seen and (edge.dataset is None or edge.dataset in seen)

    columns = []
    for name, type_ in types.items():
        up = [edge for edge in graph.above(dataset, name) if is_seen(edge)]
        down = [edge for edge in graph.below(dataset, name) if is_seen(edge)]
        strongest = max((edge.origin.kind for edge in up), key=_KINDS.index, default="constant")
        columns.append({
            "column": name, "type": str(type_), "masked": graph.masks.get(dataset, {}).get(name), "kind": strongest,
            "upstream": [_up(edge) for edge in up],
            "downstream": [
                {"dataset": edge.below, "column": edge.below_column, "kind": edge.origin.kind} for edge in down
            ],
        })  # fmt: skip
    edges = _reach(graph, dataset, types, depth if column is not None else 1, is_seen)
    note = graph.unknown.get(dataset)
    return {
        "dataset": member.dataset,
        "columns": columns,
        "nodes": _nodes(served, graph, edges, dataset, types),
        "edges": [{"from": edge.above_id, "to": edge.below_id, "kind": edge.origin.kind} for edge in edges],
        "notes": [note] if note and not types else [],
    }


_KINDS = ("constant", "copied", "joined", "derived", "masked", "aggregated")


def _up(edge: ColumnEdge) -> dict[str, Any]:
    return {
        "dataset": edge.dataset, "name": edge.name, "column": edge.column, "kind": edge.origin.kind,
        "steps": [{"label": step.label, "expression": step.expression} for step in edge.origin.steps],
    }  # fmt: skip


def _reach(graph: ColumnGraph, dataset: str, columns: Iterable[str], depth: int, is_seen: Any) -> list[ColumnEdge]:
    """The edges that lie so many steps up and down of the columns."""
    edges: dict[ColumnEdge, None] = {}
    for upward in (True, False):
        rim, reached = {(dataset, column) for column in columns}, set[tuple[str, str]]()
        for _ in range(depth):
            nearer = [
                edge
                for edge in graph.edges
                if is_seen(edge) and ((edge.below, edge.below_column) if upward else (edge.dataset, edge.column)) in rim
            ]
            edges.update(dict.fromkeys(nearer))
            reached |= rim
            ends = {(e.dataset or "", e.column) if upward else (e.below, e.below_column) for e in nearer}
            rim = ends - reached
            if not rim:
                break
    return list(edges)


def _nodes(
    served: Served, graph: ColumnGraph, edges: Iterable[ColumnEdge], dataset: str, columns: Iterable[str]
) -> list[dict[str, Any]]:
    nodes: dict[str, tuple[str | None, str, str]] = {f"{dataset}.{name}": (dataset, dataset, name) for name in columns}
    for edge in edges:
        nodes.setdefault(edge.above_id, (edge.dataset, edge.name, edge.column))
        nodes.setdefault(edge.below_id, (edge.below, edge.below, edge.below_column))
    layers = {member.dataset: member.layer for member in served.members()}
    return [
        {
            "id": key, "dataset": owner, "name": name, "column": column,
            "layer": layers.get(owner) if owner else None, "masked": graph.masks.get(owner or "", {}).get(column),
        }
        for key, (owner, name, column) in nodes.items()
    ]  # fmt: skip
