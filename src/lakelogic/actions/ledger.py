"""Ask the ledger: runs, one run, and its copy as a Delta table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.publish import as_arrow, as_dict
from lakelogic.ledger.store import open_ledger

PUBLISHED_NAME = "lakelogic.ledger.runs"


def list_runs(
    dataset: str | None = None, status: str | None = None, layer: str | None = None, limit: int = 20
) -> list[dict[str, Any]]:
    """The newest runs, newest first."""
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return [as_dict(run) for run in ledger.runs(dataset, status, layer, limit=limit)]


def show_run(run_id: str) -> dict[str, Any]:
    """One run, by its id or a prefix of it that fits only one."""
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return as_dict(ledger.run(run_id))


@dataclass(frozen=True, slots=True)
class PublishedLedger:
    """Where the copy is and how many runs it holds."""

    table: str
    location: str
    runs: int


def publish_ledger(target: str = PUBLISHED_NAME) -> PublishedLedger:
    """Write the runs as a Delta table, in place of the copy that was there."""
    from pathlib import Path

    import pyarrow.parquet as pq

    from lakelogic.tables.base import CommitInfo, StagedFile
    from lakelogic.tables.registry import load

    catalog = LocalCatalog()
    location = catalog.resolve(target)
    with open_ledger(catalog.ledger_url()) as ledger:
        rows = as_arrow(ledger)
    tables = load("delta")
    state = tables.state(location)
    app_id = "lakelogic:ledger:runs"
    n = (state.transactions.get(app_id, 0) if state else 0) + 1
    path = Path(location) / f"copy-{n}" / "part-00000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="zstd")
    staged = StagedFile(str(path), rows.num_rows, path.stat().st_size)
    tables.overwrite(location, [staged] if rows.num_rows else [], rows.schema, CommitInfo(app_id, n))
    return PublishedLedger(target, location, rows.num_rows)
