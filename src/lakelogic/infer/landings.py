"""Which landed files belong together: one entity for each group of files that differ only by date or number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from lakelogic.errors import SourceError, UsageError
from lakelogic.storage.local import SUFFIXES

FORMATS: Final = tuple(SUFFIXES)
# Words about how files came, not about what is in them.
_NOISE: Final = frozenset(
    {"cdc", "full", "delta", "snapshot", "extract", "export", "part", "inc", "incremental", "load", "data", "file"}
)
_DIGITS: Final = re.compile(r"[0-9]")
_WORD: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Landing:
    """The files of one entity: the folder and the pattern that mean exactly them, and why they are one."""

    entity: str
    folder: str
    pattern: str
    format: str
    files: tuple[str, ...]
    why: str


def landings(landing: str, file_format: str | None = None, pattern: str | None = None) -> list[Landing]:
    """The entities of a landing folder, by name."""
    root = Path(landing)
    if not root.is_dir():
        raise SourceError(f"There is no folder {landing}.", hint="Name the folder in which files land.")
    if file_format is not None and file_format not in FORMATS:
        raise UsageError(f"`{file_format}` cannot be looked at.", hint=f"Choose one of {', '.join(FORMATS)}.")
    landings: list[Landing] = []
    for folder, files in _folders(root, pattern, file_format):
        landings += _in_folder(root, folder, files, file_format)
    if not landings:
        raise SourceError(f"There is nothing to look at in {landing}.", hint="Check --pattern and --format.")
    return sorted(_named_apart(landings), key=lambda landing: landing.entity)


def _folders(root: Path, pattern: str | None, file_format: str | None) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with files of their own; those of `name=value` folders belong to the folder above."""
    files: list[Path] = []
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        if path.is_dir() or any(part.startswith(("_", ".")) for part in inside):
            continue
        if pattern is not None and not fnmatch(path.name, pattern):
            continue
        if _format(path) is not None or file_format is not None:
            files.append(path)
    homes: dict[Path, list[Path]] = {}
    for path in files:
        home = path.parent
        while home != root and "=" in home.name:
            home = home.parent
        homes.setdefault(home, []).append(path)
    yield from homes.items()


def _in_folder(root: Path, folder: Path, files: Sequence[Path], file_format: str | None) -> list[Landing]:
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        groups.setdefault((_stem(path), path.name[_end(path) :]), []).append(path)
    if folder != root and len({stem for stem, _ in groups}) > 1 and all(not _words(stem) for stem, _ in groups):
        groups = {("", end): [p for p in files if p.name[_end(p) :] == end] for _, end in groups}
    landings: list[Landing] = []
    for (stem, end), group in groups.items():
        words = [word for word in _words(stem) if word not in _NOISE]
        words = words or (_words(stem) if folder == root else _words(folder.name))
        named = "_".join(words) or "landed"
        others = [path.name for path in files if path not in group]
        dated = any(_DIGITS.search(path.name[: _end(path)]) for path in group)
        pattern = f"{stem}*{end}" if dated or len(group) > 1 else group[0].name
        if any(fnmatch(name, pattern) for name in others):
            pattern = f"{stem}[0-9]*{end}"
        parted = any(path.parent != folder for path in group)
        why = f"{len(group)} file{'s' if len(group) > 1 else ''} whose names are {pattern}"
        if parted:
            pattern, why = f"**/{pattern}", f"{why}, in name=value folders"
        kind = file_format or _format(group[0]) or "csv"
        landings.append(Landing(named, folder.as_posix(), pattern, kind, tuple(str(path) for path in group), why))
    return landings


def _named_apart(landings: Sequence[Landing]) -> Iterator[Landing]:
    """Entities of the same name in different folders or of different kinds are told apart by those."""
    names = [landing.entity for landing in landings]
    seen: set[str] = set()
    for landing in landings:
        name = landing.entity
        if names.count(name) > 1:
            extra = [Path(landing.folder).name, _stem(Path(landing.pattern.rpartition("/")[2])), landing.format]
            for part in extra:
                name = "_".join(filter(None, [landing.entity, *_words(part)]))
                if name not in seen and name not in names:
                    break
        number = 2
        while name in seen:
            name, number = f"{landing.entity}_{number}", number + 1
        seen.add(name)
        yield Landing(name, landing.folder, landing.pattern, landing.format, landing.files, landing.why)


def _stem(path: Path) -> str:
    """What a name begins with, up to the first digit, `*` or the suffix."""
    text = path.name[: _end(path)].partition("*")[0].partition("[")[0]
    digit = _DIGITS.search(text)
    return text[: digit.start()] if digit else text


def _end(path: Path) -> int:
    """Where the suffix of a name begins."""
    lowered = path.name.lower()
    for endings in SUFFIXES.values():
        for ending in sorted(endings, key=len, reverse=True):
            if lowered.endswith(ending):
                return len(lowered) - len(ending)
    return len(path.stem)


def _format(path: Path) -> str | None:
    lowered = path.name.lower()
    return next((name for name, endings in SUFFIXES.items() if lowered.endswith(endings)), None)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.split(text.lower()) if word]
