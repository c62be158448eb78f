"""The graph as text: lines from dataset to dataset where they can be told apart, else a list by layer."""

from __future__ import annotations

from itertools import groupby

from lakelogic.driver.graph import Graph
from lakelogic.driver.pictures.layout import PictureLayout, layer_name, layout

_MOST = 60  # datasets; more are a list
_WIDEST = 240
_LEFT, _RIGHT, _UP, _DOWN = 1, 2, 4, 8
_GLYPHS = {
    _LEFT | _RIGHT: "─",
    _UP | _DOWN: "│",
    _LEFT | _DOWN: "┐",
    _LEFT | _UP: "┘",
    _RIGHT | _DOWN: "┌",
    _RIGHT | _UP: "└",
    _LEFT | _RIGHT | _DOWN: "┬",
    _LEFT | _RIGHT | _UP: "┴",
    _LEFT | _UP | _DOWN: "┤",
    _RIGHT | _UP | _DOWN: "├",
    _LEFT | _RIGHT | _UP | _DOWN: "┼",
    _LEFT: "─",
    _RIGHT: "─",
    _UP: "│",
    _DOWN: "│",
}


def as_text(graph: Graph) -> str:
    """The picture, or the list where a picture would be too large or could be misread."""
    if not graph.members:
        return "No datasets."
    placed = layout(graph)
    if len(graph.members) <= _MOST and placed.points_right:
        drawn = _Picture(graph, placed).draw()
        if drawn is not None:
            return drawn
    return as_list(graph)


def as_list(graph: Graph) -> str:
    """Every dataset under its layer, with what it is made of."""
    members = sorted(graph.order(), key=lambda member: member.rank)
    wide = max(len(member.dataset) for member in members)
    lines: list[str] = []
    for rank, group in groupby(members, key=lambda member: member.rank):
        lines += ([""] if lines else []) + [layer_name(rank)]
        for member in group:
            needs = ", ".join(graph.upstreams(member.dataset))
            lines.append(f"  {member.dataset:<{wide}}  ← {needs}" if needs else f"  {member.dataset}")
    return "\n".join(lines)


