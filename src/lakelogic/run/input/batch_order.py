"""In which order batches came: where no column tells the newer of two rows of a key, this does.

A replayed row came with the batch that read it first, however late it is published. Batches are told apart by their
numbers, never by a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.plan.strategies.frames import Behind
from lakelogic.tables.facts import CommitRecord

BEHIND = "behind"  # in what a commit tells of its input: changed files, and those that were first read after them

# Why rows wait on.
REPLACED = "the table holds a later batch than theirs: run the contract over its source again"
UNTOLD = "nothing tells whether the table has newer rows of their keys: name a sequence_by, or keep the runs' ids"


def behind_of(told: Mapping[str, Any]) -> Behind:
    """The changed files of a batch from what its commit tells of its input."""
    return tuple((tuple(changed), tuple(later)) for changed, later in told.get(BEHIND, ()))


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What the commits of a dataset tell, as far back as they are kept."""

    batches: Mapping[str, int]  # batch → its number
    times: Mapping[str, datetime]  # batch → when it was read
    runs: Mapping[str, int]  # run that published → number of the batch that brought its rows
    last: str | None  # the batch that the table holds, or holds last

    @classmethod
    def told_by(cls, good: Sequence[CommitRecord], bad: Sequence[CommitRecord]) -> Arrivals:
        """Of what the commits to the target and to the quarantine say, newest first."""
        batches: dict[str, int] = {}
        times: dict[str, datetime] = {}
        runs: dict[str, int] = {}
        last: str | None = None
        for number, commits in enumerate((good, bad)):
            for commit in commits:
                facts, batch, own = commit.facts, str(commit.batch_id), commit.n
                if number == 0:
                    runs[str(facts.run_id)] = facts.brought or own
                if facts.replay:
                    continue
                if number == 0 and last is None:
                    last = batch
                batches.setdefault(batch, own)
                if facts.at is not None:
                    times.setdefault(batch, facts.at)
        return cls(batches, times, runs, last)

    def newer_than(self, batch: str | None) -> frozenset[str]:
        """The runs whose rows came after those of a batch; of a batch that nobody knows, all of them."""
        number = self.batches.get(batch or "", 0)
        return frozenset(run for run, brought in self.runs.items() if brought > number)
