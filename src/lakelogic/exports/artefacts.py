"""A version of a table as a folder of files with a manifest, in a bucket or on a disk; `latest.json` names the newest.

The manifest is written last: a folder without one did not arrive. It holds rows, bytes and SHA-256 of every file.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from lakelogic.exports.base import Delivered, ExportFile, KeepOn, Shipment

MANIFEST, LATEST = "manifest.json", "latest.json"


class Shelf(Protocol):
    """Where files are put, by names with slashes."""

    def read(self, name: str) -> bytes | None:
        """What lies there; None where nothing does."""
        ...

    def put(self, name: str, part: ExportFile) -> dict[str, Any]:
        """Put a file there whole, and tell what is known about it."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Put a small document there."""
        ...


def deliver(shelf: Shelf, shipment: Shipment, keep_on: KeepOn) -> Delivered:
    """Put every file, then the manifest, then the pointer to it; a batch that has its manifest there stays as it is."""
    folder = f"{shipment.version:08d}-{shipment.batch_id[:12]}"
    document = _document(shelf.read(f"{folder}/{MANIFEST}"))
    if document is not None and document.get("batch_id") == shipment.batch_id and not shipment.again:
        if _document(shelf.read(LATEST)) != document:
            shelf.write(LATEST, _text(document))
        return Delivered(shipment.rows, known_there=True, facts={"folder": folder})
    files = []
    for part in shipment.parts:
        details = shelf.put(f"{folder}/{part.name}", part)
        files.append({"name": part.name, "rows": part.rows, "bytes": part.size, "sha256": part.sha256, **details})
        keep_on()
    manifest = {
        "dataset": shipment.dataset, "export": shipment.export, "batch_id": shipment.batch_id,
        "table_version": shipment.version, "rows": shipment.rows, "bytes": shipment.size, "folder": folder,
        "columns": [{"name": field.name, "type": str(field.type)} for field in shipment.schema], "files": files,
        "written_at": shipment.sent_at.isoformat(),
    }  # fmt: skip
    shelf.write(f"{folder}/{MANIFEST}", _text(manifest))
    shelf.write(LATEST, _text(manifest))
    return Delivered(shipment.rows, facts={"folder": folder, "files": len(files)})


def _text(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _document(content: bytes | None) -> dict[str, Any] | None:
    """A manifest of ours; None for anything else that lies there."""
    try:
        document = json.loads(content) if content else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
