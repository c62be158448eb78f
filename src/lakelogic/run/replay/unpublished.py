"""Batches that the next run reads again: rows of them that a replay appended would be in the table twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from lakelogic.ledger.records import InputFile
from lakelogic.run.input.tracked import tracks
from lakelogic.run.phases import OpenedRun
from lakelogic.tables.facts import CommitRecord

WHY: Final = (
    "their batch is not published (its gate is closed), and the next run reads its input again: run the contract"
)
RELEASE: Final = ", or release the batch with `lakelogic approve`"


def reasons(run_: OpenedRun, batches: Iterable[str]) -> dict[str, str]:
    """Why rows of these batches are left out, and what can be done: only a batch that is held can be released."""
    held = {one.batch_id for one in run_.job.ledger.waiting()} if run_.job.ledger is not None else set[str]()
    return {batch: WHY + RELEASE if batch in held else WHY for batch in batches}


def unpublished(run_: OpenedRun, commits: Iterable[CommitRecord], wanted: set[str]) -> frozenset[str]:
    """Those of the `wanted` batches whose input a run would read again, by what the quarantine's commits tell.

    Only where rows are added: a strategy that settles rows by their key, or replaces them, takes none twice.
    """
    ledger = run_.job.ledger
    if ledger is None or not wanted or not tracks(run_.strategy):
        return frozenset()
    done = ledger.batches_done(run_.progress.key)
    known = ledger.inputs(run_.progress.key)
    found = set[str]()
    for commit in commits:
        batch, facts = str(commit.batch_id), commit.facts
        is_open = batch in wanted and batch not in done and not facts.replay
        if is_open and _is_read_again(facts.input, known):
            found.add(batch)
    return frozenset(found)


def _is_read_again(told: Mapping[str, Any], known: Mapping[str, InputFile]) -> bool:
    """Whether the input is still there and not taken: a file, a later part of a table, a batch that has a name."""
    if "table" in told:
        before = known.get(told["table"])
        return before is None or before.size < int(told.get("version") or 0)
    if "files" in told:
        return any(path not in known and Path(path).exists() for path, _, _ in told["files"])
    return "batch" in told
