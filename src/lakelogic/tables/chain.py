"""What a table was made of, commit by commit, in files beside its log that outlive the log.

    <table>/_lakelogic_progress/<application>/00000000000000000042-<sha256>.json

An entry is written before its commit, which names it; it says what the commit says, and names the entry before it. The
first one, and one in every hundred, holds all earlier commits as well: to know everything, the newest of these and the
entries after it are read. An entry is called by the digest of its content, so that a damaged one is noticed. Entries
whose commit never happened are named by nobody.

Delta and Iceberg pass over folders that begin with `_` when they sweep.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lakelogic.storage import fresh
from lakelogic.storage.durable import bring_to_disk

FOLDER = "_lakelogic_progress"
NAMED = "progress"  # in what a commit says: the entry that belongs to it
EVERY = 100  # one entry in so many numbers holds everything before it
FORMAT = 1
_ENTRY = re.compile(r"([0-9]{20})-([0-9a-f]{64})")
_HALF = re.compile(r"\.[0-9]{20}-[0-9a-f]{64}\.json\.[0-9a-f]{16}")

Said = Mapping[str, str]  # what a commit says, as formats keep it


class BrokenChain(Exception):
    """An entry is missing or damaged; the message says which and why."""


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """What one commit said, and where what was before it stands."""

    app_id: str
    n: int
    said: Said
    previous: str | None = None
    earlier: tuple[Said, ...] | None = None  # all commits before it, oldest first; None: they stand in `previous`
    complete: bool = True  # whether they are all there were
    table_id: str | None = None  # of the table that it was written for, where there was one
    later: bool = False  # written after its commit, which does not name it

    @property
    def is_whole(self) -> bool:
        """Whether it needs no other entry."""
        return self.earlier is not None

    def content(self) -> bytes:
        """The entry as it is kept."""
        kept: dict[str, Any] = {
            "format": FORMAT,
            "app_id": self.app_id,
            "n": self.n,
            "commit": _opened(self.said),
            "previous": self.previous,
            "complete": self.complete,
            "table_id": self.table_id,
            "later": self.later,
        }
        if self.earlier is not None:
            kept["earlier"] = [_opened(entry) for entry in self.earlier]
        return json.dumps(kept, sort_keys=True, default=str).encode()


@dataclass(frozen=True, slots=True)
class Past:
    """The commits of a chain, newest first; `complete` where none is missing at its beginning."""

    commits: tuple[Said, ...]
    complete: bool
    entries: tuple[str, ...]


def name_of(n: int, content: bytes) -> str:
    """What an entry is called: its number, and the digest of its content."""
    return f"{n:020d}-{hashlib.sha256(content).hexdigest()}"


def number_of(name: str) -> int:
    """The number in the name of an entry."""
    return int(name.partition("-")[0])


def write(location: str, entry: ChainEntry) -> str:
    """Keep an entry, on the disk before this returns; its name. The very same one may be there already."""
    content = entry.content()
    name = name_of(entry.n, content)
    path = _path(location, entry.app_id, name)
    if path.exists() and path.read_bytes() == content:
        return name
    # Whole under its name or not there at all: a reader would take half of one for a damaged one.
    with fresh.in_place_of(path) as out:
        out.write(content)
        out.flush()
        bring_to_disk(out.name)
    bring_to_disk(path.parent)
    return name


def read(location: str, app_id: str, name: str) -> ChainEntry:
    """An entry as it was written; `BrokenChain` where it is not there, or not as it was."""
    if not _ENTRY.fullmatch(name):
        raise BrokenChain(f"`{name[:60]}` is no entry of a chain")
    path = _path(location, app_id, name)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise BrokenChain(f"{path} is missing") from error
    if name_of(number_of(name), content) != name:
        raise BrokenChain(f"{path} is damaged: its content is not what it was")
    kept = json.loads(content)
    if kept["format"] != FORMAT:
        raise BrokenChain(f"{path} was written by a newer version of LakeLogic (format {kept['format']})")
    earlier = kept.get("earlier")
    return ChainEntry(
        kept["app_id"],
        kept["n"],
        _closed(kept["commit"]),
        kept["previous"],
        None if earlier is None else tuple(_closed(entry) for entry in earlier),
        kept["complete"],
        kept["table_id"],
        kept["later"],
    )


def is_sound(location: str, app_id: str, name: str) -> bool:
    """Whether an entry is there, as it was written."""
    try:
        return name_of(number_of(name), _path(location, app_id, name).read_bytes()) == name
    except (FileNotFoundError, ValueError):
        return False


def walk(location: str, app_id: str, name: str) -> Past:
    """Everything from an entry back to the beginning; `BrokenChain` where the way is interrupted."""
    entry = read(location, app_id, name)
    commits, names = [entry.said], [name]
    while not entry.is_whole:
        if entry.previous is None:
            raise BrokenChain(f"{_path(location, app_id, name)} names no entry before it")
        name = entry.previous
        entry = read(location, app_id, name)
        commits.append(entry.said)
        names.append(name)
    commits += reversed(entry.earlier or ())
    return Past(tuple(commits), entry.complete, tuple(names))


def named(location: str, app_id: str, n: int, facts: Said | None = None) -> str | None:
    """The entry of a commit by its number, and by what it said where that is known.

    Two writers may have tried the same number, and one of them lost. One that was written later belongs to the commit,
    and needs no other. None where there is no entry that is as it was, or nobody can tell which is the right one.
    """
    names = sorted(path.stem for path in _folder(location, app_id).glob(f"{n:020d}-*.json"))
    sound = [name for name in names if is_sound(location, app_id, name)]
    if len(sound) > 1:
        later = [name for name in sound if read(location, app_id, name).later]
        sound = later[-1:] or [name for name in sound if name == (facts or {}).get(NAMED)]
    return sound[0] if sound else None


def drop_rivals(location: str, app_id: str, name: str) -> None:
    """Delete what others wrote under the number of an entry whose commit has happened: theirs never can."""
    rivals = [path for path in _folder(location, app_id).glob(f"{name.partition('-')[0]}-*.json") if path.stem != name]
    for path in rivals:
        if not (is_sound_file(path) and read(location, app_id, path.stem).later):
            path.unlink(missing_ok=True)


def told(location: str, app_id: str, n: int) -> Said | None:
    """What a commit said that the log does not hold any more; None where no entry tells."""
    name = named(location, app_id, n)
    return read(location, app_id, name).said if name is not None else None


def applications(location: str) -> Iterator[str]:
    """Whose chains lie beside a table."""
    place = root_of(location) / FOLDER
    for folder in sorted(place.iterdir()) if place.is_dir() else ():
        for path in sorted(folder.glob("*.json")):
            if is_sound_file(path):
                yield json.loads(path.read_bytes())["app_id"]
                break


def is_sound_file(path: Path) -> bool:
    """Whether a file is an entry as it was written."""
    return bool(_ENTRY.fullmatch(path.stem)) and name_of(number_of(path.stem), path.read_bytes()) == path.stem


def unneeded(location: str, app_id: str, head: str, before: float, unborn: float) -> list[str]:
    """Files of a chain that nobody needs any more.

    - Entries up to the number of `head` that do not lead to it: their commits can never happen.
    - Entries before the last two whole ones, when they are older than `before`.
    - Entries with a later number belong to runs that may be at work; when they are older than `unborn`, to none.
    """
    kept = set[str]()
    name: str | None = head
    wholes = 0
    while name is not None and wholes < 2:
        kept.add(name)
        try:
            entry = read(location, app_id, name)
        except BrokenChain:
            if wholes == 0:
                return []  # what is left may be all that tells anything
            break
        wholes += entry.is_whole
        name = entry.previous
    folder, last, oldest = _folder(location, app_id), number_of(head), min(kept)
    garbage = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        age = path.stat().st_mtime
        if _HALF.fullmatch(path.name) and age < unborn:
            garbage.append(str(path))
        elif not _ENTRY.fullmatch(path.stem) or path.stem in kept:
            continue
        elif number_of(path.stem) > last:
            garbage += [str(path)] if age < unborn else []
        elif path.stem > oldest or age < before:
            garbage.append(str(path))
    return garbage


def entry_files(location: str, app_id: str) -> list[Path]:
    """The files of one chain, whatever became of them."""
    return sorted(path for path in _folder(location, app_id).glob("*.json") if _ENTRY.fullmatch(path.stem))


def files(root: Path) -> Iterator[str]:
    """Every file of ours in the chains beside a table."""
    for path in (root / FOLDER).glob("*/*"):
        if path.is_file() and (_ENTRY.fullmatch(path.stem) or _HALF.fullmatch(path.name)):
            yield str(path)


def root_of(location: str) -> Path:
    """The folder of a table."""
    return Path(unquote(urlsplit(location).path) if location.startswith("file://") else location)


def _folder(location: str, app_id: str) -> Path:
    # A dataset may have a name that no folder can have.
    return root_of(location) / FOLDER / hashlib.sha256(app_id.encode()).hexdigest()[:16]


def _path(location: str, app_id: str, name: str) -> Path:
    return _folder(location, app_id) / f"{name}.json"


def _opened(facts: Said) -> dict[str, Any]:
    """What a commit says, with its facts as they are and not as a text in a text."""
    return {key: json.loads(value) if key == "facts" else value for key, value in facts.items()}


def _closed(kept: Mapping[str, Any]) -> Said:
    return {key: json.dumps(value) if key == "facts" else str(value) for key, value in kept.items()}


def oldest_first(commits: Sequence[Said]) -> tuple[Said, ...]:
    """Commits in the order in which they happened."""
    return tuple(reversed(commits))
