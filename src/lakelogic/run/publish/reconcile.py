"""Rows add up, or the run stops: read = good + quarantined + every loss that has a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lakelogic.engines.base import Staged
from lakelogic.errors import ReconcileError
from lakelogic.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Counts:
    """The account of a run.

    `grouped` are rows that became other rows: those of a rollup, of a join that pairs rows, of a stack of queries.
    `expanded` are rows that a step made beyond those it was given: one row exploded into three counts two.
    """

    source: int
    good: int
    quarantined: int
    filtered: Mapping[str, int] = field(default_factory=dict)
    deduplicated: Mapping[str, int] = field(default_factory=dict)
    grouped: Mapping[str, int] = field(default_factory=dict)
    expanded: Mapping[str, int] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        """Rows that reached a verdict."""
        return self.good + self.quarantined

    @property
    def total(self) -> str:
        """How many rows there were, for people; where steps made more rows than were read, both numbers."""
        return f"{self.source} read, {self.judged} judged" if self.judged > self.source else str(self.source)

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
            "expanded": dict(self.expanded),
        }


def quality_score(good: int, quarantined: int, warned: int) -> float:
    """The share of judged rows that no rule had anything against, 0 to 100; rules of severity info do not count."""
    judged = good + quarantined
    return round(100 * (good - min(warned, good)) / judged, 2) if judged else 100.0


def reconcile(plan: Plan, staged: Staged, by_verdict: Mapping[str, int], recount: Callable[[], int | None]) -> Counts:
    """Compare what the scan saw with what the staged files hold and the steps lost.

    `by_verdict` counts bad rows by the verdict column that made them bad, `recount` counts the pinned input
    again, exactly: a difference is only called one when that confirms it, because a count that an engine
    observed can be too high after a retry.
    """
    good = sum(file.rows for file in staged.good)
    bad = sum(file.rows for file in staged.bad)
    told = [fate for fate in plan.fates if not fate.inner and fate.kind != "outside"]
    outside = sum(staged.fates.get(fate.number, 0) for fate in plan.fates if fate.kind == "outside")
    losses = {kind: dict.fromkeys((f.step for f in told if f.kind == kind), 0) for kind in _KINDS}
    for fate in told:
        counted = staged.copies if fate.kind == "expanded" else staged.fates
        losses[fate.kind][fate.step] += counted.get(fate.number, 0)
    has_rollup = len(plan.accounts) > 1
    lost, made = _changed_in_first_account(plan, staged)
    if has_rollup:
        first = {a.name for node in plan.accounts[0].nodes for a in getattr(node, "columns", ())}
        explained = sum(n for column, n in by_verdict.items() if column in first) + lost - made
    else:
        explained = good + bad + lost - made
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
        (scanned if scanned is not None else explained) - outside,
        good,
        bad,
        losses["filtered"],
        losses["deduplicated"],
        losses["grouped"],
        losses["expanded"],
    )


_KINDS = ("filtered", "deduplicated", "grouped", "expanded")


def _changed_in_first_account(plan: Plan, staged: Staged) -> tuple[int, int]:
    """Rows of the source that steps lost, and copies they made; a rollup closes the account: what comes later
    is of its groups.
    """
    lost = made = 0
    for fate in plan.fates:
        if fate.kind == "expanded":
            made += staged.copies.get(fate.number, 0)
        else:
            lost += staged.fates.get(fate.number, 0)
        if fate.kind == "grouped":
            break
    return lost, made
