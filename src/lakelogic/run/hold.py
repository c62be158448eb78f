"""Batches behind a closed gate: good rows stay staged until a person releases exactly these, or gives them up."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lakelogic import clock
from lakelogic.contract.document import Contract
from lakelogic.engines.base import DataFile, Staged
from lakelogic.errors import GateClosed, UsageError
from lakelogic.ledger.records import Act, Held, InputFile, RunRecord
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.nodes import Landed, Plan
from lakelogic.plan.publish import Stamps
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy.keys import load_keys
from lakelogic.run import faults, leases, window
from lakelogic.run.commit import Commit, application, committer, stored_names
from lakelogic.run.cuts import column_of
from lakelogic.run.events import Events, logging_sink
from lakelogic.run.formats import tables_of
from lakelogic.run.job import Job, Run, Settled
from lakelogic.run.places import Places, places
from lakelogic.run.recover import recover
from lakelogic.sql.types import parse_type
from lakelogic.storage import parquet

_BLOCK = 1 << 20


def hold(run_: Run, commit: Commit, settled: Settled, facts: Mapping[str, Any]) -> None:
    """Keep a batch whose gate is closed: its staged files with their digests, and the figures it is judged by."""
    ledger = run_.job.ledger
    if ledger is None or not (settled.staged.good or _acts_on_nothing(run_.job.loaded.contract)):
        return
    assert run_.batch_id is not None
    plan = settled.prepared.compiled.plan
    looked = window.look_at_links(run_.links, run_.job.engine)
    kept = {
        "commit": dict(facts),
        "n": commit.n,
        "fingerprint": run_.fingerprint,
        "reasons": list(settled.closed),
        "good": [_told(file) for file in settled.staged.good],
        "bad": [_told(file) for file in settled.staged.bad],
        "columns": _columns(plan),
        "links": {name: _source(found) for name, found in looked.items()},
        "pipeline_run_id": run_.job.pipeline_run_id,
        "started": run_.started.isoformat(),
        "inputs": [[file.path, file.size, file.mtime_ns] for file in (run_.slice.inputs if run_.slice else ())],
        "folder": commit.staging,
        "env": run_.job.loaded.env,
    }
    held = Held(run_.run_id, run_.progress, run_.batch_id, commit.places.target_location, clock.now(), kept)
    ledger.hold(held)
    count = settled.counts.good
    run_.events.tell("note", f"{count} good rows wait for a decision: lakelogic approve {run_.run_id}")


def _acts_on_nothing(contract: Contract) -> bool:
    """Whether a batch without good rows still changes the table: it is emptied, or what it lacks is deleted."""
    strategy = strategy_of(contract)
    return strategy.kind == "overwrite" or strategy.reconcile is not None


def _told(file: DataFile) -> dict[str, Any]:
    return {"path": file.path, "rows": file.rows, "size": file.size, "sha256": _digest(file.path)}


def _digest(path: str) -> str:
    found = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _columns(plan: Plan) -> list[list[str]]:
    return [[column.name, str(column.type)] for column in plan.columns if column.on_good]


def _source(source: SourceColumns) -> dict[str, Any]:
    return {"format": source.format, "columns": [[column.name, str(column.type)] for column in source.columns]}


def _looked(told: Mapping[str, Any]) -> SourceColumns:
    return SourceColumns(told["format"], tuple(Landed(name, parse_type(type_)) for name, type_ in told["columns"]))


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a held batch."""

    run_id: str
    dataset: str
    state: str
    rows: int
    target: str
    version: int | None = None
    again: bool = False  # it had been decided so before, and the ledger was not told


