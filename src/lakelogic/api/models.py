"""The shapes of requests and answers, as the OpenAPI document tells them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from lakelogic.actions.author.posted import MOST_CHARACTERS
from lakelogic.api.answers import Prose, Word, printable

Row = dict[str, Any]
Engine = Literal["duckdb", "polars", "spark"]
ContractText = Annotated[
    str, StringConstraints(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(printable)
]  # fmt: skip


class Shape(BaseModel):
    """What is sent must be known; what is answered may grow."""

    model_config = ConfigDict(extra="forbid")


class Open(BaseModel):
    """An answer with more in it than is named here."""

    model_config = ConfigDict(extra="allow")


class Problem(Open):
    """Trouble (RFC 9457), with the code that the command line shows."""

    type: str = "about:blank"
    title: str
    status: int
    code: str = Field(examples=["LL-E002"])
    request_id: str | None = None
    hint: str | None = None
    retry: str | None = None
    diagnostics: list[Row] | None = None


class Health(BaseModel):
    """Whether the service works, and where to look."""

    status: Literal["ok", "degraded"]
    version: str
    links: dict[str, str]


class Page(BaseModel):
    """Some rows; `next` is the cursor of the page behind it, or null."""

    items: list[Row]
    next: str | None = None


class CountedPage(Page):
    """A page that knows how many rows there are, and of which version of the table."""

    total: int
    dataset: str
    table: str
    version: int | None = None


class FacetCounts(BaseModel):
    """How many rows have which value."""

    total: int | None = None
    counts: dict[str, dict[str, int]]


class QueueFacets(FacetCounts):
    """Counts of a quarantine."""

    dataset: str
    table: str
    version: int | None = None
    oldest: str | None = None


class Job(BaseModel):
    """Work that was asked for: its state, and its outcome when it has ended."""

    job_id: str = Field(examples=["job-20261116T101500-5f3a9c21"])
    kind: str
    dataset: str
    domain: str | None = None
    person: str
    why: str | None = None
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    cancel_asked: bool = False
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None
    attempts: int = 0
    choices: Row = {}
    outcome: Row | None = None


class StartRun(Shape):
    """Which dataset to run. Everything else is the contract's."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"dataset": "silver_orders", "why": "the file was mended"}]}
    )
    dataset: Word
    engine: Engine | None = None
    why: Prose | None = None


class PlanRun(Shape):
    """Which dataset to plan a run of."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"dataset": "silver_orders"}]})
    dataset: Word
    engine: Engine | None = None


class Reason(Shape):
    """Why; it is kept in the ledger."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"why": "looked at it with the supplier"}]}
    )
    why: Prose


class StartExport(Shape):
    """Which exports of a dataset to send; all of them without a choice."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"only": ["snowflake"], "why": "the warehouse was down"}]}
    )
    only: list[Word] = Field([], max_length=20)
    again: bool = False
    why: Prose | None = None


class ChooseRows(Shape):
    """Which rows of a quarantine, and why. Without any choice, `everything` must say so."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"why": "the region was added", "rules": ["missing_region"]}]},
    )
    why: Prose
    rules: list[Word] = Field([], max_length=50)
    categories: list[Word] = Field([], max_length=50)
    run: Word | None = None
    rows: list[Word] = Field([], max_length=1_000)
    everything: bool = False
    engine: Engine | None = None
    token: Word | None = Field(None, description="Of the preview; where it is stale, nothing is done (409).")


class PreviewRows(Shape):
    """Which rows of a quarantine to look at before they are replayed or discarded."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"rules": ["missing_region"]}]})
    rules: list[Word] = Field([], max_length=50)
    categories: list[Word] = Field([], max_length=50)
    run: Word | None = None
    rows: list[Word] = Field([], max_length=1_000)
    everything: bool = False
    engine: Engine | None = None
    limit: int = Field(50, ge=1, le=200, description="How many rows are told one by one.")


class Preview(Open):
    """What an action would do; `token` stands for exactly this."""

    action: Literal["replay", "discard"]
    dataset: str
    table: str
    version: int | None
    token: str
    chosen: int
    passed: int
    failed: int
    left_out: dict[str, int]
    reasons: list[Row]
    rows: list[Row]
    more: bool
    downstreams: list[str]
    notes: list[str]


class PostedContract(Shape):
    """A contract as YAML text. Nothing of this machine is read for it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"text": "dataset: orders\nsource: {path: orders.csv}\nmaterialization: {target_path: lab.silver.o}\n"}
            ]
        },
    )
    text: ContractText


class Validated(BaseModel):
    """Everything that is wrong or doubtful about a contract."""

    valid: bool
    diagnostics: list[Row]


class Plan(BaseModel):
    """A plan for people and for programs."""

    text: str
    plan: Row


class Diff(BaseModel):
    """What would change, and whether readers of the dataset would notice."""

    verdict: Literal["breaking", "needs care", "safe", "same"]
    changes: list[Row]


class LogLine(BaseModel):
    """One line of the log of a job."""

    seq: int
    at: str
    topic: str
    kind: str
    text: str | None = None


class Log(BaseModel):
    """Lines in order; `next` is the number after which to go on, or null at the end."""

    job_id: str | None
    lines: list[LogLine]
    next: int | None = None
    note: str | None = None
