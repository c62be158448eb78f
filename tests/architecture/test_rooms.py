"""The rooms of the house: small, each with a sentence of its own, and on every map under the name that it has."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lakelogic"
ROOMS = sorted({path.parent for path in SOURCE.rglob("*.py")} - {SOURCE})
MAPS = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    ROOT / "SECURITY.md",
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

# A module, a folder, a path that begins in a folder of ours, a dotted name of the package; `{a,b}` and `*` as in a shell.
PATH = re.compile(r"`((?:[\w.{},*-]+/)*[\w.{},*-]+\.py|(?:[a-z_]+/)+|[\w.-]+(?:/[\w.{},*-]+)+/?)`")
DOTTED = re.compile(r"`(lakelogic(?:\.\w+)+)(?:\(\))?`")
TARGET = re.compile(r"`make ([a-z-]+)")
CHOICE = re.compile(r"\{([^{}]*)\}")
OURS = {path.name for path in (*ROOT.iterdir(), *SOURCE.iterdir()) if path.is_dir()}
NOT_OF_PYTHON = {"lakelogic.ledger.runs"}  # a table


def purpose_of(room: Path) -> str:
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""


def missing_paths(text: str) -> list[str]:
    """The files, folders and dotted names that a text has in backticks, and that are neither in the repository nor in the package."""
    paths = [name for name in PATH.findall(text) if _is_path_of_ours(name) and not _is_there(name)]
    return paths + [name for name in DOTTED.findall(text) if name not in NOT_OF_PYTHON and not _is_importable(name)]


def _is_path_of_ours(name: str) -> bool:
    """Whether a text means a place of the repository: a module, a folder by itself, or a path from a folder of ours."""
    return name.endswith((".py", "/")) or name.partition("/")[0] in OURS


def _is_there(name: str) -> bool:
    if match := CHOICE.search(name):
        return all(_is_there(name.replace(match[0], choice, 1)) for choice in match[1].split(","))
    if "*" in name:
        return any(any(base.glob(name)) for base in (ROOT, SOURCE))
    if any((base / name).exists() for base in (ROOT, SOURCE)):
        return True
    bare = name.rstrip("/")  # `inherit.py`, where its room was named before; `_beside_a_table/` is nothing of ours
    return bare.startswith("_") or ("/" not in bare and any(any((ROOT / base).rglob(bare)) for base in PLACES))


def _is_importable(name: str) -> bool:
    """Whether a dotted name is a module, or a name that stands in one."""
    *parts, last = name.split(".")[1:]
    place = SOURCE.joinpath(*parts)
    if (place / last).is_dir() or (place / f"{last}.py").is_file():
        return True
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return module.is_file() and re.search(rf"\b{last}\b", module.read_text("utf-8")) is not None


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
    there = "`run/sequence.py`, `plan/`, `inherit.py`, `engines/{spark,duckdb}/scan.py`, `tests/meaning`, `lakelogic.parity`"
    assert missing_paths(f"{there}, `requirements/*.txt`, `lakelogic.errors.LakeLogicError`, `catalog/table`") == []
    gone = ["run/dance.py", "attic/", "nowhere.py", "engines/{spark,flink}/scan.py", "tests/feelings", "docs/*.rst"]
    assert missing_paths("; ".join(f"`{name}`" for name in gone)) == gone
    assert missing_paths("`lakelogic.dance` and `lakelogic.errors.Dance()`") == [
        "lakelogic.dance",
        "lakelogic.errors.Dance",
    ]


def test_the_layers_on_the_map_are_those_that_are_held() -> None:
    text = (ROOT / "docs" / "inside" / "architecture.md").read_text("utf-8")
    drawn = text.partition("```text\n")[2].partition("```")[0].splitlines()
    names = [set(re.findall(r"[a-z]+", re.split(r" {3,}", line)[0])) for line in drawn]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = next(one for one in project["tool"]["importlinter"]["contracts"] if one["id"] == "layers")["layers"]
    held = [{name for name in re.findall(r"[a-z]+", layer) if _is_importable(f"lakelogic.{name}")} for layer in layers]
    assert [sorted(line) for line in _merged(names, held)] == [sorted(layer) for layer in held]


def _merged(drawn: list[set[str]], held: list[set[str]]) -> list[set[str]]:
    """The drawn layers; a line that draws several layers after one another (`plan → sql → contract`) counts as these."""
    merged = []
    for line in drawn:
        parts = [layer for layer in held if layer and layer <= line]
        merged += parts if set().union(*parts) == line else [line]
    return merged


@pytest.mark.parametrize("page", [*MAPS, *sorted((ROOT / "docs").glob("*/*.md"))], ids=lambda page: page.name)
def test_a_page_names_only_targets_of_make_that_are_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(TARGET.findall(page.read_text("utf-8"))) <= targets


def test_what_a_room_says_of_its_modules_is_there() -> None:
    """`store.open_ledger` in the sentence of a room is a name in a module of that room."""
    said = {room: re.findall(r"`(\w+)\.(\w+)`", purpose_of(room)) for room in ROOMS}
    named = [(room, module, name) for room, pairs in said.items() for module, name in pairs if name != "py"]
    assert [
        f"{room.name}: {module}.{name}"
        for room, module, name in named
        if f"def {name}" not in (room / f"{module}.py").read_text("utf-8")
    ] == []
