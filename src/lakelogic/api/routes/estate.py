"""The estate: domains, systems, datasets, the graph between them, and what they promise."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from lakelogic.actions.look import overview, promises
from lakelogic.actions.look.served import estate_view, graph_view
from lakelogic.actions.look.stories import explain_key
from lakelogic.actions.visibility.hidden import refuse_hidden_key, veiled_story
from lakelogic.api.answers import Word, answer, document
from lakelogic.api.auth import Asking
from lakelogic.api.models import Page, Row
from lakelogic.api.service import service_of, trouble
from lakelogic.errors import UsageError
from lakelogic.version import VERSION

router = APIRouter(prefix="/api/v1", tags=["estate"])
Steps = Annotated[int, Query(ge=0, le=50)]
_MOST_ROWS = 1_000_000  # a table through which a key is looked for while somebody waits


@router.get("/me", response_model=Row, responses=trouble())
def me(request: Request, caller: Asking) -> Response:
    """Who asks, and their role in each domain; `*` stands for every domain."""
    return document(request, {"person": caller.person, "roles": dict(caller.roles), "version": VERSION})


@router.get("/estate", response_model=Row, responses=trouble())
def estate(request: Request, caller: Asking) -> Response:
    """Domains, systems and contracts, and everything that is wrong with them."""
    return document(request, estate_view(service_of(request).served, caller.domains))


@router.get("/datasets", response_model=Page, responses=trouble())
def datasets(request: Request, caller: Asking, runs: Annotated[int, Query(ge=1, le=30)] = 1) -> Response:
    """Every dataset with its newest run, in the order of a pass; one call for the state of the whole estate.

    `runs=14` brings the newest fourteen of each along, in short.
    """
    items = overview.datasets(service_of(request).served, caller.domains, runs)
    return document(request, {"items": items, "next": None})


@router.get("/datasets/{dataset}", response_model=Row, responses=trouble(404))
def dataset(request: Request, caller: Asking, dataset: Word) -> Response:
    """One dataset: its fields and rules, its neighbours, its newest runs."""
    service = service_of(request)
    service.member(dataset, caller)
    return document(request, overview.dataset(service.served, dataset, caller.domains))


@router.get("/datasets/{dataset}/sample", response_model=Row, responses=trouble(404))
def sample(
    request: Request, caller: Asking, dataset: Word, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Response:
    """The first rows of its table, masked as they are kept; what is masked further down is hidden."""
    service = service_of(request)
    return document(request, overview.sample(service.served, service.member(dataset, caller), limit))


@router.get("/lineage", response_model=Row, responses=trouble(404))
def lineage(request: Request, caller: Asking, focus: Word | None = None, up: Steps = 1, down: Steps = 1) -> Response:
    """The graph; with a focus, so many steps up and down of it, and how many neighbours are hidden."""
    service = service_of(request)
    if focus is not None:
        service.member(focus, caller)
    return document(request, graph_view(service.served, caller.domains, focus, up, down))


@router.get("/lineage/rows/{dataset}", response_model=Row, responses=trouble(400, 404))
def row_story(
    request: Request,
    caller: Asking,
    dataset: Word,
    key: Annotated[list[Word], Query(min_length=1, max_length=20, description="The values of its primary key.")],
) -> Response:
    """The story of one good row: its run, its source, and what each step and rule made of it; masked values hidden."""
    service = service_of(request)
    member = service.member(dataset, caller)
    refuse_hidden_key(service.served, member.dataset)
    shown = overview.sample(service.served, member, 1)
    if (shown["total"] or 0) > _MOST_ROWS:
        raise UsageError(
            "The table is too large to look for a key while you wait.", hint="Use `lakelogic explain --key`."
        )
    story = explain_key(service.around, str(member.path), key, env=member.loaded.env).as_dict()
    return answer(veiled_story(service.served, member.dataset, story))


@router.get("/service-levels", response_model=Page, responses=trouble(404))
def service_levels(
    request: Request, caller: Asking, dataset: Word | None = None,
    runs: Annotated[int, Query(ge=1, le=200, description="Over how many of the newest runs.")] = 30,
) -> Response:  # fmt: skip
    """What each dataset promises, what was found (its age as it is now), since when, and the runs behind it."""
    service = service_of(request)
    if dataset is not None:
        service.member(dataset, caller)
    levels = promises.service_levels(service.served, caller.domains, runs, dataset)
    return document(request, {"items": levels, "next": None})
