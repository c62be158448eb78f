"""Contracts: as they are resolved, what they will do, what another version would change."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from lakelogic.actions.author import contracts as action
from lakelogic.actions.author.posted import differences_of_posted, document_of, explain_posted, validate_posted
from lakelogic.api.answers import Word, answer, document
from lakelogic.api.auth import Asking
from lakelogic.api.models import Diff, Plan, PostedContract, Row, Validated
from lakelogic.api.service import service_of, trouble

router = APIRouter(prefix="/api/v1/contracts", tags=["contracts"])


@router.post("/validate", response_model=Validated, responses=trouble(400, 409))
def validate(caller: Asking, body: PostedContract) -> Response:
    """Everything that is wrong with a posted contract. Nothing of this machine is read for it."""
    del caller
    checked = validate_posted(body.text)
    return answer(
        {"valid": checked.is_valid, "diagnostics": [diagnostic.as_dict() for diagnostic in checked.diagnostics]}
    )


@router.post("/explain", response_model=Plan, responses=trouble(400, 409))
def explain_text(caller: Asking, body: PostedContract) -> Response:
    """The plan of a posted contract, as far as it can be told without its source."""
    del caller
    explained = explain_posted(body.text)
    return answer({"text": explained.text, "plan": explained.data})


@router.get("/{dataset}", response_model=Row, responses=trouble(404))
def contract(request: Request, caller: Asking, dataset: Word) -> Response:
    """The contract as it is resolved, with the file and line of every value, and the text of its own file."""
    member = service_of(request).member(dataset, caller)
    origins = [{"path": path, "file": where.file, "line": where.line} for path, where in member.loaded.origins.items()]
    return document(
        request,
        {
            "dataset": member.dataset,
            "file": member.file,
            "version": member.loaded.contract.contract_version,
            "document": document_of(member.loaded),  # with references, not with what variables hold here
            "origins": origins,
            "packs": [pack.text("name") for pack in member.loaded.packs],
            "text": member.path.read_text("utf-8"),
        },
    )


@router.get("/{dataset}/explain", response_model=Plan, responses=trouble(404))
def explain(request: Request, caller: Asking, dataset: Word) -> Response:
    """What a run would do to rows."""
    service = service_of(request)
    member = service.member(dataset, caller)
    explained = action.explain(service.around, str(member.path), env=member.loaded.env, for_others=True)
    return document(request, {"text": explained.text, "plan": explained.data})


@router.post("/{dataset}/diff", response_model=Diff, responses=trouble(400, 404, 409))
def diff(request: Request, caller: Asking, dataset: Word, body: PostedContract) -> Response:
    """What a posted version of the contract would change: breaking, needs care or safe, the gravest first."""
    member = service_of(request).member(dataset, caller)
    differences = differences_of_posted(member, body.text)
    return answer({"verdict": differences.verdict, "changes": [change.as_dict() for change in differences.changes]})
