"""Read the commits of a local Delta log: who committed what, newest first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Delta's own place for a writer's words: Spark's DESCRIBE HISTORY shows it, and Spark can write it too.
USER_METADATA = "userMetadata"
OURS = "lakelogic"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit: its version, the application transactions it carries, and our metadata if we wrote it."""

    version: int
    transactions: Mapping[str, int]
    metadata: Mapping[str, str] | None = None
    read_version: int | None = None  # what its writer had looked at, where it says so
    only_adds: bool = False  # whether it looked at nothing and added rows
    restores: int | None = None  # the version that it put the table back to


def commit_text(app_id: str, n: int, metadata: Mapping[str, str]) -> str:
    """What a commit of ours says in `userMetadata`."""
    return json.dumps({OURS: {"app_id": app_id, "n": n, "metadata": dict(metadata)}}, sort_keys=True)


def entries(location: str, newest: int) -> Iterator[LogEntry]:
    """The commits from `newest` down, as far back as the log still reaches.

    delta-rs' own history numbers the commits of an older version wrongly, so the files are read as they are.
    """
    for version, commit in _commits(location, newest):
        yield _entry(version, commit)


def standing(entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """Commits, newest first, without those that a RESTORE has undone."""
    limit: int | None = None
    for entry in entries:
        if limit is None or entry.version <= limit:
            yield entry
            limit = entry.restores if entry.restores is not None else limit


def is_whole(location: str, newest: int) -> bool:
    """Whether every commit up to `newest` is still there, without reading any."""
    return sum(1 for _ in _commits(location, newest)) == newest + 1


def commit_mark(location: str, version: int) -> int | None:
    """A digest of what the commit of a version says of itself; None where it is not in the log (any more).

    Not of the whole file: upkeep takes statistics out of it. A commit that says nothing is known by its files.
    """
    try:
        lines = (Path(location) / "_delta_log" / f"{version:020d}.json").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return None
    mark = [json.loads(line) for line in lines if _is(line, "commitInfo") or _is(line, "txn")]
    if not any("commitInfo" in action for action in mark):
        actions = [json.loads(line) for line in lines if _is(line, "add") or _is(line, "remove")]
        mark = [(action.get("add") or action.get("remove") or {}).get("path") for action in actions]
    return int(hashlib.sha256(json.dumps(mark, sort_keys=True).encode()).hexdigest()[:15], 16)


def newest_metadata(location: str, newest: int) -> Mapping[str, str]:
    """What our newest commit at or below a version says; nothing when the log holds none of ours."""
    for _, commit in _commits(location, newest):
        with commit.open(encoding="utf-8") as lines:
            # Writers put it first, so that one line of each commit is enough.
            info = next((_commit_info(line) for line in lines if _is(line, "commitInfo")), None)
        if info is not None:
            return info
    return {}


def _commits(location: str, newest: int) -> Iterator[tuple[int, Path]]:
    log = Path(location) / "_delta_log"
    for version in range(newest, -1, -1):
        commit = log / f"{version:020d}.json"
        if not commit.is_file():
            return
        yield version, commit


def _is(line: str, action: str) -> bool:
    """Whether a line of a commit is of a kind, without parsing it: most lines are files and long."""
    return f'"{action}"' in line[: len(action) + 6]


def _commit_info(line: str) -> Mapping[str, str] | None:
    return _ours(json.loads(line)["commitInfo"].get(USER_METADATA))


def _entry(version: int, commit: Path) -> LogEntry:
    transactions: dict[str, int] = {}
    info: Mapping[str, Any] = {}
    with commit.open(encoding="utf-8") as lines:
        for line in lines:
            if _is(line, "txn"):
                action = json.loads(line)["txn"]
                transactions[action["appId"]] = action["version"]
            elif _is(line, "commitInfo"):
                info = json.loads(line)["commitInfo"]
    only_adds = info.get("isBlindAppend") is True
    facts = _ours(info.get(USER_METADATA))
    return LogEntry(version, transactions, facts, info.get("readVersion"), only_adds, _restored(info))


def _restored(info: Mapping[str, Any]) -> int | None:
    """The version that a RESTORE went back to; one that names an instant alone does not tell."""
    if info.get("operation") != "RESTORE":
        return None
    version = str((info.get("operationParameters") or {}).get("version"))
    return int(version) if version.isdigit() else None


def _ours(text: Any) -> Mapping[str, str] | None:
    """Our metadata out of `userMetadata`; None when somebody else wrote it."""
    if not isinstance(text, str):
        return None
    try:
        facts = json.loads(text)
    except ValueError:
        return None
    ours = facts.get(OURS) if isinstance(facts, dict) else None
    if not isinstance(ours, dict) or not isinstance(ours.get("metadata"), dict):
        return None
    return {str(key): str(value) for key, value in ours["metadata"].items()}


@dataclass(frozen=True, slots=True)
class Transactions(Mapping[str, int]):
    """The application transactions of a table: asked one by one, listed only when somebody iterates."""

    location: str
    version: int
    last: Callable[[str], int | None] = field(repr=False, compare=False)

    def __getitem__(self, app_id: str) -> int:
        n = self.last(app_id)
        if n is None:
            raise KeyError(app_id)
        return n

    def __iter__(self) -> Iterator[str]:
        seen: set[str] = set()
        oldest = self.version + 1
        for entry in entries(self.location, self.version):
            oldest = entry.version
            seen.update(entry.transactions)
        if oldest > 0:  # earlier commits were cleaned away; what they said stands in a checkpoint
            seen.update(_in_checkpoint(self.location, self.version))
        return iter(sorted(seen))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _in_checkpoint(location: str, version: int) -> set[str]:
    """The application ids in the newest checkpoint at or below a version."""
    parts: dict[int, list[Path]] = {}
    for path in (Path(location) / "_delta_log").glob("*.checkpoint*.parquet"):
        number = path.name.split(".", 1)[0]
        if number.isdigit() and int(number) <= version:
            parts.setdefault(int(number), []).append(path)
    ids: set[str] = set()
    for path in parts[max(parts)] if parts else ():
        with pq.ParquetFile(path) as checkpoint:
            if "txn" not in checkpoint.schema_arrow.names:
                continue
            for batch in checkpoint.iter_batches(columns=["txn"]):
                values: pa.Array = batch.column(0)
                ids.update(row["appId"] for row in values.to_pylist() if row and row.get("appId") is not None)
    return ids
