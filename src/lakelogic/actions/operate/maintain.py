"""Upkeep of tables, by contract or by name: compact, vacuum, and forget bad rows that are too old."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.durations import duration
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings

if TYPE_CHECKING:
    from lakelogic.ledger.store import Ledger


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
    left_behind: tuple[str, ...] = ()  # datasets that read the table, and cannot tell any more what came since

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


def maintain(around: Surroundings, request: MaintainRequest) -> list[Maintained]:
    """Do the upkeep, table by table, each under its lease."""
    from lakelogic import clock, names
    from lakelogic.run import upkeep
    from lakelogic.run.state import leases

    tables = list(_tables(request, around.catalog))
    done = []
    ledger = around.ledger
    sweeps = request.vacuum and not request.dry_run
    for table in tables:
        lease = leases.acquire(ledger, table.location, f"maintain-{names.new_run_id(clock.now())}")
        try:
            needed = upkeep.folders_needed(ledger, table.location)
            swept = _maintained(table, request, needed)
            done.append(replace(swept, left_behind=_left_behind(ledger, table.location)) if sweeps else swept)
        finally:
            leases.release(ledger, lease)
    return done


def _tables(request: MaintainRequest, catalog: Catalog) -> Iterator[_Table]:
    from lakelogic.plan.compile import load_checked
    from lakelogic.quarantine.queue import Stamped
    from lakelogic.run.places import places
    from lakelogic.run.state.environments import refuse_others
    from lakelogic.run.state.progress import progress_of
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


def _left_behind(ledger: Ledger, location: str) -> tuple[str, ...]:
    """Datasets of this ledger that read the table from the last version on, and whose next step is not there any more.

    Nothing is spared for them: what was masked or deleted must be able to go. Their next run reads the whole table, or
    stops and says so where every batch stands for itself.
    """
    from lakelogic.ledger.standing import followers
    from lakelogic.tables.kinds import kind_of
    from lakelogic.tables.registry import load

    tables = load(kind_of(location) or "delta")
    state = tables.state(location)
    left_behind = []
    for dataset, version in followers(ledger, location).items():
        if state is None or version >= state.version:
            continue
        changes = tables.changes(location, version)
        if changes is None or not all(Path(path).is_file() for path in changes.added):
            left_behind.append(f"{dataset} (version {version} of {state.version})")
    return tuple(left_behind)


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
