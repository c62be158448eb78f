"""Tests mirror the rooms of the package: whoever changes a room finds its tests under the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lakelogic"
TESTS = ROOT / "tests"
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
LARGEST = 25  # files of tests in one folder

# Rooms whose tests stand under another name, and why.
ELSEWHERE = {
    "cli": ("surfaces", "a command is tried as a process, beside other ways in"),
    "lineage": ("actions", "a way back to sources is asked for through `actions/look/`, over runs that were made"),
}
# Rooms inside `run/` whose tests stand elsewhere, and why.
PARTS_ELSEWHERE = {"masks": ("privacy", "what a mask hides is tried together with what it must never show")}
# Folders inside `tests/run/` that are no room of `run/`, and why.
WHOLE_RUNS = {
    "rows": "what `plan/steps/`, `plan/rules/` and `plan/query/` make of rows, in whole runs on every engine",
    "strategies": "what `plan/strategies/` make of tables, in whole runs on every engine",
}
# Folders of tests about no single room.
ACROSS = {
    "architecture", "bench", "browser", "conformance", "deploy", "docs", "examples", "faults", "loopback", "meaning",
    "properties", "scripts", "servers", "surfaces",
}  # fmt: skip


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("test_*.py"))


def parts_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir() and files_of(path)}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_tests_under_its_name(room: str) -> None:
    folder = ELSEWHERE[room][0] if room in ELSEWHERE else room
    assert files_of(TESTS / folder)


def test_a_folder_of_tests_is_a_room_or_says_what_it_is_across() -> None:
    assert sorted(parts_of(TESTS) - set(ROOMS) - ACROSS) == []


def test_parts_of_a_run_have_tests_under_their_names() -> None:
    rooms = {path.parent.name for path in (SOURCE / "run").glob("*/__init__.py")}
    assert sorted(rooms - set(PARTS_ELSEWHERE) - parts_of(TESTS / "run")) == []
    assert sorted(parts_of(TESTS / "run") - rooms - set(WHOLE_RUNS)) == []


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ("run", *ELSEWHERE)])
def test_a_part_of_a_folder_of_tests_is_a_part_of_its_room(room: str) -> None:
    parts = {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")}
    assert sorted(parts_of(TESTS / room) - parts) == []


def test_a_folder_of_tests_can_be_overlooked() -> None:
    sizes = {path.parent for path in TESTS.rglob("test_*.py")}
    crowded = {str(folder.relative_to(TESTS)): len(list(folder.glob("test_*.py"))) for folder in sizes}
    assert {name: count for name, count in crowded.items() if count > LARGEST} == {}


def test_lists_name_only_what_is_there() -> None:
    assert set(ELSEWHERE) <= set(ROOMS)
    assert {name for name in ACROSS if not (TESTS / name).is_dir()} == set()
