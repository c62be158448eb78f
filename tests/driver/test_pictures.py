"""Pictures of graphs: whoever follows the lines finds the edges, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.driver.graph import Edge, Graph
from lakelogic.driver.pictures.graphics import as_dot, as_mermaid, as_svg
from lakelogic.driver.pictures.layout import layout
from lakelogic.driver.pictures.text import as_list, as_text
from lakelogic.driver.registry import Member
from lakelogic.errors import Where

_ARMS = {
    "─": "LR", "│": "UD", "┐": "LD", "┘": "LU", "┌": "RD", "└": "RU", "┬": "LRD", "┴": "LRU", "┤": "LUD", "├": "RUD",
    "┼": "LRUD",
}  # fmt: skip
_STEP = {"L": (0, -1), "U": (-1, 0), "D": (1, 0)}


def graph(layers: dict[str, str], edges: list[tuple[str, str]]) -> Graph:
    loaded = Loaded(Contract())
    members = {name: Member(name, name, layer, loaded, Path(name)) for name, layer in layers.items()}
    return Graph(members, tuple(Edge(up, down, ("upstream",), Where()) for up, down in edges))


def followed(picture: str) -> set[tuple[str, str]]:
    """The edges that the lines of a picture tell, read from each arrow back to the names."""
    lines = picture.splitlines()[2:]
    found = set()

    def glyph(row: int, x: int) -> str:
        return lines[row][x] if 0 <= row < len(lines) and 0 <= x < len(lines[row]) else " "

    def name(row: int, x: int, step: int) -> str:
        letters = ""
        while glyph(row, x) not in " ─→│┐┘┌└┬┴┤├┼":
            letters = glyph(row, x) + letters if step < 0 else letters + glyph(row, x)
            x += step
        return letters

    for row, line in enumerate(lines):
        for x, letter in enumerate(line):
            if letter != "→":
                continue
            target = name(row, x + 2, 1)
            waiting, seen = [(row, x - 1, "L")], set()
            while waiting:
                at = waiting.pop()
                if at in seen:
                    continue
                seen.add(at)
                r, c, going = at
                here = glyph(r, c)
                if here in _ARMS:
                    # A line that is crossed goes on behind the other.
                    arms = going if here == "│" and going == "L" else _ARMS[here]
                    waiting += [(r + _STEP[arm][0], c + _STEP[arm][1], arm) for arm in arms if arm in _STEP]
                elif going == "L":
                    while glyph(r, c) == " ":
                        c -= 1
                    found.add((name(r, c, -1), target))
    return found


def test_two_sources_meet_and_one_goes_past_a_column() -> None:
    made = graph(
        {"b1": "bronze", "b2": "bronze", "s1": "silver", "g": "gold"}, [("b1", "s1"), ("s1", "g"), ("b2", "g")]
    )
    assert as_text(made) == (
        "BRONZE     SILVER      GOLD\n──────     ──────      ────\nb1     ──→ s1     ─┬─→ g\nb2     ────────────┘"
    )
    assert followed(as_text(made)) == {("b1", "s1"), ("s1", "g"), ("b2", "g")}


def test_a_graph_that_points_back_is_a_list() -> None:
    made = graph({"s": "silver", "g": "gold"}, [("g", "s")])
    assert as_text(made) == "SILVER\n  s  ← g\n\nGOLD\n  g"


def test_a_large_graph_is_a_list() -> None:
    made = graph({f"b{n}": "bronze" for n in range(70)}, [])
    assert as_text(made) == as_list(made)
    assert as_text(graph({}, [])) == "No datasets."


@pytest.mark.parametrize("seed", range(40))
def test_whoever_follows_the_lines_of_any_picture_finds_the_edges(seed: int) -> None:
    chance = random.Random(seed)
    names = {f"{layer[0]}{n}": layer for layer in ("bronze", "silver", "gold") for n in range(chance.randint(1, 4))}
    listed = list(names)
    pairs = [(a, b) for i, a in enumerate(listed) for b in listed[i + 1 :] if chance.random() < 0.16]
    made = graph(names, pairs)
    text = as_text(made)
    if "←" not in text and pairs:
        assert followed(text) == set(pairs), text
    placed = layout(made)
    assert len({(placed.column[d], placed.row[d]) for d in names}) == len(names)
    assert (
        as_mermaid(made).count("-->") == as_dot(made).count("->") == as_svg(made).count('<path d="M') - 1 == len(pairs)
    )
