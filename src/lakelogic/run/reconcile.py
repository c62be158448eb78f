"""Rows add up, or the run stops: read = good + quarantined + every loss that has a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lakelogic.engines.base import Staged
from lakelogic.errors import ReconcileError
from lakelogic.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Counts:
    """The account of a run. `groups` are the rows that a rollup made out of `grouped` ones."""

    source: int
    good: int
    quarantined: int
    filtered: Mapping[str, int] = field(default_factory=dict)
    deduplicated: Mapping[str, int] = field(default_factory=dict)
    grouped: Mapping[str, int] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        """Rows that reached a verdict."""
        return self.good + self.quarantined

    @property
    def quarantine_ratio(self) -> float:
        """Quarantined rows as a share of those that reached a verdict."""
        return self.quarantined / self.judged if self.judged else 0.0

    def as_dict(self) -> dict[str, object]:
        """As it stands in reports."""
        return {
            "source": self.source,
            "good": self.good,
            "quarantined": self.quarantined,
            "filtered": dict(self.filtered),
            "deduplicated": dict(self.deduplicated),
            "grouped": dict(self.grouped),
        }


def reconcile(plan: Plan, staged: Staged, by_verdict: Mapping[str, int], recount: Callable[[], int | None]) -> Counts:
    """Compare what the scan saw with what the staged files hold and the steps lost.

    `by_verdict` counts bad rows by the verdict column that made them bad, `recount` counts the pinned input
    again, exactly: a difference is only called one when that confirms it, because a count that an engine
    observed can be too high after a retry.
    """
    good = sum(file.rows for file in staged.good)
    bad = sum(file.rows for file in staged.bad)
    losses = {kind: dict.fromkeys((f.step for f in plan.fates if f.kind == kind), 0) for kind in _KINDS}
    for fate in plan.fates:
        losses[fate.kind][fate.step] += staged.fates.get(fate.number, 0)
    has_rollup = len(plan.accounts) > 1
    lost = _lost_in_first_account(plan, staged)
    if has_rollup:
        first = {a.name for node in plan.accounts[0].nodes for a in getattr(node, "columns", ())}
        explained = sum(n for column, n in by_verdict.items() if column in first) + lost
    else:
        explained = good + bad + lost
    scanned = staged.scanned
    if scanned != explained:
        exact = recount()
        if exact is not None and exact != explained:
            raise ReconcileError(
                f"Rows do not add up in `{plan.dataset}`: {exact} were read, {explained} are accounted for "
                f"(good {good}, quarantined {bad}, lost by steps {lost}).",
                hint="Nothing was published. This is a defect: keep the input and report it with `lakelogic doctor`.",
            )
        scanned = exact if exact is not None else explained
    return Counts(
        scanned if scanned is not None else explained,
        good,
        bad,
        losses["filtered"],
        losses["deduplicated"],
        losses["grouped"],
    )


_KINDS = ("filtered", "deduplicated", "grouped")


def _lost_in_first_account(plan: Plan, staged: Staged) -> int:
    """Rows of the source that steps lost; a rollup closes the account, so later losses are of its groups."""
    total = 0
    for fate in plan.fates:
        total += staged.fates.get(fate.number, 0)
        if fate.kind == "grouped":
            break
    return total