def release(job: Job, run_id: str, *, person: str, why: str | None, approved_at: datetime | None = None) -> Decision:
    """Publish the good rows of a held batch, as they were staged; refused where anything that matters has changed."""
    held, record = _waiting(job, run_id)
    facts: Any = held.facts
    where = _same_contract(job, held)
    assert job.ledger is not None
    lease = leases.acquire(job.ledger, where.target_location, f"{run_id}-approve")
    try:
        faults.reach("after_lease")
        events = Events(held.dataset, (logging_sink, *job.sinks))
        recover(job, where, held.dataset, events)
        done = Decision(run_id, held.dataset, "released", _rows(facts["good"]), where.target)
        if _moved_on(job, where, held):
            _decide(job, held, "released", person, why)
            return replace(done, again=True)
        _same_files(facts)
        commit = _commit(job, held, where, person, why)
        at = f" at {approved_at:%Y-%m-%d %H:%M} UTC" if approved_at is not None else ""
        finished = clock.now()
        told = replace(
            record,
            status="succeeded",
            reason=f"approved by {person}{at}" + (f": {why}" if why else ""),
            finished_at=finished,
            target_version=commit.good_version,
        )
        inputs = [InputFile(path, size, changed) for path, size, changed in facts["inputs"]]
        job.ledger.finish(told, inputs, held.batch_id)
        faults.reach("after_ledger")
        _decide(job, held, "released", person, why)
        events.tell("wrote", f"Wrote {done.rows} valid rows to {where.target}, approved by {person}")
        return replace(done, version=commit.good_version)
    finally:
        leases.release(job.ledger, lease)


def give_up(job: Job, run_id: str, *, person: str, why: str | None) -> Decision:
    """Throw the staged rows of a held batch away; its input was never published and can be read again."""
    held, _ = _waiting(job, run_id)
    facts: Any = held.facts
    where = places(job.loaded.contract, job.catalog, _target(job, held))
    assert job.ledger is not None
    lease = leases.acquire(job.ledger, held.target, f"{run_id}-discard")
    try:
        recover(job, where, held.dataset, Events(held.dataset, (logging_sink, *job.sinks)))
        if _moved_on(job, where, held, or_raise=False):
            _decide(job, held, "released", person, why)
            return Decision(run_id, held.dataset, "released", _rows(facts["good"]), where.target, again=True)
        _decide(job, held, "discarded", person, why)
        shutil.rmtree(facts["folder"], ignore_errors=True)
    finally:
        leases.release(job.ledger, lease)
    return Decision(run_id, held.dataset, "discarded", _rows(facts["good"]), where.target)


def _waiting(job: Job, run_id: str) -> tuple[Held, RunRecord]:
    assert job.ledger is not None
    record = job.ledger.run(run_id)
    held = job.ledger.held(record.run_id)
    if held is None:
        raise UsageError(
            f"The run `{record.run_id}` ({record.status}) has no rows that wait for a decision.",
            hint="Only a run whose gate was closed has; `lakelogic approve` without a run lists them.",
        )
    if held.state != "waiting":
        when = f"{held.decided_at:%Y-%m-%d %H:%M} UTC" if held.decided_at else "before"
        raise UsageError(
            f"The batch of `{held.run_id}` was {held.state} {when}"
            + (f" by {held.person}" if held.person else "")
            + (f": {held.why}." if held.why else ".")
        )
    return held, record


def _target(job: Job, held: Held) -> str | None:
    """Where the run was sent, where that was not the contract's own place."""
    dataset = job.loaded.contract.dataset_name
    return held.dataset.removeprefix(f"{dataset}@") if held.dataset != dataset else None


def _same_contract(job: Job, held: Held) -> Places:
    facts: Any = held.facts
    if fingerprint(job.loaded) != facts["fingerprint"]:
        raise GateClosed(
            "The contract has changed since these rows were judged.",
            hint="Run it again. Where the run was given --set or --env, give the same here.",
        )
    where = places(job.loaded.contract, job.catalog, _target(job, held))
    if where.target_location != held.target:
        raise GateClosed(f"The contract writes to {where.target_location} now, the batch belongs to {held.target}.")
    return where


def _moved_on(job: Job, where: Places, held: Held, *, or_raise: bool = True) -> bool:
    """Whether the target has this batch already; another one that came after it is refused."""
    facts: Any = held.facts
    tables = tables_of(job.loaded.contract.materialization.format, job.engine)
    ours = application(held.dataset, "good")
    state = tables.state(where.target_location)
    newest = state.transactions.get(ours, 0) if state is not None else 0
    if newest < facts["n"]:
        return False
    found = tables.find_commit(where.target_location, ours, newest) or {}
    if found.get("batch_id") == held.batch_id:
        return True
    if or_raise:
        raise GateClosed(
            f"{where.target} has moved on: a later run has published since these rows were judged.",
            hint="Give the batch up with --discard; what it read and nobody published is read by the next run.",
        )
    return False


