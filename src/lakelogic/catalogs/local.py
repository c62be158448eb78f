"""Table name → place in a local warehouse folder, and the places that follow from it."""

from __future__ import annotations

import os
from pathlib import Path

from lakelogic.catalogs.table_names import is_path, parts
from lakelogic.names import dataset_name
from lakelogic.storage.local import local_path

WAREHOUSE = "LAKELOGIC_WAREHOUSE"
LEDGER = "LAKELOGIC_LEDGER"
DEFAULT_FOLDER = "lakelogic_warehouse"
QUARANTINE = "quarantine"


class LocalCatalog:
    """Places of tables: `catalog.silver.customers` lies at `<warehouse>/catalog/silver/customers`.

    The warehouse is the given folder, else `LAKELOGIC_WAREHOUSE`, else `lakelogic_warehouse` under the working
    directory. Paths and `file://` URIs are taken as they are; relative ones from `base`, or the working directory.
    """

    def __init__(self, warehouse: str | Path | None = None, base: str | Path | None = None) -> None:
        self.base = Path(base).absolute() if base is not None else Path.cwd()
        chosen = warehouse or os.environ.get(WAREHOUSE) or DEFAULT_FOLDER
        self.warehouse = local_path(str(chosen), self.base)

    def resolve(self, target: str) -> str:
        """The absolute path of a table, given by name, path or URI."""
        place = local_path(target, self.base) if is_path(target) else self.warehouse.joinpath(*parts(target))
        return os.path.normpath(place)

    def quarantine_name(self, target: str, layer: str | None, entity: str) -> str:
        """Where bad rows go when the contract does not say: as a name beside a name, as a path beside a path."""
        table = dataset_name(layer, None, entity)
        if is_path(target):
            return str(local_path(target.rstrip("/"), self.base).parent / QUARANTINE / table)
        written = parts(target)
        return ".".join([*written[: len(written) - 2], QUARANTINE, table])

    def ledger_url(self) -> str:
        """The database of the ledger: `LAKELOGIC_LEDGER`, else a SQLite file inside the warehouse."""
        return os.environ.get(LEDGER) or self.own_ledger_url()

    def own_ledger_url(self) -> str:
        """The SQLite file inside the warehouse, whatever the variables say."""
        return f"sqlite:///{self.warehouse / '.lakelogic' / 'ledger.db'}"
