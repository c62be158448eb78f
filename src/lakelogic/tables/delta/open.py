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
    """The table; None where there is none."""
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
