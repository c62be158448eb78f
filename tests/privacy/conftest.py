"""A canary: a value that must not be seen, looked for in everything that was written."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Search = Callable[..., list[str]]


def _shown(path: Path) -> str:
    """All that a file says: its bytes, and for packed formats what is packed in them."""
    data = path.read_bytes()
    said = data.decode("latin-1")
    if data[:4] == b"PAR1":
        file = pq.ParquetFile(pa.BufferReader(data))
        said += str(file.read().to_pylist()) + str(file.schema_arrow.metadata)
        for group in range(file.metadata.num_row_groups):
            for column in range(file.metadata.num_columns):
                said += str(file.metadata.row_group(group).column(column).statistics)
    elif data[:2] == b"\x1f\x8b":
        said += gzip.decompress(data).decode("latin-1")
    elif data[:3] == b"Obj":  # Avro, whose blocks are deflated
        for start in range(len(data)):
            if data[start : start + 1] in (b"\x8d", b"\x95", b"\xc5", b"\xed", b"\x65", b"\x75"):
                try:
                    said += zlib.decompressobj(-15).decompress(data[start:]).decode("latin-1")
                except zlib.error:
                    continue
    return said


@pytest.fixture
def leaks(workspace: Path) -> Search:
    """Which files of the working folder show one of the words, apart from where it landed."""

    def search(*words: str, landing: str = "in", besides: str = "") -> list[str]:
        found = []
        for path in sorted(workspace.rglob("*")):
            place = path.relative_to(workspace)
            if place.parts[0] == landing:
                continue
            if any(word.lower() in str(place).lower() for word in words):
                found.append(str(place))
            elif path.is_file():
                said = _shown(path).lower()
                found += [str(place) for word in words if word.lower() in said]
        found += [f"said: {word}" for word in words if word.lower() in besides.lower()]
        return found

    return search
