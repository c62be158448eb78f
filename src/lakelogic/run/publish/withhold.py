"""Keep a batch whose gate is closed: the staged record, with the digests of what a person will decide about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final

from lakelogic import clock
from lakelogic.contract.document import Contract
from lakelogic.errors import GateClosed
from lakelogic.ledger.records import Held, RunRecord
from lakelogic.ledger.store import Ledger
from lakelogic.plan.source.watermarks import bound_told
from lakelogic.plan.strategies.replaced import INSTEAD
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import BatchHeld
from lakelogic.run.input.tracked import DIGESTS
from lakelogic.run.places import Places
from lakelogic.run.publish.staged import Manifest, is_handed_in, with_digests
from lakelogic.tables.facts import CommitFacts

OVERTAKEN: Final = "overtaken"  # of what is kept of a batch that waits: why nobody can release it any more


def hold(ledger: Ledger, batch: Manifest, events: Events) -> None:
    """Keep the batch until somebody decides. Waiting batches whose input this one has read again are given up."""
    is_named = "batch" in batch.facts.input  # nobody but its owner can bring it again: a release settles it
    acts = INSTEAD in batch.facts.input or _acts_on_nothing(Contract.model_validate(batch.contract))
    if not (batch.good or is_named or acts):
        return
    target = batch.places.target_location
    before = [held for held in waiting(ledger, batch.progress.label, target) if held.run_id != batch.run_id]
    followed = [held.run_id for held in before if _is_followed(_input(held), batch.facts)]
    facts = with_digests(batch).to_json()
    ledger.hold(Held(batch.run_id, batch.progress.label, batch.batch_id, target, clock.now(), facts), followed)
    events.tell(BatchHeld(batch.run_id, batch.good_rows))


def overtake(ledger: Ledger, label: str, where: Places, commit: CommitFacts) -> None:
    """Settle the batches that wait where a run has published what they read: nobody can release them any more.

    One whose whole input was published leaves the list. Any other stays there with the reason until somebody gives it
    up: its rows may be all that is left of what they were made of.
    """
    run_id = str(commit.run_id)
    for held in waiting(ledger, label, where.target_location):
        facts: Any = held.facts
        reason = moved_on(where.target, held, commit.input, run_id)
        if held.run_id == run_id or OVERTAKEN in facts or reason is None:
            continue
        overtaken = replace(held, facts={**facts, OVERTAKEN: reason})
        if _is_followed(_input(held), commit):
            overtaken = replace(overtaken, state="discarded", why=reason)
        ledger.decide(overtaken)


def moved_on(name: str, held: Held, later: Mapping[str, Any], run_id: str) -> str | None:
    """Why a batch cannot be released behind a run that read `later` and published; None where it can."""
    facts: Any = held.facts
    if "contract" in facts and strategy_of(Contract.model_validate(facts["contract"])).replaces:
        return f"{name} has moved on: a later run has published since ({run_id})."
    if overlaps(_input(held), later):
        return f"{name} has moved on: a later run has read the same input ({run_id})."
    return None


def refuse_overtaken(held: Held) -> None:
    """A batch is not released that a published run stands against."""
    reason = reason_against(held)
    if reason is None or held.state == "released":
        return
    is_done = held.state == "discarded"
    raise GateClosed(
        reason,
        hint="All of its input was published: there is nothing left to decide."
        if is_done
        else "Give the batch up with --discard; what it read and nobody published is read by the next run.",
    )


def reason_against(held: Held) -> str | None:
    """Why nobody can release a batch any more; None where it can be released."""
    facts: Any = held.facts
    reason: str | None = facts.get(OVERTAKEN)
    return reason


def waiting(ledger: Ledger, label: str, target: str) -> list[Held]:
    """The batches of a dataset and target that wait for a decision, newest first."""
    return [held for held in ledger.waiting() if held.dataset == label and held.target == target]


def of_run(ledger: Ledger, record: RunRecord) -> Held | None:
    """The batch that a run left behind a closed gate, or found waiting there."""
    held = ledger.held(record.run_id)
    if held is not None or record.batch_id is None:
        return held
    return next((one for one in ledger.waiting() if one.batch_id == record.batch_id), None)


def overlaps(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two inputs have something in common that was read twice."""
    if "table" in one:
        return bool(one["table"] == other.get("table"))
    return any(_is_among(file, _files(other)) for file in _files(one))


def _is_followed(before: Mapping[str, Any], commit: CommitFacts) -> bool:
    """Whether nothing is lost with a waiting batch because the one of a newer commit holds all that it was made of."""
    now = commit.input
    if commit.replaces and not now.get("days") and not now.get(INSTEAD):
        return not is_handed_in(before) or is_handed_in(now)
    if is_handed_in(before) or (now.get("days") and now.get("days") != before.get("days")):
        return False
    if bound_told(before) != bound_told(now):
        return False  # rows between both bounds are only in the one that waits
    if "table" in before:
        return bool(before["table"] == now.get("table"))
    held = _files(now)
    return bool(before.get("files")) and all(_is_among(file, held) for file in _files(before))


def _files(read: Mapping[str, Any]) -> list[tuple[str, int, str | None]]:
    """What files are known by: name, time of change, content."""
    digests = read.get(DIGESTS, {})
    return [(path, changed, digests.get(path)) for path, _, changed in read.get("files", ())]


def _is_among(file: tuple[str, int, str | None], others: Sequence[tuple[str, int, str | None]]) -> bool:
    """Whether others hold a file, be it under another name by now: then content and time or base name are equal."""
    path, changed, content = file
    return any(
        path == name
        or (content is not None and content == held and (changed == at or PurePath(path).name == PurePath(name).name))
        for name, at, held in others
    )


def _input(held: Held) -> Mapping[str, Any]:
    facts: Any = held.facts
    return CommitFacts.from_json(facts["commit"]).input


def _acts_on_nothing(contract: Contract) -> bool:
    """Whether a batch without good rows still changes the table: it is emptied, or what it lacks is deleted."""
    strategy = strategy_of(contract)
    return strategy.replaces or strategy.reconcile is not None
