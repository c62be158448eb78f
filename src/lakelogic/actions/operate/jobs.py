"""Ask for work that takes long, and do it: runs, replays, discards and decisions, in a process of their own."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakelogic import signals
from lakelogic.errors import Defect, LakeLogicError, UsageError, trace
from lakelogic.ledger.records import Act
from lakelogic.ledger.work import QueuedJob, WorkQueue
from lakelogic.run.events.hub import Event, log
from lakelogic.run.surroundings import Surroundings
from lakelogic.storage.room import world_error

KINDS = ("run", "replay", "discard", "release", "give_up", "export", "preview")
_LASTS = timedelta(seconds=60)
_SIGN_OF_LIFE_SECONDS = 2.0
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Who asks for what, and why. `facts` are the choices; `contract` is a file of the estate, never of a request."""

    kind: str
    dataset: str
    contract: str
    person: str
    why: str | None = None
    domain: str | None = None
    env: str | None = None
    facts: Mapping[str, Any] | None = None
    once: str | None = None


def ask(around: Surroundings, asked: JobRequest) -> QueuedJob:
    """Put work into the queue; the ledger remembers who asked, and why."""
    if asked.kind not in KINDS:
        raise UsageError(f"There is no work of the kind `{asked.kind}`.", hint=f"Choose one of {', '.join(KINDS)}.")
    if asked.kind not in ("run", "export", "preview") and not (asked.why or "").strip():
        raise UsageError("A reason is needed.", hint="Say why; it is kept in the ledger.")
    facts = {"contract": asked.contract, "env": asked.env, **(asked.facts or {})}
    work = QueuedJob(asked.kind, asked.dataset, asked.person, asked.domain, asked.why, facts, asked.once)
    job = WorkQueue(around.ledger.database).ask(work)
    if job.attempts == 0 and job.state == "waiting":
        act_facts = {"job": job.work_id, **facts}
        around.ledger.tell(Act(f"ask {asked.kind}", asked.dataset, asked.person, asked.why, act_facts))
    return job


def cancel(around: Surroundings, work_id: str, person: str, why: str | None) -> QueuedJob:
    """Ask for work to stop. What is committed stays; what is not is as if it had never begun."""
    work = WorkQueue(around.ledger.database).cancel(work_id)
    around.ledger.tell(Act("cancel", work.dataset, person, why, {"job": work_id, "kind": work.kind}))
    return work


def job(around: Surroundings, work_id: str) -> QueuedJob:
    """One piece of work."""
    return WorkQueue(around.ledger.database).get(work_id)


