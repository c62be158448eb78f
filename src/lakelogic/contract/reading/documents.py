"""Find and read the documents around a contract: its domain, its system and its policy packs, each file once."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.estate import Domain, Pack, System
from lakelogic.contract.reading.check import check, describe, nearest
from lakelogic.contract.reading.tree import Branch, Leaf, parse
from lakelogic.errors import Diagnostic, Where

DOMAIN_FILE = "_domain.yaml"
SYSTEM_FILE = "_system.yaml"
REGISTRY_FILE = "_registry.yaml"
PACK_FOLDER = "policy_packs"
# The contract's folder and five above it: `contracts/<domain>/<system>/<layer>/` in a folder of a repository.
MOST_FOLDERS = 6
SUFFIXES = (".yaml", ".yml", ".json")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its tree (None when nothing could be read), and what is wrong with it."""

    file: str
    tree: Branch | None = None
    problems: tuple[Diagnostic, ...] = ()

    def text(self, key: str) -> str | None:
        """The text at a key of the root."""
        leaf = self.tree.get(key) if self.tree else None
        return leaf.value if isinstance(leaf, Leaf) and isinstance(leaf.value, str) else None

    def section(self, key: str) -> Branch | None:
        """The map at a key of the root."""
        value = self.tree.get(key) if self.tree else None
        return value if isinstance(value, Branch) else None

    @property
    def folder(self) -> Path:
        """The folder it lies in, as an absolute path."""
        return Path(self.file).absolute().parent


@dataclass(frozen=True, slots=True)
class Around:
    """What lies around a contract: the nearest domain and system, and the folders that were looked through."""

    domain: Document | None = None
    system: Document | None = None
    folders: tuple[Path, ...] = ()


NOTHING_AROUND = Around()


@dataclass(slots=True)
class Documents:
    """A reader that remembers: one `_domain.yaml` stands around many contracts and is read once.

    Documents do not change while one of these is in use; make a new one for each command or pass.
    """

    _read: dict[tuple[Path, type[Section]], Document] = field(default_factory=dict)
    _around: dict[Path, Around] = field(default_factory=dict)
    _noted: dict[tuple[str, str], object] = field(default_factory=dict)

    def document(self, path: str | os.PathLike[str], kind: type[Section]) -> Document:
        """A document of a kind, held against its models."""
        file = Path(path).absolute()
        if (file, kind) not in self._read:
            self._read[file, kind] = _document(shown(file), kind)
        return self._read[file, kind]

    def around(self, folder: str | os.PathLike[str]) -> Around:
        """The nearest `_system.yaml` and `_domain.yaml` at or above a folder.

        At most five folders up, never out of a repository, and never from a folder that everybody may write to.
        A system that lies above the domain is not its own.
        """
        here = Path(os.path.normpath(Path(folder).absolute()))
        if here in self._around:
            return self._around[here]
        domain = system = None
        folders = _upwards(here)
        for place in folders:
            if domain is None and system is None and (file := _present(place, SYSTEM_FILE)):
                system = self.document(file, System)
            if domain is None and (file := _present(place, DOMAIN_FILE)):
                domain = self.document(file, Domain)
        self._around[here] = Around(domain, system, folders)
        return self._around[here]

    def pack(self, name: str, folder: str | None, around: Around, where: Where) -> Document:
        """A policy pack by name or path.

        A folder that was named is looked for in the working directory, then beside the contract and above it;
        otherwise the nearest `policy_packs` that has the pack is taken.
        """
        if name.endswith(SUFFIXES) and Path(name).is_file():
            return self.document(name, Pack)
        wanted = folder or PACK_FOLDER
        places = [place / wanted for place in around.folders]
        places = [Path(wanted).absolute(), *places] if folder else [*places, Path(wanted).absolute()]
        for place in places:
            for suffix in ("", *SUFFIXES):
                if (file := place / (name + suffix)).is_file():
                    return self.document(file, Pack)
        return Document(name, None, (_unknown_pack(name, folder, places, where),))

    def noted(self, what: str, path: str, make: Callable[[], _T]) -> _T:
        """What was worked out about a file or folder once, kept for the next who asks."""
        key = (what, path)
        if key not in self._noted:
            self._noted[key] = make()
        return self._noted[key]  # type: ignore[return-value]


