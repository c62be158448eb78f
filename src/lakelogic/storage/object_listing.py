"""The objects that a source means: one of them, a folder, or a pattern, by the rules that hold for files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from lakelogic.errors import SourceError, UsageError
from lakelogic.storage import objects
from lakelogic.storage.objects import ObjectInfo
from lakelogic.storage.uris import ObjectUri, object_uri

_MAGIC = re.compile(r"[*?\[]")


def list_objects(written: str, suffixes: Sequence[str], pattern: str | None = None) -> tuple[ObjectInfo, ...]:
    """What a URI means: an object, the objects of a folder and of its `name=value` folders, or those of a pattern."""
    uri = object_uri(written)
    if pattern is None and uri.key and not uri.key.endswith("/") and (info := objects.look(written)) is not None:
        return (info,)
    if pattern is None and _MAGIC.search(uri.key):
        root, rest = split(uri)
        matches = objects.matching(root, rest)
        if "." not in rest.rpartition("/")[2]:  # as with files: `landing/*` means what belongs to the format
            matches = (info for info in matches if _has_suffix(info, suffixes))
        listed = _data(root, matches)
        if not listed:
            _refuse_missing(root)
        return listed
    if pattern is not None:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise UsageError(f"The pattern `{pattern}` leaves the folder {uri}.", hint="Write it as source.path.")
        listed = _data(uri, objects.matching(uri, pattern))
    else:
        listed = _data(uri, (info for info in _inside(uri) if _has_suffix(info, suffixes)))
    if not listed:
        _refuse_missing(uri)
    return listed


def root_of(written: str) -> str:
    """The folder of a source, from which its objects are named."""
    uri = object_uri(written)
    if _MAGIC.search(uri.key):
        return str(split(uri)[0]).rstrip("/")
    parent, _, name = uri.key.rstrip("/").rpartition("/")
    is_folder = uri.key.endswith("/") or "." not in name
    return str(uri if is_folder else uri.beside(parent)).rstrip("/")


def split(uri: ObjectUri) -> tuple[ObjectUri, str]:
    """The folder before the first part with a wildcard, and the rest."""
    parts = uri.key.split("/")
    first = next(number for number, part in enumerate(parts) if _MAGIC.search(part))
    return uri.beside("/".join(parts[:first])), "/".join(parts[first:])


def _inside(uri: ObjectUri) -> Iterator[ObjectInfo]:
    """The objects of a folder, and those in its `name=value` folders."""
    infos, folders = objects.folder(uri)
    yield from infos
    for key in folders:
        if "=" in key.rstrip("/").rpartition("/")[2]:
            yield from _inside(uri.beside(key))


def _has_suffix(info: ObjectInfo, suffixes: Sequence[str]) -> bool:
    return info.path.lower().endswith(tuple(suffixes))


def _data(root: ObjectUri, infos: Iterable[ObjectInfo]) -> tuple[ObjectInfo, ...]:
    """Without what is never data: hidden names, names with an underscore first, README files, markers of folders."""
    start = len(str(root).rstrip("/")) + 1
    kept = {}
    for info in infos:
        parts = info.path[start:].split("/")
        name = parts[-1]
        is_aside = any(part.startswith((".", "_")) for part in parts)
        if name and not is_aside and PurePosixPath(name).stem.lower() != "readme":
            kept[info.path] = info
    return tuple(sorted(kept.values()))


def _refuse_missing(uri: ObjectUri) -> None:
    """A folder without anything in it is a folder that is not there; say what lies beside it."""
    infos, folders = objects.folder(uri)
    if infos or folders:
        return
    if not uri.key.strip("/"):
        return  # an empty bucket is there
    missing, parent = uri, uri
    while not (infos or folders) and parent.key:
        missing, parent = parent, parent.beside(parent.key.rstrip("/").rpartition("/")[0])
        infos, folders = objects.folder(parent)
    names = {key.rstrip("/").rpartition("/")[2] for key in folders}
    there = sorted(names | {info.path.rpartition("/")[2] for info in infos})
    close = difflib.get_close_matches(missing.key.rstrip("/").rpartition("/")[2], there, n=1)
    if close:
        hint = f"did you mean {parent.beside(f'{parent.key}/{close[0]}'.lstrip('/'))}?"
    elif there:
        hint = f"In {parent} there is {', '.join(there[:5])}{', …' if len(there) > 5 else ''}."
    else:
        hint = f"There is nothing at {parent} either."
    raise SourceError(f"There is no {uri}.", hint=hint)
