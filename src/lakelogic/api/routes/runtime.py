"""The five routes of the lab, and the page that lists all routes."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from lakelogic.actions.look import overview
from lakelogic.actions.look.ledger import ledger_works
from lakelogic.api.answers import answer, document
from lakelogic.api.auth import Asking
from lakelogic.api.models import Health, Row
from lakelogic.api.service import service_of, trouble
from lakelogic.version import VERSION

router = APIRouter(tags=["runtime"])
Limit = Annotated[int, Query(ge=1, le=200, description="How many rows of each table.")]

LINKS = {
    "quality_report": "/api/runtime/quality-report",
    "pipeline_summary": "/api/runtime/pipeline-summary",
    "export_status": "/api/runtime/export-status",
    "bronze": "/api/runtime/table-preview/bronze",
    "silver": "/api/runtime/table-preview/silver",
    "gold": "/api/runtime/table-preview/gold",
    "api": "/openapi.json",
}


@router.get(
    "/health", response_model=Health, responses={503: {"description": "The ledger does not work.", "model": Health}}
)
def health(request: Request) -> Response:
    """Whether the service works. Nobody is asked who they are, as for the list of routes; both tell nothing of data."""
    works = ledger_works(service_of(request).around)
    body = {"status": "ok" if works else "degraded", "version": VERSION, "links": LINKS}
    return answer(body, 200 if works else 503)


@router.get("/api/runtime/quality-report", response_model=Row, responses=trouble())
def quality_report(request: Request, caller: Asking, limit: Limit = 20) -> Response:
    """What the rules rejected and why, with the newest rejected rows (masked as they are kept)."""
    service = service_of(request)
    return document(request, overview.quality_report(service.served, service.pages, caller.domains, limit))


@router.get("/api/runtime/table-preview/{layer}", response_model=Row, responses=trouble(404))
def table_preview(
    request: Request, caller: Asking, layer: Annotated[str, Path(max_length=40, examples=["silver"])], limit: Limit = 20
) -> Response:
    """The first rows of every table of a layer: bronze, silver, gold or reference."""
    return document(request, overview.table_preview(service_of(request).served, layer, caller.domains, limit))


@router.get("/api/runtime/pipeline-summary", response_model=Row, responses=trouble())
def pipeline_summary(request: Request, caller: Asking) -> Response:
    """Rows in, good and quarantined by layer, as the newest runs counted them."""
    return document(request, overview.pipeline_summary(service_of(request).served, caller.domains))


@router.get("/api/runtime/export-status", response_model=Row, responses=trouble())
def export_status(request: Request, caller: Asking) -> Response:
    """Which exports have what they need (Snowflake, Databricks, S3), and what was sent when."""
    return document(request, overview.export_status(service_of(request).served, caller.domains))


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """All routes as a page without scripts; the whole truth is /openapi.json."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    rows = "".join(
        f"<tr><td>{escape(method.upper())}</td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(operation.get('description') or operation.get('summary') or '')}</td></tr>"
        for path, methods in paths.items()
        for method, operation in methods.items()
    )
    return HTMLResponse(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>LakeLogic {VERSION}: routes</title>"
        f"<h1>LakeLogic {VERSION}</h1><p>The same as a document for programs: <a href=openapi.json>openapi.json</a></p>"
        f"<table><thead><tr><th>method<th>path<th>what it does</thead><tbody>{rows}</tbody></table></html>"
    )
