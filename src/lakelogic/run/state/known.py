"""What the target of a run holds already, as recovery found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.ledger.records import InputFile


@dataclass(frozen=True, slots=True)
class Known:
    """What is in the table already, by path, and whether there is a table at all."""

    inputs: Mapping[str, InputFile] = field(default_factory=dict)
    table_exists: bool = False
    over: Mapping[str, str] = field(default_factory=dict)  # of files that were moved over another one: the earlier name
    newest: int | None = None  # the number of the last commit that was compared: a batch is worked out on top of it

    @property
    def files(self) -> dict[str, InputFile]:
        """The files that were read."""
        return {path: file for path, file in self.inputs.items() if not file.is_table}
