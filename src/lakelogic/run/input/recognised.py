"""Files that were read before under another name, or were written again as they were: they are no news.

A known file that is not listed any more, and a listed one that nobody knows, are the same file where both names lead to
one file on the disk, or where their content is equal and so is the time of the last change or the name below the
source's folder. Content alone is no proof: a landing zone may be cleaned, and the next file may hold the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path, PurePath

from lakelogic.engines.readers.columns import folder_values
from lakelogic.errors import DataError
from lakelogic.ledger.records import InputFile
from lakelogic.storage.local import FileInfo, known_as


class Evidence(IntEnum):
    """Why a listed file is taken for one that was read before, the strongest first; from `EQUAL` on it is not."""

    LINKED = 0  # both names lead to the same file
    PLACE = 1  # equal content, at the same place below the source's folder
    TIME = 2  # equal content, last changed at the same time
    LISTING = 3  # the same place, size and time of change; what it held was not recorded then
    CONTENT = 4  # equal content, where the contract says that this is what makes a file
    EQUAL = 5  # equal content and nothing else
    ALIKE = 6  # the same place and size, or size and time; what it held was not recorded then


@dataclass(frozen=True, slots=True)
class Listing:
    """What lies in a source now, and how its files are compared."""

    files: Sequence[FileInfo]
    root: str
    digest: Callable[[str], str]
    fields: Sequence[str] = ()  # of the model: folders may give their values
    by_content: bool = False


@dataclass(frozen=True, slots=True)
class Recognised:
    """What was read before, by the names of today, and what was found out about them."""

    known: Mapping[str, InputFile]
    learned: tuple[InputFile, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()  # the name of today, and the one that it was read under
    equal: tuple[tuple[str, str], ...] = ()  # a new file, and one that is gone and held the same
    alike: tuple[tuple[str, str], ...] = ()  # the same, as far as can be told without the content
    listed: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()  # where content makes a file: a listed one, and the one that it repeats
    over: Mapping[str, str] = field(default_factory=dict)  # a name that was read, and the file that took it since


def recognise(listing: Listing, known: Mapping[str, InputFile]) -> Recognised:
    """Bring what was read before up to what lies there now."""
    listed = {file.path: file for file in listing.files}
    known = {path: file for path, file in known.items() if not file.is_table}
    # A name that another file has by now stands for that one.
    current = {path: file for path, file in known.items() if file.same_as is None or file.same_as not in listed}
    learned = {file.path: file for file in _touched(listing, current)}
    current |= learned
    groups = _unlisted(current, listed)
    found = _matches(listing, current, groups)
    moved: list[tuple[str, str]] = []
    equal: list[tuple[str, str]] = []
    alike: list[tuple[str, str]] = []
    over: dict[str, str] = {}
    for evidence, path, stamp in found:
        if evidence >= Evidence.EQUAL:
            (equal if evidence == Evidence.EQUAL else alike).append((path, stamp))
            continue
        if path in current:
            over[path] = stamp
            continue
        learned[path] = _under_its_name(listing, listed[path], groups[stamp])
        if learned[path].version == (listed[path].size, listed[path].mtime_ns):
            moved.append((path, stamp))
    current |= learned
    renamed = {file.same_as for path, file in current.items() if file.same_as is not None and path in listed}
    shown = {
        path: file
        for path, file in current.items()
        if path in listed or (file.same_as is None and path not in renamed and path not in over.values())
    }
    copies = _copies(listing, shown) if listing.by_content else ()
    for path, _ in copies:
        shown[path] = InputFile(path, listed[path].size, listed[path].mtime_ns, listing.digest(path))
    return Recognised(
        shown, tuple(learned.values()), tuple(moved), tuple(equal), tuple(alike), tuple(listed), copies, over
    )


def moved_inputs(read: Sequence[InputFile], batch_id: str, was: str | None, target: str) -> list[InputFile]:
    """What a batch read that was committed to a table before it was moved, by where it lies if it came along.

    `was` is where the table lay then, `target` where it lies now. What did not come along keeps its name.
    """
    places = ((file, moved_place(file.path, was, target)) for file in read)
    return [replace(file, path=at, batch_id=batch_id, same_as=file.path) for file, at in places if at is not None]


def moved_place(path: str, was: str | None, target: str) -> str | None:
    """Where a file or table lies that came along when the table at `was` was moved to `target`; None if it did not."""
    if was is None or was == target:
        return None
    old, new = PurePath(was).parts, PurePath(target).parts
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    if not PurePath(path).is_relative_to(PurePath(*old)):
        return None
    return str(PurePath(*new) / PurePath(path).relative_to(PurePath(*old)))


def moved_along(moved: Sequence[InputFile]) -> list[str]:
    """What people are told of files that came along with a table."""
    # A file that several batches have read is one file.
    there = list({file.path: file for file in moved if Path(file.path).exists()}.values())
    if not there:
        return []
    more = f"; so are {len(there) - 1} others" if len(there) > 1 else ""
    return [
        f"{there[0].path} is {there[0].same_as} that was read before under another name, moved with the table{more}"
    ]


def refuse_alike(found: Recognised, known: Mapping[str, InputFile], *, appends: bool) -> None:
    """Where all files are gone and the same names and sizes lie elsewhere, their rows would stand in the table twice.

    Only for files of which nobody recorded what they held.
    """
    stamps = {file.stamp for file in known.values()}
    if not appends or not found.alike or found.moved or stamps & {file.stamp for file in found.learned}:
        return
    if any(path in found.known and found.known[path].stamp in stamps for path in found.listed):
        return
    path, stamp = found.alike[0]
    raise DataError(
        f"All {len(stamps)} files that were read before are gone, and {len(found.alike)} like them lie in the source "
        f"under other names: {path} has the name or the time and the size of {stamp}. Added, their rows would be in "
        "the table twice.",
        hint="Nothing was read. If they are the same files, moved: `lakelogic reload` reads everything again and "
        "replaces the table's rows in one commit. If they are other ones, give them names that were not read yet.",
    )


def notes(found: Recognised) -> list[str]:
    """What people are told of files that are not read again."""
    told = []
    if found.moved:
        path, stamp = found.moved[0]
        more = f"; so are {len(found.moved) - 1} others" if len(found.moved) > 1 else ""
        told.append(f"{path} is {stamp} that was read before under another name, and is not read again{more}")
    if found.copies:
        path, first = found.copies[0]
        more = f"; so do {len(found.copies) - 1} others" if len(found.copies) > 1 else ""
        told.append(f"{path} holds what {first} holds, and with source.identity content is not read{more}")
    return told


def warnings(found: Recognised) -> list[str]:
    """What people must look at: files that are read, and may have been read before."""
    told = [
        f"{path} holds exactly what {stamp} held, which was read before and is gone: it is read as another delivery. "
        "With `source.identity: content` equal content is one file, whatever it is called"
        for path, stamp in found.equal
    ]
    told += [
        f"{path} has the name or the time and the size of {stamp}, which was read before and is gone: it is read as "
        "another file. If it is the same, `lakelogic reload` replaces the table's rows"
        for path, stamp in found.alike
    ]
    return told


def _touched(listing: Listing, known: Mapping[str, InputFile]) -> list[InputFile]:
    """Known files that were written again and hold what they held."""
    found = []
    for file in listing.files:
        before = known.get(file.path)
        if before is None or before.content is None or before.version == (file.size, file.mtime_ns):
            continue
        if before.size == file.size and before.content == listing.digest(file.path):
            found.append(replace(before, mtime_ns=file.mtime_ns))
    return found


def _unlisted(known: Mapping[str, InputFile], listed: Mapping[str, FileInfo]) -> dict[str, list[InputFile]]:
    """Files that were read and are not listed under any of their names, by the name that their rows carry."""
    groups: defaultdict[str, list[InputFile]] = defaultdict(list)
    for file in known.values():
        groups[file.stamp].append(file)
    return {stamp: names for stamp, names in groups.items() if not any(one.path in listed for one in names)}


def _matches(
    listing: Listing, known: Mapping[str, InputFile], groups: Mapping[str, list[InputFile]]
) -> list[tuple[Evidence, str, str]]:
    """Listed files that nobody knows as they are, each beside the file that it is taken for; none is taken for two.

    A name that was read may stand for another file that was moved over it.
    """
    if not groups:
        return []
    by_size: defaultdict[int, list[str]] = defaultdict(list)
    links: dict[tuple[int, int], str] = {}
    for stamp, names in groups.items():
        for one in names:
            by_size[one.size].append(stamp)
            if (key := known_as(one.path)) is not None:
                links[key] = stamp
    pairs: list[tuple[Evidence, str, str]] = []
    for file in listing.files:
        if file.path in known and known[file.path].version == (file.size, file.mtime_ns):
            continue
        linked = links.get(known_as(file.path) or (0, 0)) if links else None
        if linked is not None:
            pairs.append((Evidence.LINKED, file.path, linked))
        elif file.size:
            candidates = dict.fromkeys([*by_size.get(file.size, ()), *by_size.get(-1, ())])
            told = ((_evidence(listing, file, groups[stamp]), stamp) for stamp in candidates)
            pairs += [(evidence, file.path, stamp) for evidence, stamp in told if evidence is not None]
    return _one_to_one(pairs)


def _one_to_one(pairs: Sequence[tuple[Evidence, str, str]]) -> list[tuple[Evidence, str, str]]:
    """The strongest evidence first: a file is one file, and what is only alike is told once."""
    found: list[tuple[Evidence, str, str]] = []
    paths, stamps = set[str](), set[str]()
    for evidence, path, stamp in sorted(pairs):
        if path not in paths and stamp not in stamps:
            found.append((evidence, path, stamp))
            paths.add(path)
            if evidence < Evidence.EQUAL:
                stamps.add(stamp)
    return found


def _evidence(listing: Listing, file: FileInfo, names: Sequence[InputFile]) -> Evidence | None:
    """Why a file may be the one that was read under these names."""
    below = PurePath(file.path).relative_to(listing.root).as_posix()
    has_place = any(one.path == file.path or one.path.endswith(f"/{below}") for one in names)
    has_time = any(one.version == (file.size, file.mtime_ns) for one in names)
    contents = {one.content for one in names if one.content is not None}
    if not contents:
        if has_place and has_time:
            return Evidence.LISTING
        return Evidence.ALIKE if has_time or (has_place and any(one.size == file.size for one in names)) else None
    if listing.digest(file.path) not in contents:
        return None
    if has_place:
        return Evidence.PLACE
    if has_time:
        return Evidence.TIME
    return Evidence.CONTENT if listing.by_content else Evidence.EQUAL


def _under_its_name(listing: Listing, file: FileInfo, names: Sequence[InputFile]) -> InputFile:
    """A file that was read before as it is called now. Where folders give it other values, it is another input."""
    first = names[0]
    values = folder_values([first.stamp, file.path], listing.fields)
    if values and values[first.stamp] != values[file.path]:
        return InputFile(file.path, -1, -1, None, first.batch_id, first.stamp)
    newest = next((one for one in names if one.version == (file.size, file.mtime_ns)), names[-1])
    if newest.size == file.size and newest.content is not None and newest.content == listing.digest(file.path):
        newest = replace(newest, mtime_ns=file.mtime_ns)
    return replace(newest, path=file.path, same_as=first.stamp)


def _copies(listing: Listing, known: Mapping[str, InputFile]) -> tuple[tuple[str, str], ...]:
    """Listed files that hold what another one holds: files that were read come first, then the first by name."""
    first: dict[tuple[str, tuple[str | None, ...]], str] = {}
    values = folder_values([file.path for file in listing.files], listing.fields)
    found = []
    for file in sorted(listing.files, key=lambda one: (one.path not in known, one.path)):
        if not file.size:
            continue
        content = listing.digest(file.path), tuple(values.get(file.path, {}).values())
        if first.setdefault(content, file.path) != file.path and file.path not in known:
            found.append((file.path, first[content]))
    return tuple(found)
