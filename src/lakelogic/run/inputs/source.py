"""The rows of a contract's source as the input of a run: what lies there, what of it is new, and whether to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lakelogic.errors import SourceError
from lakelogic.ledger.records import Held
from lakelogic.plan.fingerprint import earlier
from lakelogic.run.events.types import Note
from lakelogic.run.input import days, followed, intake, pin, tracked, watermarks
from lakelogic.run.input.changed_contract import nothing_but_the_contract
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.outcome import nothing_new, still_waiting
from lakelogic.run.phases import ListedRun, ListedSource, LookedRun, OpenedRun, PinnedRun, PinnedSource, grown
from lakelogic.run.publish import withhold
from lakelogic.run.result import Result


def list_source(run: OpenedRun) -> ListedSource:
    """What lies there, what of it was read before under which name, and where a bound or days begin."""
    job, contract = run.job, run.job.loaded.contract
    # Before the input is pinned: what is masked meanwhile was read in clear.
    run = replace(run, read_masks=read_masks.masks_above(contract, job.catalog))
    source = pin.pin_source(contract, job.catalog, job.engine)
    links = pin.pin_links(contract, job.catalog, job.engine)
    run = replace(run, recovery=intake.recognise(run, source, run.recovery))
    if run.cut is not None:
        source = days.narrowed(source, run.cut)
        cut = days.reaching_over(run.cut, source)
        days.refuse_gone(cut, source, set(run.recovery.files))
        run = replace(run, cut=cut)
    bound, run = watermarks.look_up(run)
    return grown(ListedSource, run, listed=source, links=links, bound=bound)


def pin_source(run: ListedSource) -> PinnedSource:
    """The part of it that this run reads, and the batch's name for that."""
    choice = intake.choose(run, run.listed)
    identity = _identity(run, choice)
    return grown(
        PinnedSource,
        run,
        slice=choice.source,
        looked=choice.looked,
        identity=identity,
        batch_id=pin.batch_id(batch_of(run), run.fingerprint, identity),
    )


def _identity(run: ListedRun, choice: intake.SourcePart) -> dict[str, Any]:
    """What makes the batch: the same is the same batch, however often it is read."""
    source = choice.source
    identity = {**pin.identity_of(source, run.links), **choice.instead, **watermarks.identity(run)}
    if former := tracked.named_otherwise(source.files, run.recovery.files):
        identity |= {tracked.FORMER: former}
    if over := intake.moved_over(run, source):
        identity |= {tracked.OVER: over}
    if run.cut is not None:
        identity |= run.cut.identity(run.run_id)
    if run.job.again:
        identity |= {tracked.AGAIN: run.run_id}
    return identity


def admit_source(run: PinnedSource) -> PinnedSource | Result:
    """Whether there is anything to do: not for an input that is empty, was taken before, or waits for a decision."""
    job, source, behavior = run.job, run.slice, run.job.loaded.contract.source.empty_behavior
    empty = is_empty(run)
    if empty and behavior == "fail":
        raise SourceError(
            f"There is nothing to read at `{source.described}`.", hint="The contract says empty_behavior: fail."
        )
    done = run.recovery.table_exists and is_done(run)
    if done and (newer := followed.by(run)) is not None:
        identity = {**run.identity, followed.AFTER: newer}
        run = replace(run, identity=identity, batch_id=pin.batch_id(batch_of(run), run.fingerprint, identity))
        done = False
    done = done or watermarks.nothing_came(run)
    if job.materialize and job.ledger is not None and (empty or (done and not job.again)):
        reason = run.cut.nothing() if run.cut is not None else "nothing new to read"
        return nothing_new(run, nothing_but_the_contract(run, reason) if run.recovery.table_exists else reason)
    if (held := waiting(run)) is not None:
        return still_waiting(run, held)
    if job.references is not None:
        run = replace(run, links=job.references.kept(run.links, job.engine))
    if empty and not job.materialize:
        run.events.tell(Note(f"There is nothing to read at {source.described}"))
    return run


def look_at_source(run: PinnedSource) -> LookedRun:
    """The columns of the source, where nobody has looked at them already."""
    source = run.looked or pin.look(run.job.loaded.contract, run.slice, run.job.engine)
    return grown(LookedRun, run, source=source)


def is_empty(run: PinnedSource) -> bool:
    """Whether there is nothing to read.

    A table whose parts all lie in other days has nothing either, unless its days are to be emptied.
    """
    none_of_it, nothing_came = run.cut is not None and run.cut.adds, run.slice.since is not None
    return not run.slice.pinned.files and (run.slice.pinned.table is None or none_of_it or nothing_came)


def waiting(run: PinnedRun) -> Held | None:
    """The same batch behind a closed gate: it is taken, and judged again it would be another one to decide about."""
    ledger, where = run.job.ledger, run.places
    if ledger is None or where is None:
        return None
    held_batches = withhold.waiting(ledger, run.label, where.target_location)
    return next((held for held in held_batches if held.batch_id == run.batch_id), None)


def batch_of(run: OpenedRun) -> str:
    """Whose batch it is: the same input for another target is another batch, also where both share a quarantine."""
    return run.progress.identity if run.places is not None else run.job.loaded.contract.dataset_name


def is_done(run: PinnedRun) -> bool:
    """Whether the target holds this batch, under the id of today or the one that earlier versions gave it."""
    ledger, dataset = run.job.ledger, run.job.loaded.contract.dataset_name
    if ledger is None:
        return False
    marks = (run.fingerprint, *earlier(run.job.loaded))
    plain: Mapping[str, Any] = pin.without_marks(dict(run.identity))
    older = [pin.batch_id(dataset, mark, plain) for mark in marks]
    older.append(pin.batch_id(batch_of(run), run.fingerprint, plain))
    return any(ledger.batch_done(batch, run.progress.key) for batch in (run.batch_id, *older))
