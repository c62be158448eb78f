"""How one dataset of a pass came out, and what that means for those that need it and for the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from lakelogic.driver.registry import Member

PassStatus = Literal["succeeded", "failed", "gated", "held_back", "skipped", "no_new_data"]
STATUSES: Final[tuple[PassStatus, ...]] = ("succeeded", "no_new_data", "gated", "failed", "held_back", "skipped")
DONE: Final = frozenset({"succeeded", "no_new_data"})


@dataclass(frozen=True, slots=True)
class DatasetOutcome:
    """One dataset in one pass.

    A `skipped` dataset that is `in_order` was left alone on purpose (nothing of it was asked for, or it was done
    before) and troubles nobody. `exit_code` is what a run of it alone would have ended with.
    """

    dataset: str
    entity: str
    layer: str | None
    contract: str
    status: PassStatus
    reasons: tuple[str, ...] = ()
    exit_code: int = 0
    in_order: bool = False
    run_id: str | None = None
    pipeline_run_id: str | None = None
    attempts: int = 0
    engine: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    seconds: float = 0.0
    rows_source: int = 0
    rows_good: int = 0
    rows_quarantined: int = 0
    rows_warned: int = 0  # good rows that failed a rule of severity warning
    findings: Mapping[str, Any] = field(default_factory=dict)  # reasons, warnings, drift, what became of good rows
    target: str | None = None
    target_version: int | None = None
    window: str | None = None  # what was read, and why so much
    error: Mapping[str, Any] | None = None
    fingerprint: str | None = None
    input: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def is_done(self) -> bool:
        """Whether the dataset is as the pass wants it."""
        return self.status in DONE or self.in_order

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        values = {name: value for name, value in asdict(self).items() if name not in ("input", "fingerprint")}
        for name in ("started_at", "finished_at"):
            values[name] = values[name].isoformat() if values[name] else None
        return {**values, "reasons": list(self.reasons)}


def outcome(member: Member, status: PassStatus, *reasons: str, **more: Any) -> DatasetOutcome:
    """The outcome of a member."""
    return DatasetOutcome(member.dataset, member.entity, member.layer, member.file, status, reasons, **more)


# When nothing at all was done: what a person must look at comes before what a retry can mend.
_FIRST = (6, 1, 2, 4, 5)


def exit_code(outcomes: Iterable[DatasetOutcome]) -> int:
    """0 when everything is in order, 3 when only a part is, otherwise the most telling code of what went wrong."""
    every = list(outcomes)
    wrong = [result.exit_code or 5 for result in every if not result.is_done]
    if not wrong:
        return 0
    if 6 in wrong:
        return 6
    if any(result.status in DONE for result in every):
        return 3
    # What was held back waits for the cause, and the cause has a code of its own.
    return next(code for code in _FIRST if code in wrong)


def pass_status(outcomes: Iterable[DatasetOutcome]) -> str:
    """`succeeded`, `partial` or `failed`; `no_new_data` when nothing had anything to do."""
    every = list(outcomes)
    if any(not result.is_done for result in every):
        return "partial" if any(result.status in DONE for result in every) else "failed"
    return "succeeded" if any(result.status == "succeeded" for result in every) else "no_new_data"
