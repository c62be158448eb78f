"""May this be published? Dataset rules, the share of quarantined rows, and what the contract forbids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.plan.rules.datasets import Check
from lakelogic.run.publish.reconcile import Counts


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one dataset rule came out."""

    name: str
    passed: bool
    value: Any
    expected: str
    severity: str

    def as_dict(self) -> dict[str, Any]:
        """As it stands in reports."""
        return {
            "name": self.name,
            "passed": self.passed,
            "value": self.value,
            "expected": self.expected,
            "severity": self.severity,
        }


def judge(
    checks: Sequence[Check], measured: Mapping[str, Any], duplicates: Callable[[Sequence[str]], int]
) -> list[Outcome]:
    """Every dataset rule against what was measured. A measure that is NULL fails its rule."""
    outcomes = []
    for check in checks:
        value: Any
        if check.unique:
            value = duplicates(check.unique)
        else:
            assert check.measure is not None
            value = measured[check.measure]
            if check.over is not None:
                rows = int(measured[check.over] or 0)
                if value is not None:
                    value = Fraction(value) / rows if rows else Fraction(0)
        if check.against is not None:
            passed = _are_close(value, measured[check.against], check.tolerance)
        elif not check.limits:
            passed = value is True
        else:
            passed = value is not None and all(limit.holds(value) for limit in check.limits)
        outcomes.append(Outcome(check.name, passed, _plain(value), check.expected, check.severity))
    return outcomes


def _are_close(one: Any, two: Any, tolerance: int | float) -> bool:
    """Whole numbers and decimals are compared exactly, doubles as doubles; NULL and NaN are close to nothing."""
    if one is None or two is None:
        return False
    if isinstance(one, float) or isinstance(two, float):
        return abs(float(one) - float(two)) <= float(tolerance)
    return abs(Fraction(one) - Fraction(two)) <= Fraction(str(tolerance))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    return int(value) if value == int(value) and not isinstance(value, Fraction) else float(value)


@dataclass(frozen=True, slots=True)
class BadRows:
    """What is known of the bad rows of a batch before it is published."""

    failures: Mapping[str, int] = field(default_factory=dict)  # rule that makes rows bad → rows that failed it
    discarded: int = 0  # rows that a person has discarded before

    @property
    def commonest(self) -> tuple[str, int] | None:
        """The rule that most rows failed, and how many did."""
        return min(self.failures.items(), key=lambda one: (-one[1], one[0]), default=None)


def closed(contract: Contract, counts: Counts, outcomes: Sequence[Outcome], bad: BadRows) -> list[str]:
    """Why publication is withheld, one sentence per reason; nothing when the gate is open."""
    reasons = closed_by_rules(contract, outcomes)
    bound = contract.quality.max_quarantine_ratio
    if bound is None:
        bound = contract.quarantine.max_ratio
    if bound is None and not counts.good and counts.quarantined > bad.discarded:
        reasons.append(_no_good_row(counts.quarantined, bad.commonest))
    if bound is not None and counts.quarantine_ratio > float(bound):
        reasons.append(f"{counts.quarantine_ratio:.1%} of the rows are quarantined, at most {float(bound):.1%} may be")
    if contract.quarantine.fail_on_quarantine and counts.quarantined:
        reasons.append(f"{counts.quarantined} rows are quarantined and the contract allows none")
    return reasons


def _no_good_row(rows: int, commonest: tuple[str, int] | None) -> str:
    """A batch without a good row is rarely meant: a renamed column or a wrong rule does that."""
    which = "the only row is bad" if rows == 1 else f"all {rows} rows are bad"
    share = f"{commonest[1]} of them " if commonest and commonest[1] < rows else ""
    most = f", {share}by `{commonest[0]}`" if commonest else ""
    return (
        f"{which}{most}: mend the source or the contract and run again, or write "
        "`quality.max_quarantine_ratio: 1` where such a batch may be published"
    )


@dataclass(frozen=True, slots=True)
class Approval:
    """What is published only when a person has approved of it: more bad rows than this, and columns that differ."""

    max_quarantine_ratio: float | None = None


def unapproved(approval: Approval | None, counts: Counts, drift: Mapping[str, Any]) -> list[str]:
    """Why a person must be asked; nothing where nobody wants to be."""
    if approval is None:
        return []
    reasons, bound = [], approval.max_quarantine_ratio
    if bound is not None and counts.quarantine_ratio > bound:
        reasons.append(
            f"{counts.quarantine_ratio:.1%} of the rows are quarantined, and above {bound:.1%} approval is needed"
        )
    if changed := drift.get("table"):
        told = ", ".join(f"{kind}: {', '.join(sorted(names))}" for kind, names in changed.items())
        reasons.append(f"the columns differ from the table's ({told}), and that needs approval")
    return reasons


def closed_by_rules(contract: Contract, outcomes: Sequence[Outcome]) -> list[str]:
    """Why dataset rules withhold publication."""
    if not contract.quality.fail_pipeline_on_dataset_error:
        return []
    return [
        f"dataset rule `{o.name}` failed: {o.value if o.value is not None else 'no value'}, expected {o.expected}"
        for o in outcomes
        if not o.passed and o.severity == "error"
    ]