def _upwards(folder: Path) -> tuple[Path, ...]:
    paths: list[Path] = []
    for at in (folder, *folder.parents)[:MOST_FOLDERS]:
        if at != folder and _is_open_to_all(at):
            break
        paths.append(at)
        if (at / ".git").exists():
            break
    return tuple(paths)


def _is_open_to_all(folder: Path) -> bool:
    """Whether anybody on this machine may put files there (`/tmp`): what lies there is not ours to inherit."""
    if os.name != "posix":
        return False
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _present(folder: Path, name: str) -> Path | None:
    candidates = (folder / name, folder / name.replace(".yaml", ".yml"))
    return next((file for file in candidates if file.is_file()), None)


def shown(path: Path) -> str:
    """A path as people want to read it: from the working directory where it lies below it, else whole."""
    return str(path.relative_to(here)) if path.is_relative_to(here := Path.cwd()) else str(path)


def text_of(path: Path, *, noun: str = "contract") -> tuple[str | None, list[Diagnostic]]:
    """The text of a file, or what is wrong with it."""
    where = Where(str(path))
    if path.is_dir():
        inside = sorted(file.name for file in path.iterdir() if file.suffix in SUFFIXES)
        hint = f"Name a file in it, such as `{path / inside[0]}`." if inside else f"Name a {noun} file."
        return None, [Diagnostic(codes.DIRECTORY, f"`{path}` is a folder.", where, hint)]
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        hint = "Check the path; `lakelogic init` writes a first contract." if noun == "contract" else "Check the path."
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        if near := nearest(path.name, siblings, 0.7):
            hint = f"Did you mean `{path.parent / near}`?"
        return None, [Diagnostic(codes.MISSING_FILE, f"There is no file `{path}`.", where, hint)]
    except OSError as error:
        why = error.strerror or type(error).__name__
        hint = "Check the file's permissions."
        return None, [Diagnostic(codes.UNREADABLE, f"`{path}` cannot be read: {why}.", where, hint)]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = f"`{path}` is not UTF-8 text."
        return None, [Diagnostic(codes.UNREADABLE, message, Where(str(path), line, 1), "Save it as UTF-8.")]


def _document(file: str, kind: type[Section]) -> Document:
    noun = kind.__name__.lower()
    text, problems = text_of(Path(file), noun=noun)
    if text is None:
        return Document(file, None, tuple(problems))
    node, problems = parse(text, file)
    if node is None:
        return Document(file, None, tuple(problems))
    if not isinstance(node, Branch):
        hint = f"A {noun} is a map of keys and values; `lakelogic schema --document {noun}` lists them."
        message = f"A {noun} must be a map, not {describe(node)}."
        return Document(file, None, (*problems, Diagnostic(codes.NOT_A_MAP, message, node.spot.at(""), hint)))
    return Document(file, node, (*problems, *check(node, kind), *_not_yet(node, kind)))


# Keys of the documents themselves that have no effect yet; those that go into contracts are looked at there.
NOT_YET: Mapping[tuple[type[Section], str], str] = {
    (Domain, "retention"): "Leave it out: tables keep their rows.",
}


def _not_yet(tree: Branch, kind: type[Section]) -> list[Diagnostic]:
    return [
        Diagnostic(codes.KEY_NOT_YET, f"`{key}` is not available yet.", tree.entries[key].spot.at(key), hint)
        for (document, key), hint in NOT_YET.items()
        if document is kind and key in tree.entries
    ]


def _unknown_pack(name: str, folder: str | None, places: list[Path], where: Where) -> Diagnostic:
    there = {file.stem for place in places if place.is_dir() for file in place.iterdir() if file.suffix in SUFFIXES}
    meant = nearest(name, there)
    if meant:
        hint = f"Did you mean `{meant}`?"
    elif there:
        hint = f"There are: {', '.join(f'`{pack}`' for pack in sorted(there))}."
    else:
        hint = f"No `{folder or PACK_FOLDER}` with packs was found; name the folder with `--policy-pack-dir`."
    return Diagnostic(codes.UNKNOWN_PACK, f"There is no policy pack `{name}`.", where, hint)
