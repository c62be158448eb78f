"""New files only: nothing here opens a file that is there, so that no file which a table names is ever written again.

A name is taken by creating the file, which fails where there is one, before anything is written to it.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from lakelogic.errors import TableError

_HINT = "Nothing was written. This is a defect: every act has a folder of its own."


def name() -> str:
    """A part of a name that nobody else has."""
    return uuid.uuid4().hex[:16]


def folder(place: str | Path) -> Path:
    """Make a folder that is not there yet, and those above it."""
    path = Path(place)
    try:
        path.mkdir(parents=True)
    except FileExistsError as error:
        raise TableError(f"The folder {path} is there already.", hint=_HINT) from error
    return path


def reserve(path: Path) -> Path:
    """Take the name of a file that is not there yet; who gets it may open it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError as error:
        raise TableError(f"The file {path} is there already.", hint=_HINT) from error
    return path


def parquet_writer(path: Path, schema: pa.Schema, **options: Any) -> Any:
    """A writer of a new Parquet file."""
    from pyarrow import parquet

    return parquet.ParquetWriter(reserve(path), schema, **options)


def write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table as a new Parquet file."""
    from pyarrow import parquet

    parquet.write_table(table, reserve(path), **options)


def link(source: Path, target: Path) -> None:
    """Another name for a file, or a copy of it on another disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError as error:
        raise TableError(f"The file {target} is there already.", hint=_HINT) from error
    except OSError:  # another file system
        shutil.copy2(source, reserve(target))


@contextmanager
def in_place_of(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of another once it is whole; who reads sees the one or the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{name()}")
    try:
        with half.open("xb") as stream:
            yield stream
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
