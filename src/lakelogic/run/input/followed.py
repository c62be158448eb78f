"""A batch that the table held, and that another one has followed: made again, it stands on top of that one.

A contract that is put back as it was, or a file that is, gives the batch of the first time. The table holds what came
in between, so having been published once is not enough: it must be what the table holds last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lakelogic.plan.fingerprint import earlier, fingerprint
from lakelogic.plan.strategies.replaced import as_batch
from lakelogic.run.input.pin import MARK, without_marks
from lakelogic.run.input.tracked import AGAIN, DIGESTS, FORMER, OVER
from lakelogic.run.phases import PinnedRun

AFTER = "after"  # in the identity of a batch: the one on top of which it was made again


def by(run_: PinnedRun) -> str | None:
    """The newest batch of the table, where it was read from the source as well and is not this one.

    Rows that an append took stay taken: there a file that changed back follows its other form by itself. Batches of
    days, replays and rows that were handed in add to a table and say nothing about its source.
    """
    ledger, source, loaded = run_.job.ledger, run_.slice, run_.job.loaded
    if ledger is None or run_.cut is not None or source is None or source.since is not None:
        return None
    if run_.strategy.only_adds:
        return None
    newest = ledger.head(run_.progress.key)
    intent = ledger.intent_of(run_.progress.key, newest) if newest is not None else None
    told: Any = intent.input if intent is not None else None
    if intent is None or not told or "days" in told or not ("files" in told or "table" in told):
        return None
    identity = run_.identity if MARK in told else without_marks(run_.identity)
    if _plain(told) == _plain(identity) and intent.fingerprint in (
        fingerprint(loaded),
        *earlier(loaded),
    ):
        return None
    return newest


def _plain(identity: Mapping[str, Any]) -> str:
    """What was read, whatever it was made on top of."""
    told = as_batch(identity)
    return json.dumps(
        {key: value for key, value in told.items() if key not in (AFTER, AGAIN, DIGESTS, FORMER, OVER)}, sort_keys=True
    )
