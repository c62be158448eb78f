"""Send the committed table of a contract elsewhere: every version once, tried again where that can help.

An export never changes a run's outcome, unless the contract says `required`. What was sent is in the ledger, and where
the destination can remember it too, it does: whichever of the two was lost, a batch arrives once.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.document import Contract
from lakelogic.contract.governance import Export
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import LakeLogicError, NotFound, UnsupportedError
from lakelogic.exports import packing, registry
from lakelogic.exports.base import Delivered, Destination, Shipment
from lakelogic.exports.settings import missing, settings_of
from lakelogic.ledger.exports import ExportLog, ExportRecord
from lakelogic.ledger.store import Ledger
from lakelogic.plan.source.deleted import Deleted
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import ExportFailed, ExportRetried, RowsExported
from lakelogic.run.formats import tables_of
from lakelogic.run.input.deleted import deleted_of, without_deleted
from lakelogic.run.masks.changed import refuse_clear
from lakelogic.run.masks.read_before import Upstream, refuse_late
from lakelogic.run.phases import BegunRun, OpenedRun
from lakelogic.run.places import places
from lakelogic.run.result import Result
from lakelogic.run.state import leases
from lakelogic.run.state.progress import progress_of
from lakelogic.storage.scratch import scratch
from lakelogic.tables import rows
from lakelogic.tables.base import TableState

SentState: TypeAlias = Literal["exported", "up to date", "planned", "not configured", "no table", "failed"]
PAUSES: Final = (1.0, 5.0)  # seconds before the second and the third attempt
_pause: Callable[[float], None] = time.sleep
_AFTER = ("succeeded", "partial", "no_new_data")


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one export. `version` is the table's that was (or would be) sent."""

    dataset: str
    export: str
    kind: str
    target: str
    state: SentState
    version: int | None = None
    rows: int | None = None
    bytes: int | None = None
    attempts: int = 0
    known_there: bool = False
    missing: tuple[str, ...] = ()
    error: LakeLogicError | None = None

    def as_dict(self) -> dict[str, Any]:
        """The export as plain data."""
        return {
            "dataset": self.dataset, "export": self.export, "type": self.kind, "target": self.target,
            "state": self.state, "version": self.version, "rows": self.rows, "bytes": self.bytes,
            "attempts": self.attempts, "known_there": self.known_there, "missing": list(self.missing),
            "error": self.error.as_dict() if self.error else None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sender:
    """What sending needs: where tables lie, what is remembered, who hears, and what this machine is given."""

    catalog: Catalog
    ledger: Ledger
    events: Events
    environ: Mapping[str, str]
    run_id: str | None = None


def table_of(contract: Contract, catalog: Catalog) -> TableState | None:
    """The committed table of a contract as it is now; None where it has never been written."""
    where = places(contract, catalog)
    state = tables_of(contract.materialization.format, None, reads=True).state(where.target_location)
    if state is not None and state.own:
        raise UnsupportedError(
            "The table has features that only a session's own Delta reads, so it cannot be exported from here.",
            where=where.target,
            hint="Export it with the system that wrote it, or write the dataset without these features.",
        )
    return state


def _sendable(contract: Contract, catalog: Catalog, ledger: Ledger) -> TableState | None:
    """The table, unless it holds in clear what the contract masks by now."""
    where = places(contract, catalog)
    progress = progress_of(contract.dataset_name, where)
    refuse_clear(contract, where, progress)
    refuse_late(Loaded(contract), where, progress, "good", "Nothing was sent.", Upstream(catalog, ledger))
    return table_of(contract, catalog)


def batch_of(contract: Contract, export: Export, state: TableState) -> str:
    """The same for the same files and the same export: whatever changes one of them is another batch."""
    said = {
        "dataset": contract.dataset_name, "export": export.called, "type": export.type, "target": export.target,
        "mode": export.mode, "key": list(export.key or contract.key), "columns": list(export.columns),
        "format": export.format, "deleted": export.include_deleted,
        "files": sorted(os.path.relpath(path, state.location) for path in state.files),
        "schema": [[field.name, str(field.type)] for field in state.schema],
    }  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def send(sender: Sender, contract: Contract, export: Export, *, again: bool = False, dry_run: bool = False) -> Sent:
    """Bring the table as it is now to one destination; what goes wrong is in the answer, and in the ledger."""
    sent = Sent(contract.dataset_name, export.called, export.type, export.target, "failed")
    try:
        given = settings_of(export, sender.environ)
        if lacking := missing(export.type, given, export.target):
            return replace(sent, state="not configured", missing=tuple(lacking))
        if dry_run:
            state = _sendable(contract, sender.catalog, sender.ledger)
            if state is None:
                return replace(sent, state="no table")
            return replace(sent, state="planned", version=state.version, rows=state.rows)
        lease = leases.acquire(
            sender.ledger, f"export:{sent.dataset}:{sent.export}", sender.run_id or names.new_run_id(clock.now())
        )
        try:
            return _send(sender, contract, export, sent, given, leases.keeper(sender.ledger, lease), again=again)
        finally:
            leases.release(sender.ledger, lease)
    except LakeLogicError as error:
        sender.events.tell(ExportFailed(sent.export, error.code, error.message))
        return replace(sent, error=error)


def _send(
    sender: Sender, contract: Contract, export: Export, sent: Sent, given: Mapping[str, str],
    keep_on: Callable[[], None], *, again: bool,
) -> Sent:  # fmt: skip
    state = _sendable(contract, sender.catalog, sender.ledger)
    if state is None:
        return replace(sent, state="no table")
    batch, log, started = batch_of(contract, export, state), ExportLog(sender.ledger.database), clock.now()
    sent = replace(sent, version=state.version)
    known = log.last(sent.dataset, sent.export, "done")
    if known is not None and known.batch_id == batch and not again:
        return replace(sent, state="up to date", rows=known.rows_sent, bytes=known.bytes_sent)
    record = ExportRecord(
        sent.dataset, sent.export, sent.kind, sent.target, batch, state.version, "failed", started, started,
        run_id=sender.run_id,
    )  # fmt: skip
    attempts = [0]
    try:
        with scratch() as folder:
            destination = registry.load(export.type, given, export.target)
            shipment = _packed(contract, export, state, batch, Path(folder), destination, started)
            shipment = replace(shipment, again=again)
            done = _delivered(sender, destination, shipment, keep_on, attempts)
    except LakeLogicError as error:
        record = replace(record, error_code=error.code, error_message=error.message, attempts=max(attempts[0], 1))
        log.tell(replace(record, finished_at=clock.now()))
        raise
    log.tell(
        replace(
            record, state="done", finished_at=clock.now(), rows_sent=done.rows, bytes_sent=shipment.size,
            attempts=attempts[0], known_there=int(done.known_there), facts=dict(done.facts),
        )
    )  # fmt: skip
    sender.events.tell(RowsExported(done.rows, f"{export.type} {export.target}", known_there=bool(done.known_there)))
    return replace(
        sent, state="exported", rows=done.rows, bytes=shipment.size, attempts=attempts[0], known_there=done.known_there
    )


def _packed(
    contract: Contract, export: Export, state: TableState, batch: str, folder: Path, to: Destination, at: datetime
) -> Shipment:
    deleted = deleted_of(tables_of(contract.materialization.format, None, reads=True), state)
    schema = packing.chosen_columns(export.columns, state.schema)
    if export.include_deleted and deleted is not None and deleted.column not in schema.names:
        schema = schema.append(state.schema.field(deleted.column))
    left_out = None if export.include_deleted else deleted
    merges = export.type in ("snowflake", "databricks") and export.mode == "merge"
    key = packing.spelled(export.key or contract.key, schema, "key") if merges else ()
    if merges:
        keyed = pa.schema([schema.field(name) for name in key])
        packing.refuse_doubtful_key(_living(state, keyed, left_out), keyed)
    parts = packing.pack(_living(state, schema, left_out), schema, folder, export.format or to.format)
    return Shipment(
        contract.dataset_name, export.called, export.target, export.mode, key, schema, parts, batch, state.version, at
    )


def _living(state: TableState, schema: pa.Schema, deleted: Deleted | None) -> Iterator[pa.RecordBatch]:
    """The rows of the table, without those that are deleted, with the columns of a schema."""
    if deleted is None:
        yield from rows.batches(state, schema)
        return
    read = schema if deleted.column in schema.names else schema.append(state.schema.field(deleted.column))
    for batch in rows.batches(state, read):
        yield without_deleted(batch, deleted).select(schema.names)


def _delivered(
    sender: Sender, to: Destination, shipment: Shipment, keep_on: Callable[[], None], attempts: list[int]
) -> Delivered:
    """Deliver, and again where the error says that later may help."""
    try:
        for pause in (*PAUSES, None):
            attempts[0] += 1
            try:
                return to.deliver(shipment, keep_on)
            except LakeLogicError as error:
                if error.retry != "later" or pause is None:
                    raise
                sender.events.tell(ExportRetried(shipment.export, error.message))
                to.close()
                _pause(pause)
                keep_on()
        raise AssertionError("the last attempt returns or raises")
    finally:
        to.close()


def send_all(
    sender: Sender, contract: Contract, only: Sequence[str] = (), *, again: bool = False, dry_run: bool = False
) -> list[Sent]:
    """Every export of a contract, or those that are named."""
    known = [export.called for export in contract.exports]
    if unknown := [name for name in only if name not in known]:
        raise NotFound(
            f"`{contract.dataset_name}` has no export `{unknown[0]}`.",
            hint=f"It has {', '.join(known)}." if known else "Its contract has no `exports`.",
        )
    chosen = [export for export in contract.exports if not only or export.called in only]
    return [send(sender, contract, export, again=again, dry_run=dry_run) for export in chosen]


def after_run(run_: BegunRun, result: Result) -> None:
    """What the contract wants sent once rows are published; a run that found nothing new catches up on the last one.

    Raises only for an export that is `required`: the rows are published by then.
    """
    job, contract = run_.job, run_.job.loaded.contract
    wanted = [export for export in contract.exports if export.when == "published"]
    elsewhere = not isinstance(run_, OpenedRun) or run_.places is None or job.target is not None
    if not wanted or elsewhere or job.ledger is None or result.status not in _AFTER:
        return
    sender = Sender(job.catalog, job.ledger, run_.events, job.environ, run_.run_id)
    trouble: LakeLogicError | None = None
    for export in wanted:
        sent = send(sender, contract, export)
        if sent.error is not None and export.required:
            trouble = trouble or sent.error
    if trouble is not None:
        raise trouble
