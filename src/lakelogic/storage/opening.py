"""Open a file or an object for reading, wherever it lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, cast

from lakelogic.storage.uris import is_object


def open_raw(path: str) -> BinaryIO:
    """Its bytes, unbuffered; one can go to any place in them."""
    if is_object(path):
        from lakelogic.storage.objects import open_object

        return cast(BinaryIO, open_object(path))
    return Path(path).open("rb", buffering=0)


def for_arrow(path: str) -> Any:
    """What Arrow's readers are given: the path of a file, or the bytes of an object."""
    if not is_object(path):
        return path
    import pyarrow as pa

    return pa.PythonFile(open_raw(path), mode="r")


def size_of(path: str) -> int:
    """How many bytes it has."""
    if is_object(path):
        from lakelogic.storage.objects import look

        info = look(path)
        if info is None:
            raise FileNotFoundError(2, "No such object", path)
        return info.size
    return Path(path).stat().st_size
