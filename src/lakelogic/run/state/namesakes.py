"""Two contracts that call their dataset the same: their tables stay apart, their runs look like one history."""

from __future__ import annotations

from lakelogic.run.events.types import Caution
from lakelogic.run.phases import OpenedRun


def warn_of_namesakes(run_: OpenedRun) -> None:
    """Say so where another contract has published under the same name to another place, as the ledger knows it."""
    job, where = run_.job, run_.places
    if job.ledger is None or where is None:
        return
    last = job.ledger.last_published(run_.label)
    own = job.loaded.file or job.loaded.contract.title
    if last is None or last.contract in (None, own) or last.target in (None, where.target):
        return
    run_.events.tell(
        Caution(
            f"`{run_.label}` is also what {last.contract} calls its dataset, which goes to {last.target}: runs of "
            "both are listed under one name. Their tables and progress are kept apart; give one of them another "
            "`dataset`."
        )
    )
