"""After a crash: look at the tables, and roll forward what they already hold."""

from __future__ import annotations

import json
from typing import Any

from lakelogic import clock, names
from lakelogic.ledger.records import InputFile, RunRecord
from lakelogic.run.commit import application
from lakelogic.run.events import Events
from lakelogic.run.places import Places
from lakelogic.tables.registry import load as load_tables
from lakelogic.version import VERSION


def roll_forward(job: Any, where: Places, seen: set[tuple[str, int, int]], events: Events) -> set[tuple[str, int, int]]:
    """Finish in the ledger what a run before had committed to the table; returns the files seen by now.

    Where the good rows were not committed, nothing is done here: the batch is evaluated again under its old
    number, and what it had put into quarantine is not put there twice.
    """
    contract = job.loaded.contract
    dataset = contract.dataset_name
    intent = job.ledger.open_intent(dataset)
    if intent is None or intent.target != where.target_location:
        return seen
    tables = load_tables(contract.materialization.format)
    found = tables.find_commit(where.target_location, application(dataset, "good"), intent.n)
    if found is None or found.get("batch_id") != intent.batch_id:
        events.tell("note", f"An earlier run of {dataset} stopped before it published; its rows are read again")
        return seen
    facts = json.loads(found.get("facts", "{}"))
    counts = facts.get("counts", {})
    files = [InputFile(path, size, mtime) for path, size, mtime in intent.input.get("files", [])]
    now = clock.now()
    record = RunRecord(
        run_id=facts.get("run_id") or names.new_run_id(now),
        dataset=dataset,
        status="succeeded",
        started_at=intent.created_at or now,
        finished_at=now,
        reason="published before a crash, recorded by a later run",
        batch_id=intent.batch_id,
        contract=job.loaded.file or contract.title,
        contract_version=facts.get("contract_version"),
        contract_fingerprint=intent.fingerprint,
        layer=contract.layer,
        domain=contract.domain,
        system=contract.system,
        engine=intent.engine,
        counts_source=counts.get("source"),
        counts_good=counts.get("good"),
        counts_quarantined=counts.get("quarantined"),
        counts_filtered=sum(counts.get("filtered", {}).values()),
        counts_deduplicated=sum(counts.get("deduplicated", {}).values()),
        target=where.target,
        quarantine_target=where.quarantine,
        lakelogic_version=VERSION,
    )
    job.ledger.finish(record, files, intent.batch_id)
    events.tell("note", f"An earlier run of {dataset} had published before it stopped; the ledger now says so")
    return seen | {(file.path, file.size, file.mtime_ns) for file in files}
