"""Send committed tables elsewhere, and tell what was sent when and what is lacking."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.document import Contract
from lakelogic.contract.governance import Export
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.packs import NO_PACKS, PackChoice
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.exports.settings import WAYS, missing, settings_of
from lakelogic.ledger.exports import ExportLog, ExportRecord
from lakelogic.ledger.store import open_ledger
from lakelogic.run.events import Events, Sink, logging_sink


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


def export(request: ExportRequest, sinks: tuple[Sink, ...] = ()) -> ExportReport:
    """Send the tables of some contracts, each export once for each version."""
    from lakelogic.run.export import Sender, send_all
    from lakelogic.run.places import places
    from lakelogic.run.state.environments import refuse_others
    from lakelogic.run.state.progress import progress_of

    catalog, done = LocalCatalog(), []
    loaded = _loaded(request)
    contracts = [loaded_contract.contract for loaded_contract in loaded]
    if not any(contract.exports for contract in contracts):
        raise UsageError(
            "None of these contracts has `exports`.", hint="docs/how-to/export.md shows how to write them."
        )
    for loaded_contract in loaded:
        where = places(loaded_contract.contract, catalog)
        refuse_others(
            loaded_contract, where, progress_of(loaded_contract.contract.dataset_name, where), "Nothing was sent."
        )
    with open_ledger(catalog.ledger_url()) as ledger:
        for contract in contracts:
            sender = Sender(catalog, ledger, Events(contract.dataset_name, (logging_sink, *sinks)), os.environ)
            done += send_all(sender, contract, request.only, again=request.again, dry_run=request.dry_run)
    errors = [sent.error for sent in done if sent.error is not None]
    code = 0 if not errors else 3 if len(errors) < len(done) else errors[0].exit_code
    return ExportReport(tuple(sent.as_dict() for sent in done), code)


def kinds(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Which destinations could be reached from here: what their variables say, never what is in them."""
    given = os.environ if environ is None else environ
    kinds_ = {}
    for kind in WAYS:
        if kind != "files":
            lacking = missing(kind, given)
            state = "not configured" if lacking else "configured"
            kinds_[kind] = {"configured": not lacking, "status": state, "missing": lacking}
    return kinds_


def status_of(request: ExportRequest) -> list[dict[str, Any]]:
    """The exports of the contracts of a request."""
    contracts = [loaded.contract for loaded in _loaded(request)]
    return [entry for entry in status(contracts) if not request.only or entry["export"] in request.only]


def _loaded(request: ExportRequest) -> list[Loaded]:
    from lakelogic.plan.compile import load_checked

    return [
        load_checked(path, env=request.env, overrides=request.overrides, packs=request.packs)
        for path in request.contracts
    ]


def status(contracts: Sequence[Contract], environ: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every export of some contracts: what it lacks, what was sent when, and whether that is the newest version."""
    given = os.environ if environ is None else environ
    with_exports = [contract for contract in contracts if contract.exports]
    if not with_exports:
        return []
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        log = ExportLog(ledger.database)
        return [_told(contract, export_, log, given) for contract in with_exports for export_ in contract.exports]


def history(dataset: str, limit: int = 50) -> list[dict[str, Any]]:
    """What was sent of a dataset, newest first."""
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return [_as_data(record) for record in ExportLog(ledger.database).newest(dataset, limit)]


def _told(contract: Contract, export: Export, log: ExportLog, given: Mapping[str, str]) -> dict[str, Any]:
    from lakelogic.run.export import batch_of, table_of

    dataset = contract.dataset_name
    done, last = log.last(dataset, export.called, "done"), log.last(dataset, export.called)
    failed = last if last is not None and last.state == "failed" else None
    lacking: list[str] = []
    trouble: LakeLogicError | None = None
    table = None
    try:
        lacking = missing(export.type, settings_of(export, given), export.target)
        table = table_of(contract, LocalCatalog())
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
