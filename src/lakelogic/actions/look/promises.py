"""Are promises kept? For every service level what was promised, what was found, since when, and the runs behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from lakelogic import clock
from lakelogic.actions.look.overview import Domains, visible
from lakelogic.actions.look.served import Served
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.driver.registry import Member
from lakelogic.ledger.ask import newest_runs
from lakelogic.ledger.records import PUBLISHED
from lakelogic.run.publish.levels import LEVELS

_COLUMNS = ("run_id", "dataset", "status", "started_at", "finished_at", "counts_good", "service_levels")
_TOLD_FRESH = PUBLISHED | {"no_new_data", "failed"}  # `failed` by a broken promise, with its rows published


def service_levels(
    served: Served, domains: Domains, runs: int = 30, dataset: str | None = None
) -> list[dict[str, Any]]:
    """Every dataset with its promises, by its newest runs; one that promises nothing says so with no levels."""
    members = [member for member in visible(served, domains) if dataset is None or member.dataset == dataset]
    runs_by_dataset = newest_runs(served.around.ledger.database, [member.dataset for member in members], runs, _COLUMNS)
    now = clock.now()
    return [_promised(member, runs_by_dataset.get(member.dataset, []), now) for member in members]


def _promised(member: Member, runs: Sequence[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
    levels = member.loaded.contract.service_levels
    newest = runs[0] if runs else None
    return {
        "dataset": member.dataset, "domain": member.domain, "layer": member.layer, "owner": member.owner,
        "promised": levels.model_dump(mode="json", exclude_defaults=True), "on_breach": levels.on_breach,
        "run_id": newest["run_id"] if newest else None, "at": newest["finished_at"] if newest else None,
        "levels": [_level(name, level, runs, levels, now) for name, level in _said(levels).items()],
    }  # fmt: skip


def _said(levels: ServiceLevels) -> dict[str, str]:
    """The promises in words, by name."""
    return {name: level.promise(levels) for name, level in LEVELS.items() if level.is_promised(levels)}


def _level(
    name: str, level: str, runs: Sequence[Mapping[str, Any]], levels: ServiceLevels, now: datetime
) -> dict[str, Any]:
    history = [
        {"run_id": run["run_id"], "at": run["finished_at"], "kept": entry["kept"], "found": entry["value"]}
        for run in runs
        for entry in run["service_levels"] or ()
        # Rows behind a closed gate are not there for anybody: they keep nothing fresh.
        if entry["name"] == name and not (name == "freshness" and run["status"] not in _TOLD_FRESH)
    ]
    value: Any = history[0]["found"] if history else None
    kept: bool | None = history[0]["kept"] if history else None
    if name == "freshness" and runs and not history:
        kept = False  # it ran, and was never published
    since = _since(history)
    due: datetime | None = None
    age = levels.freshness_age
    if name == "freshness" and age is not None and history:
        value, kept, due = _fresh_now(history[0], age, now)
        if due is not None and kept is False and history[0]["kept"]:
            since = due  # nothing came since: it broke on its own, between two runs
    measured = [entry for entry in history if entry["kept"] is not None]
    return {
        "name": name, "promised": level, "found": value, "unit": LEVELS[name].unit, "kept": kept, "since": since,
        "attained": sum(entry["kept"] for entry in measured) / len(measured) if measured else None,
        "runs": len(measured), "breaches": sum(not entry["kept"] for entry in measured), "next_due": due,
        "history": history,
    }  # fmt: skip


def _since(history: Sequence[Mapping[str, Any]]) -> Any:
    """When the first of the newest runs with one verdict ended."""
    since = None
    for entry in history:
        if entry["kept"] != history[0]["kept"]:
            break
        since = entry["at"]
    return since


def _fresh_now(
    newest: Mapping[str, Any], age: timedelta, now: datetime
) -> tuple[float | None, bool | None, datetime | None]:
    """How old the data is now, not when it was last looked at; and when it will be too old."""
    if newest["found"] is None or newest["at"] is None:
        return None, newest["kept"], None
    came = newest["at"] - timedelta(hours=float(newest["found"]))
    hours = (now - came).total_seconds() / 3600
    return round(hours, 3), now - came <= age, came + age
