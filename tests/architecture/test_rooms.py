"""The rooms of the house: small, each with a sentence of its own, and on every map under the name that it has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lakelogic"
ROOMS = sorted({path.parent for path in SOURCE.rglob("*.py")} - {SOURCE})
MAPS = [
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs" / "inside").glob("*.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]

PLACES = ("src/lakelogic", "tests", "bench", "scripts")
LARGEST = 22  # files, `__init__.py` included
ENGINE_FILES = {
    "engine.py",
    "frame.py",
    "scan.py",
    "nodes.py",
    "stage.py",
    "expressions.py",
    "literals.py",
    "convert.py",
}

PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.py|(?:[a-z_]+/)+)`")


def purpose_of(room: Path) -> str:
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""


def missing_paths(text: str) -> list[str]:
    """The files and folders that a text names in backticks, and that are neither in the repository nor in the package."""
    return [name for name in PATH.findall(text) if not _is_there(name)]


def _is_there(name: str) -> bool:
    if any((base / name).exists() for base in (ROOT, SOURCE)):
        return True
    bare = name.rstrip("/")  # `inherit.py`, where its room was named before; `_beside_a_table/` is nothing of ours
    return bare.startswith("_") or ("/" not in bare and any(any((ROOT / base).rglob(bare)) for base in PLACES))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(SOURCE)))
def test_a_room_is_small_and_says_what_it_is_for(room: Path) -> None:
    assert len(list(room.glob("*.py"))) <= LARGEST, "two rooms in one: cut it where a sentence of its own is possible"
    purpose = purpose_of(room)
    assert purpose, f"{room.name}/__init__.py says nothing"
    assert purpose.splitlines()[0].endswith(".")


def test_no_room_is_empty() -> None:
    assert [room.name for room in ROOMS if not set(room.iterdir()) - {room / "__init__.py", room / "__pycache__"}] == [
        "ui"
    ]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "spark"])
def test_the_same_idea_has_the_same_file_name_in_every_engine(engine: str) -> None:
    room = SOURCE / "engines" / engine
    assert {path.name for path in room.glob("*.py")} >= ENGINE_FILES
    assert (room / "functions").is_dir()


def test_every_room_is_on_the_map() -> None:
    text = (ROOT / "docs" / "inside" / "architecture.md").read_text("utf-8")
    rows = {room: f"| `{room.relative_to(SOURCE)}/` | {purpose_of(room).splitlines()[0]} |" for room in ROOMS}
    assert [row for row in rows.values() if row not in text] == []


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.name)
def test_a_map_names_only_what_is_there(page: Path) -> None:
    assert missing_paths(page.read_text("utf-8")) == []


def test_the_look_finds_what_is_not_there() -> None:
    text = "`run/sequence.py`, `plan/`, `inherit.py`; but `run/dance.py`, `attic/` and `nowhere.py`"
    assert missing_paths(text) == ["run/dance.py", "attic/", "nowhere.py"]
