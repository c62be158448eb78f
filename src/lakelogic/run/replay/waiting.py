"""The rows of a quarantine that a replay takes: those that wait, as they landed, and for which it is not too late."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from lakelogic import names
from lakelogic.contract.rules import RowUnique
from lakelogic.contract.steps import Deduplicate
from lakelogic.ledger.adoption import batches_elsewhere
from lakelogic.plan.naming import step_name
from lakelogic.plan.rules.unique import Uniqueness
from lakelogic.quarantine.landed import LandedRows, landed_rows
from lakelogic.quarantine.queue import ACTIVE, Chosen, Queue, Stamped, is_void
from lakelogic.run.formats import tables_of
from lakelogic.run.input.batch_order import REPLACED, UNTOLD, Arrivals
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.phases import OpenedRun
from lakelogic.run.places import QUARANTINE_FORMAT
from lakelogic.run.replay import unpublished
from lakelogic.run.result import Result
from lakelogic.run.state.progress import applications, good_commits
from lakelogic.tables.registry import load as load_tables

LATE = (
    "they were read before the table above masked what would be published of them: declare the mask here too and "
    "`lakelogic remask`, or run the contract over its source again"
)
BEATEN = "another row of its key was kept instead of it: only a run over the source can judge it again"


@dataclass(slots=True)
class Replayed:
    """What became of the rows that were chosen."""

    chosen: int = 0
    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # why rows could not be replayed
    result: Result | None = None  # the last one, or one that was withheld; None where there was nothing to replay

    def add(self, other: Replayed) -> None:
        """Count the rows of one more replay."""
        self.chosen += other.chosen
        self.passed += other.passed
        self.failed += other.failed
        self.left_out += other.left_out
        if self.status != "gated":
            self.result = other.result or self.result

    @property
    def status(self) -> str:
        """Of the run that it was; `no_new_data` where there was none."""
        return self.result.status if self.result else "no_new_data"


def queue_of(run_: OpenedRun) -> Queue:
    """The quarantine of a run's target."""
    contract = run_.job.loaded.contract
    return Queue(load_tables(QUARANTINE_FORMAT), run_.target.quarantine_location, Stamped.by(contract))


def of_others(run_: OpenedRun, queue: Queue) -> frozenset[str]:
    """Batches of the quarantine that are not this target's."""
    progress = run_.progress
    foreign = batches_elsewhere(run_.job.ledger, progress.before, progress.target)
    return queue.of_others(applications(progress, "bad")) | foreign


def _arrivals(run_: OpenedRun) -> Arrivals:
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    return Arrivals.told_by(
        good_commits(tables, run_.progress),
        queue_of(run_).commits(applications(run_.progress, "bad")),
    )


def parts_of(run_: OpenedRun, chosen: Chosen) -> list[Chosen]:
    """The replays that a choice becomes: one, or one for each batch where only that tells which row is newer."""
    strategy = run_.strategy
    if not strategy.is_keyed or strategy.order is not None:
        return [chosen]
    queue, numbers = queue_of(run_), _arrivals(run_).batches
    waiting = replace(chosen, states=(ACTIVE,))
    found = {row[names.BATCH_ID] for row in queue.entries() if waiting.keeps(row, queue.stamped, run_.started)}
    batches = sorted((batch for batch in found if batch), key=lambda batch: (numbers.get(batch, 0), batch))
    return [replace(chosen, batch=batch) for batch in batches] or [chosen]


@dataclass(frozen=True, slots=True)
class Came:
    """When the rows of a replay came first: by the clock, by the number of their batch, and before which runs."""

    at: datetime
    brought: int | None = None
    newer: frozenset[str] = frozenset()


@dataclass(slots=True)
class Taken:
    """The rows of one replay as they landed, when they came first, and what is counted so far."""

    queue: Queue
    landed: LandedRows
    came: Came
    done: Replayed
    rows: list[dict[str, Any]]  # as the quarantine keeps them


