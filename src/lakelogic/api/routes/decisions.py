"""Approvals, and what the ledger remembers: who did what, and why."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from lakelogic.actions.look import ledger as action
from lakelogic.actions.operate import approve
from lakelogic.actions.operate import jobs as work
from lakelogic.actions.visibility.hidden import veiled_facts
from lakelogic.api.answers import Word, answer, document, read_cursor
from lakelogic.api.asking import Cursor, Limit, Since, pages_of
from lakelogic.api.auth import Asking, Caller
from lakelogic.api.models import Job, Page, Reason
from lakelogic.api.routes.runs import IdempotencyKey, accepted
from lakelogic.api.service import service_of, trouble
from lakelogic.errors import NotFound
from lakelogic.ledger.ask import LedgerQuery

router = APIRouter(prefix="/api/v1", tags=["decisions"])


@router.get("/approvals", response_model=Page, responses=trouble())
def approvals(request: Request, caller: Asking) -> Response:
    """Batches behind a closed gate that wait for a decision, newest first."""
    service = service_of(request)
    served = service.served
    held = [
        batch for batch in approve.waiting(service.around) if caller.can("viewer", served.domain_of(batch["dataset"]))
    ]
    return document(request, {"items": [veiled_facts(served, batch["dataset"], batch) for batch in held], "next": None})


@router.post("/approvals/{run_id}/release", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def release(
    request: Request, caller: Asking, run_id: Word, body: Reason, idempotency_key: IdempotencyKey = None
) -> Response:
    """Publish the rows of a run exactly as they were judged. A worker does it."""
    return _decided("release", request, caller, run_id, body, idempotency_key)


@router.post("/approvals/{run_id}/discard", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def give_up(
    request: Request, caller: Asking, run_id: Word, body: Reason, idempotency_key: IdempotencyKey = None
) -> Response:
    """Give the rows of a run up; their input can be read again. A worker does it."""
    return _decided("give_up", request, caller, run_id, body, idempotency_key)


@router.get("/ledger/acts", response_model=Page, responses=trouble(400))
def acts(
    request: Request, caller: Asking, dataset: Word | None = None, act: Word | None = None,
    person: Word | None = None, since: Since = None, until: Since = None, sort: Literal["done_at"] = "done_at",
    descending: bool = True, after: Cursor = None, limit: Limit = 50,
) -> Response:  # fmt: skip
    """What people did, and why: runs asked for, rows discarded, batches released, values revealed."""
    chosen = {"dataset": dataset, "act": act, "person": person}
    filters = {name: [value] for name, value in chosen.items() if value is not None}
    among: tuple[str, list[str | None]] | None = None
    if caller.domains is not None:
        members = service_of(request).served.members()
        among = ("dataset", [member.dataset for member in members if member.domain in caller.domains])
    position = read_cursor(after)
    question = LedgerQuery(sort, descending, filters, since, until, position, limit, among)
    return answer(pages_of(action.ask(service_of(request).around, "acts", question), limit, sort, "act_id"))


def _decided(kind: str, request: Request, caller: Caller, run_id: str, body: Reason, key: str | None) -> Response:
    service = service_of(request)
    held = next((batch for batch in approve.waiting(service.around) if batch["run_id"] == run_id), None)
    if held is None or not caller.can("viewer", service.served.domain_of(held["dataset"])):
        raise NotFound(f"No batch of a run `{run_id}` waits.", hint="GET /api/v1/approvals lists those that do.")
    member = service.member(held["dataset"], caller, "operator")
    asked = work.JobRequest(
        kind, member.dataset, str(member.path), caller.person, body.why, member.domain, member.loaded.env,
        {"run_id": run_id}, caller.once(key),
    )  # fmt: skip
    return accepted(work.ask(service.around, asked))
