"""Versions of a table as folders of files on a disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakelogic.errors import ExportError
from lakelogic.exports import artefacts
from lakelogic.exports.base import Delivered, ExportFile, KeepOn, Shipment
from lakelogic.storage import fresh
from lakelogic.storage.local import local_path


class FilesExport:
    """A folder."""

    format = "parquet"

    def __init__(self, given: Mapping[str, str], target: str) -> None:
        del given
        self._root = local_path(target, Path.cwd())

    def deliver(self, shipment: Shipment, keep_on: KeepOn) -> Delivered:
        """Write the version beside the others."""
        try:
            return artefacts.deliver(self, shipment, keep_on)
        except OSError as error:
            raise ExportError(f"The files cannot be written: {error.strerror}.", where=str(self._root)) from error

    def close(self) -> None:
        """Nothing is held open."""

    def read(self, name: str) -> bytes | None:
        """What lies there."""
        path = self._root / name
        return path.read_bytes() if path.is_file() else None

    def put(self, name: str, part: ExportFile) -> dict[str, Any]:
        """Copy a file."""
        with Path(part.path).open("rb") as source, fresh.in_place_of(self._root / name) as target:
            shutil.copyfileobj(source, target)
        return {}

    def write(self, name: str, content: bytes) -> None:
        """Write a document."""
        with fresh.in_place_of(self._root / name) as target:
            target.write(content)
