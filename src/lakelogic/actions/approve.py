"""Decide about batches behind a closed gate: release exactly what was judged, or give it up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic.actions.quarantine import ledger_here, person
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.engines import registry
from lakelogic.engines.base import Engine
from lakelogic.errors import UsageError
from lakelogic.ledger.records import Held
from lakelogic.plan.compile import load_checked
from lakelogic.run.events import Sink
from lakelogic.run.hold import Decision, give_up, release
from lakelogic.run.job import Job


@dataclass(frozen=True, slots=True)
class ApproveRequest:
    """Which run's batch, what to do with it, and why. The contract is the one of the run, unless another is named."""

    run_id: str
    discard: bool = False
    why: str | None = None
    contract: str | None = None
    env: str | None = None
    overrides: tuple[str, ...] = ()
    engine: str | None = None


def waiting() -> list[dict[str, Any]]:
    """The batches that wait for a decision, newest first."""
    with ledger_here(LocalCatalog()) as ledger:
        return [_shown(held) for held in ledger.waiting()]


def _shown(held: Held) -> dict[str, Any]:
    facts: Any = held.facts
    return {
        "run_id": held.run_id,
        "dataset": held.dataset,
        "held_at": held.held_at.isoformat(),
        "counts": facts["commit"]["counts"],
        "reasons": facts["reasons"],
    }


def approve(request: ApproveRequest, sinks: tuple[Sink, ...] = ()) -> Decision:
    """Release or give up the batch of a run."""
    catalog = LocalCatalog()
    with ledger_here(catalog) as ledger:
        record = ledger.run(request.run_id)
        written = request.contract or record.contract
        if not written or not Path(written).is_file():
            raise UsageError(
                f"The contract of `{record.run_id}` is not at `{written}`.", hint="Name its file with --contract."
            )
        env = request.env or record.environment
        loaded = load_checked(written, env=env, overrides=request.overrides)
        engine: Engine | Any = None
        if not request.discard:
            engine = registry.load(request.engine or record.engine or registry.default_name())
        try:
            job = Job(loaded, engine, catalog, ledger, sinks=sinks)
            decide = give_up if request.discard else release
            return decide(job, record.run_id, person=person(), why=request.why)
        finally:
            if engine is not None:
                engine.close()
