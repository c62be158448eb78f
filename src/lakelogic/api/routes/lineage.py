"""Drill-down: from a row to the rows it was made of, down to lines of files; and which column came from which."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator

from lakelogic.actions.look import columns as column_action
from lakelogic.actions.look import drilldown
from lakelogic.actions.visibility.hidden import refuse_hidden_key
from lakelogic.api.answers import Word, cursor, document, far, printable, read_cursor
from lakelogic.api.asking import Cursor, Limit
from lakelogic.api.auth import Asking
from lakelogic.api.models import Row
from lakelogic.api.service import service_of, trouble
from lakelogic.errors import UsageError
from lakelogic.lineage.stored import MOST_ROWS

router = APIRouter(prefix="/api/v1/lineage", tags=["lineage"])
Key = Annotated[
    list[Word], Query(max_length=20, default_factory=list, description="The values of its primary key, in order.")
]  # fmt: skip
At = Annotated[Word | None, Query(description="The place of a row, as `at` of a row told it.", examples=["0-5"])]
From = Annotated[Word | None, Query(alias="from", description="Only this place: `name` of an upstream.")]
FilePath = Annotated[
    str, Query(min_length=1, max_length=2_000, description="`file` of a row that was told."), AfterValidator(printable)
]  # fmt: skip


@router.get("/rows/{dataset}/upstream", response_model=Row, responses=trouble(400, 404, 409))
def upstream(
    request: Request, caller: Asking, dataset: Word, key: Key, at: At = None, from_: From = None,
    after: Cursor = None, limit: Limit = 50,
) -> Response:  # fmt: skip
    """The rows that one row was made of, in each table and file before it; where it cannot be told exactly, why."""
    service = service_of(request)
    service.member(dataset, caller)
    position = read_cursor(after, "number")
    if position is not None and (position[0] is None or not 0 <= position[0] <= MOST_ROWS or from_ != position[1]):
        raise UsageError("The cursor is not one of ours.", hint="Take `next` of an upstream, with from= its name.")
    skip = int(position[0]) if position else 0
    if key:
        refuse_hidden_key(service.served, dataset)
    start = drilldown.Start(dataset, tuple(key), at)
    report = drilldown.upstream(service.served, start, caller.domains, only=from_, skip=skip, limit=limit)
    for place in report["upstreams"]:
        place["next"] = None if place["next"] is None else cursor(place["next"], place["name"])
    return document(request, report)


@router.get("/rows/{dataset}/chain", response_model=Row, responses=trouble(400, 404, 409))
def chain(
    request: Request, caller: Asking, dataset: Word, key: Key, at: At = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Of each place, how many rows are followed.")] = 20,
) -> Response:  # fmt: skip
    """The whole way from one row to source files and lines, in one document: an auditor's evidence."""
    service = service_of(request)
    service.member(dataset, caller)
    if key:
        refuse_hidden_key(service.served, dataset)
    start = drilldown.Start(dataset, tuple(key), at)
    levels = drilldown.chain(service.served, start, caller.domains, limit=limit)
    for level in levels["levels"]:
        for upstream in level["upstreams"]:
            upstream["next"] = None if upstream["next"] is None else cursor(upstream["next"], upstream["name"])
    return document(request, levels)


@router.get("/source/{dataset}", response_model=Row, responses=trouble(400, 404, 409))
def source(
    request: Request, caller: Asking, dataset: Word, file: FilePath,
    line: Annotated[int, Query(ge=1, le=2**53)], around: Annotated[int, Query(ge=0, le=50)] = 5,
) -> Response:  # fmt: skip
    """The lines around one line of a file that runs of the dataset have read, masked as its contract says."""
    service = service_of(request)
    service.member(dataset, caller)
    return document(request, drilldown.source_lines(service.served, dataset, far(file), line, around))


@router.get("/columns/{dataset}", response_model=Row, responses=trouble(404))
def columns(
    request: Request, caller: Asking, dataset: Word, column: Word | None = None,
    depth: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Response:  # fmt: skip
    """For each column (or one): of which columns it is made, through which steps, and what is made of it."""
    service = service_of(request)
    service.member(dataset, caller)
    return document(request, column_action.columns_of(service.served, dataset, column, depth, caller.domains))