class _Picture:
    """A grid of cells; each gap between two columns has one upright line for each dataset that needs one."""

    def __init__(self, graph: Graph, placed: PictureLayout) -> None:
        self.graph, self.placed = graph, placed
        self.cells: dict[tuple[int, int], str] = {}
        self.bits: dict[tuple[int, int], int] = {}
        self.crossed: set[tuple[int, int]] = set()
        count = len(placed.layers)
        names: list[list[str]] = [[] for _ in range(count)]
        for dataset, column in placed.column.items():
            names[column].append(dataset)
        heads = [layer if n == 0 or placed.layers[n - 1] != layer else "" for n, layer in enumerate(placed.layers)]
        self.heads = heads
        self.widths = [max(len(heads[n]), *map(len, names[n])) for n in range(count)]

    def draw(self) -> str | None:
        """The lines of the picture; None when two lines would run over each other."""
        buses = [self._buses(column) for column in range(1, len(self.widths))]
        if any(bus is None for bus in buses):
            return None
        gaps = [len(bus or ()) for bus in buses]
        starts, at = [], 0
        for number, width in enumerate(self.widths):
            starts.append(at)
            at += width + (
                5 if number < len(gaps) and not gaps[number] else 4 + 2 * gaps[number] if number < len(gaps) else 0
            )
        if at > _WIDEST:
            return None
        for dataset, row in self.placed.row.items():
            self._write(row, starts[self.placed.column[dataset]], dataset)
        for column in range(1, len(starts)):
            self._gap(column, starts, buses[column - 1] or [])
        lines = ["", ""]
        for head, start in zip(self.heads, starts, strict=True):
            lines[0] = lines[0].ljust(start) + head
            lines[1] = lines[1].ljust(start) + "─" * len(head)
        for row in range(self.placed.rows):
            lines.append(self._line(row, at))
        return "\n".join(line.rstrip() for line in lines)

    def _buses(self, column: int) -> list[str] | None:
        """The datasets of a column that need an upright line, from left to right; None when they block one another."""
        row, graph = self.placed.row, self.graph
        here = [d for d, number in self.placed.column.items() if number == column]
        bent = [d for d in here if any(row[up] != row[d] for up in graph.upstreams(d))]
        straight = {d for d in here if d not in bent}
        # The line into a dataset must not carry on a line to another: that one has to branch off before it.
        after: dict[str, set[str]] = {d: set() for d in bent}
        for dataset in bent:
            for up in graph.upstreams(dataset):
                for other in here:
                    if other != dataset and row[other] == row[up]:
                        if other in after:
                            after[other].add(dataset)
                        elif other in straight and up not in graph.upstreams(other):
                            return None
        if any(self._is_misleading(dataset, column) for dataset in bent):
            return None
        buses: list[str] = []
        while after:
            ready = sorted((d for d, before in after.items() if not before), key=lambda d: row[d])
            if not ready:
                return None
            buses += ready
            after = {d: before - set(ready) for d, before in after.items() if d not in ready}
        return buses

    def _is_misleading(self, dataset: str, column: int) -> bool:
        """Whether a line that joins others on its way into a dataset also goes on: nobody could tell which do."""
        ups = self.graph.upstreams(dataset)
        if len(ups) < 2:
            return False
        goes_on = [
            down
            for up in ups
            for down in self.graph.downstreams(up)
            if down != dataset and self.placed.column[down] >= column
        ]
        return bool(goes_on)

    def _gap(self, column: int, starts: list[int], buses: list[str]) -> None:
        row, graph = self.placed.row, self.graph
        begin, end = starts[column - 1] + self.widths[column - 1] + 1, starts[column] - 1
        spots = {dataset: begin + 1 + 2 * number for number, dataset in enumerate(buses)}
        reach: dict[int, int] = {}
        for dataset, number in self.placed.column.items():
            if number >= column:
                continue
            for down in graph.downstreams(dataset):
                to = self.placed.column[down]
                if to > column:
                    reach[row[dataset]] = end + self.widths[column] + 1
                elif to == column:
                    reach[row[dataset]] = max(reach.get(row[dataset], 0), spots.get(down, end - 2))
        for at, last in reach.items():
            self._horizontal(at, begin, last)
        for dataset, number in self.placed.column.items():
            if number != column or not graph.upstreams(dataset):
                continue
            if dataset in spots:
                self._bus(dataset, spots[dataset], begin)
                self._horizontal(row[dataset], spots[dataset], end - 2, joined=True)
            self.cells[row[dataset], end - 1] = "→"

    def _bus(self, dataset: str, x: int, begin: int) -> None:
        rows = {self.placed.row[up] for up in self.graph.upstreams(dataset)}
        target = self.placed.row[dataset]
        low, high = min(rows | {target}), max(rows | {target})
        for at in range(low, high + 1):
            bits = (_UP if at > low else 0) | (_DOWN if at < high else 0)
            cell = (at, x)
            if at in rows or at == target:
                self.bits[cell] = self.bits.get(cell, 0) | bits | (_LEFT if at in rows and x > begin else 0)
            elif cell in self.bits:
                self.crossed.add(cell)
            else:
                self.bits[cell] = bits

    def _horizontal(self, at: int, first: int, last: int, *, joined: bool = False) -> None:
        for x in range(first, last + 1):
            bits = (_LEFT if x > first or not joined else 0) | (_RIGHT if x < last or joined else 0)
            cell = (at, x)
            if self.bits.get(cell, 0) & (_UP | _DOWN) and not (joined and x == first):
                self.crossed.add(cell)
            self.bits[cell] = self.bits.get(cell, 0) | bits

    def _write(self, row: int, start: int, text: str) -> None:
        for offset, letter in enumerate(text):
            self.cells[row, start + offset] = letter

    def _line(self, row: int, width: int) -> str:
        letters = []
        for x in range(width):
            cell = (row, x)
            if cell in self.crossed:
                letters.append("│")
            else:
                letters.append(self.cells.get(cell) or _GLYPHS.get(self.bits.get(cell, 0), " "))
        return "".join(letters)
