"""The queue's part of a replay: rows that passed are claimed, rows that failed again get their new reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.quarantine.first_seen import Seen
from lakelogic.quarantine.landed import LandedRows
from lakelogic.quarantine.queue import ACTIVE, LEFT_OUT, PART, Queue, claim, claim_of, is_void, put
from lakelogic.run.phases import GatedRun
from lakelogic.run.publish.commit import Commit
from lakelogic.tables.facts import CommitFacts


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which rows of a replay passed, and which failed again. A row is itself by its id: several readings are one."""

    passed: frozenset[str]
    again: frozenset[str]

    @staticmethod
    def of(run: GatedRun, landed: LandedRows) -> Verdicts:
        """By what the run found of each."""
        failed = {origin.row_id for at, origin in enumerate(landed.origins, 1) if at in run.bad.origins}
        passed = {origin.row_id for at, origin in enumerate(landed.origins, 1) if at not in run.bad.origins}
        return Verdicts(frozenset(passed), frozenset(failed))


def claim_rows(
    run: GatedRun,
    commit: Commit,
    queue: Queue,
    landed: LandedRows,
    verdicts: Verdicts,
    facts: CommitFacts,
    others: frozenset[str],
) -> None:
    """One commit of the quarantine; `others` are batches of it that are not this target's."""
    noted, mark, bad = Seen(queue.stamped.at), claim_of(commit.batch_id, commit.n), run.bad
    passed, judged = verdicts.passed, verdicts.passed | verdicts.again
    left_out = _left_out(run, landed) & passed

    def meant(row: Mapping[str, Any]) -> bool:
        is_ours = row[names.STATE] == ACTIVE and row[names.BATCH_ID] not in others
        return is_ours and (row[names.ROW_ID] in judged or is_void(row))

    def parts(table: pa.Table) -> pa.Table:
        table = noted.put(table)
        return put({names.CLAIM: PART + mark})(table, [row in bad.parts for row in table[names.ROW_ID].to_pylist()])

    done, _ = queue.change(
        commit.info("bad", facts),
        f"{commit.quarantine_staging}/edited",
        meant,
        lambda table, chosen: _judged(table, chosen, passed, left_out, mark, noted),
        bad.files,
        bad.schema,
        finish=parts,
    )
    commit.quarantine_version = done.version if done else None


def _left_out(run: GatedRun, landed: LandedRows) -> set[str]:
    """The rows of which the steps make no good row; looked for only where steps have left some out."""
    counts = run.counts
    if not sum((*counts.filtered.values(), *counts.deduplicated.values())):
        return set()
    made = run.job.engine.collect(run.frame).select([names.NUMBER, names.SIDE]).to_pylist()
    good = {row[names.NUMBER] for row in made if row[names.SIDE] == names.GOOD_SIDE}
    return {origin.row_id for place, origin in enumerate(landed.origins, 1) if place not in good}


def _judged(
    table: pa.Table, chosen: list[bool], passed: frozenset[str], left_out: set[str], mark: str, noted: Seen
) -> pa.Table:
    """Rows that passed are claimed; the others are left out, their new version comes beside them."""
    rows = table.column(names.ROW_ID).to_pylist()
    claimed = [one and row in passed - left_out for one, row in zip(chosen, rows, strict=True)]
    aside = [one and row in left_out for one, row in zip(chosen, rows, strict=True)]
    dropped = [one and row not in passed for one, row in zip(chosen, rows, strict=True)]
    return noted.drop(claim(LEFT_OUT + mark)(claim(mark)(table, claimed), aside), dropped)
