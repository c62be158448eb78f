"""What a running service holds: its settings, its estate, its door; and small things that routes share."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from lakelogic.actions.look.queue_pages import QueuePages
from lakelogic.actions.look.served import Served
from lakelogic.api.auth import Caller, Door
from lakelogic.api.models import Problem
from lakelogic.api.settings import Settings
from lakelogic.driver.registry import Member
from lakelogic.ledger.work import QueuedJob
from lakelogic.run.surroundings import Surroundings

_TROUBLE = {
    400: "It cannot be done as it was asked for.",
    401: "Nobody knows who asks.",
    403: "Whoever asks may not do this.",
    404: "What was named is not there.",
    409: "It has changed or ended meanwhile.",
    413: "The body is too large.",
    422: "The request is not understood, or the contract is wrong.",
    429: "Too many requests.",
    502: "A table or an engine does not work.",
    503: "The ledger or a source cannot be reached.",
    504: "It took too long.",
}


def trouble(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for the OpenAPI document."""
    every = (*statuses, 401, 403, 413, 421, 422, 429, 501, 502, 503, 504)
    return {
        status: {
            "description": _TROUBLE.get(status, "It does not work here."),
            "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
        }
        for status in every
    }


class Service:
    """One service. What it works in is made once, and shared by the threads that answer."""

    def __init__(self, settings: Settings, around: Surroundings) -> None:
        self.settings, self.around = settings, around
        self.served = Served(around, settings.estate)
        self.pages = QueuePages(around.catalog)
        self.door = Door(settings, around)

    def member(self, name: str, caller: Caller, role: str = "viewer") -> Member:
        """A dataset that whoever asks may look at, or do something to; others do not exist for them."""
        member = self.served.member(name)
        if not caller.can("viewer", member.domain):
            from lakelogic.errors import NotFound

            raise NotFound(f"There is no dataset `{name}` in this estate.", hint="GET /api/v1/datasets lists them.")
        caller.need(role, member.domain)
        return member


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


def job_data(work: QueuedJob | dict[str, Any]) -> dict[str, Any]:
    """A job as it is answered; the paths of this machine stay here."""
    given = work if isinstance(work, dict) else {name: getattr(work, name) for name in QueuedJob.__slots__}
    choices = {name: value for name, value in (given["facts"] or {}).items() if name not in ("contract", "env")}
    kept = (
        "kind", "dataset", "domain", "person", "why", "state", "created_at", "started_at", "finished_at", "attempts",
        "outcome",
    )  # fmt: skip
    return {
        "job_id": given["work_id"],
        **{name: given[name] for name in kept},
        "cancel_asked": bool(given["cancel_asked"]),
        "choices": choices,
    }
