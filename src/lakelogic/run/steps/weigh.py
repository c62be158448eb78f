"""Whether staged rows may be published: they add up, dataset rules hold, gates are open, the source stood still."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.engines.readers.formats import reader_of
from lakelogic.errors import DataError, SourceError
from lakelogic.run.formats import tables_of
from lakelogic.run.input import days, tracked, watermarks
from lakelogic.run.input.changed_contract import nothing_but_the_contract
from lakelogic.run.outcome import nothing_new
from lakelogic.run.phases import AccountedRun, GatedRun, SortedRun, grown
from lakelogic.run.publish import gates
from lakelogic.run.publish.measures import measure
from lakelogic.run.publish.reconcile import Counts, reconcile
from lakelogic.run.result import Result
from lakelogic.storage.local import changes
from lakelogic.tables.base import RowTables


def account(run: SortedRun) -> AccountedRun | Result:
    """read = good + bad + named losses, or the run stops; with nothing taken of the input it ends."""
    contract = run.job.loaded.contract
    counts = reconcile(run.plan, run.staged, run.bad.by_verdict, lambda: _recount(run))
    _refuse_bad_rows(run, counts)
    if (nothing := watermarks.nothing_taken(run, counts)) is not None:
        return nothing_new(run, nothing_but_the_contract(run, nothing))
    if run.commit is not None and run.cut is not None:
        days.refuse_strangers(run.cut, run.commit.strategy, run.job.engine, run.plan, run.staged)
    if run.slice is not None and not counts.source and contract.source.empty_behavior == "fail":
        raise SourceError(
            f"There are no rows in what was read at `{run.slice.described}`.",
            hint="The contract says empty_behavior: fail.",
        )
    return grown(AccountedRun, run, counts=counts)


def gate(run: AccountedRun) -> GatedRun:
    """Dataset rules are measured on the staged files; gates say whether the good rows may be seen."""
    contract, counts = run.job.loaded.contract, run.counts
    measured, outcomes = measure(
        contract, run.strategy, run.compiled, run.job.engine, run.staged, run.links, writes=run.commit is not None
    )
    bad_rows = gates.BadRows(run.bad.reasons_of(run.plan), run.bad.already_there)
    new = watermarks.without_waiting(run, counts, run.bad, run.reread)
    closed = [*gates.closed(contract, new, outcomes, bad_rows), *gates.unapproved(run.job.approval, new, run.drift)]
    ends = watermarks.ends(run, measured)
    return grown(GatedRun, run, measured=measured, outcomes=outcomes, closed=tuple(closed), watermark=ends)


def verify(run: GatedRun) -> GatedRun:
    """What was read is still what lies there; what its files hold is a part of the batch's name."""
    if run.slice is None:
        return run
    if run.commit is not None and run.slice.files:
        run = replace(run, identity={**run.identity, tracked.DIGESTS: run.digests.wait(run.slice.files)})
    if run.slice is not None and (changed := changes(run.slice.files)):
        raise SourceError(
            f"The source changed while it was read: {changed[0]}.", hint="Nothing was published; run again."
        )
    return replace(run)


def _recount(run: SortedRun) -> int | None:
    """Count the pinned input again, exactly, without the engine's own counters."""
    if run.slice is None:
        return None
    pinned = run.slice.pinned
    if pinned.own and pinned.table is not None and pinned.version is not None:
        tables = tables_of("delta", run.job.engine, reads=True)
        if not isinstance(tables, RowTables):
            return None
        counted = tables.rows_by_file(pinned.table, pinned.version)
        return sum(counted[file] for file in pinned.files)
    if (count := reader_of(run.slice.format).count) is not None:
        return sum(map(count, pinned.files))
    from lakelogic.engines.readers.text_reader import TextScan

    return sum(int(batch.num_rows) for batch in TextScan(run.plan.read, pinned).batches())


def _refuse_bad_rows(run: SortedRun, counts: Counts) -> None:
    if not run.job.loaded.contract.quarantine.enabled and counts.quarantined:
        raise DataError(
            f"{counts.quarantined} of {max(counts.source, counts.judged)} rows are bad, "
            "and quarantine.enabled is false.",
            hint="Nothing was written. Mend the rows, or let them be quarantined.",
        )
