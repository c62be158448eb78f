"""Open a Delta table by its place, and turn errors of delta-rs into ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError

from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.sql.types import from_arrow, to_arrow
from lakelogic.tables import kept as kept_tables
from lakelogic.tables.kept import Kept


def root_of(location: str) -> str:
    """The table's folder as an absolute path."""
    if "://" in location and not location.startswith("file://"):
        raise UnsupportedError(f"Tables at `{location}` are not available yet.", hint="Use a local path.")
    path = unquote(urlsplit(location).path) if location.startswith("file://") else location
    if "%" in path:
        # delta-rs decodes the table's own path once too often and would write beside it.
        raise TableError("The path of a Delta table cannot contain `%`.", where=path)
    return os.path.abspath(path)  # noqa: PTH100 (links stay as they are)


def open_table(root: str, version: int | None = None) -> Any:
    """The table at a version (newest without one); None where there is none."""
    kept = open_newest(root) if version is None or kept_tables.is_open(root) else None
    if version is None or (kept is not None and kept.version == version):
        return kept.table if kept is not None else None
    return _open(root, version)


def open_newest(root: str) -> Kept | None:
    """The newest version of a table, which stays open where a run keeps its tables open; None where there is none."""
    return kept_tables.newest(root, lambda: _newest(root))


def _newest(root: str) -> Kept | None:
    log = Path(root) / "_delta_log"
    table = _open(root) if log.exists() else None
    if table is None:
        return None
    version = int(table.version())
    own, following = log / f"{version:020d}.json", log / f"{version + 1:020d}.json"
    mark = _mark(own)
    return Kept(table, version, lambda: mark is not None and _mark(own) == mark and not following.exists())


def _mark(commit: Path) -> tuple[int, int, int] | None:
    """What tells the file of a commit from another one of its name: an older copy of the table may be put back."""
    try:
        seen = commit.stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def _open(root: str, version: int | None = None) -> Any:
    try:
        return DeltaTable(root, version=version)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        text = str(error)
        if version is not None and "end version" in text:
            raise TableError(f"The table has no version {version}.", where=root) from error
        if isinstance(error, DeltaProtocolError) or "nsupported" in text:
            raise FeatureRefused(f"delta-rs cannot open this table: {text}", where=root) from error
        raise TableError(f"The table cannot be opened: {text}", where=root) from error


@contextmanager
def trouble(root: str) -> Iterator[None]:
    """Turn errors of delta-rs into ours."""
    try:
        yield
    except CommitFailedError as error:
        raise CommitConflict(f"Somebody else committed first: {error}", where=root, hint="Try again.") from error
    except DeltaProtocolError as error:
        raise FeatureRefused(f"delta-rs cannot write to this table: {error}", where=root) from error
    except DeltaError as error:
        if "already exists" in str(error):
            raise CommitConflict("Somebody else created the table first.", where=root, hint="Try again.") from error
        raise TableError(f"The commit failed: {error}", where=root) from error


def absolute(root: str, logged: str) -> str:
    """A path of the log, which is relative and percent-encoded, as a path of the file system."""
    if logged.startswith("file:"):
        return unquote(urlsplit(logged).path)
    return str(Path(root) / unquote(logged))


def schema_of(table: Any) -> pa.Schema:
    """The table's schema with the Arrow types of `sql.types`."""
    stored = pa.schema(table.schema().to_arrow())
    return pa.schema([pa.field(f.name, to_arrow(from_arrow(f.type)), f.nullable) for f in stored])
