"""How far back a pass reads: what was done last is in the ledger, and what is not there is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lakelogic.driver.estate import Estate
from lakelogic.driver.registry import Member
from lakelogic.ledger.store import Ledger
from lakelogic.run.input.days import Asked

Kind = Literal["none", "last_success", "yesterday", "range", "backfill", "reprocess"]


@dataclass(frozen=True, slots=True)
class Window:
    """`none`: every contract by its own load mode. `last_success`: the same, and only over upstreams that were made.

    The others ask for days, and every contract says what these mean for it. Incremental contracts read on from what the
    ledger has; `warning` says that it has nothing at all.
    """

    kind: Kind = "none"
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warning: str | None = None
    asked: Asked | None = None

    def missing(self, dataset: str, ledger: Ledger) -> str | None:
        """Why a dataset cannot be made: an upstream that no run has ever published."""
        if self.kind != "last_success":
            return None
        lacking = [up for up in self.needs.get(dataset, ()) if ledger.last_published(up) is None]
        if not lacking:
            return None
        named = ", ".join(f"`{up}`" for up in lacking)
        return f"the ledger has no successful run of {named}, which it needs"

    def note(self, member: Member, ledger: Ledger) -> str | None:
        """What will be read, and why so much."""
        if self.asked is not None:
            return f"{self.kind}: {self.asked.days}"
        if self.kind != "last_success":
            return None
        if member.loaded.contract.source.load_mode == "full":
            return "full: the contract says load_mode: full"
        last = ledger.last_published(member.dataset)
        if last is None:
            return f"full: {self.warning or 'the ledger has no successful run of it'}"
        return f"incremental: what is new since {(last.finished_at or last.started_at).isoformat()}"


def window(kind: Kind, estate: Estate, ledger: Ledger, asked: Asked | None = None) -> Window:
    """The window of a pass, as the ledger is now."""
    if kind != "last_success":
        return Window(kind, asked=asked)
    needs = {member.dataset: list(estate.graph.upstreams(member.dataset)) for member in estate}
    for edge in estate.graph.unknown:
        needs[edge.downstream].append(edge.upstream)
    upstreams = {dataset: tuple(ups) for dataset, ups in needs.items()}
    warning = None if ledger.runs(limit=1) else "the ledger has no run yet"
    return Window(kind, upstreams, warning)
