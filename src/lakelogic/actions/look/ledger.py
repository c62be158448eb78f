"""Ask the ledger: runs, one run, and its copy as a Delta table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lakelogic.errors import LedgerError, UsageError
from lakelogic.ledger.ask import RUNS, SUBJECTS, Counted, LedgerQuery, counts, page
from lakelogic.ledger.publish import as_arrow, as_dict
from lakelogic.ledger.records import LogLine
from lakelogic.ledger.work import Happening, QueuedJob, WorkQueue
from lakelogic.run.surroundings import Surroundings

PUBLISHED_NAME = "lakelogic.ledger.runs"


def list_runs(
    around: Surroundings,
    dataset: str | None = None,
    status: str | None = None,
    layer: str | None = None,
    limit: int = 20,
) -> list[dict[str, Any]]:
    """The newest runs, newest first."""
    return [as_dict(run) for run in around.ledger.runs(dataset, status, layer, limit=limit)]


def show_run(around: Surroundings, run_id: str) -> dict[str, Any]:
    """One run, by its id or a prefix of it that fits only one."""
    return as_dict(around.ledger.run(run_id))


def find_run(around: Surroundings, run_id: str) -> dict[str, Any] | None:
    """One run by its whole id."""
    try:
        run = as_dict(around.ledger.run(run_id))
    except UsageError:  # there is none, or several begin so
        return None
    return run if run["run_id"] == run_id else None


def ask(around: Surroundings, subject: str, question: LedgerQuery) -> list[dict[str, Any]]:
    """A page of runs, work or acts; one row more than its limit where there are more."""
    return page(around.ledger.database, SUBJECTS[subject], question)


def count_runs(around: Surroundings, question: LedgerQuery) -> dict[str, dict[str, int]]:
    """How many of the chosen runs have which status, dataset, layer, domain and engine.

    A column is counted without its own filter: its numbers tell how many runs another value would bring.
    """
    by: tuple[Counted, ...] = ("status", "dataset", "layer", "domain", "engine")
    narrowed = [column for column in by if column in question.filters]
    totals = counts(around.ledger.database, RUNS, question, by)
    for column in narrowed:
        others = {name: chosen for name, chosen in question.filters.items() if name != column}
        totals |= counts(around.ledger.database, RUNS, replace(question, filters=others), (column,))
    return totals


def account_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """The account of a run with what is left over: rows that were read and that nothing accounts for."""
    account = dict(run.get("account") or {})
    read = account.get("read")
    left = None
    if read is not None:
        gone = sum(sum((account.get(kind) or {}).values()) for kind in ("filtered", "deduplicated", "grouped"))
        expanded = sum((account.get("expanded") or {}).values())
        # What a step gathered is counted as gathered, and what came of it is good or bad again.
        grouped = sum((account.get("grouped") or {}).values())
        both = account.get("good", 0) + account.get("quarantined", 0)
        left = None if grouped else read + expanded - both - gone
    return {
        "run_id": run["run_id"], "dataset": run["dataset"], "status": run["status"], "account": account,
        "unaccounted": left, "rule_failures": run.get("rule_failures"), "dataset_rules": run.get("dataset_rules"),
    }  # fmt: skip


def job_of_run(around: Surroundings, run_id: str, dataset: str) -> QueuedJob | None:
    """The piece of work that a run was, among the newest of its dataset; None where no worker was asked for it."""
    queue = WorkQueue(around.ledger.database)
    question = LedgerQuery("created_at", filters={"dataset": [dataset]}, limit=200)
    for row in page(around.ledger.database, SUBJECTS["work"], question):
        if (row["outcome"] or {}).get("run_id") == run_id:
            return queue.get(row["work_id"])
    return None


def log_of(around: Surroundings, run_id: str) -> list[LogLine]:
    """What a run said, line by line, whoever started it."""
    return around.ledger.log_of(run_id)


def happenings(around: Surroundings, after: int = 0, work_id: str | None = None, limit: int = 500) -> list[Happening]:
    """What happened after a number, oldest first; to one piece of work, or to any."""
    return WorkQueue(around.ledger.database).happenings(after, work_id, limit)


def ledger_works(around: Surroundings) -> bool:
    """Whether the ledger can be opened and asked."""
    try:
        around.ledger.runs(limit=1)
    except LedgerError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class PublishedLedger:
    """Where the copy is and how many runs it holds."""

    table: str
    location: str
    runs: int


def publish_ledger(around: Surroundings, target: str = PUBLISHED_NAME) -> PublishedLedger:
    """Write the runs as a Delta table, in place of the copy that was there."""
    from pathlib import Path

    from lakelogic.storage import fresh
    from lakelogic.tables.base import CommitInfo, StagedFile
    from lakelogic.tables.registry import load

    location = around.catalog.resolve(target)
    rows = as_arrow(around.ledger)
    tables = load("delta")
    state = tables.state(location)
    app_id = "lakelogic:ledger:runs"
    n = (state.transactions.get(app_id, 0) if state else 0) + 1
    path = Path(location) / f"copy-{fresh.name()}" / "part-00000.parquet"
    fresh.write_table(rows, path, compression="zstd")
    staged = StagedFile(str(path), rows.num_rows, path.stat().st_size)
    tables.overwrite(location, [staged] if rows.num_rows else [], rows.schema, CommitInfo(app_id, n))
    return PublishedLedger(target, location, rows.num_rows)
