"""Discard: a person takes rows out of the queue for good; they stay in the table with who, when and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakelogic import clock, names
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.ledger.adoption import batches_elsewhere
from lakelogic.ledger.records import Act
from lakelogic.ledger.store import Ledger
from lakelogic.quarantine.queue import ACTIVE, DISCARDED, Chosen, Queue, Stamped, settle
from lakelogic.run.events.hub import Events, logging_sink
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import leases
from lakelogic.run.state.environments import refuse_others
from lakelogic.run.state.progress import application, applications, progress_of
from lakelogic.run.state.recover import recover
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.registry import load as load_tables

MOST_TOLD = 1_000  # ids that the ledger keeps of one act; the table knows all of them


def discard(loaded: Loaded, catalog: Catalog, ledger: Ledger, chosen: Chosen, *, why: str, person: str) -> list[str]:
    """Discard the chosen rows that wait; their ids.

    The lease keeps a replay from publishing them meanwhile, and what an earlier one had published leaves first.
    """
    contract = loaded.contract
    where = places(contract, catalog)
    dataset = contract.dataset_name
    progress = progress_of(dataset, where)
    queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
    act_id = names.new_run_id(clock.now()).replace("run-", "discard-")
    lease = leases.acquire(ledger, where.target_location, act_id)
    try:
        refuse_others(loaded, where, progress, "Nothing was discarded.")
        no_engine: Any = None
        job = ContractRequest(loaded, no_engine, catalog, ledger)
        recover(job, where, progress, Events(dataset, (logging_sink,)))
        now = clock.now()
        waiting = replace(chosen, states=(ACTIVE,))
        others = queue.of_others(applications(progress, "bad"))
        others |= batches_elsewhere(ledger, progress.before, progress.target)
        chosen_rows = [
            (row[names.ROW_ID], row[names.BATCH_ID])
            for row in queue.entries()
            if waiting.keeps(row, queue.stamped, now) and row[names.BATCH_ID] not in others
        ]
        found = [row_id for row_id, _ in chosen_rows]
        state = queue.state()
        if not found or state is None:
            return []
        meant = set(found)
        app_id = application(progress, "discard")
        n = state.transactions.get(app_id, 0) + 1
        queue.change(
            CommitInfo(app_id, n, {"person": person, "why": why}),
            where.act_staging(act_id),
            lambda row: row[names.ROW_ID] in meant and row[names.STATE] == ACTIVE and row[names.BATCH_ID] not in others,
            settle(DISCARDED, person, now, why),
        )
        told = {"table": where.quarantine, "count": len(found), "rows": found[:MOST_TOLD]}
        ledger.tell(Act("discard", dataset, person, why, told))
        return found
    finally:
        leases.release(ledger, lease)
