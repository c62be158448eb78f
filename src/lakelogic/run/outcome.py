"""How a run came out: its record in the ledger, its report, and both sides for whoever asked."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from lakelogic import clock
from lakelogic.errors import LakeLogicError, LedgerError
from lakelogic.ledger.records import RunRecord
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.nodes import Plan
from lakelogic.run import faults, levels
from lakelogic.run.account import account
from lakelogic.run.commit import Commit, good_schema
from lakelogic.run.formats import tables_of
from lakelogic.run.job import Run, Settled
from lakelogic.run.places import QUARANTINE_FORMAT
from lakelogic.run.reconcile import Counts
from lakelogic.run.result import Result, Sides, as_report
from lakelogic.sql.types import to_arrow
from lakelogic.tables.registry import load as load_tables
from lakelogic.version import VERSION


def record_failure(run_: Run, error: LakeLogicError) -> None:
    """A run that stopped with an error, in the ledger; where the ledger itself is the trouble, nothing."""
    if run_.job.ledger is None or error.code == "LL-E060":
        return
    record = replace(
        _record(run_, "failed"),
        error_code=error.code,
        error_message=error.message,
        reason="the run stopped with an error",
    )
    try:
        run_.job.ledger.record(record)
    except LedgerError as trouble:
        # What stopped the run matters more than that it could not be written down.
        run_.events.tell("warning", f"The ledger could not be told of it: {trouble.message}")


def nothing_new(run_: Run, reason: str = "nothing new to read") -> Result:
    """The same batch is there already, or no file is new: say so, change nothing."""
    contract = run_.job.loaded.contract
    newest = run_.job.ledger.last_published(run_.progress) if run_.job.ledger else None
    now = clock.now()
    promised = levels.evaluate(contract, None, {}, now=now, newest=newest.finished_at if newest else None)
    record = replace(_record(run_, "no_new_data"), reason=reason, service_levels=promised)
    record = replace(record, files=0, counts_source=0, counts_good=0, counts_quarantined=0)
    if run_.job.ledger is not None:
        run_.job.ledger.record(record)
    run_.events.tell("complete", f"Nothing new [layer={contract.layer or '-'}] | {contract.dataset_name} is up to date")
    counts = Counts(0, 0, 0)
    parts: dict[str, Any] = {
        "window": run_.told,
        "service_levels": promised,
        "row_rules": [],
        "dataset_rules": [],
        "files": [],
        "targets": {},
    }
    report = as_report(_plain(record), counts, parts)
    return Result(run_.run_id, contract.dataset_name, "no_new_data", False, counts, report, sides=_empty_sides(run_))


def _empty_sides(run_: Run) -> Sides | None:
    """Both sides without rows, in the columns of their tables, or else of the contract; None to judge only."""
    if run_.places is None:
        return None
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    good = tables.state(run_.places.target_location)
    bad = load_tables(QUARANTINE_FORMAT).state(run_.places.quarantine_location)
    schema = good_schema(compile_contract(run_.job.loaded).plan) if good is None else good.schema
    columns = [(f.name, f.type) for f in schema]
    return Sides(run_.job.engine, [], columns, [], bad.schema if bad else schema, run_.keys)


def finish(run_: Run, settled: Settled, status: str, *, published: bool, commit: Commit | None = None) -> Result:
    """Tell the ledger and the listeners how a run came out, last of all."""
    job, contract, counts = run_.job, run_.job.loaded.contract, settled.counts
    now = clock.now()
    newest = run_.started if counts.good else _newest(run_)
    if "newest" in settled.measured:
        newest = settled.measured["newest"]
    promised = levels.evaluate(contract, counts, settled.measured, now=now, newest=newest)
    reasons = list(settled.closed)
    broken = [level for level in promised if not level["kept"]]
    for level in broken:
        run_.events.tell("warning", f"Service level {level['name']}: {level['value']}, promised {level['expected']}")
    if broken and contract.service_levels.on_breach == "fail" and status == "succeeded":
        status = "failed"
        reasons += [
            f"service level {level['name']} is {level['value']}, promised {level['expected']}" for level in broken
        ]
    for outcome in settled.outcomes:
        if not outcome.passed and not any(f"`{outcome.name}`" in reason for reason in settled.closed):
            told = f"Dataset rule {outcome.name}: {outcome.value}, expected {outcome.expected}"
            run_.events.tell("warning" if outcome.severity != "info" else "note", told)
    plan = settled.prepared.compiled.plan
    row_rules = _row_rules(plan, settled)
    record = replace(
        _record(run_, status),
        reason="; ".join(reasons) or run_.note,
        counts_source=counts.source,
        counts_good=counts.good,
        counts_quarantined=counts.quarantined,
        counts_filtered=sum(counts.filtered.values()),
        counts_deduplicated=sum(counts.deduplicated.values()),
        counts_expanded=sum(counts.expanded.values()),
        quarantine_ratio=counts.quarantine_ratio,
        quality_score=round(100 * (1 - counts.quarantine_ratio), 2),
        rule_failures={rule["name"]: rule["failed"] for rule in row_rules if rule["failed"]},
        dataset_rules=[outcome.as_dict() for outcome in settled.outcomes],
        service_levels=promised,
        files=len(run_.slice.pinned.files) if run_.slice else 0,
        watermark=run_.watermark if published else None,
        bytes_read=run_.slice.bytes if run_.slice else None,
        bytes_written=sum(file.size for file in settled.staged.good) + sum(file.size for file in settled.bad.files),
        target_version=commit.good_version if commit else None,
        quarantine_version=commit.quarantine_version if commit else None,
        account=account(settled, commit.applied if commit else {}),
    )
    if job.ledger is not None and commit is not None:
        assert run_.batch_id is not None
        inputs = run_.slice.inputs if run_.slice and published else ()
        job.ledger.finish(record, inputs, run_.batch_id)
        faults.reach("after_ledger")
    run_.events.tell(
        "complete",
        f"Run complete [layer={contract.layer or '-'}] | Total: {counts.total} | Good: {counts.good} | "
        f"Quarantine: {counts.quarantined} | Ratio: {counts.quarantine_ratio:.1%}",
        status=status,
    )
    parts = {
        "window": run_.told,
        "row_rules": row_rules,
        "dataset_rules": [outcome.as_dict() for outcome in settled.outcomes],
        "service_levels": promised,
        "schema_drift": run_.drift,
        "files": list(run_.slice.pinned.files) if run_.slice else [],
        "targets": _targets(commit),
        "applied": dict(commit.applied) if commit else {},
    }
    good_columns = [(c.name, to_arrow(c.type)) for c in plan.columns if c.on_good and not c.name.startswith("~")]
    sides = Sides(
        job.engine,
        [file.path for file in settled.staged.good],
        good_columns,
        [file.path for file in settled.bad.files],
        settled.bad.schema,
        run_.keys,
        reveal=job.environ.get("LAKELOGIC_REVEAL", "").lower() != "never",
        masked=frozenset(
            mask.column.removeprefix("~bad:") for mask in plan.masks if mask.strategy.startswith("encrypt")
        ),
    )
    report = as_report(_plain(record), counts, parts)
    return Result(run_.run_id, contract.dataset_name, status, published, counts, report, tuple(reasons), sides)


def _newest(run_: Run) -> datetime | None:
    found = run_.job.ledger.last_published(run_.progress) if run_.job.ledger else None
    return found.started_at if found else None


def _row_rules(plan: Plan, settled: Settled) -> list[dict[str, Any]]:
    rules: dict[str, dict[str, Any]] = {}
    for reason in plan.reasons:
        counted = settled.bad.failures.get(reason.rule, 0) + int(settled.measured.get(f"note:{reason.rule}") or 0)
        rules[reason.rule] = {"name": reason.rule, "failed": counted, "severity": reason.severity}
    return list(rules.values())


def _targets(commit: Commit | None) -> dict[str, Any]:
    if commit is None:
        return {}
    return {
        "good": {
            "name": commit.places.target,
            "location": commit.places.target_location,
            "version": commit.good_version,
        },
        "quarantine": {
            "name": commit.places.quarantine,
            "location": commit.places.quarantine_location,
            "version": commit.quarantine_version,
        },
    }


def _record(run_: Run, status: str) -> RunRecord:
    job, contract = run_.job, run_.job.loaded.contract
    now = clock.now()
    return RunRecord(
        run_id=run_.run_id,
        dataset=run_.progress,
        status=status,  # type: ignore[arg-type]
        started_at=run_.started,
        finished_at=now,
        duration_seconds=round((now - run_.started).total_seconds(), 3),
        pipeline_run_id=job.pipeline_run_id,
        batch_id=run_.batch_id,
        contract=job.loaded.file or contract.title,
        contract_version=contract.contract_version,
        contract_fingerprint=run_.fingerprint,
        layer=contract.layer,
        domain=contract.domain,
        system=contract.system,
        environment=job.loaded.env,
        engine=job.engine.name,
        engine_version=job.engine.version,
        schema_drift=run_.drift or None,
        window_start=run_.cut.days.start if run_.cut is not None else None,
        window_end=run_.cut.days.end if run_.cut is not None else None,
        target=run_.places.target if run_.places else None,
        quarantine_target=run_.places.quarantine if run_.places else None,
        lakelogic_version=VERSION,
    )


def _plain(record: RunRecord) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(record).items()}
