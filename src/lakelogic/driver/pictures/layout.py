"""Where each dataset stands in a picture of the graph: columns by layer, rows along what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

from lakelogic.driver.graph import Graph
from lakelogic.driver.registry import LAYER_ORDER, Member


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """Columns and rows of datasets, the layer of each column, and whether every edge points to the right."""

    column: dict[str, int]
    row: dict[str, int]
    layers: tuple[str, ...]
    points_right: bool

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return max(self.row.values(), default=-1) + 1


def layout(graph: Graph) -> PictureLayout:
    """Layers from left to right, each with as many columns as it has steps of its own."""
    order = graph.order()
    depth: dict[str, int] = {}
    for member in order:
        beside = [
            depth[up]
            for up in graph.upstreams(member.dataset)
            if up in depth and graph.members[up].rank == member.rank and up != member.dataset
        ]
        depth[member.dataset] = max(beside, default=-1) + 1
    places = sorted({(member.rank, depth[member.dataset]) for member in order})
    index = {place: number for number, place in enumerate(places)}
    column = {member.dataset: index[member.rank, depth[member.dataset]] for member in order}
    layers = tuple(layer_name(rank) for rank, _ in places)
    points_right = all(column[edge.upstream] < column[edge.downstream] for edge in graph.edges)
    return PictureLayout(column, _rows(graph, order, column), layers, points_right)


def layer_name(rank: int) -> str:
    """What stands above a column."""
    return LAYER_ORDER[rank].upper() if rank < len(LAYER_ORDER) else "NO LAYER"


def _rows(graph: Graph, order: tuple[Member, ...], column: dict[str, int]) -> dict[str, int]:
    """A row for each dataset: near what it is made of, and never where a line passes by."""
    row: dict[str, int] = {}
    last = {  # the farthest column that a line from a dataset goes to
        dataset: max((column[down] for down in graph.downstreams(dataset)), default=column[dataset])
        for dataset in graph.members
    }
    for number in sorted(set(column.values())):
        taken = {row[dataset] for dataset in row if column[dataset] < number < last[dataset]}
        here = [member.dataset for member in order if column[member.dataset] == number]
        wanted = {d: [row[up] for up in graph.upstreams(d) if up in row] for d in here}
        for dataset in sorted(here, key=lambda d: (not wanted[d], min(wanted[d], default=0))):
            best = median_low(wanted[dataset]) if wanted[dataset] else 0
            row[dataset] = _free(best, taken, downwards=not wanted[dataset])
            taken.add(row[dataset])
    return row


def _free(best: int, taken: set[int], *, downwards: bool) -> int:
    for distance in range(len(taken) + 1):
        for candidate in (best + distance, best - distance):
            if candidate >= 0 and candidate not in taken and (candidate >= best or not downwards):
                return candidate
    return max(taken, default=-1) + 1
