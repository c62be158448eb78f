"""Send committed tables elsewhere, and tell what was sent when and what is lacking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.contract.governance import Export
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.packs import NO_PACKS, PackChoice
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.exports.settings import WAYS, missing, settings_of
from lakelogic.ledger.exports import ExportLog, ExportRecord
from lakelogic.run.events.hub import Events, logging_sink
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which contracts, and which of their exports (all without `only`). `again` sends what was sent before."""

    contracts: tuple[str, ...]
    only: tuple[str, ...] = ()
    env: str | None = None
    overrides: tuple[str, ...] = ()
    packs: PackChoice = NO_PACKS
    again: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What became of each export, as plain data, and how the whole ended."""

    exports: tuple[dict[str, Any], ...]
    exit_code: int

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"exports": list(self.exports), "exit_code": self.exit_code}


def export(around: Surroundings, request: ExportRequest) -> ExportReport:
    """Send the tables of some contracts, each export once for each version."""
    from lakelogic.run.export import Sender, send_all
    from lakelogic.run.places import places
    from lakelogic.run.state.environments import refuse_others
    from lakelogic.run.state.progress import progress_of

    done = []
    loaded = _loaded(request)
    contracts = [loaded_contract.contract for loaded_contract in loaded]
    if not any(contract.exports for contract in contracts):
        raise UsageError(
            "None of these contracts has `exports`.", hint="docs/how-to/export.md shows how to write them."
        )
    for loaded_contract in loaded:
        contract = loaded_contract.contract
        where = places(contract, around.catalog)
        refuse_others(loaded_contract, where, progress_of(contract.dataset_name, where), "Nothing was sent.")
    for contract in contracts:
        events = Events(contract.dataset_name, (logging_sink, *around.sinks))
        sender = Sender(around.catalog, around.ledger, events, around.environ)
        done += send_all(sender, contract, request.only, again=request.again, dry_run=request.dry_run)
    errors = [sent.error for sent in done if sent.error is not None]
    code = 0 if not errors else 3 if len(errors) < len(done) else errors[0].exit_code
    return ExportReport(tuple(sent.as_dict() for sent in done), code)


def kinds(around: Surroundings) -> dict[str, Any]:
    """Which destinations could be reached from here: what their variables say, never what is in them."""
    by_kind = {}
    for kind in WAYS:
        if kind != "files":
            lacking = missing(kind, around.environ)
            state = "not configured" if lacking else "configured"
            by_kind[kind] = {"configured": not lacking, "status": state, "missing": lacking}
    return by_kind


def status_of(around: Surroundings, request: ExportRequest) -> list[dict[str, Any]]:
    """The exports of the contracts of a request."""
    contracts = [loaded.contract for loaded in _loaded(request)]
    return [row for row in status(around, contracts) if not request.only or row["export"] in request.only]


def _loaded(request: ExportRequest) -> list[Loaded]:
    from lakelogic.plan.compile import load_checked

    return [
        load_checked(path, env=request.env, overrides=request.overrides, packs=request.packs)
        for path in request.contracts
    ]


def status(around: Surroundings, contracts: Sequence[Contract]) -> list[dict[str, Any]]:
    """Every export of some contracts: what it lacks, what was sent when, and whether that is the newest version."""
    with_exports = [contract for contract in contracts if contract.exports]
    if not with_exports:
        return []
    log = ExportLog(around.ledger.database)
    return [_told(around, contract, export, log) for contract in with_exports for export in contract.exports]


def history(around: Surroundings, dataset: str, limit: int = 50) -> list[dict[str, Any]]:
    """What was sent of a dataset, newest first."""
    return [_as_data(record) for record in ExportLog(around.ledger.database).newest(dataset, limit)]


def _told(around: Surroundings, contract: Contract, export: Export, log: ExportLog) -> dict[str, Any]:
    from lakelogic.run.export import batch_of, table_of

    dataset = contract.dataset_name
    done, last = log.last(dataset, export.called, "done"), log.last(dataset, export.called)
    failed = last if last is not None and last.state == "failed" else None
    lacking: list[str] = []
    trouble: LakeLogicError | None = None
    table = None
    try:
        lacking = missing(export.type, settings_of(export, around.environ), export.target)
        table = table_of(contract, around.catalog)
    except LakeLogicError as error:
        trouble = error
    if lacking or (trouble is not None and table is None):
        state = "not configured"
    elif table is None:
        state = "no table"
    elif done is not None and done.batch_id == batch_of(contract, export, table):
        state = "up to date"
    else:
        state = "failed" if failed is not None else "never exported" if done is None else "behind"
    return {
        "dataset": dataset, "domain": contract.domain, "export": export.called, "type": export.type,
        "target": export.target,
        "mode": export.mode if export.type in ("snowflake", "databricks") else None, "when": export.when,
        "required": export.required, "configured": not lacking and trouble is None, "missing": lacking, "status": state,
        "table_version": table.version if table is not None else None,
        "exported_version": done.table_version if done else None,
        "exported_at": done.finished_at if done else None, "rows": done.rows_sent if done else None,
        "bytes": done.bytes_sent if done else None,
        "error": trouble.message if trouble else failed.error_message if failed else None,
        "error_code": trouble.code if trouble else failed.error_code if failed else None,
        "failed_at": failed.finished_at if failed else None,
    }  # fmt: skip


def _error(record: ExportRecord) -> dict[str, Any]:
    return {"code": record.error_code, "message": record.error_message, "at": record.finished_at}


def _as_data(record: ExportRecord) -> dict[str, Any]:
    return {
        "export_id": record.export_id, "export": record.export, "type": record.kind, "target": record.destination,
        "state": record.state, "version": record.table_version, "batch_id": record.batch_id,
        "started_at": record.started_at, "finished_at": record.finished_at, "rows": record.rows_sent,
        "bytes": record.bytes_sent, "attempts": record.attempts, "known_there": bool(record.known_there),
        "run_id": record.run_id, "error": _error(record) if record.error_code else None,
    }  # fmt: skip
