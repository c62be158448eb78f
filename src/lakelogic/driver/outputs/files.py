"""Files that a pass leaves behind for others, whether it went well or not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.errors import UsageError


def write_json(path: str, value: Any) -> None:
    """One JSON object in a file that is either the old one or the new one, never half of it."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def write_text(path: str, text: str) -> None:
    """The same with any text."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    written = target.with_name(f".{target.name}.{os.getpid()}")
    written.write_text(text, encoding="utf-8")
    written.replace(target)


class RunLines:
    """One line of JSON for each dataset as it is settled, added to a file that passes share."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise UsageError(f"Lines about runs cannot be written to {path}: {error.strerror}.") from error

    def settled(self, outcome: DatasetOutcome) -> None:
        """Add the line of a dataset, in one write: passes side by side do not mix theirs."""
        line = json.dumps(outcome.as_dict(), ensure_ascii=False, default=str) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