def _same_files(facts: Mapping[str, Any]) -> None:
    for file in (*facts["good"], *facts["bad"]):
        path = Path(file["path"])
        if not path.is_file() or path.stat().st_size != file["size"] or _digest(str(path)) != file["sha256"]:
            raise GateClosed(
                f"The staged file {path} is {'not as it was' if path.is_file() else 'gone'}.",
                hint="Exactly the judged rows are released, or none. Run the contract again.",
            )


def _rows(files: Sequence[Mapping[str, Any]]) -> int:
    return sum(int(file["rows"]) for file in files)


def _commit(job: Job, held: Held, where: Places, person: str, why: str | None) -> Commit:
    """The good commit of the batch, under a new number, by the strategy of the contract."""
    facts: Any = held.facts
    contract = _allowing(job.loaded.contract)
    started = datetime.fromisoformat(facts["started"])
    keys = load_keys({f.masking for f in contract.model.fields if f.masking}, job.environ)
    compiled = compile_contract(
        job.loaded,
        _looked(facts["commit"]["landed"]),
        {name: _looked(told) for name, told in facts["links"].items()},
        stamps=Stamps(held.run_id, facts["pipeline_run_id"], started, "held"),
        can_encrypt=bool(keys.encryption),
        stored=stored_names(contract, where, job.engine, replaced=column_of(facts["commit"]["input"])),
    )
    plan = compiled.plan
    if _columns(plan) != [list(column) for column in facts["columns"]]:
        raise GateClosed(f"The columns of {where.target} have changed since.", hint="Run the contract again.")
    commit = committer(
        job.ledger, contract, where, held.dataset, held.batch_id, facts["fingerprint"], held.run_id, job.engine,
        column_of(facts["commit"]["input"]),
    )  # fmt: skip
    commit.compare(plan)
    commit.refuse_changes()
    commit.begin(facts["commit"]["input"], job.engine.name)
    faults.reach("after_intent")
    staged = Staged(_files(facts["good"], commit.order.partition_by), _files(facts["bad"], ()), None)
    said = {**facts["commit"], "approved": {"person": person, "why": why, "gate": facts["reasons"]}}
    commit.good(plan, staged, said, engine=job.engine, now=started)
    faults.reach("after_good_commit")
    commit.let_go(said)
    faults.reach("after_settling")
    return commit


def _allowing(contract: Contract) -> Contract:
    """The contract, whose bound on deletions a person has looked beyond."""
    deletion = strategy_of(contract).reconcile
    if deletion is None:
        return contract
    wide = deletion.model_copy(update={"max_delete_ratio": 1})
    return contract.model_copy(
        update={"materialization": contract.materialization.model_copy(update={"deletion": wide})}
    )


def _files(told: Sequence[Mapping[str, Any]], parted: Sequence[str]) -> tuple[DataFile, ...]:
    return tuple(DataFile(f["path"], f["rows"], f["size"], _partition(f["path"], parted)) for f in told)


def _partition(path: str, parted: Sequence[str]) -> dict[str, Any]:
    """The one value of each partition column in a file."""
    if not parted:
        return {}
    first = next(parquet.batches([path], parted))
    return {name: first.column(name)[0].as_py() for name in parted}


def _decide(job: Job, held: Held, state: Any, person: str, why: str | None) -> None:
    assert job.ledger is not None
    facts: Any = held.facts
    job.ledger.decide(replace(held, state=state, person=person, why=why, decided_at=clock.now()))
    told = {"run_id": held.run_id, "batch_id": held.batch_id, "rows": _rows(facts["good"]), "gate": facts["reasons"]}
    job.ledger.tell(Act("approve" if state == "released" else "give up", held.dataset, person, why, told))
