"""The end of a table: its log goes out of the way in one step, then what it named goes file by file, and nothing else.

A folder may hold more than the table: files of people, tables inside. What is removed is the log with every file that
any version of it names, what it remembers of its batches, folders that runs of ours staged under the root, and folders
that became empty by that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lakelogic.storage import fresh
from lakelogic.tables import chain
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.upkeep import IN_USE

ASIDE = ".lakelogic-dropped-"  # the log of a table that is being removed, or the list of its files
_unlink = os.unlink  # a fault test stops here

# What runs, acts and upkeep call the folders that they stage in; a folder of people's own is not called so.
_STAGED = re.compile(
    r"batch-[0-9a-f]{16}-.+|batch-discard-.+|(?:compact|rewrite|remask|reset)-[0-9a-f]{16}|copy-(?:[0-9a-f]{16}|[0-9]{1,9})"
)
_STAGED_FILE = re.compile(r".+\.parquet|\..+\.crc|_SUCCESS")


def drop_logged(root: str, log: str, named: Callable[[Path, Path], Iterable[str]]) -> None:
    """Remove a table whose log is a folder; `named` tells the files of a log that was put aside.

    A removal that was stopped left the log aside, and is finished here too.
    """
    place = Path(root)
    if (place / log).is_dir():
        (place / log).rename(place / f"{ASIDE}{fresh.name()}")
    for aside in sorted(place.glob(f"{ASIDE}*")):
        if aside.is_dir():
            _remove(place, [*named(place, aside), *_staged(place)])
            shutil.rmtree(aside)
    _remove_memory(place)
    _remove_empty(place)


def drop_listed(root: str, named: Callable[[], Iterable[str]], take_out: Callable[[], None] | None) -> None:
    """Remove a table that a catalog knows: its files are listed first, then `take_out` makes it unknown.

    None: it is unknown already; what a removal that was stopped had listed is removed.
    """
    place = Path(root)
    if take_out is not None:
        for stale in place.glob(f"{ASIDE}*"):
            stale.unlink()
        with fresh.in_place_of(place / f"{ASIDE}{fresh.name()}") as out:
            # Heads first: without them nobody takes the rest for a table.
            files = sorted(named(), key=lambda path: (not path.endswith(".metadata.json"), path))
            out.write(json.dumps(files).encode())
        take_out()
    for aside in sorted(place.glob(f"{ASIDE}*")):
        _remove(place, [*json.loads(aside.read_text("utf-8")), *_staged(place)])
        aside.unlink()
    _remove_memory(place)
    _remove_empty(place)


def _remove_memory(root: Path) -> None:
    """Without a table there is nothing to remember; a table of another kind that lies there keeps what it knows."""
    if kind_of(str(root)) is None:
        _remove(root, [*chain.files(root), *(str(path) for path in (root / IN_USE).glob("*.json"))])


def _staged(root: Path) -> Iterator[str]:
    """The files in folders that runs of ours staged under a root."""
    for folder in root.iterdir():
        if folder.is_dir() and _STAGED.fullmatch(folder.name):
            for path in folder.rglob("*"):
                if path.is_file() and (_STAGED_FILE.fullmatch(path.name) or "_temporary" in path.parts):
                    yield str(path)


def _remove(root: Path, paths: Iterable[str]) -> None:
    """Delete files under the root, and the folders above them that hold nothing else."""
    folders: set[Path] = set()
    for name in dict.fromkeys(paths):
        path = Path(os.path.normpath(name))
        if not path.is_relative_to(root) or path == root:
            continue
        if path.is_symlink() or path.is_file():
            _unlink(path)
        folders.update(folder for folder in path.parents if folder != root and folder.is_relative_to(root))
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _remove_empty(root: Path) -> None:
    """Delete folders of ours and the table's own one, where nothing is left in them; never the working folder."""
    if not root.is_dir():
        return
    for folder in root.iterdir():
        if folder.is_dir() and _STAGED.fullmatch(folder.name):
            for inner in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
                if not any(inner.iterdir()):
                    inner.rmdir()
            if not any(folder.iterdir()):
                folder.rmdir()
    if not any(root.iterdir()) and not Path.cwd().is_relative_to(root):
        root.rmdir()
