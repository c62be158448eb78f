"""The app: routes behind a shield, trouble as problem+json, nothing open that was not asked for."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from lakelogic.api import problems
from lakelogic.api.routes import contracts, decisions, estate, exports, jobs, lineage, quarantine, runs, runtime
from lakelogic.api.service import Service
from lakelogic.api.settings import Settings
from lakelogic.api.shield import Shield
from lakelogic.run.surroundings import Surroundings
from lakelogic.version import VERSION

_ABOUT = """What was rejected, why, and what fed a number; runs, replays and decisions, done by a worker.

Closed by default: on this machine it asks nobody, anywhere else it asks for a bearer token. Roles are viewer,
steward (replay, discard), operator (run, decide) and admin, in each domain. Errors are problem+json with the codes
of the command line. Lists go on with `after=<next>`. Documents have an ETag. Masked values stay masked."""


def create_app(settings: Settings | None = None, around: Surroundings | None = None) -> FastAPI:
    """A service with these settings; whoever serves it has checked that it may be reached from where it listens."""
    settings = settings or Settings()
    middleware = [Middleware(Shield, settings=settings)]
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(settings.cors_origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"],
                expose_headers=["ETag", "X-Request-ID", "Location"],
            )
        )
    app = FastAPI(
        title="LakeLogic", version=VERSION, description=_ABOUT, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", middleware=middleware,
    )  # fmt: skip
    app.state.service = Service(settings, around or Surroundings.here())
    problems.handle(app)
    for module in (runtime, estate, exports, lineage, contracts, runs, jobs, quarantine, decisions):
        app.include_router(module.router)
    if settings.has_page:
        from lakelogic.api.page import page_router

        app.include_router(page_router())
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["bearer"] = {"type": "http", "scheme": "bearer"}
        for path, methods in document["paths"].items():
            for method in methods.values():
                if path != "/health":
                    method["security"] = [{"bearer": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema
