"""How a run came out: its record in the ledger, its report, and both sides for whoever asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import clock
from lakelogic.errors import LakeLogicError, LedgerError
from lakelogic.ledger.records import Held, RunRecord
from lakelogic.plan.compile import compile_contract
from lakelogic.run import faults
from lakelogic.run.events.types import (
    Caution,
    DatasetRuleFailed,
    DatasetRuleNoted,
    GoodRowsWithheld,
    NothingNew,
    RowFinding,
    RunCompleted,
    ServiceLevelBroken,
)
from lakelogic.run.findings import findings, lines, rows_warned
from lakelogic.run.formats import tables_of
from lakelogic.run.input.tracked import inputs_told, replaced_inputs
from lakelogic.run.phases import BegunRun, GatedRun, ListedRun, OpenedRun, PinnedRun
from lakelogic.run.places import QUARANTINE_FORMAT
from lakelogic.run.publish import levels
from lakelogic.run.publish.account import account
from lakelogic.run.publish.commit import Commit, good_schema
from lakelogic.run.publish.reconcile import Counts, quality_score
from lakelogic.run.result import Result, Sides, as_report
from lakelogic.sql.types import parse_type, to_arrow
from lakelogic.tables.registry import load as load_tables
from lakelogic.version import VERSION


def record_failure(run_: BegunRun, error: LakeLogicError) -> None:
    """A run that stopped with an error, in the ledger; where the ledger itself is the trouble, nothing."""
    if run_.job.ledger is None or error.code == "LL-E060":
        return
    record = replace(
        _record(run_, "failed"),
        error_code=error.code,
        error_message=error.message,
        reason="the run stopped with an error",
        error=error.as_dict(),
    )
    try:
        run_.job.ledger.record(record)
    except LedgerError as trouble:
        # What stopped the run matters more than that it could not be written down.
        run_.events.tell(Caution(f"The ledger could not be told of it: {trouble.message}"))


def nothing_new(run_: PinnedRun, reason: str = "nothing new to read") -> Result:
    """The same batch is there already, or no file is new: say so, change nothing."""
    contract = run_.job.loaded.contract
    now = clock.now()
    promised = levels.evaluate(contract, None, {}, now=now, newest=_newest(run_))
    record = replace(_record(run_, "no_new_data"), reason=reason, service_levels=promised)
    record = replace(record, files=0, counts_source=0, counts_good=0, counts_quarantined=0)
    if run_.job.ledger is not None:
        run_.job.ledger.record(record)
    run_.events.tell(NothingNew("no_new_data", contract.layer, f"{contract.dataset_name} is up to date"))
    counts = Counts(0, 0, 0)
    parts: dict[str, Any] = {
        "window": run_.input_text,
        "service_levels": promised,
        "row_rules": [],
        "dataset_rules": [],
        "files": [],
        "targets": {},
    }
    report = as_report(_plain(record), counts, parts)
    return Result(run_.run_id, contract.dataset_name, "no_new_data", False, counts, report, sides=_empty_sides(run_))


def still_waiting(run_: PinnedRun, held: Held) -> Result:
    """The same batch waits behind a closed gate: nothing is judged again, and the rows that wait are shown."""
    contract, told = run_.job.loaded.contract, held.facts
    assert isinstance(told, Mapping)
    counts = Counts(**told["commit"]["counts"])
    why = f"the batch waits for a decision: lakelogic approve {held.run_id}"
    reasons = (*told["reasons"], why)
    record = replace(
        _record(run_, "gated"),
        reason="; ".join(reasons),
        counts_source=counts.source,
        counts_good=counts.good,
        counts_quarantined=counts.quarantined,
        files=0,
    )
    if run_.job.ledger is not None:
        run_.job.ledger.record(record)
    for reason in reasons:
        run_.events.tell(GoodRowsWithheld(reason))
    run_.events.tell(NothingNew("gated", contract.layer, why))
    parts: dict[str, Any] = {
        "window": run_.input_text,
        "service_levels": [],
        "row_rules": [],
        "dataset_rules": [],
        "files": [],
        "targets": {},
    }
    columns = [(column[0], to_arrow(parse_type(column[1]))) for column in told["columns"] if all(column[2:3])]
    bad = [file["path"] for file in told.get("quarantine", ())]
    sides = Sides(
        run_.job.engine,
        [file["path"] for file in told["good"]],
        [column for column in columns if not column[0].startswith("~")],
        bad,
        pq.read_schema(bad[0]) if bad else pa.schema(columns),
        run_.keys,
        reveal=False,
    )
    report = as_report(_plain(record), counts, parts)
    return Result(run_.run_id, contract.dataset_name, "gated", False, counts, report, reasons, sides)


def _empty_sides(run_: OpenedRun) -> Sides | None:
    """Both sides without rows, in the columns of their tables, or else of the contract; None to judge only."""
    if run_.places is None:
        return None
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    good = tables.state(run_.places.target_location)
    bad = load_tables(QUARANTINE_FORMAT).state(run_.places.quarantine_location)
    schema = good_schema(compile_contract(run_.job.loaded).plan) if good is None else good.schema
    columns = [(f.name, f.type) for f in schema]
    return Sides(run_.job.engine, [], columns, [], bad.schema if bad else schema, run_.keys)


def is_replay(run_: PinnedRun) -> bool:
    """Whether rows of the quarantine are judged, and no batch."""
    return "replay" in run_.identity


def finish(run_: GatedRun, status: str, *, published: bool) -> Result:
    """Tell the ledger and the listeners how a run came out, last of all."""
    job, contract, counts, commit = run_.job, run_.job.loaded.contract, run_.counts, run_.commit
    now = clock.now()
    if published or commit is None:  # what is only judged is judged as if it were published
        newest = run_.measured.get("newest", run_.started if counts.good else None) or _newest(run_)
    else:
        newest = _newest(run_)
    # What is promised of a batch says nothing about some rows of earlier ones.
    promised = [] if is_replay(run_) else levels.evaluate(contract, counts, run_.measured, now=now, newest=newest)
    reasons = list(run_.closed)
    broken = [level for level in promised if not level["kept"]]
    for level in broken:
        run_.events.tell(ServiceLevelBroken(level["name"], level["value"], level["expected"]))
    if broken and contract.service_levels.on_breach == "fail" and status == "succeeded":
        status = "failed"
        reasons += [
            f"service level {level['name']} is {level['value']}, promised {level['expected']}" for level in broken
        ]
    for outcome in run_.outcomes:
        if not outcome.passed and not any(f"`{outcome.name}`" in reason for reason in run_.closed):
            event_type = DatasetRuleFailed if outcome.severity != "info" else DatasetRuleNoted
            run_.events.tell(event_type(outcome.name, outcome.value, outcome.expected))
    plan = run_.plan
    row_rules = _row_rules(run_)
    found = findings(plan, run_, row_rules, commit.applied if commit else {})
    record = replace(
        _figures(run_, status),
        reason="; ".join(reasons) or run_.note,
        service_levels=promised,
        watermark=run_.watermark if published else None,
        target_version=commit.good_version if commit else None,
        quarantine_version=commit.quarantine_version if commit else None,
        account=account(run_, commit.applied if commit else {}),
        findings=found,
    )
    if job.ledger is not None and commit is not None and not published and status != "gated":
        job.ledger.record(record)
    elif job.ledger is not None and commit is not None:
        inputs = inputs_told(run_.identity) if published else ()
        whole = run_.strategy.replaces
        replaced = replaced_inputs(run_.identity, whole=whole) if published else ()
        job.ledger.finish(record, inputs, run_.batch_id, run_.progress.key, replaced=replaced)
        faults.reach("after_ledger")
    run_.events.tell(
        RunCompleted(status, contract.layer, counts.total, counts.good, counts.quarantined, counts.quarantine_ratio)
    )
    for line in lines(found, run_.drift):
        run_.events.tell(RowFinding(line))
    parts = {
        "window": run_.input_text,
        "row_rules": row_rules,
        "dataset_rules": [outcome.as_dict() for outcome in run_.outcomes],
        "service_levels": promised,
        "schema_drift": run_.drift,
        "files": list(run_.slice.pinned.files) if run_.slice else [],
        "targets": _targets(commit),
        "applied": dict(commit.applied) if commit else {},
        "findings": found,
    }
    good_columns = [(c.name, to_arrow(c.type)) for c in plan.columns if c.on_good and not c.name.startswith("~")]
    sides = Sides(
        job.engine,
        [file.path for file in run_.staged.good],
        good_columns,
        [file.path for file in run_.bad.files],
        run_.bad.schema,
        run_.keys,
        reveal=job.environ.get("LAKELOGIC_REVEAL", "").lower() != "never",
        masked=frozenset(
            mask.column.removeprefix("~bad:") for mask in plan.masks if mask.strategy.startswith("encrypt")
        ),
        folder=run_.folder,
    )
    report = as_report(_plain(record), counts, parts)
    return Result(run_.run_id, contract.dataset_name, status, published, counts, report, tuple(reasons), sides)


def foreseen(run_: GatedRun) -> RunRecord:
    """The record of a run as far as it is known before the first commit, as if everything will be published."""
    contract, counts = run_.job.loaded.contract, run_.counts
    newest = run_.measured.get("newest", run_.started if counts.good else None)
    promised = levels.evaluate(contract, counts, run_.measured, now=clock.now(), newest=newest or _newest(run_))
    promised = [] if is_replay(run_) else promised
    fails = contract.service_levels.on_breach == "fail" and any(not level["kept"] for level in promised)
    return replace(
        _figures(run_, "failed" if fails else "succeeded"),
        reason=run_.note,
        service_levels=promised,
        watermark=run_.watermark,
        account=account(run_, {}),
        findings=findings(run_.plan, run_, _row_rules(run_), {}),
    )


def _figures(run_: GatedRun, status: str) -> RunRecord:
    """What was counted and found, in a record."""
    counts = run_.counts
    row_rules = _row_rules(run_)
    return replace(
        _record(run_, status),
        counts_source=counts.source,
        counts_good=counts.good,
        counts_quarantined=counts.quarantined,
        counts_filtered=sum(counts.filtered.values()),
        counts_deduplicated=sum(counts.deduplicated.values()),
        counts_expanded=sum(counts.expanded.values()),
        quarantine_ratio=counts.quarantine_ratio,
        quality_score=quality_score(counts.good, counts.quarantined, rows_warned(run_)),
        rule_failures={rule["name"]: rule["failed"] for rule in row_rules if rule["failed"]},
        dataset_rules=[outcome.as_dict() for outcome in run_.outcomes],
        files=len(run_.slice.pinned.files) if run_.slice else 0,
        bytes_read=run_.slice.bytes if run_.slice else None,
        bytes_written=sum(file.size for file in run_.staged.good) + sum(file.size for file in run_.bad.files),
    )


def _newest(run_: OpenedRun) -> datetime | None:
    """How new the published data is, as the last run that published some has found it; None where none ever did."""
    ledger, freshness = run_.job.ledger, run_.job.loaded.contract.service_levels.freshness
    found = ledger.published(run_.progress.key, with_rows=True) if ledger and run_.places else None
    if found is None:
        return None
    if freshness is not None and freshness.field is not None:
        levels_ = found.service_levels if isinstance(found.service_levels, list) else []
        hours = next((level["value"] for level in levels_ if level["name"] == "freshness"), None)
        if hours is not None and found.finished_at is not None:
            return found.finished_at - timedelta(hours=float(hours))
    return found.started_at


def _row_rules(run_: GatedRun) -> list[dict[str, Any]]:
    rules: dict[str, dict[str, Any]] = {}
    for reason in run_.plan.reasons:
        counted = run_.bad.failures.get(reason.rule, 0) + int(run_.measured.get(f"note:{reason.rule}") or 0)
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


def _record(run_: BegunRun, status: str) -> RunRecord:
    job, contract = run_.job, run_.job.loaded.contract
    where, cut = (run_.places, run_.cut) if isinstance(run_, OpenedRun) else (None, None)
    now = clock.now()
    return RunRecord(
        run_id=run_.run_id,
        dataset=run_.label,
        status=status,  # type: ignore[arg-type]
        started_at=run_.started,
        finished_at=now,
        duration_seconds=round((now - run_.started).total_seconds(), 3),
        pipeline_run_id=job.pipeline_run_id,
        batch_id=run_.batch_id if isinstance(run_, PinnedRun) else None,
        contract=job.loaded.file or contract.title,
        contract_version=contract.contract_version,
        contract_fingerprint=run_.fingerprint,
        layer=contract.layer,
        domain=contract.domain,
        system=contract.system,
        environment=job.loaded.env,
        engine=job.engine.name,
        engine_version=job.engine.version,
        schema_drift=dict(run_.drift) or None,
        window_start=_first_instant(run_),
        window_end=cut.days.end if cut is not None else None,
        target=where.target if where else None,
        quarantine_target=where.quarantine if where else None,
        lakelogic_version=VERSION,
    )


def _first_instant(run_: BegunRun) -> datetime | None:
    """Where a window or a bound begins."""
    if isinstance(run_, OpenedRun) and run_.cut is not None:
        return run_.cut.days.start
    return run_.bound.start if isinstance(run_, ListedRun) and run_.bound is not None else None


def _plain(record: RunRecord) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(record).items()}
