"""Trouble over HTTP: problem+json (RFC 9457) with the codes that the command line has."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from lakelogic import errors
from lakelogic.api.answers import here, plain

MEDIA = "application/problem+json"

# The most special class decides.
_STATUS: tuple[tuple[type[errors.LakeLogicError], int], ...] = (
    (errors.NotFound, 404),
    (errors.Refused, 403),
    (errors.ContractError, 422),
    (errors.MissingExtra, 501),
    (errors.UnsupportedError, 422),
    (errors.UsageError, 400),
    (errors.CredentialError, 502),
    (errors.SourceError, 503),
    (errors.CommitConflict, 409),
    (errors.FeatureRefused, 409),
    (errors.DataError, 409),
    (errors.GateClosed, 409),
    (errors.Blocked, 409),
    (errors.LedgerError, 503),
    (errors.ReconcileError, 500),
    (errors.Defect, 500),
    (errors.EngineError, 502),
    (errors.TableError, 502),
)


class Unauthenticated(errors.Refused):
    """Nobody knows who asks."""


def status_of(error: errors.LakeLogicError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Unauthenticated):
        return 401
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem(request: Request, status: int, title: str, *, code: str, **more: Any) -> JSONResponse:
    """One problem; `detail` says more, `hint` what to do."""
    request_id = request.scope.get("state", {}).get("request_id")
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "request_id": request_id, **more}
    headers = {"WWW-Authenticate": 'Bearer realm="lakelogic"'} if status == 401 else {}
    kept = {name: plain(value, here()) for name, value in body.items() if value is not None}
    return JSONResponse(kept, status, headers, media_type=MEDIA)


def handle(app: FastAPI) -> None:
    """Teach an app to tell its trouble so."""

    @app.exception_handler(errors.LakeLogicError)
    async def handle_ours(request: Request, error: errors.LakeLogicError) -> JSONResponse:
        diagnostics = None
        if isinstance(error, errors.ContractError):
            diagnostics = [diagnostic.as_dict() for diagnostic in error.diagnostics]
        return problem(
            request, status_of(error), error.message, code=error.code, hint=error.hint, retry=error.retry,
            diagnostics=diagnostics,
        )  # fmt: skip

    @app.exception_handler(RequestValidationError)
    async def not_understood(request: Request, error: RequestValidationError) -> JSONResponse:
        # What was sent stays out: it may hold what nobody should see in a log.
        diagnostics = [
            {
                "code": errors.UsageError.code,
                "message": problem["msg"],
                "path": ".".join(str(part) for part in problem["loc"]),
            }
            for problem in error.errors()
        ]
        return problem(
            request, 422, "The request is not understood.", code=errors.UsageError.code, diagnostics=diagnostics,
            hint="See /openapi.json for what this route takes.",
        )  # fmt: skip

    @app.exception_handler(HTTPException)
    async def by_status(request: Request, error: HTTPException) -> JSONResponse:
        code = errors.NotFound.code if error.status_code == 404 else errors.UsageError.code
        answer = problem(request, error.status_code, str(error.detail), code=code)
        answer.headers.update(error.headers or {})
        return answer