def take(run_: OpenedRun, chosen: Chosen) -> Taken:
    """The chosen rows that wait, as they landed; nothing is changed."""
    job, contract = run_.job, run_.job.loaded.contract
    queue = queue_of(run_)
    waiting = replace(chosen, states=(ACTIVE,))
    ours = applications(run_.progress, "bad")
    others = of_others(run_, queue)
    rows = queue.rows(
        lambda row: (
            waiting.keeps(row, queue.stamped, run_.started) and row[names.BATCH_ID] not in others and not is_void(row)
        )
    ).to_pylist()
    done = Replayed(chosen=len(rows))
    again = unpublished.unpublished(run_, queue.commits(ours), {str(row[names.BATCH_ID]) for row in rows})
    judged = [row for row in rows if row[names.BATCH_ID] not in again]
    reasons = unpublished.reasons(run_, again) if again else {}
    done.left_out.update(reasons[row[names.BATCH_ID]] for row in rows if row[names.BATCH_ID] in again)
    judged = _not_late(run_, _not_beaten(run_, judged, done), done)
    kept, came = _in_time(run_, judged, chosen.batch, done)
    landed = landed_rows(contract, queue, ours, kept, run_.keys, job.engine)
    landed.left_out += done.left_out
    done.left_out = landed.left_out
    return Taken(queue, landed, came, done, rows)


def _not_late(run_: OpenedRun, rows: list[dict[str, Any]], done: Replayed) -> list[dict[str, Any]]:
    """The rows without those that were read before a table above masked what would be published of them."""
    catalog = run_.job.catalog
    above = read_masks.look_above(run_.job.loaded, catalog, read_masks.Upstream(catalog)) if rows else None
    if above is None:
        return rows
    commits = queue_of(run_).commits(applications(run_.progress, "bad"))
    # A row that failed again keeps the batch that it came with, so the first word on a batch is the one that counts.
    read = {str(commit.batch_id): commit.facts.read_masks for commit in commits}
    late = {batch for batch in {row[names.BATCH_ID] for row in rows} if above.late(read.get(batch), "good")}
    kept = [row for row in rows if row[names.BATCH_ID] not in late]
    if len(kept) < len(rows):
        done.left_out[LATE] += len(rows) - len(kept)
    return kept


def _not_beaten(run_: OpenedRun, rows: list[dict[str, Any]], done: Replayed) -> list[dict[str, Any]]:
    """The rows without those that lost against a row of their key which is in the table: alone they would win.

    A strategy that settles rows by their key looks at the table itself.
    """
    contract = run_.job.loaded.contract
    if run_.strategy.is_keyed:
        return rows
    beaten = {
        rule.label or Uniqueness.of(rule, "").name
        for rule in contract.quality.row_rules
        if isinstance(rule, RowUnique) and rule.keep == "first"
    }
    for at, step in enumerate(contract.transformations):
        if isinstance(step, Deduplicate) and step.losers == "quarantine":
            beaten.add(step.label or step_name(step, f"transformations[{at}]"))
    kept = [row for row in rows if not beaten & set(row[names.RULES] or ())]
    if len(kept) < len(rows):
        done.left_out[BEATEN] += len(rows) - len(kept)
    return kept


def _in_time(
    run_: OpenedRun, rows: list[dict[str, Any]], batch: str | None, done: Replayed
) -> tuple[list[dict[str, Any]], Came]:
    """The rows for which it is not too late; the others are counted as left out."""
    contract, now = run_.job.loaded.contract, Came(run_.started)
    if not rows or (batch is None and not run_.strategy.needs_whole_batches):
        return rows, now
    arrivals = _arrivals(run_)
    if batch is None:
        # What was read with another batch than the one in the table is not a part of it.
        kept = [row for row in rows if row[names.BATCH_ID] == arrivals.last]
        done.left_out[REPLACED] += len(rows) - len(kept)
        done.left_out += Counter()
        return kept, now
    newer = arrivals.newer_than(batch)
    state = tables_of(contract.materialization.format, run_.job.engine).state(run_.target.target_location)
    told = contract.lineage.run_id_column_name.lower()
    if newer and state is not None and told not in {name.lower() for name in state.schema.names}:
        done.left_out[UNTOLD] += len(rows)
        return [], now
    return rows, Came(arrivals.times.get(batch, run_.started), arrivals.batches.get(batch), newer)
