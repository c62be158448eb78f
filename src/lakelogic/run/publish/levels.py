"""Service levels after a run: what was promised, what was measured, whether it was kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.plan.strategies.declared import landing_fields
from lakelogic.run.publish.reconcile import Counts


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run knows of its dataset. `newest` is when that last got data, None if never."""

    counts: Counts | None
    numbers: Mapping[str, Any]
    now: datetime
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of service level: the keys that promise it, what a run finds, and how the promise is put into words."""

    keys: tuple[str, ...]
    unit: str
    expected: Callable[[ServiceLevels], str]  # beside the number of a run; asked only where it is promised
    promise: Callable[[ServiceLevels], str]  # as people read it beside many runs
    value: Callable[[Measured], float | int | None]
    keeps: Callable[[ServiceLevels, Any], bool]  # whether a number keeps the promise
    needs_rows: bool = True  # nothing is found by a run that judged none
    digits: int | None = None  # numbers are shown rounded

    def is_promised(self, levels: ServiceLevels) -> bool:
        """Whether a contract promises it, by any of its keys."""
        return any(getattr(levels, key) is not None for key in self.keys)


def _age(levels: ServiceLevels) -> float:
    assert levels.freshness_age is not None
    return levels.freshness_age.total_seconds() / 3600


def _hours(measured: Measured) -> float | None:
    return None if measured.newest is None else (measured.now - measured.newest).total_seconds() / 3600


def _limits(levels: ServiceLevels) -> tuple[int | None, int | None]:
    assert levels.row_count is not None
    return levels.row_count.min_rows, levels.row_count.max_rows


def _rows(measured: Measured) -> int | None:
    return None if measured.counts is None else measured.counts.good


def _is_between(levels: ServiceLevels, rows: int) -> bool:
    low, high = _limits(levels)
    return (low is None or rows >= low) and (high is None or rows <= high)


def _rows_in_words(levels: ServiceLevels) -> str:
    low, high = _limits(levels)
    parts = [*([f"at least {low}"] if low is not None else []), *([f"at most {high}"] if high is not None else [])]
    return f"{' and '.join(parts) or 'any number of'} {'row' if {low, high} == {1, None} else 'rows'}"


def _share(measured: Measured) -> float:
    shares = [value for name, value in measured.numbers.items() if name.startswith("present:")]
    total = (_rows(measured) or 0) * len(shares)
    return 1.0 if total == 0 else sum(shares) / total


def _least(levels: ServiceLevels) -> float:
    assert levels.completeness is not None
    return float(levels.completeness.threshold)


def _least_in_words(levels: ServiceLevels) -> str:
    return f"at least {_least(levels):g}"


def _age_in_words(levels: ServiceLevels) -> str:
    return f"at most {_age(levels):g} hours"


LEVELS: dict[str, Level] = {
    "freshness": Level(
        ("freshness", "freshness_hours"), "hours", _age_in_words, _age_in_words, _hours,
        lambda levels, hours: hours is not None and hours <= _age(levels), needs_rows=False, digits=3,
    ),
    "row_count": Level(
        ("row_count",), "rows", lambda levels: _bounds(*_limits(levels)), _rows_in_words, _rows, _is_between
    ),
    "completeness": Level(
        ("completeness",), "share", _least_in_words, _least_in_words, _share,
        lambda levels, share: share >= _least(levels), digits=6,
    ),
}  # fmt: skip


def evaluate(
    contract: Contract, counts: Counts | None, measured: Mapping[str, Any], *, now: datetime, newest: datetime | None
) -> list[dict[str, Any]]:
    """Every service level of the contract. `newest` is when the dataset last got data, or None if never."""
    levels, at_hand = contract.service_levels, Measured(counts, measured, now, newest)
    results: list[dict[str, Any]] = []
    for name, level in LEVELS.items():
        if not level.is_promised(levels) or (level.needs_rows and counts is None):
            continue
        value = level.value(at_hand)
        kept = level.keeps(levels, value)
        shown = value if value is None or level.digits is None else round(value, level.digits)
        results.append({"name": name, "kept": kept, "value": shown, "expected": level.expected(levels)})
    return results


def completeness_fields(contract: Contract) -> tuple[str, ...]:
    """The fields whose presence a completeness level measures: those named, or the required ones."""
    level = contract.service_levels.completeness
    if level is None:
        return ()
    return tuple(level.fields) or tuple(f.name for f in landing_fields(contract) if f.required)


def _bounds(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high} rows"
    return f"at least {low} rows" if low is not None else f"at most {high} rows"
