"""Approvals in a file: each names a waiting batch and its figures, who approves of it, when and why.

A batch that waits and is named, with the same figures, is published exactly as it was staged. An approval of another
batch, of one that is gone, or of other figures counts for nothing, and that is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lakelogic import clock
from lakelogic.catalogs.base import Catalog
from lakelogic.driver.admission import Admitted
from lakelogic.driver.outcome import outcome
from lakelogic.driver.registry import Member
from lakelogic.engines.base import Engine
from lakelogic.errors import GateClosed, UsageError
from lakelogic.ledger.records import Held
from lakelogic.ledger.store import Ledger
from lakelogic.run.events.hub import Sink
from lakelogic.run.publish.hold import release
from lakelogic.run.request import ContractRequest

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Approved:
    """One approval: of this batch of a dataset, with these figures."""

    dataset: str
    batch_id: str
    run_id: str
    figures: Mapping[str, int]
    person: str
    at: datetime
    why: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {**asdict(self), "at": self.at.isoformat()}


def figures_of(held: Held) -> dict[str, int]:
    """The figures that a waiting batch is judged by."""
    facts: Any = held.facts
    return {name: int(facts["commit"]["counts"][name]) for name in ("source", "good", "quarantined")}


def of_held(held: Held, person: str, why: str | None) -> Approved:
    """An approval of exactly this batch."""
    return Approved(held.dataset, held.batch_id, held.run_id, figures_of(held), person, clock.now(), why)


def read_approvals(path: str | os.PathLike[str]) -> tuple[Approved, ...]:
    """What a file approves of; nothing where there is no file yet."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError(f"its format is {document['format']}")
        return tuple(
            Approved(**{**entry, "at": datetime.fromisoformat(entry["at"])}) for entry in document["approvals"]
        )
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(
            f"{path} is no file of approvals: {reason}.", hint="`lakelogic approve RUN --approval-file …` writes one."
        ) from error


def add_approval(path: str | os.PathLike[str], approval: Approved) -> None:
    """Write an approval into a file; one of the same dataset that stood there before is replaced."""
    others = [earlier for earlier in read_approvals(path) if earlier.dataset != approval.dataset]
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    written = place.with_name(f".{place.name}.{os.getpid()}")
    approvals = [each.as_dict() for each in (*others, approval)]
    written.write_text(json.dumps({"format": _FORMAT, "approvals": approvals}, indent=1) + "\n", encoding="utf-8")
    written.replace(place)


@dataclass(frozen=True, slots=True)
class Approvals:
    """Publishes the batches that a file approves of, before their datasets run."""

    path: str | None
    catalog: Catalog
    ledger: Ledger
    sinks: tuple[Sink, ...] = ()

    def __call__(self, member: Member, engine: Engine) -> Admitted:
        """A dataset whose waiting batch is approved of is done with that; a refused approval is told."""
        if self.path is None:
            return Admitted()
        approval = next(
            (approval for approval in read_approvals(self.path) if approval.dataset == member.dataset), None
        )
        if approval is None:
            return Admitted()
        waiting = [batch for batch in self.ledger.waiting() if batch.dataset == member.dataset]
        held = next(
            (batch for batch in waiting if batch.batch_id == approval.batch_id), waiting[0] if waiting else None
        )
        if (
            held is None
            and (released := self.ledger.held(approval.run_id)) is not None
            and released.state == "released"
        ):
            return Admitted()  # it has had its effect
        if reason := _refused(approval, held):
            return Admitted(notes=(f"the approval in {self.path} is refused: {reason}",))
        assert held is not None
        job = ContractRequest(member.loaded, engine, self.catalog, self.ledger, sinks=self.sinks)
        try:
            done = release(job, held.run_id, person=approval.person, why=approval.why, approved_at=approval.at)
        except GateClosed as closed:
            return Admitted(notes=(f"the approval in {self.path} is refused: {closed.message}",))
        approved = f"approved by {approval.person} at {approval.at:%Y-%m-%d %H:%M} UTC"
        note = f"the batch of {held.run_id} is published: {approved}" + (f": {approval.why}" if approval.why else "")
        figures = figures_of(held)
        return Admitted(
            outcome(
                member, "succeeded", note, run_id=held.run_id, attempts=1,
                engine=engine.name, rows_source=figures["source"], rows_good=figures["good"],
                rows_quarantined=figures["quarantined"], target=done.target, target_version=done.version,
            )
        )  # fmt: skip


def _refused(approval: Approved, held: Held | None) -> str | None:
    """Why an approval does not fit what waits."""
    if held is None:
        return f"it is of the batch {approval.batch_id[:12]}, and no batch of `{approval.dataset}` waits"
    if held.batch_id != approval.batch_id:
        return f"it is of the batch {approval.batch_id[:12]}, and {held.batch_id[:12]} waits"
    if dict(approval.figures) != figures_of(held):
        return f"it says {_said(approval.figures)}, and the batch has {_said(figures_of(held))}"
    return None


def _said(figures: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in figures.items())
