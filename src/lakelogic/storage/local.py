"""Local files: expand what a contract calls its source into a pinned list, and tell whether it changed since."""

from __future__ import annotations

import difflib
import glob
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lakelogic.contract.formats import FORMATS, readable
from lakelogic.errors import SourceError, UnsupportedError, UsageError
from lakelogic.storage.text_files import ENDINGS
from lakelogic.storage.uris import is_object

# The files of a folder that belong to a format, by the end of their names, in any case.
SUFFIXES: dict[str, tuple[str, ...]] = {
    row.name: tuple(
        f".{ending}{packed}" for ending in row.endings for packed in ("", *(ENDINGS if row.is_packed else ()))
    )
    for row in map(FORMATS.__getitem__, readable())
}

_PIECE = 1 << 20  # bytes that are digested at once: enough to leave the engine alone meanwhile


@dataclass(frozen=True, slots=True, order=True)
class FileInfo:
    """One input file as it was when it was listed: absolute path or URI, bytes, time of its last change.

    Of an object, the time also tells its etag (`ObjectInfo.version_ns`).
    """

    path: str
    size: int
    mtime_ns: int


def local_path(written: str, base: str | Path | None = None) -> Path:
    """The absolute path for a path or `file://` URI; a relative path is taken from `base`, or the working directory.

    `..` is taken out, because a file is known again by its path; links are kept, so that people find their own
    spelling in messages and lineage.
    """
    if written.startswith("file:"):
        parts = urlsplit(written)
        if parts.netloc not in ("", "localhost"):
            raise UnsupportedError(f"`{written}` names another machine.", hint="Write file:///absolute/path.")
        return Path(os.path.normpath(unquote(parts.path)))
    scheme, separator, _ = written.partition("://")
    if separator:
        raise UnsupportedError(
            f"`{written}`: {scheme}:// is not available yet.", hint="Use a local path or a file:// URI."
        )
    path = Path(written).expanduser()
    return Path(os.path.normpath(Path(base or Path.cwd()).absolute() / path))


def list_files(
    written: str,
    *,
    file_format: str,
    pattern: str | None = None,
    base: str | Path | None = None,
    beside: str | Path | None = None,
) -> tuple[FileInfo, ...]:
    """The files that a source means, by path.

    `written` is a file, a folder or a glob; relative paths are taken from `base` (the working directory without
    one). A folder means the files directly in it that `pattern` matches, or else those with the format's suffix, there
    and in `name=value` folders; `**` in a pattern or glob goes deeper. Hidden files, files and folders that begin with
    an underscore and README files are never listed; files without content are. A glob that matches nothing gives no
    files, but its folder must exist. `beside` (the contract's folder) only makes the message better when nothing is
    found.
    """
    if is_object(written):
        return _list_objects(written, file_format, pattern)
    path = local_path(written, base)
    if path.is_dir():
        if pattern is not None:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise UsageError(f"The pattern `{pattern}` leaves the folder {path}.", hint="Write it as source.path.")
            paths = _matches(path, pattern)
        else:
            paths = (entry for entry in _inside(path) if _has_suffix(entry, file_format))
        return _listed(path, paths)
    if path.exists():
        return (_info(path),)
    if not glob.has_magic(str(path)):
        raise _missing(written, path, beside)
    root, rest = _split(path)
    if not root.is_dir():
        raise _missing(written, root, beside)
    paths = _matches(root, rest)
    if "." not in Path(rest).name:  # `landing/*` means what belongs to the format, not everything that lies there
        paths = (entry for entry in paths if _has_suffix(entry, file_format))
    return _listed(root, paths)


def source_root(written: str, base: str | Path | None = None) -> str:
    """The folder of a source, from which its files are named: the part of a glob before its first wildcard."""
    if is_object(written):
        from lakelogic.storage import object_listing

        return object_listing.root_of(written)
    path = local_path(written, base)
    if path.is_dir():
        return str(path)
    return str(_split(path)[0] if glob.has_magic(str(path)) and not path.exists() else path.parent)


