"""The quarantine: which rows wait, why, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from lakelogic.actions.look import overview
from lakelogic.actions.look.queue_pages import QueueFilter
from lakelogic.actions.look.stories import explain_row
from lakelogic.actions.operate import jobs as work
from lakelogic.actions.operate import previews
from lakelogic.actions.operate.quarantine import Request as QueueRequest
from lakelogic.actions.visibility.hidden import veiled_preview, veiled_story
from lakelogic.api.answers import Word, answer, cursor, document, far, read_cursor
from lakelogic.api.asking import Cursor, Limit
from lakelogic.api.auth import Asking, Caller
from lakelogic.api.models import ChooseRows, CountedPage, Job, Page, Preview, PreviewRows, QueueFacets, Row
from lakelogic.api.routes.runs import IdempotencyKey, accepted
from lakelogic.api.service import Service, service_of, trouble
from lakelogic.errors import UsageError

router = APIRouter(prefix="/api/v1/quarantine", tags=["quarantine"])
State = Annotated[
    Literal["active", "replayed", "discarded", "superseded", "all"], Query(description="In which state rows are.")
]
_AS_JOB: dict[int | str, dict[str, Any]] = {202: {"description": "A worker does it.", "model": Job}}
Several = Annotated[list[Word], Query(max_length=50, default_factory=list)]


@router.get("", response_model=Page, responses=trouble())
def queues(request: Request, caller: Asking) -> Response:
    """Every quarantine with its counts."""
    service = service_of(request)
    facets_by_dataset = [
        service.pages.facets(member, QueueFilter()) for member in overview.visible(service.served, caller.domains)
    ]
    items = [
        {
            "dataset": queue.dataset, "table": queue.table, "version": queue.version, "oldest": queue.oldest,
            **queue.counts["state"], "rules": queue.counts.get("rule", {}),
        }
        for queue in facets_by_dataset
        if queue.version is not None
    ]  # fmt: skip
    return document(request, {"items": items, "next": None})


@router.get("/{dataset}/facets", response_model=QueueFacets, responses=trouble(404))
def facets(
    request: Request, caller: Asking, dataset: Word, rule: Several, category: Several, state: State = "active",
    run: Word | None = None, source: Word | None = None,
) -> Response:  # fmt: skip
    """How many of the chosen rows have which rule, category, run and source."""
    service = service_of(request)
    counts = service.pages.facets(service.member(dataset, caller), _wanted(state, rule, category, run, source))
    return document(
        request,
        {
            "dataset": counts.dataset, "table": counts.table, "version": counts.version, "total": counts.total,
            "oldest": counts.oldest, "counts": counts.counts,
        },
    )  # fmt: skip


@router.get("/{dataset}/rows", response_model=CountedPage, responses=trouble(400, 404))
def rows(
    request: Request, caller: Asking, dataset: Word, rule: Several, category: Several, state: State = "active",
    run: Word | None = None, source: Word | None = None, after: Cursor = None,
    limit: Limit = 50,
) -> Response:  # fmt: skip
    """The chosen rows in short, newest first."""
    service = service_of(request)
    wanted = _wanted(state, rule, category, run, source, read_cursor(after), limit)
    page = service.pages.page(service.member(dataset, caller), wanted)
    last = page.rows[-1] if page.more else None
    return answer({
        "dataset": page.dataset, "table": page.table, "version": page.version, "total": page.total,
        "items": list(page.rows), "next": cursor(last["at"], last["row_id"]) if last else None,
    })  # fmt: skip


@router.get("/{dataset}/rows/{row_id}", response_model=Row, responses=trouble(404))
def row(request: Request, caller: Asking, dataset: Word, row_id: Word) -> Response:
    """One row with its values, masked as they are kept."""
    service = service_of(request)
    member = service.member(dataset, caller)
    return document(request, veiled_story(service.served, member.dataset, service.pages.row(member, row_id)))


@router.get("/{dataset}/rows/{row_id}/explain", response_model=Row, responses=trouble(400, 404))
def explain(request: Request, caller: Asking, dataset: Word, row_id: Word) -> Response:
    """The story of one row: what each step made of it, how each rule saw it, where it came from."""
    service = service_of(request)
    member = service.member(dataset, caller)
    service.pages.row(member, row_id)
    story = explain_row(service.around, row_id, QueueRequest(str(member.path), env=member.loaded.env)).as_dict()
    return answer(veiled_story(service.served, member.dataset, story))


@router.post("/{dataset}/replay", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def replay(
    request: Request, caller: Asking, dataset: Word, body: ChooseRows, idempotency_key: IdempotencyKey = None
) -> Response:
    """Judge rows again, as they landed, by the contract as it is now; what passes is published. A worker does it."""
    return _asked("replay", service_of(request), caller, dataset, body, idempotency_key)


@router.post("/{dataset}/discard", response_model=Job, status_code=202, responses=trouble(400, 404, 409))
def discard(
    request: Request, caller: Asking, dataset: Word, body: ChooseRows, idempotency_key: IdempotencyKey = None
) -> Response:
    """Take rows out of the queue for good; they stay in the table with who, when and why. A worker does it."""
    return _asked("discard", service_of(request), caller, dataset, body, idempotency_key)


@router.post("/{dataset}/replay/preview", response_model=Preview, responses={**trouble(400, 404, 409), **_AS_JOB})
def replay_preview(request: Request, caller: Asking, dataset: Word, body: PreviewRows) -> Response:
    """What a replay would do: which rows would pass now, which fail again and why. Nothing is written.

    A choice of very many rows is judged by a worker: then the answer is a job, and its outcome is the preview.
    """
    return _previewed("replay", service_of(request), caller, dataset, body)


@router.post("/{dataset}/discard/preview", response_model=Preview, responses={**trouble(400, 404, 409), **_AS_JOB})
def discard_preview(request: Request, caller: Asking, dataset: Word, body: PreviewRows) -> Response:
    """Which rows a discard would take out of the queue. Nothing is written."""
    return _previewed("discard", service_of(request), caller, dataset, body)


def _previewed(action: str, service: Service, caller: Caller, dataset: str, body: PreviewRows) -> Response:
    member = service.member(dataset, caller, "steward")
    _refuse_unchosen(action, body)
    facts = body.model_dump(exclude_none=True)
    meant = _wanted("active", body.rules, body.categories, body.run, None)
    # Rows that were named one by one are few; others are counted before they are judged.
    is_long = body.engine == "spark" or (
        not body.rows and service.pages.facets(member, meant).total > previews.MOST_AT_ONCE
    )
    if action == "replay" and is_long:
        asked = work.JobRequest(
            "preview", member.dataset, str(member.path), caller.person, None, member.domain, member.loaded.env,
            {**facts, "action": action},
        )  # fmt: skip
        return accepted(work.ask(service.around, asked))
    request = work.choice({**facts, "contract": str(member.path), "env": member.loaded.env})
    report = previews.preview(service.around, action, request, body.limit, body.engine)
    seen = {member.dataset for member in overview.visible(service.served, caller.domains)}
    after = service.served.report().estate.graph.downstreams(member.dataset)
    veiled_report = veiled_preview(service.served, member.dataset, report)
    return answer({**veiled_report, "downstreams": [name for name in after if name in seen]})


def _refuse_unchosen(kind: str, body: ChooseRows | PreviewRows) -> None:
    if not (body.everything or body.rules or body.categories or body.run or body.rows):
        raise UsageError(f"That would {kind} every row that waits.", hint='Choose rows, or say "everything": true.')


def _asked(kind: str, service: Service, caller: Caller, dataset: str, body: ChooseRows, key: str | None) -> Response:
    member = service.member(dataset, caller, "steward")
    _refuse_unchosen(kind, body)
    facts = body.model_dump(exclude={"why"}, exclude_none=True)
    if body.token is not None:
        request = work.choice({**facts, "contract": str(member.path), "env": member.loaded.env})
        previews.refuse_stale(service.around, body.token, kind, request)
    asked = work.JobRequest(
        kind, member.dataset, str(member.path), caller.person, body.why, member.domain, member.loaded.env, facts,
        caller.once(key),
    )  # fmt: skip
    return accepted(work.ask(service.around, asked))


def _wanted(
    state: str, rules: list[str], categories: list[str], run: str | None, source: str | None,
    after: tuple[object, str] | None = None, limit: int = 50,
) -> QueueFilter:  # fmt: skip
    states = () if state == "all" else (state,)
    source = None if source is None else far(source)
    return QueueFilter(states, tuple(rules), tuple(categories), run, source, after, limit)  # type: ignore[arg-type]