def perform(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    """Do a piece of work here and now; what came of it."""
    return _PERFORM[work.kind](around, work)


def _run(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.run import RunRequest, run_contract

    facts = _facts(work)
    done = run_contract(around, RunRequest(facts["contract"], facts.get("engine"), facts.get("env")))
    outcome = {"run_id": done.report.get("run_id"), "counts": done.report.get("counts"), "reasons": list(done.reasons)}
    return {"status": done.status, "exit_code": done.exit_code, **outcome}


def _replay(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.quarantine import replay_rows

    _refuse_stale(around, work)
    done = replay_rows(around, _choice(work), _facts(work).get("engine"))
    return {
        "status": done.status, "exit_code": done.exit_code, "chosen": done.chosen, "passed": done.passed,
        "failed": done.failed, "left_out": dict(done.left_out), "reasons": list(done.reasons),
        "run_id": done.report.get("run_id"),
    }  # fmt: skip


def _discard(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.quarantine import discard_rows

    _refuse_stale(around, work)
    everything = bool(_facts(work).get("everything"))
    done = discard_rows(around, _choice(work), work.why or "", everything=everything, by=work.person)
    return {"status": "succeeded", "exit_code": 0, "discarded": len(done.rows), "table": done.table}


def _preview(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.previews import preview

    facts = _facts(work)
    report = preview(around, facts["action"], _choice(work), facts.get("limit") or 50, facts.get("engine"))
    # The ledger keeps what JSON holds; values are text there anyway.
    return {"status": "succeeded", "exit_code": 0, **json.loads(json.dumps(report, default=str))}


def _refuse_stale(around: Surroundings, work: QueuedJob) -> None:
    """What was previewed may have changed while the work waited."""
    from lakelogic.actions.operate.previews import refuse_stale

    if token := _facts(work).get("token"):
        refuse_stale(around, token, work.kind, _choice(work))


def _decide(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.approve import ApproveRequest, approve

    facts = _facts(work)
    request = ApproveRequest(
        facts["run_id"], work.kind == "give_up", work.why, facts["contract"], facts.get("env"), by=work.person
    )
    done = approve(around, request)
    outcome = {"run_id": done.run_id, "state": done.state, "rows": done.rows, "target": done.target}
    return {"status": "succeeded", "exit_code": 0, **outcome, "version": done.version, "again": done.again}


def _export(around: Surroundings, work: QueuedJob) -> dict[str, Any]:
    from lakelogic.actions.operate.export import ExportRequest, export

    facts = _facts(work)
    request = ExportRequest(
        (facts["contract"],), tuple(facts.get("only") or ()), facts.get("env"), again=facts["again"]
    )
    done = export(around, request)
    return {"status": "failed" if done.exit_code else "succeeded", **done.as_dict()}


_PERFORM: Mapping[str, Callable[[Surroundings, QueuedJob], dict[str, Any]]] = {
    "run": _run, "replay": _replay, "discard": _discard, "release": _decide, "give_up": _decide,
    "preview": _preview,
    "export": _export,
}  # fmt: skip


def _facts(work: QueuedJob) -> dict[str, Any]:
    assert isinstance(work.facts, Mapping)
    return dict(work.facts)


def _choice(work: QueuedJob) -> Any:
    return choice(_facts(work))


def choice(facts: Mapping[str, Any]) -> Any:
    """The rows of a quarantine that somebody chose, as the facts of a piece of work tell them."""
    from lakelogic.actions.operate.quarantine import Request
    from lakelogic.quarantine.queue import Chosen

    chosen = Chosen(
        tuple(facts.get("rules") or ()), tuple(facts.get("categories") or ()), facts.get("run"),
        tuple(facts.get("rows") or ()), states=("active",),
    )  # fmt: skip
    return Request(facts["contract"], chosen, facts.get("env"))


# — the worker —


def work_loop(
    around: Surroundings,
    *,
    until_idle: bool = False,
    poll_seconds: float = 1.0,
    keep_on: Callable[[], bool] = lambda: True,
) -> int:
    """Do what waits, one piece after the other, each in a process of its own; how many were done."""
    owner = f"{socket.gethostname()}:{os.getpid()}"
    count = 0
    queue = WorkQueue(around.ledger.database)
    while keep_on():
        work = queue.take(owner, _LASTS)
        if work is not None:
            _attend(queue, work)
            count += 1
        elif until_idle:
            break
        else:
            time.sleep(poll_seconds)
    return count


def _attend(queue: WorkQueue, work: QueuedJob) -> None:
    """Let a process do a piece of work, keep the piece meanwhile, and stop the process where that is wanted."""
    # A fresh interpreter: an engine's threads and a copied process do not get along.
    child = multiprocessing.get_context("spawn").Process(target=_in_child, args=(work,), name=work.work_id)
    child.start()
    log.info("%s: %s of %s, asked by %s", work.work_id, work.kind, work.dataset, work.person)
    try:
        while child.is_alive():
            child.join(_SIGN_OF_LIFE_SECONDS)
            if child.is_alive() and not queue.renew(work, _LASTS):
                _stop(child)
    finally:
        if child.is_alive():
            _stop(child)
    if queue.get(work.work_id).state == "running":
        cancelled = bool(queue.get(work.work_id).cancel_asked)
        outcome = {"error": {"message": f"Its process ended with {child.exitcode}.", "code": Defect.code}}
        queue.end(work, "cancelled" if cancelled else "failed", None if cancelled else outcome)


def _stop(child: Any) -> None:
    child.terminate()
    child.join(_PATIENCE_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()


def _in_child(work: QueuedJob) -> None:
    signals.forget()  # what its parent has heard
    signals.listen()
    with Surroundings.here() as around:
        do(around, work)


def do(around: Surroundings, work: QueuedJob) -> None:
    """Do a piece in this process and write down how it ended; what happens meanwhile is remembered for watchers."""
    queue = WorkQueue(around.ledger.database)

    def hear(event: Event) -> None:
        queue.happened(work, "run", event.kind, event.text, dict(event.facts))

    try:
        outcome = perform(around.heard_by(hear), work)
    except KeyboardInterrupt:
        queue.end(work, "cancelled", None)
    except Exception as error:  # noqa: BLE001 - nobody foresaw it; its own text may hold values of rows
        if signals.exit_code() is not None:
            queue.end(work, "cancelled", None)
            return
        if isinstance(error, LakeLogicError):
            queue.end(work, "failed", {"exit_code": error.exit_code, "error": error.as_dict()})
            return
        log.error("%s failed\n%s", work.work_id, trace(error), extra={"has_lines": True})
        failure = world_error(error) or Defect(
            f"This is a defect in LakeLogic: {type(error).__name__}.", hint="Please report it."
        )
        queue.end(work, "failed", {"exit_code": failure.exit_code, "error": failure.as_dict()})
    else:
        queue.end(work, "done" if outcome["exit_code"] == 0 else "failed", outcome)
