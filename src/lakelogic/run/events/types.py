"""What can happen in a run, one type for each: its fields are for programs, its line is for people.

Whoever listens decides by type or kind and by fields, never by the words of the line. What nobody acts on is a `Note`
or a `Caution`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Phase = Literal["look", "stage", "check", "commit"]

_PHASES: Mapping[str, str] = {
    "look": "looking at the source",
    "stage": "reading, shaping and judging rows",
    "check": "counting and checking",
    "commit": "committing",
}


@dataclass(frozen=True, slots=True)
class EventType:
    """What all types share: a stable `kind` that many types may have, a line, and the fields that are kept beside it.

    `kept` names the fields that are stored and shown beside the line; values of rows and rules never are.
    """

    kind: ClassVar[str]
    kept: ClassVar[tuple[str, ...]] = ()

    @property
    def text(self) -> str:
        """The line for people."""
        return self._words()

    def _words(self) -> str:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """What is kept beside the line."""
        values = {name: getattr(self, name) for name in self.kept}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Line(EventType):
    line: str

    def _words(self) -> str:
        return self.line


@dataclass(frozen=True, slots=True)
class Note(_Line):
    """Something worth knowing that asks nobody to do anything."""

    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class Caution(_Line):
    """Something that somebody should look at; the run goes on. `field`: the column that it is about."""

    kind: ClassVar[str] = "warning"
    kept: ClassVar[tuple[str, ...]] = ("field",)
    field: str | None = None


@dataclass(frozen=True, slots=True)
class RunStarted(EventType):
    """A run begins; a replay says what it is a replay of."""

    kind: ClassVar[str] = "started"
    run_id: str
    dataset: str
    engine: str
    purpose: str | None = None

    def _words(self) -> str:
        if self.purpose:
            return f"Run {self.run_id}: {self.purpose} of {self.dataset} on {self.engine}"
        return f"Run {self.run_id} of {self.dataset} on {self.engine}"


@dataclass(frozen=True, slots=True)
class PhaseBegan(EventType):
    """The run goes on to its next phase."""

    kind: ClassVar[str] = "phase"
    kept: ClassVar[tuple[str, ...]] = ("phase",)
    phase: Phase

    def _words(self) -> str:
        return _PHASES[self.phase]


@dataclass(frozen=True, slots=True)
class EngineStarting(EventType):
    """An engine is started, which may take seconds."""

    kind: ClassVar[str] = "phase"
    engine: str

    def _words(self) -> str:
        return f"starting {self.engine}"


@dataclass(frozen=True, slots=True)
class RowsQuarantined(EventType):
    """Rows of the batch are bad."""

    kind: ClassVar[str] = "alert"
    kept: ClassVar[tuple[str, ...]] = ("quarantined",)
    entity: str
    quarantined: int
    total: str  # how many rows were judged, or what is known of it

    def _words(self) -> str:
        return f"LakeLogic Alert: {self.quarantined} records quarantined in '{self.entity}'. Total: {self.total}"


@dataclass(frozen=True, slots=True)
class BadRowsWritten(EventType):
    """The bad side of a batch is in its quarantine; `skipped`: it was there before."""

    kind: ClassVar[str] = "wrote"
    kept: ClassVar[tuple[str, ...]] = ("skipped",)
    rows: int
    quarantine: str
    already_there: int = 0
    skipped: bool = False

    def _words(self) -> str:
        again = f" ({self.already_there} were there already)" if self.already_there else ""
        return f"Wrote {self.rows} quarantined rows to {self.quarantine}{again}"


@dataclass(frozen=True, slots=True)
class GoodRowsWritten(EventType):
    """The good side of a batch is in its table."""

    kind: ClassVar[str] = "wrote"
    rows: int
    target: str
    approved_by: str | None = None

    def _words(self) -> str:
        by = f", approved by {self.approved_by}" if self.approved_by else ""
        return f"Wrote {self.rows} valid rows to {self.target}{by}"


@dataclass(frozen=True, slots=True)
class RowsFailedAgain(EventType):
    """Rows of a replay are bad once more."""

    kind: ClassVar[str] = "wrote"
    rows: int
    quarantine: str

    def _words(self) -> str:
        return f"{self.rows} rows failed again and stay in {self.quarantine}"


@dataclass(frozen=True, slots=True)
class RowsNotReplayed(EventType):
    """Rows that were chosen for a replay cannot be judged again."""

    kind: ClassVar[str] = "note"
    rows: int
    reason: str

    def _words(self) -> str:
        return f"{self.rows} rows cannot be replayed and stay: {self.reason}"


@dataclass(frozen=True, slots=True)
class RowsGone(EventType):
    """What the source does not have any more left the table, or ended in it."""

    kind: ClassVar[str] = "note"
    kept: ClassVar[tuple[str, ...]] = ("gone",)
    gone: int
    line: str

    def _words(self) -> str:
        return self.line


@dataclass(frozen=True, slots=True)
class RowsReleased(EventType):
    """Rows that were bad before are good by now, and left the quarantine."""

    kind: ClassVar[str] = "note"
    kept: ClassVar[tuple[str, ...]] = ("gone",)
    gone: int
    quarantine: str

    def _words(self) -> str:
        return f"{self.gone} rows that were bad before left {self.quarantine}"


@dataclass(frozen=True, slots=True)
class GoodRowsWithheld(EventType):
    """The good rows are withheld."""

    kind: ClassVar[str] = "warning"
    reason: str
    consequence: str | None = None

    def _words(self) -> str:
        return f"Gate closed: {self.reason}" + (f"; {self.consequence}" if self.consequence else "")


@dataclass(frozen=True, slots=True)
class BatchHeld(EventType):
    """The good rows of a batch wait for a decision."""

    kind: ClassVar[str] = "note"
    run_id: str
    rows: int

    def _words(self) -> str:
        return f"{self.rows} good rows wait for a decision: lakelogic approve {self.run_id}"


@dataclass(frozen=True, slots=True)
class ServiceLevelBroken(EventType):
    """What is promised of the dataset is not kept."""

    kind: ClassVar[str] = "warning"
    level: str
    value: Any
    expected: Any

    def _words(self) -> str:
        return f"Service level {self.level}: {self.value}, promised {self.expected}"


@dataclass(frozen=True, slots=True)
class DatasetRuleFailed(EventType):
    """A dataset rule that closes no gate is not kept."""

    kind: ClassVar[str] = "warning"
    rule: str
    value: Any
    expected: Any

    def _words(self) -> str:
        return f"Dataset rule {self.rule}: {self.value}, expected {self.expected}"


@dataclass(frozen=True, slots=True)
class DatasetRuleNoted(DatasetRuleFailed):
    """The same of a rule that only informs."""

    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class FieldMissing(EventType):
    """A declared field did not land."""

    kind: ClassVar[str] = "warning"
    kept: ClassVar[tuple[str, ...]] = ("field", "suggestion")
    field: str
    consequence: str
    suggestion: str | None = None

    def _words(self) -> str:
        near = f" Did you mean `{self.suggestion}`, which landed and is not declared?" if self.suggestion else ""
        return f"The declared field `{self.field}` did not land: {self.consequence}.{near}"


@dataclass(frozen=True, slots=True)
class RolledForward(EventType):
    """What an earlier run had staged is published by this one."""

    kind: ClassVar[str] = "note"
    kept: ClassVar[tuple[str, ...]] = ("rolled_forward",)
    rolled_forward: str
    good: int
    quarantined: int

    def _words(self) -> str:
        return (
            f"Run {self.rolled_forward} stopped before it had published everything; it is finished from its staged "
            f"rows ({self.good} good, {self.quarantined} quarantined)"
        )


@dataclass(frozen=True, slots=True)
class RowsExported(EventType):
    """Rows went to another system."""

    kind: ClassVar[str] = "wrote"
    kept: ClassVar[tuple[str, ...]] = ("rows",)
    rows: int
    destination: str
    known_there: bool = False

    def _words(self) -> str:
        there = " (it was there already)" if self.known_there else ""
        return f"RowsExported {self.rows} rows to {self.destination}{there}"


@dataclass(frozen=True, slots=True)
class ExportFailed(EventType):
    """An export did not work; the table is published all the same."""

    kind: ClassVar[str] = "warning"
    kept: ClassVar[tuple[str, ...]] = ("code",)
    export: str
    code: str
    message: str

    def _words(self) -> str:
        return f"Export {self.export} failed: {self.message}"


@dataclass(frozen=True, slots=True)
class ExportRetried(EventType):
    """An export is tried once more."""

    kind: ClassVar[str] = "note"
    export: str
    message: str

    def _words(self) -> str:
        return f"Export {self.export}: {self.message} Trying again."


@dataclass(frozen=True, slots=True)
class RunCompleted(EventType):
    """A run is over; `status` is that of its result."""

    kind: ClassVar[str] = "complete"
    kept: ClassVar[tuple[str, ...]] = ("status",)
    status: str
    layer: str | None
    total: str
    good: int
    quarantined: int
    quarantine_ratio: float

    def _words(self) -> str:
        return (
            f"Run complete [layer={self.layer or '-'}] | Total: {self.total} | Good: {self.good} | "
            f"Quarantine: {self.quarantined} | Ratio: {self.quarantine_ratio:.1%}"
        )


@dataclass(frozen=True, slots=True)
class NothingNew(EventType):
    """A run is over that published nothing, because there was nothing to publish or its batch waits."""

    kind: ClassVar[str] = "complete"
    kept: ClassVar[tuple[str, ...]] = ("status",)
    status: str
    layer: str | None
    reason: str

    def _words(self) -> str:
        return f"Nothing new [layer={self.layer or '-'}] | {self.reason}"


@dataclass(frozen=True, slots=True)
class NothingToReplay(EventType):
    """No row of the quarantine is to be judged again."""

    kind: ClassVar[str] = "complete"
    quarantine: str

    def _words(self) -> str:
        return f"Nothing to replay in {self.quarantine}"


@dataclass(frozen=True, slots=True)
class RowFinding(_Line):
    """A line of what a run found about its rows."""

    kind: ClassVar[str] = "finding"


@dataclass(frozen=True, slots=True)
class RunFailed(EventType):
    """A run stopped with an error."""

    kind: ClassVar[str] = "failed"
    kept: ClassVar[tuple[str, ...]] = ("code",)
    dataset: str
    code: str
    message: str

    def _words(self) -> str:
        return f"{self.dataset}: {self.message}"
