"""What a ledger remembers, as plain values: runs, intents, input files and leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

Status: TypeAlias = Literal["succeeded", "failed", "gated", "held_back", "skipped", "no_new_data", "partial"]
STATUSES: Final[tuple[str, ...]] = get_args(Status)

# Runs whose good rows are in the table: their batch is done, their watermark counts.
PUBLISHED: Final[frozenset[str]] = frozenset({"succeeded", "partial"})

IntentState: TypeAlias = Literal["open", "done", "abandoned"]

# Anything that JSON can hold.
Json: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One contract, once: the row that `lakelogic runs` shows. The fields and their order are the ledger's schema.

    Instants are aware datetimes. `counts_*` are rows, `files` is how many files were read, `bytes_*` are bytes,
    ratios lie between 0 and 1.
    """

    run_id: str
    dataset: str
    status: Status
    started_at: datetime
    pipeline_run_id: str | None = None
    batch_id: str | None = None
    contract: str | None = None
    contract_version: str | None = None
    contract_fingerprint: str | None = None
    layer: str | None = None
    domain: str | None = None
    system: str | None = None
    environment: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    finished_at: datetime | None = None
    duration_seconds: float | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    watermark: str | None = None
    counts_source: int | None = None
    counts_good: int | None = None
    counts_quarantined: int | None = None
    counts_filtered: int | None = None
    counts_deduplicated: int | None = None
    counts_expanded: int | None = None
    quarantine_ratio: float | None = None
    quality_score: float | None = None
    rule_failures: Json = None
    dataset_rules: Json = None
    service_levels: Json = None
    schema_drift: Json = None
    files: int | None = None
    bytes_read: int | None = None
    bytes_written: int | None = None
    target: str | None = None
    target_version: int | None = None
    quarantine_target: str | None = None
    quarantine_version: int | None = None
    estimated_cost: float | None = None
    cost_currency: str | None = None
    lakelogic_version: str | None = None
    account: Json = None
    findings: Json = None  # why rows are bad and where one lies, warnings, drift, what became of good rows
    error: Json = None  # what stopped it: code, message, hint, place, and the diagnostics of a contract

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"`{self.status}` is not the status of a run; there are {', '.join(STATUSES)}")
        for name, kind in RUN_COLUMNS.items():
            value = getattr(self, name)
            if kind == "instant" and value is not None and value.tzinfo is None:
                raise ValueError(f"{name} of a run must have a time zone")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One thing that a run said."""

    at: datetime
    kind: str
    body: str | None


Kind: TypeAlias = Literal["text", "instant", "integer", "double", "json"]

# The columns of `runs` and what they hold, in the order in which people read them.
RUN_COLUMNS: Final[Mapping[str, Kind]] = {
    "run_id": "text", "pipeline_run_id": "text", "batch_id": "text", "dataset": "text", "contract": "text",
    "contract_version": "text", "contract_fingerprint": "text", "layer": "text", "domain": "text", "system": "text",
    "environment": "text", "engine": "text", "engine_version": "text", "status": "text", "reason": "text",
    "error_code": "text", "error_message": "text", "started_at": "instant", "finished_at": "instant",
    "duration_seconds": "double", "window_start": "instant", "window_end": "instant", "watermark": "text",
    "counts_source": "integer", "counts_good": "integer", "counts_quarantined": "integer",
    "counts_filtered": "integer", "counts_deduplicated": "integer", "counts_expanded": "integer",
    "quarantine_ratio": "double", "quality_score": "double", "rule_failures": "json", "dataset_rules": "json",
    "service_levels": "json", "schema_drift": "json", "files": "integer", "bytes_read": "integer",
    "bytes_written": "integer", "target": "text", "target_version": "integer", "quarantine_target": "text",
    "quarantine_version": "integer", "estimated_cost": "double", "cost_currency": "text", "lakelogic_version": "text",
    "account": "json", "findings": "json", "error": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Intent:
    """What a run is about to do, written before it does it, so that another process can finish it.

    `n` is the number of the commit on both sides of the target; `input` is the pinned input as JSON. `run_id` names
    the folders it stages into. `staged` is the staged record (`run/publish/staged`), written before the first commit:
    with it the batch is finished without looking at its input again, without it nothing of the batch is visible.
    """

    batch_id: str
    dataset: str
    target: str
    n: int
    input: Json
    fingerprint: str
    engine: str
    created_at: datetime | None = None  # set by the ledger
    state: IntentState = "open"
    run_id: str | None = None
    staged: Json = None


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file as it was read: another size or modification time (nanoseconds) makes it another input.

    `content` is a digest of what it held, where it is known. A table is remembered in the same way, by its place:
    `content` is `table:` and its own id, `size` the version up to which it was read, `mtime_ns` what
    tells that version from another of the same number (0: not known). A `size` of -1 says that only some
    of the rows were read. `same_as` is the name under which it was read, where it is called otherwise by now: its rows
    carry that name.
    """

    path: str
    size: int
    mtime_ns: int
    content: str | None = None
    batch_id: str | None = None  # the batch that read it, as the ledger tells; not set by whoever records
    same_as: str | None = None

    TABLE: ClassVar[str] = "table:"

    @property
    def is_table(self) -> bool:
        """Whether it is a table, read up to a version."""
        return self.content is not None and self.content.startswith(self.TABLE)

    @property
    def version(self) -> tuple[int, int]:
        """What tells two versions of a file apart, by its listing."""
        return self.size, self.mtime_ns

    @property
    def stamp(self) -> str:
        """The name that rows of the file carry."""
        return self.same_as or self.path


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a target until `expires_at`; `token` tells this lease from every other."""

    target: str
    owner: str
    token: str
    acquired_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a person did beside the runs: looked at masked values, discarded rows, released a batch."""

    act: str  # reveal, discard, replay, approve, …
    dataset: str | None
    person: str
    why: str | None = None
    facts: Json = None
    act_id: str = ""  # set by the ledger
    done_at: datetime | None = None  # set by the ledger


HeldState: TypeAlias = Literal["waiting", "released", "discarded"]


@dataclass(frozen=True, slots=True)
class Held:
    """A batch behind a closed gate: its good rows are staged, and a person decides about exactly these.

    `facts` are its figures, the staged files with their digests, the input, and the contract it was made by.
    """

    run_id: str
    dataset: str
    batch_id: str
    target: str
    held_at: datetime
    facts: Json
    state: HeldState = "waiting"
    decided_at: datetime | None = None
    person: str | None = None
    why: str | None = None
