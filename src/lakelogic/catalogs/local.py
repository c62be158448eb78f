"""Table name → place in a local warehouse folder, and the places that follow from it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lakelogic.errors import UsageError
from lakelogic.names import dataset_name
from lakelogic.storage.local import local_path

WAREHOUSE = "LAKELOGIC_WAREHOUSE"
LEDGER = "LAKELOGIC_LEDGER"
DEFAULT_FOLDER = "lakelogic_warehouse"
QUARANTINE = "quarantine"

# A part becomes a folder: no leading underscore or dot, because tools and VACUUM pass such folders by.
_PART = re.compile(r"[^\W_][\w-]*")
_LEVELS = 3


class LocalCatalog:
    """Places of tables: `catalog.silver.customers` lies at `<warehouse>/catalog/silver/customers`.

    The warehouse is the given folder, else `LAKELOGIC_WAREHOUSE`, else `lakelogic_warehouse` under the working
    directory. Paths and `file://` URIs are taken as they are; relative ones from `base`, or the working directory.
    """

    def __init__(self, warehouse: str | Path | None = None, base: str | Path | None = None) -> None:
        self.base = Path(base).absolute() if base is not None else Path.cwd()
        chosen = warehouse or os.environ.get(WAREHOUSE) or DEFAULT_FOLDER
        self.warehouse = local_path(str(chosen), self.base)
        self._written: dict[str, str] = {}

    def resolve(self, target: str) -> str:
        """The absolute path of a table, given by name, path or URI."""
        place = local_path(target, self.base) if is_path(target) else self.warehouse.joinpath(*parts(target))
        location = os.path.normpath(place)
        self._written[location] = target
        return location

    def quarantine_name(self, target: str, layer: str | None, entity: str) -> str:
        """Where bad rows go when the contract does not say: as a name beside a name, as a path beside a path."""
        table = dataset_name(layer, None, entity)
        if is_path(target):
            return str(local_path(target.rstrip("/"), self.base).parent / QUARANTINE / table)
        written = parts(target)
        return ".".join([*written[: len(written) - 2], QUARANTINE, table])

    def describe(self, location: str) -> str:
        """What people call a place: the name they wrote, or the name it has in the warehouse, or its path."""
        location = os.path.normpath(location)
        if location in self._written:
            return self._written[location]
        place = Path(location)
        if place.is_relative_to(self.warehouse):
            inside = place.relative_to(self.warehouse).parts
            if 1 <= len(inside) <= _LEVELS and all(_PART.fullmatch(part) for part in inside):
                return ".".join(inside)
        return str(place.relative_to(self.base)) if place.is_relative_to(self.base) else location

    def ledger_url(self) -> str:
        """The database of the ledger: `LAKELOGIC_LEDGER`, else a SQLite file inside the warehouse."""
        return os.environ.get(LEDGER) or f"sqlite:///{self.warehouse / '.lakelogic' / 'ledger.db'}"


def is_path(target: str) -> bool:
    """Whether a target is written as a path or URI rather than as a name."""
    return "/" in target or "\\" in target or target.startswith("~") or target in (".", "..")


def parts(name: str) -> tuple[str, ...]:
    """The parts of a table name; refuses parts that could not safely be folders."""
    found = tuple(name.split("."))
    wrong = [part for part in found if not _PART.fullmatch(part)]
    if wrong or len(found) > _LEVELS:
        said = f"`{wrong[0]}` cannot be part of it" if wrong else f"it has {len(found)} parts"
        raise UsageError(
            f"`{name}` is not a table name: {said}.",
            hint="Write one to three parts of letters, digits, - and _ (catalog.schema.table), or a path with a slash.",
        )
    return found