def fingerprint(files: Sequence[FileInfo]) -> str:
    """A stable text for a list of files: the same for the same paths, sizes and times, in any order."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.path}\0{file.size}\0{file.mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def changes(files: Sequence[FileInfo]) -> tuple[str, ...]:
    """What happened to the files since they were listed, one sentence each; nothing when they are the same."""
    differences = []
    for file in files:
        try:
            now = look(file.path)
        except SourceError:
            differences.append(f"{file.path} is gone")
            continue
        if now.size != file.size:
            differences.append(f"{file.path} had {file.size} bytes and has {now.size}")
        elif now.mtime_ns != file.mtime_ns:
            differences.append(f"{file.path} was written again")
    return tuple(differences)


def digest(path: str, halted: Callable[[], bool] = lambda: False) -> str:
    """What a file holds, in short; nothing where it was `halted` on the way."""
    if is_object(path):
        from lakelogic.storage.objects import etag_of

        return etag_of(path)
    hasher, piece = hashlib.sha256(), memoryview(bytearray(_PIECE))
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        while not halted():
            if not (size := file.readinto(piece)):
                return hasher.hexdigest()
            hasher.update(piece[:size])
    return ""


def still_the_same(files: Sequence[FileInfo]) -> bool:
    """Whether every file is as it was listed; asked again right before a commit."""
    return not changes(files)


def _split(path: Path) -> tuple[Path, str]:
    """The folder before the first part with a wildcard, and the rest."""
    parts = path.parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), str(Path(*parts[first:]))


def _matches(root: Path, pattern: str) -> Iterator[Path]:
    for name in glob.iglob(pattern, root_dir=root, recursive=True):  # noqa: PTH207 (leaves hidden files out)
        yield root / name


def _inside(folder: Path) -> Iterator[Path]:
    """The files of a folder, and those in its `name=value` folders."""
    for entry in folder.iterdir():
        if "=" in entry.name and entry.is_dir():
            yield from _inside(entry)
        else:
            yield entry


def _has_suffix(path: Path, file_format: str) -> bool:
    return path.name.lower().endswith(SUFFIXES.get(file_format, (f".{file_format}",)))


def _listed(root: Path, paths: Iterator[Path]) -> tuple[FileInfo, ...]:
    """Measure what was found, without what is never data."""
    infos: dict[tuple[int, int], FileInfo] = {}
    for path in sorted(set(paths), key=lambda each: (_is_linked(root, each), str(each))):
        parts = path.relative_to(root).parts
        if any(part.startswith((".", "_")) for part in parts) or path.stem.lower() == "readme":
            continue
        if path.is_file():
            status = path.stat()
            # One file under several names, by links of either kind or a folder that leads back to itself, is one file.
            infos.setdefault((status.st_dev, status.st_ino), _info(path))
    return tuple(sorted(infos.values()))


def _is_linked(root: Path, path: Path) -> bool:
    """Whether a symbolic link below the root leads to it."""
    at = path
    while at != root:
        if at.is_symlink():
            return True
        at = at.parent
    return False


def known_as(path: str) -> tuple[int, int] | None:
    """What a file is whatever it is called; None where there is none, or where names are all there is."""
    if is_object(path):
        return None
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def look(path: str) -> FileInfo:
    """A file or an object as it is now; an error where there is none."""
    if not is_object(path):
        return _info(Path(path))
    from lakelogic.storage import objects

    info = objects.look(path)
    if info is None:
        raise SourceError(f"There is no {path}.")
    return FileInfo(info.path, info.size, info.version_ns)


def look_if_there(path: str) -> FileInfo | None:
    """A file or an object as it is now; None where there is none."""
    if is_object(path):
        from lakelogic.storage import objects

        info = objects.look(path)
        return None if info is None else FileInfo(info.path, info.size, info.version_ns)
    return _info(Path(path)) if Path(path).is_file() else None


def _list_objects(written: str, file_format: str, pattern: str | None) -> tuple[FileInfo, ...]:
    """The objects that a source means, by the rules for files."""
    from lakelogic.storage import object_listing

    suffixes = SUFFIXES.get(file_format, (f".{file_format}",))
    return tuple(
        FileInfo(info.path, info.size, info.version_ns)
        for info in object_listing.list_objects(written, suffixes, pattern)
    )


def _info(path: Path) -> FileInfo:
    try:
        status = path.stat()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error
    return FileInfo(str(path), status.st_size, status.st_mtime_ns)


def _missing(written: str, path: Path, beside: str | Path | None) -> SourceError:
    """Say what was looked for, what is there instead, and what was perhaps meant."""
    if beside is not None and not Path(written).is_absolute() and "://" not in written:
        other = Path(beside) / written
        if other.exists():
            return SourceError(
                f"There is no {path}.",
                hint=f"Paths are relative to the working directory. There is {other}: run from {Path(beside)}.",
            )
    parent, missing = path.parent, path.name
    while not parent.is_dir() and parent != parent.parent:
        parent, missing = parent.parent, parent.name
    there = _names(parent)
    close = difflib.get_close_matches(missing, there, n=1)
    if close:
        hint = f"did you mean {parent / close[0]}?"
    elif there:
        shown = ", ".join(there[:5]) + (", …" if len(there) > 5 else "")
        hint = f"In {parent} there is {shown}."
    else:
        hint = f"{parent} is empty."
    return SourceError(f"There is no {path}.", hint=hint)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208 (names, not paths)
    except OSError:
        return []
