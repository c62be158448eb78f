"""Run a contract once: the whole sequence over its source, or over rows that were handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from lakelogic.errors import Defect, LakeLogicError
from lakelogic.run.broken import engine_told
from lakelogic.run.events.kept_lines import RunLog
from lakelogic.run.events.types import Note, RunFailed, RunStarted
from lakelogic.run.inputs.kinds import HandedInput, RunInput, SourceInput
from lakelogic.run.outcome import record_failure
from lakelogic.run.phases import BegunRun
from lakelogic.run.publish.order import RunPublication
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.run.sequence import SEQUENCE, SequenceWalk, State
from lakelogic.run.steps.open import begin
from lakelogic.storage.room import disk_told
from lakelogic.tables.kept import kept_open
from lakelogic.version import VERSION


def run(job: ContractRequest, watch: Callable[[State], None] | None = None) -> Result:
    """Run a contract once. Broken contracts and a broken world raise; a closed gate is a result.

    `watch` is called with each phase that the run comes to.
    """
    contract = job.loaded.contract
    only_judges = contract.server is not None and contract.server.mode == "validate"
    if only_judges:
        job = replace(job, materialize=False, target=None)
    log = RunLog()
    begun = begin(job, log)
    begun.events.tell(RunStarted(begun.run_id, contract.dataset_name, job.engine.name))
    if only_judges:
        begun.events.tell(Note("server.mode is validate: rows are judged, and nothing is written"))
    elif job.data is not None and not job.materialize and not contract.materialization.target_path:
        begun.events.tell(Note("The contract names no target: rows are judged, and nothing is written"))
    rows: RunInput = SourceInput() if job.data is None else HandedInput()
    walk = SequenceWalk(rows, begun, watch)
    try:
        with failures_are_recorded(walk, begun), disk_told(), engine_told(job.engine), kept_open():
            with walk:
                result = walk.through(SEQUENCE)
            if not isinstance(result, Result):
                raise TypeError("The sequence has no end.")
            if contract.exports:
                from lakelogic.run import export

                export.after_run(run_of(walk.state), result)
            return result
    finally:
        begun.digests.halt()
        log.keep(job.ledger if job.materialize else None, begun.run_id)


@contextmanager
def failures_are_recorded(walk: SequenceWalk, begun: BegunRun) -> Iterator[None]:
    """What stops a run is told to listeners and to the ledger, with what is known of the run by then."""
    dataset = begun.job.loaded.contract.dataset_name
    try:
        yield
    except LakeLogicError as stopped:
        error = begun.job.halt.reason(stopped)
        begun.events.tell(RunFailed(dataset, error.code, error.message))
        record_failure(run_of(walk.state), error)
        if error is not stopped:
            raise error from stopped
        raise
    except Exception as stopped:
        defect = Defect(f"This is a defect in LakeLogic {VERSION}: {type(stopped).__name__}.")
        begun.events.tell(RunFailed(dataset, defect.code, defect.message))
        record_failure(run_of(walk.state), defect)
        raise


def run_of(state: State) -> BegunRun:
    """The run that has come this far."""
    if isinstance(state, RunPublication):
        return state.run
    if isinstance(state, BegunRun):
        return state
    raise TypeError(f"{type(state).__name__} is of no run.")
