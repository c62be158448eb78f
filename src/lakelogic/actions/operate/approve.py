"""Decide about batches behind a closed gate: release exactly what was judged, or give it up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic.actions.operate.quarantine import person
from lakelogic.driver.approvals import add_approval, of_held
from lakelogic.engines import registry
from lakelogic.engines.base import Engine
from lakelogic.errors import UsageError
from lakelogic.ledger.records import Act, Held
from lakelogic.plan.compile import load_checked
from lakelogic.run.publish import withhold
from lakelogic.run.publish.hold import Decision, give_up, release
from lakelogic.run.request import ContractRequest
from lakelogic.run.surroundings import Surroundings


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
    by: str | None = None  # who decides, where it is not whoever runs this process


def waiting(around: Surroundings) -> list[dict[str, Any]]:
    """The batches that wait for a decision, newest first."""
    return [_shown(held) for held in around.ledger.waiting()]


def _shown(held: Held) -> dict[str, Any]:
    facts: Any = held.facts
    return {
        "run_id": held.run_id,
        "dataset": held.dataset,
        "held_at": held.held_at.isoformat(),
        "counts": facts["commit"]["counts"],
        "reasons": facts["reasons"],
        "overtaken": withhold.reason_against(held),
    }


@dataclass(frozen=True, slots=True)
class Written:
    """An approval that was written into a file for the next pass."""

    run_id: str
    dataset: str
    batch_id: str
    figures: Mapping[str, int]
    file: str


def write(around: Surroundings, run_id: str, file: str, why: str | None = None, by: str | None = None) -> Written:
    """Approve of the batch of a run in a file: a pass that reads it publishes exactly that batch."""
    record = around.ledger.run(run_id)
    held = withhold.of_run(around.ledger, record)
    if held is None or held.state != "waiting":
        raise UsageError(
            f"The run `{record.run_id}` has no rows that wait for a decision.",
            hint="`lakelogic approve` without a run lists those that have.",
        )
    withhold.refuse_overtaken(held)
    approval = of_held(held, by or person(), why)
    add_approval(file, approval)
    facts = {"run_id": held.run_id, "batch_id": held.batch_id, "figures": dict(approval.figures), "file": file}
    around.ledger.tell(Act("approve in a file", held.dataset, approval.person, why, facts))
    return Written(held.run_id, held.dataset, held.batch_id, approval.figures, file)


def approve(around: Surroundings, request: ApproveRequest) -> Decision:
    """Release or give up the batch of a run."""
    record = around.ledger.run(request.run_id)
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
        job = ContractRequest(loaded, engine, around.catalog, around.ledger, environ=around.environ, sinks=around.sinks)
        decide = give_up if request.discard else release
        return decide(job, record.run_id, person=request.by or person(), why=request.why)
    finally:
        if engine is not None:
            engine.close()
