"""What a catalog must do: tell where the tables are whose names people write."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class Catalog(Protocol):
    """Places of tables. It is made once for a command or a service, and shared by threads: it must not forget.

    What it reads of the working directory and the environment it reads when it is made.
    """

    base: Path  # where relative paths begin
    warehouse: Path  # the folder of tables that are written as names, and of what we keep beside them

    def resolve(self, target: str) -> str:
        """The place of a table, given by name, path or URI; raises UsageError for what is none of these."""
        ...

    def quarantine_name(self, target: str, layer: str | None, entity: str) -> str:
        """Where bad rows go when the contract does not say: as a name beside a name, as a path beside a path."""
        ...

    def ledger_url(self) -> str:
        """The database of the ledger that belongs to these tables."""
        ...
