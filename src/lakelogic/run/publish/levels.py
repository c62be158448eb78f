"""Service levels after a run: what was promised, what was measured, whether it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.plan.strategies.declared import landing_fields
from lakelogic.run.publish.reconcile import Counts


def evaluate(
    contract: Contract, counts: Counts | None, measured: Mapping[str, Any], *, now: datetime, newest: datetime | None
) -> list[dict[str, Any]]:
    """Every service level of the contract. `newest` is when the dataset last got data, or None if never."""
    levels = contract.service_levels
    found: list[dict[str, Any]] = []
    age = levels.freshness_age
    if age is not None:
        hours = None if newest is None else (now - newest).total_seconds() / 3600
        limit = age.total_seconds() / 3600
        kept = hours is not None and hours <= limit
        found.append(_level("freshness", kept, None if hours is None else round(hours, 3), f"at most {limit:g} hours"))
    if levels.row_count is not None and counts is not None:
        low, high = levels.row_count.min_rows, levels.row_count.max_rows
        kept = (low is None or counts.good >= low) and (high is None or counts.good <= high)
        found.append(_level("row_count", kept, counts.good, _bounds(low, high)))
    if levels.completeness is not None and counts is not None:
        shares = [value for name, value in measured.items() if name.startswith("present:")]
        total = counts.good * len(shares)
        share = 1.0 if total == 0 else sum(shares) / total
        threshold = float(levels.completeness.threshold)
        found.append(_level("completeness", share >= threshold, round(share, 6), f"at least {threshold:g}"))
    return found


def completeness_fields(contract: Contract) -> tuple[str, ...]:
    """The fields whose presence a completeness level measures: those named, or the required ones."""
    level = contract.service_levels.completeness
    if level is None:
        return ()
    return tuple(level.fields) or tuple(f.name for f in landing_fields(contract) if f.required)


def _level(name: str, kept: bool, value: Any, expected: str) -> dict[str, Any]:
    return {"name": name, "kept": kept, "value": value, "expected": expected}


def _bounds(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high} rows"
    return f"at least {low} rows" if low is not None else f"at most {high} rows"
