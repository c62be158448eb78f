"""Begin a run: who it is, what its contract demands, its lease, and what an earlier run left behind."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from lakelogic import clock, names
from lakelogic.engines.base import HasOwnDelta
from lakelogic.errors import UnsupportedError
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy.keys import Keys, load_keys
from lakelogic.run.events.hub import Events, Sink, logging_sink
from lakelogic.run.events.types import Caution
from lakelogic.run.formats import tables_of
from lakelogic.run.input import watermarks
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.masks.changed import refuse_changed
from lakelogic.run.phases import BegunRun, OpenedRun, grown
from lakelogic.run.places import Places, places
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import leases
from lakelogic.run.state.environments import doubts, refuse_others
from lakelogic.run.state.overlap import refuse_overlap
from lakelogic.run.state.progress import Progress, nowhere, progress_of
from lakelogic.run.state.recover import recover


def begin(job: ContractRequest, *sinks: Sink) -> BegunRun:
    """A run of its own, with a new id."""
    started = clock.now()
    contract = job.loaded.contract
    return BegunRun(
        job=job,
        run_id=names.new_run_id(started),
        started=started,
        events=Events(contract.dataset_name, (logging_sink, *sinks, *job.sinks)),
        fingerprint=fingerprint(job.loaded),
        strategy=strategy_of(contract),
        note=job.note,
    )


def keys_of(job: ContractRequest) -> Keys:
    """The keys of the masks that the contract asks for."""
    return load_keys({f.masking for f in job.loaded.contract.model.fields if f.masking}, job.environ)


def open_run(run: BegunRun) -> OpenedRun:
    """Fail closed: what the contract itself demands is settled before anything is read."""
    job, contract = run.job, run.job.loaded.contract
    compiled = job.compiled or compile_contract(job.loaded)
    cut, input_text = None, None
    if job.data is None:
        cut, input_text = watermarks.decide(contract, run.strategy, job.asked, compiled.plan.columns)
        run = replace(run, note="; ".join(filter(None, [input_text, job.note])) or None)
    _refuse_pins(job)
    keys = keys_of(job)
    if not job.materialize:
        return grown(
            OpenedRun,
            run,
            keys=keys,
            places=None,
            progress=nowhere(contract.dataset_name),
            cut=cut,
            input_text=input_text,
        )
    where = places(contract, job.catalog, job.target)
    progress = progress_of(contract.dataset_name, where, job.target)
    refuse_overlap(where, job.catalog)
    refuse_others(job.loaded, where, progress, "Nothing was read.")
    refuse_changed(contract, where, progress, keys)
    # Before any frame is made: a table that needs the session's own Delta may need another session.
    if isinstance(job.engine, HasOwnDelta):
        tables_of(contract.materialization.format, job.engine).state(where.target_location)
    return grown(OpenedRun, run, keys=keys, places=where, progress=progress, cut=cut, input_text=input_text)


def take_lease(run: OpenedRun, until: ExitStack) -> OpenedRun:
    """Nobody else writes to the target until the run has ended; a run that only judges takes none.

    Before the input is pinned: what another run publishes meanwhile must not be read a second time.
    """
    ledger = run.job.ledger
    if run.places is None or ledger is None:
        return run
    lease = leases.acquire(ledger, run.places.target_location, run.run_id)
    until.callback(leases.release, ledger, lease)
    return replace(run, keep_lease=leases.keeper(ledger, lease))


def recover_target(run: OpenedRun) -> OpenedRun:
    """Finish what an earlier run began, and find out what the target holds."""
    where = run.places
    if run.job.ledger is None or where is None:
        return run
    recovery = recover(run.job, where, run.progress, run.events)
    _compare_environments(run, where, run.progress)
    return replace(run, recovery=recovery)


def _compare_environments(run: OpenedRun, where: Places, progress: Progress) -> None:
    """Once more under the lease: a run that had stopped, or was faster, may have brought rows of another one."""
    loaded = run.job.loaded
    for line in doubts(loaded, where, progress, refuse_others(loaded, where, progress, "Nothing was read.")):
        run.events.tell(Caution(line))
    if late := read_masks.late_columns(loaded, where, progress, "good", run.job.catalog, None):
        told = ", ".join(f"`{name}` (made of {above})" for name, above in sorted(late.items()))
        out = read_masks.way_out(loaded.contract, late)
        run.events.tell(Caution(f"{where.target} may hold in clear what is masked above by now: {told}. {out}"))


def _refuse_pins(job: ContractRequest) -> None:
    """A step that is pinned to another engine is refused before anything is read."""
    for index, step in enumerate(job.loaded.contract.transformations):
        if step.engine is not None and step.engine.lower() != job.engine.name:
            raise UnsupportedError(
                f"The step `{step.name or f'{step.kind}_{index}'}` is pinned to the engine `{step.engine}`, and this "
                f"run is on `{job.engine.name}`.",
                hint=f"Run with --engine {step.engine}, or take the pin away.",
                where=str(job.loaded.where(f"transformations[{index}].engine")),
            )
