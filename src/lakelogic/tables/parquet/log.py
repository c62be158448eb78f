"""The log of a plain Parquet table: one small file per version, put where none is, and the pointer to the newest.

    <table>/_lakelogic/00000000000000000003.json   version 3: who committed, the columns, the files
    <table>/versions/3-5f0c1a2b/*.parquet          the files of version 3, as hard links
    <table>/current -> versions/3-5f0c1a2b         what others read

The log is the truth and `current` follows it: a version exists when its file in the log does. A writer that died
between the two leaves `current` one version behind until the next look at the table.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic.errors import TableError
from lakelogic.sql.types import from_arrow, parse_type, to_arrow
from lakelogic.tables.base import TableChanges
from lakelogic.tables.partitions import folders, text_of, value_of

LOG, VERSIONS, CURRENT = "_lakelogic", "versions", "current"
_DIGITS = 20
_FOLDER = re.compile(r"[0-9]+-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A data file of a version: its path relative to the table's root."""

    path: str
    rows: int
    size: int
    partition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Head:
    """What a version says about itself, without its files."""

    number: int
    folder: str
    transactions: Mapping[str, int] = field(default_factory=dict)
    app_id: str | None = None
    n: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    same_rows: bool = False  # the rows are those of the version before, only laid out anew


@dataclass(frozen=True, slots=True)
class Version:
    """A whole version."""

    head: Head
    schema: pa.Schema
    files: tuple[Entry, ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def newest(root: str) -> int | None:
    """The number of the newest version; None where there is no table."""
    try:
        versions = [int(path.stem) for path in (Path(root) / LOG).iterdir() if _is_version(path.name)]
    except (FileNotFoundError, NotADirectoryError):
        return None
    return max(versions, default=None)


def read(root: str, number: int) -> Version:
    """A version with its files."""
    try:
        with log_file(root, number).open(encoding="utf-8") as lines:
            head = json.loads(next(lines))
            schema = _schema(head["columns"])
            files = tuple(_entry(json.loads(line), schema) for line in lines)
    except FileNotFoundError as error:
        raise TableError(f"The table has no version {number}.", where=root) from error
    except (ValueError, KeyError, StopIteration) as error:
        raise TableError(f"The log of version {number} cannot be read: {error}", where=root) from error
    return Version(_head(head), schema, files, tuple(head["partition_by"]), head["properties"])


def heads(root: str, number: int) -> Iterator[Head]:
    """The versions from `number` down, as far back as the log reaches; only the first line of each is read."""
    for at in range(number, 0, -1):
        try:
            with log_file(root, at).open(encoding="utf-8") as lines:
                yield _head(json.loads(next(lines)))
        except FileNotFoundError:
            return


def table_id(root: str, number: int) -> str:
    """What tells a table from another that lay there before: the folder of its first version, which is drawn by lot."""
    first = Head(number, "")
    try:
        with log_file(root, 1).open(encoding="utf-8") as lines:
            first = _head(json.loads(next(lines)))
    except FileNotFoundError:  # somebody has trimmed the log, which we never do
        first = list(heads(root, number))[-1]
    return f"{first.number}-{first.folder.rpartition('-')[2]}"


def mark(root: str, number: int) -> int | None:
    """A digest of the folder of a version, which is drawn by lot; None where the log has no such version."""
    head = next(heads(root, number), None)
    return None if head is None else int(hashlib.sha256(head.folder.encode()).hexdigest()[:15], 16)


def changes(root: str, since: int, number: int) -> TableChanges | None:
    """What became of rows after a version: files that came and files that went, without those only laid out anew."""
    before = {entry.path: entry for entry in read(root, since).files} if since > 0 else {}
    added: dict[str, Entry] = {}
    removed: set[str] = set()
    for at in range(since + 1, number + 1):
        if not log_file(root, at).exists():
            return None
        version = read(root, at)
        now = {entry.path: entry for entry in version.files}
        if not version.head.same_rows:
            removed |= before.keys() - now.keys()
            added |= {path: entry for path, entry in now.items() if path not in before}
        before = now
    kept = {str(Path(root) / path): entry for path, entry in added.items() if path not in removed}
    gone = len(removed - added.keys())
    return TableChanges(tuple(kept), gone, {path: entry.partition for path, entry in kept.items() if entry.partition})


def put(root: str, version: Version) -> bool:
    """Make a version, whole or not at all; False when somebody else made one of that number first."""
    log = Path(root) / LOG
    log.mkdir(parents=True, exist_ok=True)
    _link_files(root, version)
    draft = log / f".{uuid.uuid4().hex}"
    try:
        with draft.open("x", encoding="utf-8") as out:
            out.write(json.dumps(_said(version), sort_keys=True) + "\n")
            out.writelines(json.dumps(_line(entry), sort_keys=True) + "\n" for entry in version.files)
        # A link fails where a name is taken; a rename would not.
        os.link(draft, log_file(root, version.head.number))
    except FileExistsError:
        shutil.rmtree(Path(root) / version.head.folder, ignore_errors=True)
        return False
    finally:
        draft.unlink(missing_ok=True)
    follow(root)
    return True


def follow(root: str) -> None:
    """Let `current` point to the newest version, by one rename. Never goes back: one at a time, newest read inside."""
    if not _is_behind(root):
        return
    with (Path(root) / LOG / "pointer.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder := _is_behind(root)) is not None:
            draft = Path(root) / f".{CURRENT}-{uuid.uuid4().hex}"
            draft.symlink_to(folder)
            draft.replace(Path(root) / CURRENT)


def _is_behind(root: str) -> str | None:
    """The folder that `current` should point to and does not; None when all is well."""
    head = next(heads(root, newest(root) or 0), None)
    pointer = Path(root) / CURRENT
    if head is None or (pointer.is_symlink() and str(pointer.readlink()) == head.folder):
        return None
    return head.folder


def new_folder(number: int) -> str:
    """A folder for the links of a version; two writers that try the same number do not share it."""
    return f"{VERSIONS}/{number}-{uuid.uuid4().hex[:8]}"


def _link_files(root: str, version: Version) -> None:
    place = Path(root) / version.head.folder
    place.mkdir(parents=True)
    taken: set[str] = set()
    for entry in version.files:
        name = _link_name(entry, version.partition_by)
        # Two staged folders that differ only in `name=value` parts would share a name.
        while name in taken:
            name = f"{name.removesuffix('.parquet')}-{len(taken)}.parquet"
        taken.add(name)
        link = place / name
        if version.partition_by:
            link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(Path(root) / entry.path, link)
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            raise TableError(
                f"The file {entry.path} cannot be linked into {version.head.folder}: {error.strerror}",
                where=root,
                hint="A plain Parquet table needs a file system with hard links; use format: delta otherwise.",
            ) from error


def _link_name(entry: Entry, partition_by: Sequence[str]) -> str:
    flat = "-".join(part for part in Path(entry.path).parts if "=" not in part)
    return f"{folders(entry.partition, partition_by)}/{flat}" if partition_by else flat


def log_file(root: str, number: int) -> Path:
    """Where a version is written down."""
    return Path(root) / LOG / f"{number:0{_DIGITS}d}.json"


def named(root: Path, log: Path) -> Iterator[str]:
    """Every file that the versions of a log name, and the links to them."""
    folders = set()
    for path in log.iterdir():
        if _is_version(path.name):
            with path.open(encoding="utf-8") as lines:
                folders.add(json.loads(next(lines))["folder"])
                yield from (str(root / json.loads(line)["path"]) for line in lines)
    pointer = root / CURRENT
    if pointer.is_symlink() and str(pointer.readlink()).startswith(f"{VERSIONS}/"):
        yield str(pointer)
    # Links of a writer that lost its number or died are in no version, and are called like those of one.
    paths = [path for path in (root / VERSIONS).glob("*") if _FOLDER.fullmatch(path.name)]
    folders |= {f"{VERSIONS}/{path.name}" for path in paths}
    for folder in sorted(folders):
        yield from (str(path) for path in (root / folder).rglob("*") if path.is_file())


def _is_version(name: str) -> bool:
    return len(name) == _DIGITS + 5 and name.endswith(".json") and name[:_DIGITS].isdigit()


def _said(version: Version) -> dict[str, Any]:
    head = version.head
    return {
        "version": head.number,
        "folder": head.folder,
        "app_id": head.app_id,
        "n": head.n,
        "metadata": dict(head.metadata),
        "transactions": dict(head.transactions),
        "columns": [[f.name, str(from_arrow(f.type)), f.nullable] for f in version.schema],
        "partition_by": list(version.partition_by),
        "properties": dict(version.properties),
        **({"same_rows": True} if head.same_rows else {}),
    }


def _head(head: Mapping[str, Any]) -> Head:
    same_rows = bool(head.get("same_rows"))
    if "same_rows" not in head and head["app_id"] is None:
        same_rows = True  # of a time when versions did not say so: nobody commits without a name but to widen types
    return Head(
        head["version"], head["folder"], head["transactions"], head["app_id"], head["n"], head["metadata"], same_rows
    )


def _schema(columns: Sequence[Sequence[Any]]) -> pa.Schema:
    return pa.schema([pa.field(name, to_arrow(parse_type(kind)), nullable) for name, kind, nullable in columns])


def _line(entry: Entry) -> dict[str, Any]:
    line: dict[str, Any] = {"path": entry.path, "rows": entry.rows, "size": entry.size}
    if entry.partition:
        line["partition"] = {name: text_of(value) for name, value in entry.partition.items()}
    return line


def _entry(line: Mapping[str, Any], schema: pa.Schema) -> Entry:
    texts = line.get("partition", {})
    partition = {name: value_of(text, schema.field(name).type) for name, text in texts.items()}
    return Entry(line["path"], line["rows"], line["size"], partition)
