"""Jobs: work that was asked for, how far it is, and what happens meanwhile."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from lakelogic.actions.look import ledger as action
from lakelogic.actions.look.served import Served
from lakelogic.actions.operate import jobs as work
from lakelogic.actions.visibility.hidden import veiled_facts, veiled_preview, veiled_text
from lakelogic.api.answers import Word, answer, here, plain, read_cursor
from lakelogic.api.asking import LOG_LINES, Cursor, Limit, log_data, pages_of
from lakelogic.api.auth import Asking, Caller
from lakelogic.api.models import Job, Log, Page, Reason
from lakelogic.api.service import Service, job_data, service_of, trouble
from lakelogic.errors import NotFound, Refused
from lakelogic.ledger.ask import LedgerQuery
from lakelogic.ledger.work import ENDED, Happening, QueuedJob

router = APIRouter(prefix="/api/v1", tags=["jobs"])
State = Literal["waiting", "running", "done", "failed", "cancelled"]
After = Annotated[int, Query(ge=0, le=2**53, description="The number of the last one that was seen.")]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", description="As a browser sends it.")]
_HEARTBEAT_SECONDS = 20.0
_NEEDED = {
    "run": "operator",
    "replay": "steward",
    "discard": "steward",
    "release": "operator",
    "give_up": "operator",
    "preview": "steward",
}
# The shape of one event, as browsers read it.
_EVENT = {"type": "object", "properties": {name: {"type": "string"} for name in ("id", "event", "data")}}
_SSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "A stream of hints."}
}


@router.get("/jobs", response_model=Page, responses=trouble(400))
def jobs(
    request: Request,
    caller: Asking,
    state: State | None = None,
    dataset: Word | None = None,
    after: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Jobs, newest first."""
    filters = {name: [value] for name, value in (("state", state), ("dataset", dataset)) if value is not None}
    among = None if caller.domains is None else ("domain", sorted(caller.domains, key=str))
    question = LedgerQuery("created_at", True, filters, None, None, read_cursor(after), limit, among)
    around = service_of(request).around
    page = pages_of(action.ask(around, "work", question), limit, "created_at", "work_id")
    served = service_of(request).served
    return answer({**page, "items": [_told(served, job) for job in page["items"]]})


@router.get("/jobs/{job_id}", response_model=Job, responses=trouble(404))
def job(request: Request, caller: Asking, job_id: Word) -> Response:
    """One job; when it has ended, its outcome is the receipt."""
    return answer(_told(service_of(request).served, _seen(request, caller, job_id)))


@router.post("/jobs/{job_id}/cancel", response_model=Job, responses=trouble(400, 404, 409))
def cancel(request: Request, caller: Asking, job_id: Word, body: Reason) -> Response:
    """Stop a job. What is committed stays; what is not is as if it had never begun."""
    job_ = _seen(request, caller, job_id)
    caller.need(_NEEDED.get(job_.kind, "operator"), job_.domain)
    return answer(job_data(work.cancel(service_of(request).around, job_id, caller.person, body.why)))


@router.get("/jobs/{job_id}/log", response_model=Log, responses=trouble(404))
def log(request: Request, caller: Asking, job_id: Word, after: After = 0) -> Response:
    """What a job said, from a line on."""
    dataset = _seen(request, caller, job_id).dataset
    entries = log_data(job_id, action.happenings(service_of(request).around, after, job_id, LOG_LINES))
    return answer(veiled_facts(service_of(request).served, dataset, entries))


@router.get("/jobs/{job_id}/events", response_class=StreamingResponse, responses={**trouble(404), **_SSE})
def job_events(
    request: Request, caller: Asking, job_id: Word, after: After = 0, last_event_id: LastEventId = None
) -> Response:
    """What happens to one job while it happens (server-sent events); ends with the job."""
    _seen(request, caller, job_id)
    return _streamed(request, caller, _position(last_event_id, after), job_id)


@router.get("/events", response_class=StreamingResponse, responses={**trouble(), **_SSE})
def events(request: Request, caller: Asking, after: After = 0, last_event_id: LastEventId = None) -> Response:
    """Hints of what changed anywhere (topic, id, seq): ask for the thing itself again when one comes."""
    return _streamed(request, caller, _position(last_event_id, after), None)


def _seen(request: Request, caller: Caller, job_id: str) -> QueuedJob:
    job_ = work.job(service_of(request).around, job_id)
    if not caller.can("viewer", job_.domain):
        raise NotFound(f"There is no job `{job_id}`.", hint="GET /api/v1/jobs lists them.")
    return job_


def _told(served: Served, work_: QueuedJob | dict[str, Any]) -> dict[str, Any]:
    """A job; rows that a preview tells of are shown as they are anywhere else."""
    data = job_data(work_)
    outcome = data["outcome"]
    if data["kind"] == "preview" and outcome and outcome.get("rows"):
        data["outcome"] = veiled_preview(served, data["dataset"], outcome)
    elif outcome:
        data["outcome"] = veiled_facts(served, data["dataset"], outcome)
    return data


def _position(last_event_id: str | None, after: int) -> int:
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 16:
        return int(last_event_id)
    return after


def _streamed(request: Request, caller: Caller, after: int, job_id: str | None) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    is_ending = getattr(request.app.state, "is_ending", lambda: False)
    stream = _stream(service_of(request), caller, request.headers.get("authorization"), after, job_id, is_ending)
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def _stream(
    service: Service, caller: Caller, authorization: str | None, after: int, job_id: str | None,
    is_ending: Callable[[], bool] = lambda: False,
) -> AsyncIterator[str]:  # fmt: skip
    ends = time.monotonic() + service.settings.stream_seconds
    beat = time.monotonic()
    yield "retry: 2000\n\n"
    while True:
        happenings = await run_in_threadpool(action.happenings, service.around, after, job_id)
        if happenings:
            # A stream lasts minutes, and a token may be revoked meanwhile.
            try:
                caller = await run_in_threadpool(service.door.caller, authorization)
            except Refused:
                return
        for happening in happenings:
            after = happening.seq
            if job_id is not None or caller.can("viewer", service.served.domain_of(happening.dataset)):
                body = await run_in_threadpool(
                    veiled_text, service.served, happening.dataset or "", happening.body or ""
                )
                yield _event(replace(happening, body=body or happening.body), whole=job_id is not None)
                beat = time.monotonic()
        if job_id is not None and any(
            happening.topic == "work" and happening.kind in ENDED for happening in happenings
        ):
            return
        if time.monotonic() >= ends:
            return
        if time.monotonic() - beat > _HEARTBEAT_SECONDS:
            yield ": still here\n\n"
            beat = time.monotonic()
        for _ in range(4):  # a service that shall end does not wait for those who listen
            if is_ending():
                return
            await asyncio.sleep(0.25)


def _event(happening: Happening, *, whole: bool) -> str:
    data = {
        "topic": happening.topic,
        "id": happening.work_id,
        "seq": happening.seq,
        "kind": happening.kind,
        "dataset": happening.dataset,
    }
    if whole:
        data |= {"at": plain(happening.at), "text": plain(happening.body, here())}
    return f"id: {happening.seq}\nevent: {happening.topic}\ndata: {json.dumps(data)}\n\n"
