"""Runs: what ran, what it accounts for, and asking for one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from lakelogic.actions.author.contracts import explain
from lakelogic.actions.look import ledger as action
from lakelogic.actions.operate import jobs as work
from lakelogic.actions.visibility.hidden import veiled_facts, veiled_run
from lakelogic.api.answers import Word, answer, document, read_cursor
from lakelogic.api.asking import Cursor, Limit, Since, log_data, pages_of
from lakelogic.api.auth import Asking, Caller
from lakelogic.api.models import FacetCounts, Job, Log, Page, Plan, PlanRun, Row, StartRun
from lakelogic.api.service import job_data, service_of, trouble
from lakelogic.errors import NotFound
from lakelogic.ledger.ask import RUNS, LedgerQuery

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
Several = Annotated[list[Word], Query(max_length=20, default_factory=list)]
Sort = Literal["started_at", "finished_at", "dataset", "status", "duration_seconds"]
_KINDS: dict[str, Literal["instant", "number", "text"]] = {
    "started_at": "instant", "finished_at": "instant", "duration_seconds": "number", "dataset": "text",
    "status": "text",
}  # fmt: skip
IdempotencyKey = Annotated[Word | None, Header(alias="Idempotency-Key", description="The same key, the same job.")]


@router.get("", response_model=Page, responses=trouble(400))
def runs(
    request: Request, caller: Asking, status: Several, dataset: Word | None = None, pipeline: Word | None = None,
    layer: Word | None = None, domain: Word | None = None, system: Word | None = None, engine: Word | None = None,
    since: Since = None, until: Since = None, sort: Sort = "started_at", descending: bool = True,
    after: Cursor = None, limit: Limit = 50,
) -> Response:  # fmt: skip
    """Runs, newest first; `next` goes on behind the last one. Several statuses may be asked for, or one pass."""
    filters = _filters(
        status, dataset=dataset, pipeline_run_id=pipeline, layer=layer, domain=domain, system=system, engine=engine
    )
    position = read_cursor(after, _KINDS[sort])
    question = LedgerQuery(
        sort, descending, filters, since, until, position, limit, _among(caller),
    )  # fmt: skip
    page = pages_of(action.ask(service_of(request).around, "runs", question), limit, sort, RUNS.identity)
    served = service_of(request).served
    return answer({**page, "items": [veiled_run(served, run) for run in page["items"]]})


@router.get("/facets", response_model=FacetCounts, responses=trouble())
def facets(
    request: Request, caller: Asking, status: Several, dataset: Word | None = None, pipeline: Word | None = None,
    layer: Word | None = None, domain: Word | None = None, system: Word | None = None, engine: Word | None = None,
    since: Since = None, until: Since = None,
) -> Response:  # fmt: skip
    """How many of the chosen runs have which status, dataset, layer, domain and engine, each without its own filter."""
    filters = _filters(
        status, dataset=dataset, pipeline_run_id=pipeline, layer=layer, domain=domain, system=system, engine=engine
    )
    question = LedgerQuery("started_at", filters=filters, since=since, until=until, among=_among(caller))
    return answer({"total": None, "counts": action.count_runs(service_of(request).around, question)})


@router.post("", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def start(request: Request, caller: Asking, body: StartRun, idempotency_key: IdempotencyKey = None) -> Response:
    """Ask for a run of one contract; a worker does it. Follow the job, or its events."""
    service = service_of(request)
    member = service.member(body.dataset, caller, "operator")
    asked = work.JobRequest(
        "run", member.dataset, str(member.path), caller.person, body.why, member.domain, member.loaded.env,
        {"engine": body.engine}, caller.once(idempotency_key),
    )  # fmt: skip
    return accepted(work.ask(service.around, asked))


@router.post("/dry-run", response_model=Plan, responses=trouble(400, 404))
def dry_run(request: Request, caller: Asking, body: PlanRun) -> Response:
    """What a run would do; nothing is read or written."""
    service = service_of(request)
    member = service.member(body.dataset, caller)
    explained = explain(service.around, str(member.path), env=member.loaded.env, engine=body.engine, for_others=True)
    return answer({"text": explained.text, "plan": explained.data})


@router.get("/{run_id}", response_model=Row, responses=trouble(400, 404))
def run(request: Request, caller: Asking, run_id: Word) -> Response:
    """One run with everything the ledger knows of it."""
    return document(request, veiled_run(service_of(request).served, _seen(request, caller, run_id)))


@router.get("/{run_id}/account", response_model=Row, responses=trouble(400, 404))
def account(request: Request, caller: Asking, run_id: Word) -> Response:
    """What was read and what became of every row; `unaccounted` is 0, or somebody must look."""
    return document(request, veiled_run(service_of(request).served, action.account_of(_seen(request, caller, run_id))))


@router.get("/{run_id}/log", response_model=Log, responses=trouble(400, 404))
def log(request: Request, caller: Asking, run_id: Word) -> Response:
    """What it said, wherever it ran: on the command line, in a pass of the driver, by a worker."""
    run = _seen(request, caller, run_id)
    around = service_of(request).around
    job = action.job_of_run(around, run["run_id"], run["dataset"])
    if job is not None:  # which also tells when it was asked for
        answered = log_data(job.work_id, action.happenings(around, 0, job.work_id))
    else:
        kept = action.log_of(around, run["run_id"])
        lines = [
            {"seq": seq, "at": line.at, "topic": "run", "kind": line.kind, "text": line.body}
            for seq, line in enumerate(kept, 1)
        ]
        old = "It is older than the keeping of logs, or its process ended before it could write one."
        answered = {"job_id": None, "lines": lines, "next": None, "note": None if lines else old}
    return answer(veiled_facts(service_of(request).served, run["dataset"], answered))


def _seen(request: Request, caller: Caller, run_id: str) -> dict[str, Any]:
    # The whole id: the beginning of one would tell of runs that do not exist for whoever asks.
    run = action.find_run(service_of(request).around, run_id)
    if run is None or not caller.can("viewer", run["domain"]):
        raise NotFound(f"There is no run `{run_id}`.", hint="GET /api/v1/runs lists them.")
    return run


def _among(caller: Caller) -> tuple[str, list[str | None]] | None:
    return None if caller.domains is None else ("domain", sorted(caller.domains, key=str))


def accepted(asked: Any) -> Response:
    """A job that was put into the queue, and where to follow it."""
    return answer(job_data(asked), 202, Location=f"/api/v1/jobs/{asked.work_id}")


def _filters(status: list[str], **chosen: str | None) -> dict[str, list[str]]:
    named = {name: [value] for name, value in chosen.items() if value is not None}
    return named | ({"status": status} if status else {})
