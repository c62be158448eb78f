"""Files are made by `storage/fresh.py` alone where tables, staged rows and copies of them are written: new ones only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lakelogic"
# Everything that runs beside a table. Documents that people ask for (drafts, sites, settings) are made elsewhere.
ROOMS = ("run", "tables", "engines", "exports", "ledger", "storage")
OPENING = {"write_text", "write_bytes", "write_table", "ParquetWriter", "copyfile", "copy", "copy2", "copytree", "move"}
COMMON = ("copy", "move")  # names that other things have, too
# Whoever opens a file for writing in another way than `fresh` does says here why nothing can be lost.
EXCUSED = {
    "storage/fresh.py": "takes the name first",
    "engines/spark/runtime/launcher.py": "what it remembers of an installation, in our own cache",
    "engines/spark/runtime/setup.py": "an archive of classes, in our own cache",
    "engines/spark/runtime/training.py": "rows of its own in a temporary folder",
    "exports/packing.py": "into a stream that was opened for a new file",
}


def writers(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        by = owner.id if isinstance(owner, ast.Name) else ""
        into_writer = called == "write_table" and by == "writer"  # which somebody opened
        if called in OPENING and by != "fresh" and not into_writer and (called not in COMMON or by == "shutil"):
            found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {called}")
        modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
        if called in ("open", "OSFile", "fdopen") and any(
            isinstance(mode, str) and mode in ("w", "wb", "w+", "wb+", "r+", "r+b") for mode in modes
        ):
            found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {called}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_is_opened_for_writing_that_may_be_there(room: str) -> None:
    paths = [path for path in (SOURCE / room).rglob("*.py") if str(path.relative_to(SOURCE)) not in EXCUSED]
    assert [one for path in paths for one in writers(path)] == []


def test_the_look_finds_what_it_looks_for(tmp_path: Path) -> None:
    assert writers(SOURCE / "storage" / "fresh.py")
