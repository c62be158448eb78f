"""Exports: what was sent elsewhere when, what is lacking, and asking for one."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from lakelogic.actions.look import overview
from lakelogic.actions.operate import export
from lakelogic.actions.operate import jobs as work
from lakelogic.api.answers import Word, answer, document
from lakelogic.api.asking import Limit
from lakelogic.api.auth import Asking
from lakelogic.api.models import Job, Page, Row, StartExport
from lakelogic.api.routes.runs import IdempotencyKey, accepted
from lakelogic.api.service import service_of, trouble
from lakelogic.errors import NotFound

router = APIRouter(prefix="/api/v1/exports", tags=["exports"])


@router.get("", response_model=Row, responses=trouble())
def exports(request: Request, caller: Asking) -> Response:
    """Which destinations are configured; every export, what was sent when, and what it lacks."""
    return document(request, overview.export_status(service_of(request).served, caller.domains))


@router.get("/{dataset}", response_model=Page, responses=trouble(404))
def history(request: Request, caller: Asking, dataset: Word, limit: Limit = 50) -> Response:
    """What was sent of a dataset, newest first, with what went wrong."""
    service = service_of(request)
    member = service.member(dataset, caller)
    return answer({"items": export.history(service.around, member.dataset, limit), "next": None})


@router.post("/{dataset}", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def send(
    request: Request, caller: Asking, dataset: Word, body: StartExport, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send the committed table of a dataset to where its contract says. A worker does it."""
    service = service_of(request)
    member = service.member(dataset, caller, "operator")
    known = [export.called for export in member.loaded.contract.exports]
    if not known or (unknown := [name for name in body.only if name not in known]):
        named = f" `{unknown[0]}`" if known else ""
        raise NotFound(f"`{dataset}` has no export{named}.", hint="GET /api/v1/exports lists them.")
    asked = work.JobRequest(
        "export", member.dataset, str(member.path), caller.person, body.why, member.domain, member.loaded.env,
        {"only": body.only, "again": body.again}, caller.once(idempotency_key),
    )  # fmt: skip
    return accepted(work.ask(service.around, asked))
