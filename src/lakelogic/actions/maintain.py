"""Upkeep of tables, by contract or by name: compact, vacuum, and forget bad rows that are too old."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.durations import duration
from lakelogic.errors import UsageError


@dataclass(frozen=True, slots=True)
class MaintainRequest:
    """Contracts (files that end in .yaml or .yml) and tables (names or folders). No retention: as contracts say."""

    what: tuple[str, ...]
    env: str | None = None
    overrides: tuple[str, ...] = ()
    retention: timedelta | None = None
    compact: bool = True
    vacuum: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done to one table; of a dry run: would be."""

    table: str
    location: str
    files_before: int = 0  # small files that were put together
    files_after: int = 0
    files_deleted: int = 0
    bytes_deleted: int = 0
    bad_rows_deleted: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    location: str
    retention: timedelta
    keeps_bad: timedelta | None = None  # of a quarantine: how long its rows are kept
    stamped: Any = None


def maintain(request: MaintainRequest) -> list[Maintained]:
    """Do the upkeep, table by table, each under its lease."""
    from lakelogic import clock, names
    from lakelogic.ledger.store import open_ledger
    from lakelogic.run import leases, upkeep

    catalog = LocalCatalog()
    found = list(_tables(request, catalog))
    done = []
    with open_ledger(catalog.ledger_url()) as ledger:
        for table in found:
            lease = leases.acquire(ledger, table.location, f"maintain-{names.new_run_id(clock.now())}")
            try:
                done.append(_maintained(table, request, upkeep.folders_needed(ledger, table.location)))
            finally:
                leases.release(ledger, lease)
    return done


def _tables(request: MaintainRequest, catalog: LocalCatalog) -> Iterator[_Table]:
    from lakelogic.plan.compile import load_checked
    from lakelogic.run.environments import refuse_others
    from lakelogic.run.places import places
    from lakelogic.run.progress import progress_of
    from lakelogic.run.queue import Stamped
    from lakelogic.run.upkeep import RETENTION
    from lakelogic.tables.kinds import kind_of

    for written in request.what:
        if not written.endswith((".yaml", ".yml")):
            location = catalog.resolve(written)
            if kind_of(location) is None:
                raise UsageError(f"There is no table `{written}` at {location}.", hint="Check the name.")
            yield _Table(written, location, RETENTION if request.retention is None else request.retention)
            continue
        loaded = load_checked(written, env=request.env, overrides=request.overrides)
        contract = loaded.contract
        where, settings = places(contract, catalog), contract.materialization.compaction
        # How long old files and bad rows are kept is the word of the environment that they belong to.
        refuse_others(loaded, where, progress_of(contract.dataset_name, where), "Nothing was changed.")
        hours = settings.vacuum_retention_hours if settings else None
        retention = request.retention
        if retention is None:
            retention = timedelta(hours=float(hours)) if hours is not None else RETENTION
        if kind_of(where.target_location) is not None:
            yield _Table(where.target, where.target_location, retention)
        if kind_of(where.quarantine_location) is not None:
            written_age = contract.quarantine.retention
            keeps = duration(written_age) if written_age else None
            stamped = Stamped.by(contract)
            yield _Table(where.quarantine, where.quarantine_location, retention, keeps, stamped)


def _maintained(table: _Table, request: MaintainRequest, needed: frozenset[str]) -> Maintained:
    from lakelogic.run import upkeep
    from lakelogic.tables.kinds import kind_of
    from lakelogic.tables.registry import load

    tables = load(kind_of(table.location) or "delta")
    forgotten, dry = 0, request.dry_run
    if table.keeps_bad is not None:
        forgotten = upkeep.forget_bad_rows(tables, table.location, table.stamped, table.keeps_bad, dry_run=dry)
    compacted = upkeep.compact(tables, table.location, dry_run=dry) if request.compact else upkeep.Compacted()
    swept = upkeep.Vacuumed()
    if request.vacuum:
        swept = upkeep.vacuum(tables, table.location, table.retention, dry_run=dry, needed=needed)
    return Maintained(table.name, table.location, compacted.before, compacted.after, swept.files, swept.size, forgotten)
