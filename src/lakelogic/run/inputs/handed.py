"""Rows that were handed in as the input of a run: no source to pin; the batch has its owner's name, or the run's."""

from __future__ import annotations

from lakelogic.plan.compile import SourceColumns
from lakelogic.plan.nodes import Read
from lakelogic.run.input.named_rows import warn_of_used_name
from lakelogic.run.input.pin import batch_id, pin_links
from lakelogic.run.inputs.source import batch_of, is_done, waiting
from lakelogic.run.outcome import nothing_new, still_waiting
from lakelogic.run.phases import ListedRun, LookedRun, OpenedRun, PinnedRun, grown
from lakelogic.run.result import Result


def list_handed(run: OpenedRun) -> ListedRun:
    """Of rows that were handed in, only links lie somewhere."""
    return grown(ListedRun, run, links=pin_links(run.job.loaded.contract, run.job.catalog, run.job.engine))


def pin_handed(run: ListedRun) -> PinnedRun:
    """A name of the owner's stands for the same rows whatever the contract says by now."""
    name = run.job.batch
    identity = {"run": run.run_id} if name is None else {"batch": name}
    made_by = run.fingerprint if name is None else ""
    return grown(PinnedRun, run, identity=identity, batch_id=batch_id(batch_of(run), made_by, identity))


def admit_handed(run: PinnedRun) -> PinnedRun | Result:
    """Rows whose name was published, or waits for a decision, are not taken again."""
    name, ledger = run.job.batch, run.job.ledger
    if name is None:
        return run
    if ledger is not None and run.recovery.table_exists and is_done(run):
        warn_of_used_name(run, ledger)
        return nothing_new(run, f"the batch `{name}` was published before")
    if (held := waiting(run)) is not None:
        return still_waiting(run, held)
    return run


def adopt(run: PinnedRun) -> LookedRun:
    """The rows as a frame of the engine, and their columns."""
    frame, columns = run.job.engine.adopt(run.job.data, Read("source", "parquet", ()))
    return grown(LookedRun, run, source=SourceColumns("parquet", columns), adopted=frame)
