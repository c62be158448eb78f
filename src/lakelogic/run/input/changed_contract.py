"""Whether the table was made by the contract as it is now: a changed rule does not reach rows that are there."""

from __future__ import annotations

from lakelogic.plan.fingerprint import making, reading
from lakelogic.run.events.types import Caution
from lakelogic.run.formats import tables_of
from lakelogic.run.phases import OpenedRun
from lakelogic.run.state.progress import good_commits
from lakelogic.tables.facts import CommitFacts

EARLIER = "the table was made by an earlier version of the contract"


def is_by_another(run_: OpenedRun) -> bool:
    """Whether the newest batch of the table was made in another way than this contract would; not where nobody knows.

    Where files or tables are read and how rows meet their table may change: rows stay what they are.
    """
    mark = _newest(run_).made_by
    return mark is not None and mark != making(run_.job.loaded)


def is_read_otherwise(run_: OpenedRun) -> bool:
    """Whether the source of the newest batch was read by other options; not where nobody knows."""
    mark = _newest(run_).read_by
    return mark is not None and mark != reading(run_.job.loaded)


def _newest(run_: OpenedRun) -> CommitFacts:
    """What the newest batch of the table says of itself."""
    ledger, loaded = run_.job.ledger, run_.job.loaded
    if ledger is None or run_.places is None or (head := ledger.head(run_.progress.key)) is None:
        return CommitFacts()
    tables = tables_of(loaded.contract.materialization.format, run_.job.engine)
    newest = next(iter(good_commits(tables, run_.progress, head)), None)
    return newest.facts if newest is not None else CommitFacts()


def nothing_but_the_contract(run_: OpenedRun, reason: str) -> str:
    """Why there is nothing to do; where only the contract is new, that is said, and how it reaches the table."""
    if run_.places is None or not is_by_another(run_):
        return reason
    ways = "to the rows that are there, `lakelogic quarantine replay` to bad rows that wait"
    if is_read_otherwise(run_):
        # A replay has the rows as they were read then: other options do not reach them.
        ways = "to the rows that are there and to bad rows that wait: it reads the source again"
    run_.events.tell(
        Caution(
            f"The contract has changed, and nothing is new to read: what {run_.places.target} holds was made by an "
            f"earlier version of it. `lakelogic reload` applies the change {ways}"
        )
    )
    return f"{reason}; {EARLIER}"
