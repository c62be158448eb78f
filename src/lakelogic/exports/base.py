"""What an export is given and what it must do: a version of a table as files, brought to a destination once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of what is sent: where it lies now, its name, rows, bytes and SHA-256 (hex)."""

    path: str
    name: str
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Shipment:
    """A version of a table, ready to be sent. The same `batch_id` is the same rows for the same export.

    Values are those of the committed table: what is masked there is masked here.
    """

    dataset: str
    export: str
    target: str
    mode: str
    key: tuple[str, ...]
    schema: pa.Schema
    parts: tuple[ExportFile, ...]
    batch_id: str
    version: int
    sent_at: datetime
    again: bool = False  # send it whatever the destination remembers

    @property
    def rows(self) -> int:
        """How many rows are sent."""
        return sum(part.rows for part in self.parts)

    @property
    def size(self) -> int:
        """How many bytes are sent."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of it. `known_there`: the destination had this batch already, and nothing was sent."""

    rows: int
    known_there: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


KeepOn = Callable[[], None]  # makes the lease last; called between two steps of a delivery


@runtime_checkable
class Destination(Protocol):
    """Somewhere rows can be sent. It is made with settings (variable → value) and the target, and closed after use."""

    format: str  # of the files it takes, where the export does not choose one

    def deliver(self, shipment: Shipment, keep_on: KeepOn) -> Delivered:
        """Bring the rows there, once for each batch; raises ExportError, ExportInterrupted or CredentialError."""
        ...

    def close(self) -> None:
        """Give back connections."""
        ...
